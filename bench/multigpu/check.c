#include <float.h>
#include <math.h>

#include "bench.h"

enum {
    SAMPLED = 64,
    ENTRIES = 1 << 22
}; /* rows of a rank that are summed on the host, and entries of one at most */

static double number(const spmm_multivector *v, int64_t i, int64_t j)
{
    const int64_t e = i * v->ld + j;
    return v->precision == SPMM_F64 ? ((const double *)v->data)[e] : (double)((const float *)v->data)[e];
}

/** Relative bound of the difference of two sums of n products in any order: 2 gamma_n (Higham: Accuracy and
 *  Stability of Numerical Algorithms, 2nd ed., section 4.2). */
static double bound_of(const problem *p, int64_t row)
{
    const spmm_csr *const a = &p->block.csr;
    const double u = (p->precision == SPMM_F64 ? DBL_EPSILON : (double)FLT_EPSILON) / 2;
    const double n = (double)(a->irp[row + 1] - a->irp[row]) + 1;
    return 2 * n * u / (1 - n * u);
}

/** Y in host memory, by row. */
typedef struct result_y {
    spmm_multivector v;
    int by_column;
} result_y;

static double y_at(const result_y *y, int64_t i, int64_t j)
{
    return y->by_column ? number(&y->v, j, i) : number(&y->v, i, j);
}

static spmm_status download(const contender *c, result_y *y)
{
    spmm_multivector there = c->y;
    y->by_column = 0;
    if (c->theirs) there = theirs_y(c->theirs, &y->by_column);
    TRY(spmm_multivector_create(there.rows, there.k, there.precision, SPMM_CPU, &y->v));
    return spmm_multivector_copy(&there, &y->v);
}

static void tell(const problem *p, const contender *c, int64_t k, int64_t row, int64_t j, double is,
                 double should, double bound)
{
    fprintf(
        stderr,
        "bench_multigpu: WRONG: %s, %s (%s), K = %lld, rank %d: y(%lld, %lld) = %.17g, should be %.17g +- %.1e\n",
        p->name, c->name, contender_way(c), (long long)k, p->rank, (long long)(p->block.row_begin + row),
        (long long)j, is, should, bound);
}

/** One row, by the definition: the first columns of a long one. */
static int check_row(const problem *p, const contender *c, int64_t k, const result_y *y, int64_t row)
{
    const spmm_csr *const a = &p->block.csr;
    const int64_t length = a->irp[row + 1] - a->irp[row], most = ENTRIES / (length + 1);
    const int64_t columns = most < 1 ? 1 : most < k ? most : k;
    for (int64_t j = 0; j < columns; j++) {
        double sum = 0, weight = 0;
        for (int64_t e = a->irp[row]; e < a->irp[row + 1]; e++) {
            const double value = p->precision == SPMM_F64 ? ((const double *)a->as)[e]
                                                          : (double)((const float *)a->as)[e];
            const double term = value * problem_x(p->block.col_begin + a->ja[e], j);
            sum += term;
            weight += fabs(term);
        }
        const double is = y_at(y, row, j), bound = bound_of(p, row) * weight + (double)FLT_MIN;
        if (fabs(is - sum) <= bound) continue; /* NaN is not */
        tell(p, c, k, row, j, is, sum, bound);
        return 0;
    }
    return 1;
}

static int64_t longest_row(const spmm_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 1; i < a->rows; i++)
        if (a->irp[i + 1] - a->irp[i] > a->irp[longest + 1] - a->irp[longest]) longest = i;
    return longest;
}

/** Rows spread over the block, the first, the last and the longest. */
static int check_sample(const problem *p, const contender *c, int64_t k, const result_y *y)
{
    const int64_t rows = p->block.csr.rows, steps = rows < SAMPLED ? rows : SAMPLED;
    int ok = rows == 0 || check_row(p, c, k, y, longest_row(&p->block.csr));
#pragma omp parallel for schedule(dynamic) reduction(&& : ok)
    for (int64_t s = 0; s < steps; s++)
        ok = check_row(p, c, k, y, steps > 1 ? (rows - 1) * s / (steps - 1) : 0) && ok;
    return ok;
}

/** Every element. |x| <= 1, so a row's sum of |a| is more than the sum of the products' magnitudes. */
static int compare(const problem *p, const contender *c, int64_t k, const result_y *y, const result_y *first)
{
    int64_t wrong_row = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : wrong_row)
    for (int64_t i = 0; i < p->block.csr.rows; i++) {
        const double bound = bound_of(p, i) * p->row_weight[i] + (double)FLT_MIN;
        for (int64_t j = 0; j < k; j++)
            if (!(fabs(y_at(y, i, j) - y_at(first, i, j)) <= bound) && i < wrong_row) wrong_row = i;
    }
    if (wrong_row == INT64_MAX) return 1;
    for (int64_t j = 0; j < k; j++) {
        const double bound = bound_of(p, wrong_row) * p->row_weight[wrong_row] + (double)FLT_MIN;
        const double is = y_at(y, wrong_row, j), should = y_at(first, wrong_row, j);
        if (fabs(is - should) <= bound) continue;
        tell(p, c, k, wrong_row, j, is, should, bound);
        break;
    }
    return 0;
}

static spmm_status check(const problem *p, int64_t k, contender *c, const result_y *first, result_y *y)
{
    spmm_status status = c->theirs ? theirs_spoil(c->theirs) : SPMM_OK; /* ours is all zeros */
    if (status == SPMM_OK)
        status = c->theirs ? theirs_run(c->theirs) : spmm_apply(c->plan, 1, &c->x, 0, &c->y);
    if (status == SPMM_OK) status = download(c, y);
    TRY(sp_agree(p->comm, "check", status));
    const int mine = check_sample(p, c, k, y) && (!first || compare(p, c, k, y, first));
    return sp_all(p->comm, mine, &c->ok);
}

spmm_status contenders_check(const problem *p, int64_t k, contender *c, int n)
{
    result_y first = {0};
    spmm_status status = SPMM_OK;
    for (int i = 0; i < n && status == SPMM_OK; i++) {
        result_y y = {0};
        status = check(p, k, &c[i], i > 0 ? &first : NULL, i > 0 ? &y : &first);
        spmm_multivector_destroy(&y.v);
    }
    spmm_multivector_destroy(&first.v);
    return status;
}
