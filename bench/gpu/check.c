/* Results are compared with sums made on the host, for some rows, and wholly, on the GPU, with the first
 * contender's that agreed with those. */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "device/difference.h"
#include "bench.h"

enum { COLUMN_BLOCK = 16 };

/** Half of the distance from 1 to the next number. */
static double unit(spmm_precision precision)
{
    return (precision == SPMM_F64 ? DBL_EPSILON : (double)FLT_EPSILON) / 2;
}

/** Sums of one row for columns [begin, end) of X; bound: the largest difference between two orders of
 *  summation, 2 gamma_n sum |a||x| with gamma_n ~ n u (Higham: Accuracy and Stability of Numerical
 *  Algorithms, 2nd ed., section 4.2), and room for underflow. */
static void sum_row(const problem *p, const reference *r, int64_t row, int64_t begin, int64_t end,
                    double *sum, double *bound)
{
    const spmm_csr *const a = &p->csr;
    const spmm_multivector x = problem_x(p, r->k, r->layout);
    const int is_f64 = a->precision == SPMM_F64;
    const double n = (double)(a->irp[row + 1] - a->irp[row]);
    for (int64_t j = begin; j < end; j++) sum[j] = bound[j] = 0;
    for (int64_t e = a->irp[row]; e < a->irp[row + 1]; e++) {
        const double v = is_f64 ? ((const double *)a->as)[e] : (double)((const float *)a->as)[e];
        for (int64_t j = begin; j < end; j++) {
            const double product = v * problem_x_element(&x, r->layout, a->ja[e], j);
            sum[j] += product;
            bound[j] += fabs(product);
        }
    }
    for (int64_t j = begin; j < end; j++)
        bound[j] = 2 * (n + 2) * unit(a->precision) * bound[j] + (is_f64 ? DBL_MIN : (double)FLT_MIN);
}

spmm_status reference_create(const problem *p, int64_t k, dense_layout layout, reference *r)
{
    const int64_t count = p->sample.count, blocks = (k + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    *r = (reference){.layout = layout, .k = k};
    spmm_status status = sp_alloc((void **)&r->sum, count * k, sizeof *r->sum, "reference sums");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&r->bound, count * k, sizeof *r->bound, "reference sums");
    if (status != SPMM_OK) {
        reference_destroy(r);
        return status;
    }
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(p->threads)
    for (int64_t i = 0; i < count; i++)
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t begin = b * COLUMN_BLOCK, end = begin + COLUMN_BLOCK < k ? begin + COLUMN_BLOCK : k;
            sum_row(p, r, p->sample.row[i], begin, end, r->sum + i * k, r->bound + i * k);
        }
    return SPMM_OK;
}

void reference_destroy(reference *r)
{
    sp_free(r->sum);
    sp_free(r->bound);
    *r = (reference){0};
}

/** Rows [first, first + rows) of Y to the host: element (i, j) at to[i*k + j], or at to[j*rows + i] of a
 *  column-major Y. */
static spmm_status download_rows(const contender *c, int64_t first, int64_t rows, void *to)
{
    const int64_t size = (int64_t)sp_value_size(c->y.precision), k = c->y.k, ld = c->y.ld;
    const char *const y = c->y.data;
    if (c->layout == ROW_MAJOR)
        return sp_device_copy_2d(to, k * size, y + first * ld * size, ld * size, k * size, rows, 1);
    return sp_device_copy_2d(to, rows * size, y + first * size, ld * size, rows * size, k, 1);
}

static double number(const void *data, spmm_precision precision, int64_t i)
{
    return precision == SPMM_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/** Compares the sampled rows [begin, end), which are consecutive rows of Y. Returns 0, with a line, at the
 *  first element that is off. */
static int rows_agree(const reference *r, const contender *c, int64_t begin, int64_t end, const void *y)
{
    const int64_t rows = end - begin, k = r->k;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) {
            const double is = number(y, c->y.precision, r->layout == ROW_MAJOR ? i * k + j : j * rows + i);
            const double should = r->sum[(begin + i) * k + j], bound = r->bound[(begin + i) * k + j];
            if (fabs(is - should) <= bound) continue; /* NaN is not */
            fprintf(stderr,
                    "bench_gpu: WRONG: %s, %s, K = %lld: y(%lld, %lld) = %.17g, should be %.17g +- %.1e\n",
                    c->problem->name, c->name, (long long)k, (long long)c->problem->sample.row[begin + i],
                    (long long)j, is, should, bound);
            return 0;
        }
    return 1;
}

static spmm_status check_sample(const reference *r, const contender *c, int *ok)
{
    const sample *const s = &c->problem->sample;
    void *y;
    spmm_status status = SPMM_OK;
    *ok = 1;
    TRY(sp_alloc(&y, s->count * r->k, sizeof(double), "sampled rows of Y"));
    for (int64_t begin = 0, end; begin < s->count && *ok; begin = end) {
        for (end = begin + 1; end < s->count && s->row[end] == s->row[end - 1] + 1;) end++;
        TRY_GOTO(download_rows(c, s->row[begin], end - begin, y), done);
        *ok = rows_agree(r, c, begin, end, y);
    }
done:
    sp_free(y);
    return status;
}

/** y as the reductions see it, whose rows are what is stored together. */
static spmm_multivector stored(const contender *c, void *data)
{
    const int by_row = c->layout == ROW_MAJOR;
    return (spmm_multivector){by_row ? c->y.rows : c->y.k,
                              by_row ? c->y.k : c->y.rows,
                              c->y.ld,
                              c->y.precision,
                              SPMM_CUDA,
                              data,
                              0,
                              0};
}

/** All of Y. The errors of many rows are of either sign, so that the norm of the difference is about sqrt(n)
 *  u of the norm of Y, n the longest row; 16 times that is a wrong result. */
static spmm_status compare_with_first(const contender *c, int *ok)
{
    const double tolerance = 16 * sqrt(c->problem->features.longest + 1) * unit(c->y.precision);
    const spmm_multivector y = stored(c, c->y.data), first = stored(c, c->problem->first);
    sp_difference d;
    TRY(sp_device_compare(&y, &first, &d));
    *ok = d.unmatched == 0 && d.norm <= tolerance * d.norm_reference;
    if (!*ok)
        fprintf(stderr,
                "bench_gpu: WRONG: %s, %s, K = %lld: differs from the first contender's by %.2e of its norm "
                "(%.1e is allowed), by %.3e in an element, and %lld elements are not finite in one of them\n",
                c->problem->name, c->name, (long long)c->x.k, d.norm / d.norm_reference, tolerance,
                d.max_absolute, (long long)d.unmatched);
    return SPMM_OK;
}

spmm_status reference_check(reference *r, const contender *c, int *ok)
{
    const spmm_multivector y = stored(c, c->y.data);
    TRY(check_sample(r, c, ok));
    if (!*ok) return SPMM_OK;
    if (r->has_first) return compare_with_first(c, ok);
    TRY(sp_device_copy(c->problem->first, y.data, y.rows * y.ld * (int64_t)sp_value_size(y.precision)));
    r->has_first = 1;
    return SPMM_OK;
}
