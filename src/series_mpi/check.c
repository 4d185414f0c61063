/** Runs the sequential program on the sampled series (all series with --verify full), and checks the results
 *  of kernels against it and against references computed in long double. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "device/device.h"
#include "distribute/gather.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

enum { SAMPLED = 64 }; /* number of series to check with --verify sample */

/* ---- choosing the series to check ---- */

static spmm_status check_choose(const sp_series_job *job, sp_series_sample *s)
{
    const int64_t begin = job->begin[job->place.grid.rank], end = job->begin[job->place.grid.rank + 1];
    s->count = job->options.verify == SP_VERIFY_NONE                                    ? 0
               : job->options.verify == SP_VERIFY_FULL || job->count < (int64_t)SAMPLED ? job->count
                                                                                        : (int64_t)SAMPLED;
    TRY(sp_alloc((void **)&s->number, s->count, sizeof *s->number, "numbers of series"));
    for (int64_t i = 0; i < s->count; i++) s->number[i] = sp_partition_share(job->count, s->count, i);
    while (s->first < s->count && s->number[s->first] < begin) s->first++;
    while (s->first + s->local < s->count && s->number[s->first + s->local] < end) s->local++;
    return SPMM_OK;
}

/** Copies the values of series m to `row` in host memory. m is a global number; this rank owns the series. */
static spmm_status check_fetch(const sp_series_job *job, int64_t m, void *row)
{
    const sp_series *const x = &job->x;
    const int64_t size = sp_value_size(x->v.precision), local = m - x->first;
    const int rows = x->layout == SP_SERIES_MAJOR;
    const char *const from = (const char *)x->v.data + local * (rows ? x->v.ld : 1) * size;
    if (x->v.space == SPMM_CUDA && rows) return sp_device_download(row, from, x->length * size);
    if (x->v.space == SPMM_CUDA)
        return sp_device_copy_2d(row, size, from, x->v.ld * size, size, x->length, 1);
    for (int64_t i = 0; i < x->length; i++)
        memcpy((char *)row + i * size, from + i * (rows ? 1 : x->v.ld) * size, (size_t)size);
    return SPMM_OK;
}

/** Gathers the values of the sampled series from all ranks into `all` on rank 0. Collective. */
static spmm_status gather_sampled(const sp_series_job *job, const sp_series_sample *s, spmm_multivector *all)
{
    spmm_multivector mine;
    spmm_status status = spmm_multivector_create(s->local, job->length, job->options.precision, SPMM_CPU,
                                                 &mine);
    for (int64_t i = 0; i < s->local && status == SPMM_OK; i++)
        status = check_fetch(job, s->number[s->first + i], sp_row(&mine, i));
    status = sp_agree(job->place.grid.comm, "check", status);
    if (status == SPMM_OK) status = sp_gather(&job->place.grid, &mine, s->count, all);
    spmm_multivector_destroy(&mine);
    return status;
}

/* ---- running the sequential program ---- */

/** Estimates how many seconds the sequential program takes for a step on all series, and records the
 *  estimate: the time since `start`, which was spent on the sampled series only, is extrapolated.
 *  \param [in] series  number of all series */
static void note(sp_series_sample *s, int64_t series, sp_step step, double start)
{
    const double count = (double)s->count, all = (double)series;
    const double share = step == SP_PEARSON ? count * (count - 1) / (all * (all - 1)) : count / all;
    s->seconds[step] = share > 0 ? (MPI_Wtime() - start) / share : NAN;
    s->share[step] = share;
}

/** Generates the sampled series one after another in a single thread, as a sequential program does. */
static spmm_status check_generate(const sp_series_job *job, sp_series_sample *s)
{
    const double start = MPI_Wtime();
    for (int64_t i = 0; i < s->count; i++) {
        sp_series one = s->series;
        one.count = 1;
        one.first = s->number[i];
        one.v.data = sp_row(&one.v, i);
        const sp_series_launch l = {.x = &one, .walk = &job->options.walk, .threads = 1};
        TRY(sp_series_find("cpu_walk_serial")->ops->run(&l));
    }
    note(s, job->count, SP_GENERATE, start);
    return SPMM_OK;
}

#define PAIRS(T)                                                                                          \
    for (int64_t i = 0; i < z->rows; i++)                                                                 \
        for (int64_t j = i + 1; j < z->rows; j++) {                                                       \
            const T *const a = (const T *)z->data + i * z->ld, *const b = (const T *)z->data + j * z->ld; \
            T sum = 0;                                                                                    \
            for (int64_t k = 0; k < z->k; k++) sum += a[k] * b[k];                                        \
            if (!spread[i].constant && !spread[j].constant)                                               \
                total += (double)sum / (spread[i].deviation * spread[j].deviation);                       \
        }

/** Computes the coefficients of all pairs of rows of z. Returns their sum, so that the compiler cannot remove
 *  the computation that is to be timed. */
static double all_pairs(const spmm_multivector *z, const sp_spread *spread)
{
    double total = 0;
    SP_BY_REAL(z->precision, PAIRS);
    return total;
}

/** Runs and times the sequential program's steps after SP_GENERATE, on the sampled series. */
static spmm_status compute(const sp_series_job *job, sp_series_sample *s)
{
    double *mean = NULL;
    sp_spread *spread = NULL;
    spmm_multivector z = {0};
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&mean, SP_WIDEST * s->count, sizeof *mean, "means"), done);
    TRY_GOTO(sp_alloc((void **)&spread, s->count, sizeof *spread, "deviations"), done);
    TRY_GOTO(spmm_multivector_create(s->count, job->length, job->options.precision, SPMM_CPU, &z), done);
    const sp_series_launch l = {.x = &s->series,
                                .divisor = (double)job->length,
                                .op = job->options.op,
                                .mean = mean,
                                .spread = spread,
                                .threads = 1};
    double start = MPI_Wtime();
    TRY_GOTO(sp_series_find("cpu_sum_serial")->ops->run(&l), done);
    note(s, job->count, SP_MEAN, start);
    if (job->options.op != SP_SUM) goto done;
    start = MPI_Wtime();
    TRY_GOTO(sp_series_find("cpu_spread_serial")->ops->run(&l), done);
    note(s, job->count, SP_DEVIATION, start);
    if (!job->options.step[SP_PEARSON] || s->count < 2) goto done;
    start = MPI_Wtime();
    sp_cpu_center(&s->series, spread, &z, 1);
    volatile double kept = all_pairs(&z, spread);
    (void)kept;
    note(s, job->count, SP_PEARSON, start);
done:
    sp_free(mean);
    sp_free(spread);
    spmm_multivector_destroy(&z);
    return status;
}

/* ---- reference results computed in long double ---- */

static void refer(sp_series_sample *s, int64_t i, int64_t length)
{
    long double sum = 0, absolute = 0, squares = 0, off = 0;
    const spmm_multivector *const v = &s->series.v;
    const double first = sp_multivector_get(v, i, 0);
    s->constant[i] = 1;
    for (int64_t k = 0; k < length; k++) {
        const double x = sp_multivector_get(v, i, k);
        sum += x;
        absolute += fabs(x);
        if (x != first) s->constant[i] = 0;
    }
    const long double mean = sum / length;
    for (int64_t k = 0; k < length; k++) {
        const long double d = sp_multivector_get(v, i, k) - mean;
        squares += d * d;
        off += fabsl(d);
    }
    s->absolute[i] = (double)absolute;
    s->center[i] = (double)mean;
    s->spread[i] = (double)sqrtl(squares);
    s->off[i] = (double)(off / length);
}

static spmm_status make_reference(int64_t length, int threads, sp_series_sample *s)
{
    double **const list[] = {&s->absolute, &s->center, &s->spread, &s->off};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        TRY(sp_alloc((void **)list[i], s->count, sizeof(double), "the reference"));
    TRY(sp_alloc((void **)&s->constant, s->count, sizeof *s->constant, "the reference"));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < s->count; i++) refer(s, i, length);
    return SPMM_OK;
}

static spmm_status make_on_root(const sp_series_job *job, sp_series_sample *s)
{
    if (!job->options.file) {
        TRY(sp_series_create(s->count, job->length, 0, SP_SERIES_MAJOR, job->options.precision, SPMM_CPU,
                             &s->series));
        TRY(check_generate(job, s));
    }
    TRY(compute(job, s));
    if (job->options.op != SP_SUM) TRY(sp_series_reduce_sample(job, s));
    return make_reference(job->length, job->place.binding.threads, s);
}

spmm_status sp_series_sample_make(const sp_series_job *job, sp_series_sample *s)
{
    for (int i = 0; i < SP_STEPS; i++) s->seconds[i] = NAN;
    TRY(sp_agree(job->place.grid.comm, "check", check_choose(job, s)));
    if (s->count == 0) return SPMM_OK;
    if (job->options.file) {
        TRY(gather_sampled(job, s, &s->series.v));
        s->series.count = s->count;
        s->series.length = job->length;
    }
    return sp_agree(job->place.grid.comm, "check", sp_is_root(&job->place) ? make_on_root(job, s) : SPMM_OK);
}

/* ---- checking results against the references ---- */

/** Returns the unit round-off u of a precision: 2^-53 for f64, 2^-24 for f32. */
/** Returns Higham's error constant gamma_n = n u / (1 - n u); infinity if n u >= 1. */
static double gamma_of(double n, spmm_precision precision)
{
    const double nu = n * sp_type_of(precision).unit;
    return nu < 1 ? nu / (1 - nu) : INFINITY;
}

static void check_compare(sp_series_record *r, int64_t row, double found, double expected, double bound)
{
    const double error = fabs(found - expected);
    r->check.done = 1;
    r->check.checked++;
    if (bound > 0 && error / bound > r->check.worst) r->check.worst = error / bound;
    if (error <= bound) return; /* false if `found` is NaN, so that a NaN counts as a wrong result */
    if (r->check.wrong++ > 0) return;
    r->check.row = row;
    r->check.found = found;
    r->check.expected = expected;
}

/** Returns an upper bound on |sp_spread.center - exact mean| for sampled series i: the distance from the mean
 *  of the value that the kernels subtract. The unit is the standard deviation of the series, spread /
 *  sqrt(length). */
static double center_error(const sp_series_job *job, int64_t i)
{
    const sp_series_sample *const s = &job->sample;
    const spmm_precision p = job->options.precision;
    const double n = (double)job->length, unit = sp_type_of(p).unit;
    if (s->spread[i] == 0) return 0;
    return sqrt(n) * (2 * unit * fabs(s->center[i]) + gamma_of(n + 8, p) * s->off[i]) / s->spread[i];
}

static spmm_status check_values(const sp_series_job *job, sp_series_record *r)
{
    const sp_series_sample *const s = &job->sample;
    spmm_multivector all = {0};
    TRY(gather_sampled(job, s, &all));
    for (int64_t i = 0; i < s->count && sp_is_root(&job->place); i++)
        for (int64_t k = 0; k < job->length; k++) {
            const double found = sp_multivector_get(&all, i, k),
                         expected = sp_multivector_get(&s->series.v, i, k);
            check_compare(r, s->number[i], found, expected, 0);
        }
    spmm_multivector_destroy(&all);
    return SPMM_OK;
}

/** Gathers one number per series from all ranks on every rank. Collective.
 *  \param [in]  mine  [x.count] numbers for the series of this rank, in host memory
 *  \param [out] all   [job->count] numbers for all series */
static spmm_status gather_numbers(const sp_series_job *job, const double *mine, double *all)
{
    const int64_t begin = job->begin[job->place.grid.rank];
    memcpy(all + begin, mine, (size_t)job->x.count * sizeof *mine);
    return sp_gather_everywhere(job->place.grid.comm, all, job->begin, job->place.grid.size);
}

/** Compares the result of an operator for sampled series i with the reference. Minima, maxima and matrices
 *  must be equal. Means may differ by 2 gamma_n times the mean of |x|, plus the rounding of the division.
 *  Products and dot products may have a relative error of 2 gamma_n. Means and dot products may also differ
 *  by n times the least positive number. A product is divided by the power of two of its reference before the
 *  comparison, because the two may have different exponents.
 *  \param [in] all  [sp_operator_width(op) x job->count] results for all series */
static void compare_reduced(const sp_series_job *job, const double *all, int64_t i, sp_series_record *r)
{
    const sp_series_sample *const s = &job->sample;
    const spmm_precision p = job->options.precision;
    const sp_operator op = job->options.op;
    const int64_t m = s->number[i];
    const double n = (double)job->length, tiny = sp_type_of(p).least;
    const double *const right = s->reduced ? s->reduced + i : NULL;
    if (op == SP_SUM)
        check_compare(r, m, all[m], s->center[i],
                      2 * (gamma_of(n, p) * s->absolute[i] / n + sp_type_of(p).unit * fabs(s->center[i])) +
                          n * tiny);
    else if (op == SP_DOT)
        check_compare(r, m, all[m], right[0], 2 * gamma_of(n, p) * right[0] + n * tiny);
    else if (op == SP_PRODUCT) /* an exponent may differ where a mantissa is rounded to a power of two */
        check_compare(r, m, sp_scaled_quotient(all[m], all[job->count + m], right[s->count]), right[0],
                      2 * gamma_of(n, p) * fabs(right[0]));
    else
        for (int c = 0; c < sp_operator_width(op); c++)
            check_compare(r, m, all[c * job->count + m], right[c * s->count], 0);
}

static spmm_status check_reduced(const sp_series_job *job, sp_series_record *r)
{
    const sp_series_sample *const s = &job->sample;
    const int width = sp_operator_width(job->options.op);
    const int64_t count = job->x.count;
    double *mine = NULL, *all = NULL;
    spmm_status status = sp_alloc((void **)&mine, width * count, sizeof *mine, "means");
    if (status == SPMM_OK) status = sp_alloc((void **)&all, width * job->count, sizeof *all, "means");
    if (status == SPMM_OK)
        status = sp_series_download(job->place.binding.device, mine, job->mean, width * count * 8);
    TRY_GOTO(sp_agree(job->place.grid.comm, "check", status), done);
    for (int c = 0; c < width; c++)
        TRY_GOTO(gather_numbers(job, mine + c * count, all + c * job->count), done);
    for (int64_t i = 0; i < s->count && sp_is_root(&job->place); i++) compare_reduced(job, all, i, r);
done:
    sp_free(mine);
    sp_free(all);
    return status;
}

/** Compares the deviations of the sampled series with the references.
 *  \param [in] all  [3 * job->count] for all series: the deviations, then the exponents, then the `constant`
 *                   flags */
static void compare_deviations(const sp_series_job *job, const double *all, sp_series_record *r)
{
    const sp_series_sample *const s = &job->sample;
    const double n = (double)job->length;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t m = s->number[i];
        const double found = ldexp(all[m], (int)all[job->count + m]), off = center_error(job, i);
        const double bound = 2 * (gamma_of(n + 8, job->options.precision) + off * off);
        check_compare(r, m, all[2 * job->count + m], s->constant[i], 0.5);
        if (!s->constant[i] && bound < 1) check_compare(r, m, found, s->spread[i], bound * s->spread[i]);
    }
}

static spmm_status check_deviations(const sp_series_job *job, sp_series_record *r)
{
    const int64_t count = job->x.count;
    sp_spread *spread = NULL;
    double *mine = NULL, *all = NULL;
    spmm_status status = sp_alloc((void **)&spread, count, sizeof *spread, "deviations");
    if (status == SPMM_OK) status = sp_alloc((void **)&mine, 3 * count, sizeof *mine, "deviations");
    if (status == SPMM_OK) status = sp_alloc((void **)&all, 3 * job->count, sizeof *all, "deviations");
    if (status == SPMM_OK)
        status = sp_series_download(job->place.binding.device, spread, job->spread,
                                    count * (int64_t)sizeof *spread);
    TRY_GOTO(sp_agree(job->place.grid.comm, "check", status), done);
    for (int64_t m = 0; m < count; m++) {
        mine[m] = spread[m].deviation;
        mine[count + m] = spread[m].exponent;
        mine[2 * count + m] = spread[m].constant;
    }
    for (int i = 0; i < 3; i++) TRY_GOTO(gather_numbers(job, mine + i * count, all + i * job->count), done);
    if (sp_is_root(&job->place)) compare_deviations(job, all, r);
done:
    sp_free(spread);
    sp_free(mine);
    sp_free(all);
    return status;
}

spmm_status sp_series_check(const sp_series_job *job, sp_step step, sp_series_record *record)
{
    if (job->sample.count == 0) return SPMM_OK;
    switch (step) {
    case SP_GENERATE: return check_values(job, record);
    case SP_MEAN: return check_reduced(job, record);
    case SP_DEVIATION: return check_deviations(job, record);
    case SP_PEARSON:
    case SP_STEPS:
    case SP_ARRAY_SUM: break;
    }
    return SPMM_OK;
}

/** Computes the reference coefficient of the sampled series i and j in long double. */
static double coefficient(const sp_series_sample *s, int64_t i, int64_t j, int64_t length)
{
    long double sum = 0, squares_i = 0, squares_j = 0;
    long double mean_i = 0, mean_j = 0;
    const spmm_multivector *const v = &s->series.v;
    for (int64_t k = 0; k < length; k++) {
        mean_i += sp_multivector_get(v, i, k);
        mean_j += sp_multivector_get(v, j, k);
    }
    mean_i /= length;
    mean_j /= length;
    for (int64_t k = 0; k < length; k++) {
        const long double a = sp_multivector_get(v, i, k) - mean_i, b = sp_multivector_get(v, j, k) - mean_j;
        sum += a * b;
        squares_i += a * a;
        squares_j += b * b;
    }
    return (double)(sum / (sqrtl(squares_i) * sqrtl(squares_j)));
}

void sp_series_check_pearson(const sp_series_job *job, const spmm_multivector *coefficients,
                             sp_series_record *r)
{
    const sp_series_sample *const s = &job->sample;
    const double gamma = gamma_of((double)job->length + 16, job->options.precision);
    r->check.done = 1; /* set even if there is only one sampled series, and so no pair to check */
#pragma omp parallel for schedule(dynamic) num_threads(job->place.binding.threads)
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = i + 1; j < s->count; j++) {
            const int none = s->constant[i] || s->constant[j];
            const double a = center_error(job, i), b = center_error(job, j),
                         found = sp_multivector_get(coefficients, i, j),
                         expected = none ? 0 : coefficient(s, i, j, job->length),
                         bound = none ? 0 : 2 * (2 * gamma + a * b + a * a + b * b);
#pragma omp critical
            check_compare(r, s->number[i], found, expected, bound);
        }
}
