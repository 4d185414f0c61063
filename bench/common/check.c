/** Reference products for some or all rows, and comparison with them. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value_type.h"
#include "bench.h"

enum { X_SEED = 1, GROUPS = 48, COLUMN_BLOCK = 16 };

/* ---- X ---- */

static double number(int64_t i) { return sp_random_unit(X_SEED, 0, (uint64_t)i); }

/** Returns element i of the sequence from which an X is filled. */
static sp_c128 element(spmm_precision p, int64_t i)
{
    return sp_is_complex(p) ? __builtin_complex(number(2 * i), number(2 * i + 1)) : (sp_c128)number(i);
}

static sp_c128 dense_at(const dense_view *v, int64_t i, int64_t j)
{
    const int64_t at = i * v->row_step + j * v->column_step;
    return v->data ? sp_value_at(v->data, v->precision, at) : element(v->precision, at);
}

void dense_fill(const dense_view *to, int64_t first, int64_t rows, int64_t k)
{
    void *const data = (void *)to->data;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) {
            const int64_t at = i * to->row_step + j * to->column_step;
            sp_value_set(data, to->precision, at, element(to->precision, (first + i) * k + j));
        }
}

/* ---- the reference ---- */

static int64_t length(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row]; }

/** Picks all rows, or groups of consecutive rows at even distances and the longest row. */
static void pick_rows(const spmm_csr *a, int64_t most, reference *r)
{
    const int64_t group = a->rows <= most ? a->rows : most / GROUPS,
                  step = a->rows <= most ? a->rows : a->rows / GROUPS;
    int64_t longest = 0;
    for (int64_t i = 1; i < a->rows; i++)
        if (length(a, i) > length(a, longest)) longest = i;
    for (int64_t i = 0; i < a->rows; i++)
        if (i % step < group || i == longest) r->row[r->count++] = i;
}

/** Computes columns [begin, end) of reference row i. */
static void sum_row(const reference *r, const dense_view *x, int64_t i, int64_t begin, int64_t end)
{
    const spmm_csr *const a = r->a;
    sp_c128 *const sum = r->sum + i * r->k;
    double *const size = r->size + i * r->k;
    for (int64_t j = begin; j < end; j++) sum[j] = size[j] = 0;
    for (int64_t e = a->irp[r->row[i]]; e < a->irp[r->row[i] + 1]; e++) {
        const sp_c128 v = sp_value_at(a->as, a->precision, e);
        for (int64_t j = begin; j < end; j++) {
            const sp_c128 factor = dense_at(x, a->ja[e], j);
            sum[j] += SP_TIMES(v, factor);
            size[j] += sp_magnitude(v) * sp_magnitude(factor);
        }
    }
}

spmm_status reference_create(const spmm_csr *a, const dense_view *x, int64_t k, int64_t most, reference *r)
{
    const int64_t blocks = (k + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    spmm_status status;
    *r = (reference){.a = a, .k = k};
    if (most < GROUPS) most = GROUPS;
    TRY_GOTO(sp_alloc((void **)&r->row, a->rows, sizeof *r->row, "rows to check"), failed);
    pick_rows(a, most, r);
    TRY_GOTO(sp_alloc((void **)&r->sum, r->count * k, sizeof *r->sum, "sums to check with"), failed);
    TRY_GOTO(sp_alloc((void **)&r->size, r->count * k, sizeof *r->size, "sums to check with"), failed);
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t b = 0; b < blocks; b++)
            sum_row(r, x, i, b * COLUMN_BLOCK, b + 1 < blocks ? (b + 1) * COLUMN_BLOCK : k);
    return SPMM_OK;
failed:
    reference_destroy(r);
    return status;
}

void reference_destroy(reference *r)
{
    sp_free(r->row);
    sp_free(r->sum);
    sp_free(r->size);
    *r = (reference){0};
}

/** Compares row i of the reference with Y and adds the outcome to *d. Two sums of n products in different
 *  orders differ by at most 2 gamma_n sum|a||x| (Higham: Accuracy and Stability of Numerical Algorithms, 2nd
 *  ed., section 4.2), plus an underflow. Each part of a complex sum is a sum of 2 n products, whose sum of
 *  moduli is at most sum|a||x|; the factor sqrt(2) is for the two parts. */
static void compare_row(const reference *r, int64_t i, const dense_view *y, int64_t first, difference *d)
{
    const sp_value_type type = sp_type_of(r->a->precision);
    const double u = type.unit, n = type.parts * ((double)length(r->a, r->row[i]) + r->more) + 2,
                 least = type.real == SPMM_F64 ? DBL_MIN : (double)FLT_MIN;
    for (int64_t j = 0; j < r->k; j++) {
        const sp_c128 is = dense_at(y, r->row[i] - first, j), should = r->sum[i * r->k + j];
        const double size = r->size[i * r->k + j], apart = sp_magnitude(is - should),
                     bound = sqrt(type.parts) * 2 * n * u / (1 - n * u) * size + least;
        d->checked++;
        if (size > 0 && !(apart / size <= d->error)) d->error = apart / size;
        if (apart <= bound) continue; /* false for a NaN */
        if (d->wrong++) continue;
        d->row = r->row[i], d->column = j;
        d->found = is, d->expected = should, d->bound = bound;
    }
}

void reference_compare(const reference *r, int64_t begin, int64_t end, const dense_view *y, int64_t first,
                       difference *d)
{
    for (int64_t i = begin; i < end; i++) compare_row(r, i, y, first, d);
}
