#include <string.h>

#include "formats/multivector.h"
#include "bench.h"

static size_t tight_bytes(const dense *d)
{
    return (size_t)(d->own.rows * d->own.k) * sp_value_size(d->own.precision);
}

spmm_status dense_create(int64_t rows, int64_t k, const settings *s, dense *d)
{
    *d = (dense){.row = NULL};
    TRY(spmm_multivector_create(rows, k, s->precision, SPMM_CPU, &d->own));
    d->row = d->own.data;
    const int64_t bytes = (int64_t)tight_bytes(d);
    if (d->own.ld != k) TRY(sp_alloc_zero(&d->row, bytes, 1, "a multivector by rows"));
    return sp_alloc_zero(&d->column, bytes, 1, "a multivector by columns");
}

void dense_destroy(dense *d)
{
    if (d->row != d->own.data) sp_free(d->row);
    sp_free(d->column);
    spmm_multivector_destroy(&d->own);
}

/** to[j*rows + i] = from[i*k + j]. */
static void transpose(void *to, const void *from, int64_t rows, int64_t k, spmm_precision precision,
                      int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            if (precision == SPMM_F64)
                ((double *)to)[j * rows + i] = ((const double *)from)[i * k + j];
            else
                ((float *)to)[j * rows + i] = ((const float *)from)[i * k + j];
}

void dense_fill(dense *d, int threads)
{
    const size_t size = sp_value_size(d->own.precision);
    const size_t row = (size_t)d->own.k * size, padded = (size_t)d->own.ld * size;
    sp_multivector_generate(&d->own, SP_X_UNIFORM, 1, 0, threads);
    for (int64_t i = 0; i < d->own.rows && d->row != d->own.data; i++)
        memcpy((char *)d->row + (size_t)i * row, (const char *)d->own.data + (size_t)i * padded, row);
    transpose(d->column, d->row, d->own.rows, d->own.k, d->own.precision, threads);
}

void dense_poison(dense *d)
{
    memset(d->own.data, 0xff, (size_t)sp_multivector_bytes(&d->own));
    memset(d->row, 0xff, tight_bytes(d));
    memset(d->column, 0xff, tight_bytes(d));
}

void dense_rows_from_columns(dense *d, int threads)
{
    transpose(d->row, d->column, d->own.k, d->own.rows, d->own.precision, threads);
}
