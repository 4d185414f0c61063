/** Runs, times, checks and reports the steps of series_mpi: generation, means, deviations, coefficients. */
#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "cli/copy_bandwidth.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

/* Without --repeat, a step is timed REPEAT times. If REPEAT runs would take more than LONG_SECONDS, the step
 * is timed less often, but at least LEAST_REPEAT times. At most MOST_BATCH runs are timed together. */
enum { REPEAT = 10, LEAST_REPEAT = 3, LONG_SECONDS = 10, MOST_BATCH = 1000 };
/* A run that is shorter than SHORT_SECONDS is timed in a batch of up to MOST_BATCH runs. */
static const double SHORT_SECONDS = 1e-3;

/* ---- running and timing a task ---- */

/** The object of a timing: a kernel of a step if `pearson` is NULL; else a pass that computes
 *  coefficients. */
typedef struct task {
    sp_series_job *job;
    const sp_series_kernel *kernel;
    sp_pearson *pearson;
    int parts;                        /* blocks per series of a kernel that divides series */
    double seconds[SP_PEARSON_PARTS]; /* of the parts of the last pass */
} task;

static sp_series_launch launch_of(const task *t)
{
    sp_series_job *const job = t->job;
    sp_series *const x = t->kernel->step == SP_DEVIATION && job->rows.length ? &job->rows : &job->x;
    return (sp_series_launch){.x = x,
                              .walk = &job->options.walk,
                              .divisor = (double)job->length,
                              .op = job->options.op,
                              .mean = job->mean,
                              .spread = job->spread,
                              .work = job->work,
                              .threads = job->place.binding.threads,
                              .block = job->options.block,
                              .parts = t->parts};
}

/** Runs a task `batch` times. Complete on return. Collective if the task is a pass that computes
 *  coefficients, else local. */
static spmm_status run_batch(task *t, int batch)
{
    const sp_series_launch l = launch_of(t);
    for (int i = 0; i < batch; i++) {
        if (t->pearson) TRY(sp_pearson_pass(t->pearson, t->job->spread, t->seconds));
        if (!t->pearson) TRY(t->kernel->ops->run(&l));
    }
    return t->job->place.binding.device == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

/** Measures the seconds per run, from the ranks' common start until the last rank is done. Collective. */
static spmm_status time_batch(task *t, int batch, double *seconds)
{
    MPI_Comm comm = t->job->place.grid.comm;
    TRY(SP_MPI(MPI_Barrier(comm)));
    const double start = MPI_Wtime();
    const spmm_status status = run_batch(t, batch);
    *seconds = (MPI_Wtime() - start) / batch;
    TRY(sp_agree(comm, "step", status));
    return sp_slowest(comm, seconds, 1);
}

/** Chooses the number of timings (r->run.repeat) and of runs per timing (r->run.batch). `once` is the time of
 *  one run in seconds. */
static void plan_runs(const sp_series_options *o, double once, sp_series_record *r)
{
    r->run.batch = once >= SHORT_SECONDS               ? 1
                   : once * MOST_BATCH < SHORT_SECONDS ? MOST_BATCH
                                                       : (int)ceil(SHORT_SECONDS / once);
    r->run.repeat = o->repeat;
    if (o->repeat) return;
    r->run.repeat = once * REPEAT <= LONG_SECONDS ? REPEAT : (int)(LONG_SECONDS / once);
    if (r->run.repeat < LEAST_REPEAT) r->run.repeat = LEAST_REPEAT;
}

static spmm_status time_task(task *t, sp_series_record *r)
{
    const sp_series_options *const o = &t->job->options;
    double once, *seconds = NULL;
    TRY(time_batch(t, 1, &once)); /* this first run also serves as a warm-up */
    if (o->warmup > 0) TRY(time_batch(t, 1, &once));
    for (int i = 1; i < o->warmup; i++) TRY(time_batch(t, 1, &once));
    plan_runs(o, once, r);
    if (t->pearson) r->run.batch = 1;
    const int n = r->run.repeat;
    spmm_status status = sp_alloc((void **)&seconds, (1 + SP_PEARSON_PARTS) * (int64_t)n, sizeof *seconds,
                                  "times");
    TRY(sp_agree(t->job->place.grid.comm, "step", status));
    double *const part = seconds + n; /* [SP_PEARSON_PARTS x n] */
    for (int i = 0; i < n && status == SPMM_OK; i++) {
        status = time_batch(t, r->run.batch, &seconds[i]);
        for (int p = 0; p < SP_PEARSON_PARTS; p++) part[p * n + i] = t->seconds[p];
    }
    if (status == SPMM_OK) status = sp_slowest(t->job->place.grid.comm, part, SP_PEARSON_PARTS * n);
    r->seconds = sp_stats_of(seconds, n);
    for (int p = 0; p < SP_PEARSON_PARTS; p++) r->pearson.seconds[p] = sp_stats_of(part + p * n, n).median;
    sp_free(seconds);
    return status;
}

/* ---- lower bound of a step's memory traffic, and its number of operations ---- */

/** Returns the operations of an operator per value. For SP_MATRIX they are integer operations; a comparison
 *  counts as one operation. */
static double operations_of(sp_operator op) { return op == SP_MATRIX ? 12 : op == SP_DOT ? 2 : 1; }

static void note_work(const sp_series_job *job, sp_series_record *r)
{
    const double m = (double)job->count, n = (double)job->length,
                 s = (double)sp_value_size(job->options.precision);
    const double pairs = m * (m - 1) / 2;
    switch (r->step) {
    case SP_GENERATE: /* 1 multiplication and 1 fma per value; integer operations are not counted */
        r->bytes = s * m * n;
        r->flops = 3 * m * n;
        break;
    case SP_MEAN:
        r->bytes = s * m * n + 8 * sp_operator_width(job->options.op) * m;
        r->flops = operations_of(job->options.op) * m * n;
        break;
    case SP_DEVIATION: /* per value: 2 operations to sum x - mean, then 4 to center, scale, square and sum */
        r->bytes = s * m * n + (8 + sizeof(sp_spread)) * m;
        r->flops = 6 * m * n;
        break;
    case SP_PEARSON: /* bytes: reads x; writes and reads the centered copy z and the coefficients */
        r->bytes = 3 * s * m * n + 2 * s * pairs;
        r->flops = 2 * m * n + pairs * (2 * n + 2);
        break;
    case SP_STEPS:
    case SP_ARRAY_SUM: break;
    }
}

/* ---- running, checking and reporting one kernel ---- */

spmm_status sp_series_describe(const sp_series_job *job, sp_series_record *r)
{
    const sp_series_options *const o = &job->options;
    const sp_place *const place = &job->place;
    TRY(sp_copy_bandwidth(&place->grid, &place->binding, &r->copy_bandwidth));
    TRY(sp_sum(place->grid.comm, &r->copy_bandwidth, 1));
    r->series.source = o->file ? o->file : "generated";
    r->series.count = job->count;
    r->series.length = job->length;
    r->series.start = o->file ? NAN : o->walk.start;
    r->series.epsilon = o->file ? NAN : o->walk.epsilon;
    r->series.seed = o->file ? 0 : (int64_t)o->walk.seed;
    r->series.layout = sp_series_order_word(o->layout);
    r->run.memory = sp_series_memory_word(o->memory);
    r->run.ranks = place->grid.size;
    r->run.binding = &place->binding;
    r->run.warmup = o->warmup;
    r->run.block = o->block;
    r->run.op = o->op;
    r->run.precision = sp_precision_word(o->precision);
    r->run.verify = sp_verify_words[o->verify];
    return SPMM_OK;
}

static sp_series_record record_of(const sp_series_job *job, const sp_series_record *common,
                                  const sp_series_kernel *k)
{
    sp_series_record r = *common;
    r.step = k->step;
    r.kernel = k->id;
    r.sequential = job->sample.seconds[k->step];
    r.measured = job->sample.share[k->step];
    r.check.row = -1;
    r.pearson.transport = "none";
    note_work(job, &r);
    return r;
}

static spmm_status report(sp_series_job *job, sp_series_record *r)
{
    spmm_status status = SPMM_OK;
    if (sp_is_root(&job->place)) {
        status = sp_series_table_add(&job->table, r);
        if (status == SPMM_OK) status = sp_series_report_files(&job->options, r);
    }
    return sp_agree(job->place.grid.comm, "report", status);
}

/** Overwrites the first result of a step with a wrong value if sp_fault() requests this. Tests use this to
 *  verify that the check of results detects errors. */
static spmm_status poison(const sp_series_job *job, sp_step step)
{
    static const double wrong = 12345.678;
    void *const at = step == SP_GENERATE ? job->x.v.data
                     : step == SP_MEAN   ? (void *)job->mean
                                         : (void *)&job->spread->deviation;
    const int64_t bytes = step == SP_GENERATE ? sp_value_size(job->options.precision) : 8;
    if (sp_fault("step", job->place.grid.rank) != SP_FAULT_WRONG || job->x.count == 0) return SPMM_OK;
    if (job->place.binding.device == SPMM_CUDA) return sp_device_upload(at, &wrong, bytes);
    memcpy(at, &wrong, (size_t)bytes);
    return SPMM_OK;
}

/** Runs kernel k and fills in *r. With `measured` 0, runs it once for its result only: it is not timed,
 *  checked or reported. Collective. */
static spmm_status run_kernel(sp_series_job *job, const sp_series_kernel *k, int measured,
                              sp_series_record *r)
{
    task t = {.job = job, .kernel = k, .parts = r->run.parts};
    double once;
    const sp_series_launch l = launch_of(&t);
    TRY(sp_agree(job->place.grid.comm, "step", sp_series_give_work(k, &l, &job->work)));
    if (!measured) return time_batch(&t, 1, &once);
    TRY(time_task(&t, r));
    TRY(sp_agree(job->place.grid.comm, "step", poison(job, k->step)));
    TRY(sp_series_check(job, k->step, r));
    return report(job, r);
}

/** Times passes that compute coefficients with kernel k, then runs one more pass that collects the results to
 *  report. Fills in *r. Collective. \param [in] last  1: k is the last kernel of the step */
static spmm_status run_pearson(sp_series_job *job, const sp_series_kernel *k, int last, sp_series_record *r)
{
    task t = {.job = job, .kernel = k};
    sp_pearson_result result = {0};
    int64_t *numbers = NULL;
    spmm_status status;
    TRY(sp_pearson_create(&job->place.grid, job->rows.length ? &job->rows : &job->x, job->begin, k,
                          job->place.binding.threads, &t.pearson));
    TRY_GOTO(time_task(&t, r), done);
    r->pearson.transport = sp_pearson_transport(t.pearson);
    r->pearson.received_bytes = (double)sp_pearson_received(t.pearson);
    TRY_GOTO(sp_slowest(job->place.grid.comm, &r->pearson.received_bytes, 1), done);
    sp_pearson_wanted wanted = {job->sample.count, job->sample.number, job->options.top};
    if (job->options.output && job->sample.count < job->count) {
        status = sp_alloc((void **)&numbers, job->count, sizeof *numbers, "numbers of series");
        TRY_GOTO(sp_agree(job->place.grid.comm, "pearson", status), done);
        for (int64_t m = 0; m < job->count; m++) numbers[m] = m;
        wanted.count = job->count;
        wanted.series = numbers;
    }
    TRY_GOTO(sp_pearson_collect(t.pearson, job->spread, &wanted, &result), done);
    status = sp_series_finish_pearson(job, r, &result, numbers != NULL, last);
done:
    sp_free(numbers);
    sp_pearson_result_destroy(&result);
    sp_pearson_destroy(t.pearson);
    return status;
}

/* ---- choosing and running the kernels of a step ---- */

/** Returns kernel number `which` (from 0) of the kernels to run for a step; NULL after the last kernel.
 *  The kernels to run are those that --kernel names for this step. If it names none, they are all usable
 *  kernels with --kernel all, and otherwise only the default kernel. */
static const sp_series_kernel *pick(const sp_series_job *job, sp_step step, int which)
{
    const sp_series_options *const o = &job->options;
    const sp_series_order layout = step == SP_MEAN || step == SP_GENERATE ? o->layout : SP_SERIES_MAJOR;
    int count, named = 0, seen = 0;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    for (int i = 0; i < o->kernels; i++)
        if (o->kernel[i]->step == step && named++ == which) return o->kernel[i];
    if (named) return NULL;
    if (!o->all_kernels)
        return which == 0 ? sp_series_default(step, job->place.binding.device, layout, o->op) : NULL;
    for (int i = 0; i < count; i++)
        if (k[i].step == step && k[i].device == job->place.binding.device && !k[i].ops->missing &&
            (k[i].layout == SP_ANY_LAYOUT || k[i].layout == layout) && sp_series_offers(&k[i], o->op) &&
            seen++ == which)
            return &k[i];
    return NULL;
}

static spmm_status no_kernel(const sp_series_job *job, sp_step step)
{
    int count;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    for (int i = 0; i < count; i++)
        if (k[i].step == step && k[i].device == job->place.binding.device && k[i].ops->missing)
            return sp_fail(SPMM_ERR_NO_DEVICE,
                           "step %s: kernel %s: %s: omit the step, or choose another --device",
                           sp_step_word(step), k[i].id, k[i].ops->missing);
    return sp_fail(SPMM_ERR_INTERNAL, "step %s has no kernel here", sp_step_word(step));
}

/** Fails if a mean, or another result of step SP_MEAN, is not finite: a value or a sum then exceeds the range
 *  of the precision. If a result has several components, checks only the first one. Products and matrices
 *  have several components, and cannot overflow. */
static spmm_status check_finite(const sp_series_job *job)
{
    const int64_t count = job->x.count;
    double *mean;
    TRY(sp_alloc((void **)&mean, count, sizeof *mean, "means"));
    spmm_status status = sp_series_download(job->place.binding.device, mean, job->mean, count * 8);
    for (int64_t m = 0; m < count && status == SPMM_OK; m++)
        if (!isfinite(mean[m]))
            status = sp_fail(SPMM_ERR_LIMIT, "series %lld: its sum, or a value, is beyond the range of %s",
                             (long long)job->x.first + m, sp_precision_word(job->options.precision));
    sp_free(mean);
    return status;
}

/** If job->x is index-major, makes job->rows, the series-major copy that deviations and coefficients need. */
static spmm_status turn(sp_series_job *job)
{
    if (job->x.layout == SP_SERIES_MAJOR || job->rows.length) return SPMM_OK;
    TRY(sp_series_make(job, job->x.count, job->x.first, SP_SERIES_MAJOR, &job->rows));
    if (job->x.count > 0) TRY(sp_series_transpose(&job->x, &job->rows, job->place.binding.threads));
    return job->place.binding.device == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

static spmm_status run_step(sp_series_job *job, sp_step step, const sp_series_record *common, int *failed)
{
    const int measured = job->options.step[step];
    if (step == SP_DEVIATION || step == SP_PEARSON) TRY(sp_agree(job->place.grid.comm, "step", turn(job)));
    if (!pick(job, step, 0)) return no_kernel(job, step);
    for (int i = 0; i == 0 || measured; i++) {
        const sp_series_kernel *const k = pick(job, step, i);
        if (!k) break;
        for (int p = 0; p == 0 || (k->ops->divides && measured && p < job->options.parts_count); p++) {
            sp_series_record r = record_of(job, common, k);
            r.run.parts = k->ops->divides ? job->options.parts[p] : 0;
            TRY(step == SP_PEARSON ? run_pearson(job, k, !measured || !pick(job, step, i + 1), &r)
                                   : run_kernel(job, k, measured, &r));
            *failed += r.check.wrong > 0;
        }
    }
    return step == SP_MEAN ? sp_agree(job->place.grid.comm, "step", check_finite(job)) : SPMM_OK;
}

spmm_status sp_series_measure(sp_series_job *job, const sp_series_record *record, int *failed)
{
    int last = 0;
    *failed = 0;
    for (int s = 0; s < SP_STEPS; s++)
        if (job->options.step[s]) last = s;
    FILE *const out = job->place.verbosity >= 0 ? stdout : NULL; /* -1 on other ranks */
    if (out) sp_series_table_head(out);
    for (int s = job->options.file ? SP_MEAN : SP_GENERATE; s <= last; s++) {
        const spmm_status status = run_step(job, (sp_step)s, record, failed);
        sp_series_table_end_step(&job->table,
                                 out); /* even after an error, prints the rows of the kernels that ran */
        TRY(status);
    }
    if (last != SP_PEARSON) sp_series_table_total(&job->table, out); /* else finish.c printed it */
    return SPMM_OK;
}
