/** The products with which kernels are compared, written naively from the description in formats/summation.h:
 *  with its numbers, with fma() of the C library, and one element at a time. */
#ifndef SP_CANONICAL_H
#define SP_CANONICAL_H

#include "sample.h"

/** One chain over entries [begin, end), with column j of X. */
static inline double naive_chain(const spmm_csr *a, int64_t begin, int64_t end, const spmm_multivector *x,
                                 int64_t j)
{
    double sum = 0;
    for (int64_t e = begin; e < end; e++) {
        const double v = sample_get(a->as, a->precision, e),
                     xe = sample_get(x->data, a->precision, a->ja[e] * x->ld + j);
        sum = a->precision == SPMM_F64 ? fma(v, xe, sum) : (double)fmaf((float)v, (float)xe, (float)sum);
    }
    return sum;
}

/** Replaces groups of up to `size` consecutive numbers by their sums, each added from first to last.
 *  \return number of groups */
static inline int64_t naive_groups(double *number, int64_t count, int64_t size, spmm_precision precision)
{
    int64_t groups = 0;
    for (int64_t n = 0; n < count; n++)
        if (n % size == 0)
            number[groups++] = number[n];
        else
            number[groups - 1] = precision == SPMM_F64
                                     ? number[groups - 1] + number[n]
                                     : (double)((float)number[groups - 1] + (float)number[n]);
    return groups;
}

/** Element (i, j) of A X in the canonical order. */
static inline double naive_element(const spmm_csr *a, int64_t i, const spmm_multivector *x, int64_t j)
{
    const int64_t begin = a->irp[i], end = a->irp[i + 1];
    int64_t count = 0;
    if (end - begin <= 128) return naive_chain(a, begin, end, x, j);
    double *const sum = malloc((size_t)(end - begin) * sizeof *sum);
    if (!sum) abort();
    for (int64_t e = begin; e < end; e += 32)
        sum[count++] = naive_chain(a, e, e + 32 < end ? e + 32 : end, x, j);
    count = naive_groups(sum, count, 4, a->precision);  /* the segments */
    count = naive_groups(sum, count, 8, a->precision);  /* the sections */
    count = naive_groups(sum, count, 32, a->precision); /* the parts */
    naive_groups(sum, count, count, a->precision);      /* the row */
    const double element = sum[0];
    free(sum);
    return element;
}

/** Returns A X in the canonical order, or if `plain` with one chain per row. The caller frees its data. */
static inline spmm_multivector naive_product(const spmm_csr *a, const spmm_multivector *x, int plain)
{
    spmm_multivector y = sample_multivector(a->rows, x->k, x->k, a->precision);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < x->k; j++)
            sample_set(y.data, a->precision, i * y.ld + j,
                       plain ? naive_chain(a, a->irp[i], a->irp[i + 1], x, j) : naive_element(a, i, x, j));
    return y;
}

/** Makes a matrix with rows of the given lengths; columns are spread, values are reals. Aborts on failure. */
static inline void sample_lengths(const int64_t *length, int64_t rows, spmm_precision precision, spmm_csr *a)
{
    int64_t nnz = 0, cols = 1;
    for (int64_t i = 0; i < rows; i++) {
        nnz += length[i];
        if (length[i] > cols) cols = length[i];
    }
    cols += cols / 8 + 1;
    if (sp_csr_create(rows, cols, nnz, precision, a) != SPMM_OK) abort();
    for (int64_t i = 0; i < rows; i++) {
        a->irp[i + 1] = a->irp[i] + length[i];
        for (int64_t e = 0; e < length[i]; e++) {
            a->ja[a->irp[i] + e] = (int32_t)(e * cols / length[i]);
            sample_set(a->as, precision, a->irp[i] + e, sp_random_unit(7, (uint64_t)i, (uint64_t)e));
        }
    }
}

/** Row lengths around all bounds of the canonical order. */
static const int64_t canonical_lengths[] = {0,    1,    31,           32,    33,    64,    96,         127,
                                            128,  129,  160,          161,   191,   192,   255,        256,
                                            257,  300,  384,          1023,  1024,  1025,  1056,       1151,
                                            1152, 1153, 1024 * 3 + 1, 32767, 32768, 32769, 32768 + 129};
enum { CANONICAL_LENGTHS = sizeof canonical_lengths / sizeof *canonical_lengths };

#endif
