/** The job of --sum: one array is cut between the ranks, and summed by each strategy. The strategies are
 *  compared with each other, with the sequential sum and with the cost model. */
#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "cli/message_times.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"
#include "series_mpi/sum_of_array.h"

/* Without --repeat, a sum over all ranks is timed REPEAT times, or as often as fits into LONG_SECONDS, but at
 * least LEAST_REPEAT times. It is not timed in batches, because in a batch a rank may send before rank 0 is
 * ready to receive, which hides the time of its messages. The local sum of a rank is timed in TRIALS batches
 * of at most MOST_BATCH sums, each of SHORT_SECONDS. */
enum { REPEAT = 100, LEAST_REPEAT = 3, LONG_SECONDS = 10, TRIALS = 9, MOST_BATCH = 1000 };
static const double SHORT_SECONDS = 1e-3;

/** State of the job in addition to sp_series_job. */
typedef struct sums {
    sp_series_job *job;
    sp_grid line; /* all ranks in one row */
    sp_array_sum array;
    double com, calc; /* seconds of a message with one number, and of an addition */
    /* the members below are filled in on rank 0 only */
    sp_series all;     /* the array as one series, in host memory */
    long double exact; /* its sum in long double */
    double absolute;   /* the sum of the absolute values */
    double sequential; /* seconds of the sequential program */
    double value[SP_SERIES_SUMS];
} sums;

/* ---- the array ---- */

/** Turns series, in host memory, into one series: their values one after the other. */
static spmm_status join(sp_series *all)
{
    sp_series one = {0};
    if (all->count == 1) return SPMM_OK;
    const int64_t bytes = all->length * sp_value_size(all->v.precision);
    TRY(sp_series_create(1, all->count * all->length, 0, SP_SERIES_MAJOR, all->v.precision, SPMM_CPU, &one));
    for (int64_t m = 0; m < all->count; m++)
        memcpy((char *)one.v.data + m * bytes, sp_row(&all->v, m), (size_t)bytes);
    spmm_multivector_destroy(&all->v);
    *all = one;
    return SPMM_OK;
}

/** Reads the array, or generates it, on rank 0. */
static spmm_status sums_make(const sp_series_options *o, int threads, sp_series *all)
{
    if (o->file) {
        TRY(sp_series_read(o, threads, all));
        return join(all);
    }
    if (o->series > INT64_MAX / 16 / o->length)
        return sp_fail(SPMM_ERR_LIMIT, "--sum: the number of values of %lld series of %lld exceeds 64 bits",
                       (long long)o->series, (long long)o->length);
    TRY(sp_series_create(o->series, o->length, 0, SP_SERIES_MAJOR, o->precision, SPMM_CPU, all));
    const sp_series_launch l = {.x = all, .walk = &o->walk, .threads = threads};
    TRY(sp_series_default(SP_GENERATE, SPMM_CPU, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l));
    return join(all);
}

/** Makes the array and sends each rank its part. Collective. */
static spmm_status sums_load(sums *s)
{
    sp_series_job *const job = s->job;
    const sp_grid *const grid = &job->place.grid;
    const spmm_device device = job->place.binding.device;
    spmm_status status = SPMM_OK;
    if (grid->rank == 0) status = sums_make(&job->options, job->place.binding.threads, &s->all);
    TRY(sp_agree(grid->comm, "series", status));
    job->count = 1;
    job->length = s->all.length;
    TRY(sp_bcast(grid->comm, 0, &job->length, sizeof job->length));
    TRY(sp_series_cut(grid, job->length, &job->ranges));
    TRY(sp_array_scatter(grid, &job->ranges, s->all.v.data, job->options.precision, device, &job->x));
    return sp_agree(grid->comm, "series", sp_series_alloc(device, 8, "a sum", (void **)&job->mean));
}

/* ---- references of the sums ---- */

/** Measures the seconds of a local sum, as the median of a few timings; short sums are timed in batches. */
static spmm_status time_part(const sp_array_sum *a, double *sum, double *median)
{
    double seconds[TRIALS], start = MPI_Wtime();
    TRY(sp_array_part_sum(a, sum));
    const double once = MPI_Wtime() - start;
    const int batch = once >= SHORT_SECONDS               ? 1
                      : once * MOST_BATCH < SHORT_SECONDS ? MOST_BATCH
                                                          : (int)ceil(SHORT_SECONDS / once);
    const int trials = once * TRIALS < LONG_SECONDS ? TRIALS : 1;
    for (int i = 0; i < trials; i++) {
        start = MPI_Wtime();
        for (int n = 0; n < batch; n++) TRY(sp_array_part_sum(a, sum));
        seconds[i] = (MPI_Wtime() - start) / batch;
    }
    *median = sp_stats_of(seconds, trials).median;
    return SPMM_OK;
}

static spmm_status beyond_range(const sums *s)
{
    return sp_fail(SPMM_ERR_LIMIT, "the sum, or a value, is beyond the range of %s",
                   sp_precision_word(s->job->options.precision));
}

/** Runs the sequential program, and sums in long double. */
static spmm_status sum_sequentially(sums *s)
{
    double sum;
    const sp_array_sum whole = {
        .kernel = sp_series_find("cpu_sum_serial"),
        .launch = {.x = &s->all, .divisor = 1, .mean = &sum, .threads = 1},
    };
    TRY(time_part(&whole, &sum, &s->sequential));
    for (int64_t i = 0; i < s->all.length; i++) {
        const double value = sp_multivector_get(&s->all.v, 0, i);
        s->exact += value;
        s->absolute += fabs(value);
    }
    return isfinite(sum) ? SPMM_OK : beyond_range(s);
}

/** Measures T_calc: the seconds per addition of the kernel on rank 0's part. */
static spmm_status probe_additions(sums *s)
{
    const int64_t additions = s->job->ranges.row_begin[1] - s->job->ranges.row_begin[0] - 1;
    double sum, seconds;
    if (additions < 1) return SPMM_OK;
    TRY(time_part(&s->array, &sum, &seconds));
    s->calc = seconds / (double)additions;
    return SPMM_OK;
}

/** Measures the references with which the sums are compared. While rank 0 computes, the others wait.
 *  Collective. */
static spmm_status probe(sums *s)
{
    MPI_Comm comm = s->line.comm;
    sp_message_times messages;
    double rates[2];
    spmm_status status = SPMM_OK;
    if (s->line.rank == 0) status = sum_sequentially(s);
    TRY(sp_agree(comm, "step", status));
    TRY(sp_agree(comm, "step", s->line.rank == 0 ? probe_additions(s) : SPMM_OK));
    TRY(sp_time_messages(&s->line, &messages));
    rates[0] = messages.latency;
    rates[1] = s->calc;
    TRY(sp_bcast(comm, 0, rates, sizeof rates));
    s->com = rates[0];
    s->calc = rates[1];
    return SPMM_OK;
}

/* ---- timing a strategy ---- */

/** Measures the seconds of one sum on the slowest rank. With `whole` 0, measures only the addition of the
 *  ranks' sums. Collective. */
static spmm_status time_sum(const sums *s, int whole, double *sum, double *seconds)
{
    spmm_status status = SPMM_OK;
    *sum = 0;
    TRY(SP_MPI(MPI_Barrier(s->line.comm)));
    const double start = MPI_Wtime();
    if (whole) status = sp_array_part_sum(&s->array, sum);
    status = sp_array_combine(&s->array, status, sum);
    *seconds = MPI_Wtime() - start;
    TRY(sp_agree(s->line.comm, "step", status));
    return sp_slowest(s->line.comm, seconds, 1);
}

/** Times sums by the strategy of s->array, then the additions of the ranks' sums alone. Collective.
 *  \param [out] sum  sum of the array if sp_array_has_sum() is 1, else undefined */
static spmm_status time_strategy(const sums *s, double *sum, sp_series_record *r)
{
    const sp_series_options *const o = &s->job->options;
    double once, unused, *seconds = NULL;
    TRY(time_sum(s, 1, sum, &once)); /* this first run also serves as a warm-up */
    for (int i = 0; i < o->warmup; i++) TRY(time_sum(s, 1, sum, &once));
    r->run.batch = 1;
    r->run.repeat = o->repeat                       ? o->repeat
                    : once * REPEAT <= LONG_SECONDS ? REPEAT
                                                    : (int)(LONG_SECONDS / once);
    if (!o->repeat && r->run.repeat < LEAST_REPEAT) r->run.repeat = LEAST_REPEAT;
    spmm_status status = sp_alloc((void **)&seconds, r->run.repeat, sizeof *seconds, "times");
    TRY(sp_agree(s->line.comm, "step", status));
    for (int i = 0; i < r->run.repeat && status == SPMM_OK; i++)
        status = time_sum(s, 0, &unused, &seconds[i]);
    r->sum.combine = sp_stats_of(seconds, status == SPMM_OK ? r->run.repeat : 0).median;
    for (int i = 0; i < r->run.repeat && status == SPMM_OK; i++) status = time_sum(s, 1, sum, &seconds[i]);
    r->seconds = sp_stats_of(seconds, status == SPMM_OK ? r->run.repeat : 0);
    sp_free(seconds);
    return status;
}

/* ---- checking ---- */

/** Returns the bound on the difference between a sum of n successive additions and the reference. */
static double bound_of(const sums *s, double n)
{
    const double nu = n * sp_type_of(s->job->options.precision).unit;
    /* If gamma_n is large or undefined, n u bounds the error, too (Jeannerod and Rump 2013). 2 n u is used,
       which equals gamma_n at n u = 0.5. */
    return (nu < 0.5 ? nu / (1 - nu) : 2 * nu) * s->absolute;
}

/** Compares the sum of each rank that has one with the reference, and bit for bit with the sum of rank 0. */
static void sums_compare(const sums *s, spmm_reduce method, const double *of_rank, sp_series_record *r)
{
    const int ranks = s->line.size;
    const double additions = (double)s->job->ranges.row_begin[1] + sp_reduce_steps(method, ranks);
    const double bound = bound_of(s, additions);
    r->check.done = 1;
    r->check.expected = (double)s->exact;
    for (int rank = 0; rank < ranks && sp_array_has_sum(method, rank); rank++) {
        const double error = (double)fabsl(of_rank[rank] - s->exact);
        const int right = error <= bound && memcmp(&of_rank[rank], &of_rank[0], sizeof *of_rank) == 0;
        r->check.checked++;
        if (bound > 0 && error / bound > r->check.worst) r->check.worst = error / bound;
        if (right || r->check.wrong++ > 0) continue;
        r->check.row = rank;
        r->check.found = of_rank[rank];
    }
}

/** Collects the ranks' sums, and checks them. Collective. */
static spmm_status sums_check(sums *s, spmm_reduce method, double sum, sp_series_record *r)
{
    double *of_rank = NULL;
    if (sp_fault("step", s->line.rank) == SP_FAULT_WRONG)
        sum = 12345.678; /* a test requests this to see that the check finds it */
    spmm_status status = SPMM_OK;
    if (s->line.rank == 0) status = sp_alloc((void **)&of_rank, s->line.size, sizeof *of_rank, "sums");
    TRY_GOTO(sp_agree(s->line.comm, "check", status), done);
    TRY_GOTO(sp_collect(s->line.comm, &sum, sizeof sum, of_rank), done);
    if (s->line.rank == 0 && !isfinite(sum)) status = beyond_range(s);
    r->sum.value = sum;
    if (s->line.rank == 0 && s->job->options.verify != SP_VERIFY_NONE) sums_compare(s, method, of_rank, r);
    status = sp_agree(s->line.comm, "check", status);
done:
    sp_free(of_rank);
    return status;
}

/* ---- report ---- */

static void head(const sums *s, const sp_series_record *r)
{
    const char *const kernel = s->array.kernel->id;
    printf("series_mpi %s: the sum of one array by %d rank%s\n", SPMM_VERSION, r->run.ranks,
           r->run.ranks == 1 ? "" : "s");
    printf("numbers    %lld, %s, %s; rank 0 has %lld of them, and the last rank %lld\n",
           (long long)r->series.length, SHOWN_WHOLE(r->series.source), r->run.precision,
           (long long)s->job->ranges.row_begin[1],
           (long long)(r->series.length - s->job->ranges.row_begin[r->run.ranks - 1]));
    sp_binding_print(stdout, r->run.binding);
    printf("T_S        %.4g ms, the sequential sum\n", 1e3 * s->sequential);
    printf("T_calc     %.3g s, an addition of %s on rank 0's part\n", s->calc, kernel);
    printf("T_com      %.3g s, a message with one number\n", s->com);
    printf("model      T = (N / p - 1) T_calc + steps (T_com + T_calc), S = (N - 1) T_calc / T, E = S / p\n");
    printf("\n%-10s %5s %11s %21s %9s %9s %12s %11s %9s %9s %11s  %s\n", "strategy", "steps", "T ms",
           "mean +- deviation", "S", "E", "ranks' sums", "model T", "model S", "model E", "T / model",
           "check");
}

static void row(const sums *s, const sp_series_record *r)
{
    char spread[48];
    const double t = r->seconds.median, model = r->sum.model, speedup = s->sequential / t,
                 modeled = r->flops * s->calc / model, p = s->line.size;
    snprintf(spread, sizeof spread, "%.4g +- %.2g", 1e3 * r->seconds.mean, 1e3 * r->seconds.stddev);
    printf("%-10s %5d %11.4g %21s %9.4g %9.4g %12.4g %11.4g %9.4g %9.4g %11.4g  ", r->sum.reduce,
           r->sum.steps, 1e3 * t, spread, speedup, speedup / p, 1e3 * r->sum.combine, 1e3 * model, modeled,
           modeled / p, t / model);
    if (!r->check.done)
        printf("not checked\n");
    else if (r->check.wrong == 0)
        printf("ok\n");
    else
        printf("%lld of %lld wrong, rank %lld: %.9g instead of %.9g\n", (long long)r->check.wrong,
               (long long)r->check.checked, (long long)r->check.row, r->check.found, r->check.expected);
    fflush(stdout);
}

static void results(const sums *s)
{
    const sp_series_options *const o = &s->job->options;
    printf("\n");
    for (int i = 0; i < o->sums; i++)
        printf("Sum of array is %.*g, by %s, on %s\n", sp_type_of(o->precision).digits, s->value[i],
               sp_reduce_word(o->sum[i]), sp_reduce_everywhere(o->sum[i]) ? "every rank" : "rank 0");
}

/** Prints the sum of each rank's part. Collective. */
static spmm_status print_parts(const sums *s)
{
    const int digits = sp_type_of(s->job->options.precision).digits;
    double part = 0, *of_rank = NULL;
    spmm_status status = sp_array_part_sum(&s->array, &part);
    if (status == SPMM_OK && s->line.rank == 0)
        status = sp_alloc((void **)&of_rank, s->line.size, sizeof *of_rank, "sums");
    TRY_GOTO(sp_agree(s->line.comm, "step", status), done);
    TRY_GOTO(sp_collect(s->line.comm, &part, sizeof part, of_rank), done);
    for (int r = 0; r < s->line.size && s->line.rank == 0; r++)
        printf("%s %d: partial sum %.*g\n", r == 0 ? "\nrank" : "rank", r, digits, of_rank[r]);
done:
    sp_free(of_rank);
    return status;
}

/* ---- the job ---- */

/** Runs, times, checks and reports strategy number i. Collective. */
static spmm_status sums_run(sums *s, int i, const sp_series_record *common, int *failed)
{
    const sp_series_job *const job = s->job;
    const spmm_reduce method = job->options.sum[i];
    const double n = (double)job->length;
    sp_series_record r = *common;
    double sum;
    r.sum.reduce = sp_reduce_word(method);
    r.sum.steps = sp_reduce_steps(method, s->line.size);
    r.sum.calc = s->calc;
    r.sum.com = s->com;
    r.sum.model = sp_array_model(method, job->length, s->line.size, s->calc, s->com);
    r.bytes = n * (double)sp_value_size(job->options.precision);
    r.flops = n - 1;
    TRY(sp_array_reduction(&s->line, job->options.precision, method, &s->array.reduction));
    spmm_status status = time_strategy(s, &sum, &r);
    sp_reduction_destroy(s->array.reduction);
    s->array.reduction = NULL;
    TRY(status);
    TRY(sums_check(s, method, sum, &r));
    *failed += r.check.wrong > 0;
    s->value[i] = r.sum.value;
    if (s->line.rank == 0 && job->options.verbosity >= 0) row(s, &r);
    if (s->line.rank == 0) status = sp_series_report_files(&job->options, &r);
    return sp_agree(s->line.comm, "report", status);
}

/** Chooses the kernel that sums a part: the kernel that --kernel names, if any. Otherwise, on a CPU, it is
 *  the sequential program's kernel, so that the speed-up is due to the cut between ranks alone; on a GPU, it
 *  is the default kernel. */
static const sp_series_kernel *kernel_of(const sp_series_job *job)
{
    if (job->options.kernels > 0) return job->options.kernel[0];
    return job->place.binding.device == SPMM_CPU
               ? sp_series_find("cpu_sum_serial")
               : sp_series_default(SP_MEAN, SPMM_CUDA, SP_SERIES_MAJOR, SP_SUM);
}

static spmm_status sums_prepare(sums *s)
{
    sp_series_job *const job = s->job;
    const sp_series_kernel *const kernel = kernel_of(job);
    sp_series_launch l = {.x = &job->x,
                          .divisor = 1,
                          .op = SP_SUM,
                          .mean = job->mean,
                          .threads = job->place.binding.threads,
                          .block = job->options.block,
                          .parts = job->options.parts[0]};
    TRY(sp_series_give_work(kernel, &l, &job->work));
    l.work = job->work;
    s->array.kernel = kernel;
    s->array.launch = l;
    return SPMM_OK;
}

static spmm_status sums_work(sums *s)
{
    sp_series_job *const job = s->job;
    sp_series_record common = {
        .step = SP_ARRAY_SUM, .measured = 1, .check = {.row = -1}, .pearson = {.transport = "none"}};
    int failed = 0;
    TRY(sp_grid_create(job->place.grid.comm, 1, job->place.grid.size, &s->line));
    const double start = MPI_Wtime();
    TRY(sums_load(s));
    common.series.read_seconds = MPI_Wtime() - start;
    TRY(sp_series_describe(job, &common));
    TRY(sp_agree(s->line.comm, "step", sums_prepare(s)));
    TRY(probe(s));
    common.kernel = s->array.kernel->id;
    common.sequential = s->sequential;
    if (job->place.verbosity >= 0) head(s, &common);
    for (int i = 0; i < job->options.sums; i++) TRY(sums_run(s, i, &common, &failed));
    if (job->options.verbosity > 0) TRY(print_parts(s)); /* the option is the same on all ranks */
    if (job->place.verbosity >= 0) results(s);
    return sp_program_verdict(&job->place, job->options.verify, failed,
                              "sums differ from the sequential program's");
}

spmm_status sp_series_sums(sp_series_job *job)
{
    sums s = {.job = job};
    const spmm_status status = sums_work(&s);
    spmm_multivector_destroy(&s.all.v);
    sp_grid_destroy(&s.line);
    return status;
}
