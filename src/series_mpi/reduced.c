/** Computes the reference results of --operator for the sampled series. */
#include <math.h>

#include "base/memory.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

/** Computes one extreme of row i of v: with sign 1 the maximum, with -1 the minimum. */
static double extreme(const spmm_multivector *v, int64_t i, double sign)
{
    double found = sp_multivector_get(v, i, 0);
    for (int64_t k = 1; k < v->k; k++)
        if (sign * sp_multivector_get(v, i, k) > sign * found) found = sp_multivector_get(v, i, k);
    return found;
}

static double squares(const spmm_multivector *v, int64_t i)
{
    long double sum = 0;
    for (int64_t k = 0; k < v->k; k++) {
        const long double x = sp_multivector_get(v, i, k);
        sum += x * x;
    }
    return (double)sum;
}

/** Computes the product of row i of v as mantissa[0] * 2^exponent[0]. */
static void product(const spmm_multivector *v, int64_t i, double *mantissa, double *exponent)
{
    long double all = 1;
    int64_t sum = 0;
    int one, two;
    for (int64_t k = 0; k < v->k; k++) {
        all = frexpl(all * frexp(sp_multivector_get(v, i, k), &one), &two);
        sum += one + two;
    }
    *mantissa = (double)all;
    *exponent = all == 0 ? 0 : (double)sum;
}

/** Multiplies the 2 x 2 matrices of the values in row i of v (see sp_square_of()) from left to right. Entry
 *  (r, c) of the result is out[2 r + c]. */
static void matrices(const spmm_multivector *v, int64_t i, double out[4])
{
    uint32_t all[4] = {1, 0, 0, 1};
    for (int64_t k = 0; k < v->k; k++) {
        const sp_square m = sp_square_of(sp_multivector_get(v, i, k));
        for (int r = 0; r < 4; r += 2) {
            const uint32_t left = all[r], right = all[r + 1];
            all[r] = left * m.a + right * m.c;
            all[r + 1] = left * m.b + right * m.d;
        }
    }
    for (int c = 0; c < 4; c++) out[c] = all[c];
}

double sp_scaled_quotient(double mantissa, double exponent, double unit)
{
    const double away = exponent - unit;
    return away > 2 || away < -2 ? mantissa * (away > 0 ? INFINITY : 0) : ldexp(mantissa, (int)away);
}

spmm_status sp_series_reduce_sample(const sp_series_job *job, sp_series_sample *s)
{
    const spmm_multivector *const v = &s->series.v;
    const sp_operator op = job->options.op;
    TRY(sp_alloc((void **)&s->reduced, SP_WIDEST * s->count, sizeof *s->reduced, "the reference"));
#pragma omp parallel for schedule(static) num_threads(job->place.binding.threads)
    for (int64_t i = 0; i < s->count; i++) {
        double out[SP_WIDEST] = {0};
        if (op == SP_MINIMUM || op == SP_MAXIMUM) out[0] = extreme(v, i, op == SP_MAXIMUM ? 1 : -1);
        if (op == SP_DOT) out[0] = squares(v, i);
        if (op == SP_PRODUCT) product(v, i, &out[0], &out[1]);
        if (op == SP_MATRIX) matrices(v, i, out);
        for (int c = 0; c < SP_WIDEST; c++) s->reduced[c * s->count + i] = out[c];
    }
    return SPMM_OK;
}
