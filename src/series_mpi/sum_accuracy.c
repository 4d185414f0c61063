/** Makes the table of --accuracy: which fraction of sums and means is exact within given tolerances, by
 *  precision, length of the series and algorithm. */
#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/search.h"
#include "cli/record_writer.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

enum { TIMES = 5, SERIES = 2048, LEAST = 32, MOST = 65536, TOLERANCES = 8 };

/** One row of the table of --accuracy: one kernel, on series of one precision and length. */
typedef struct accuracy_row {
    const sp_series_job *job;
    const char *kernel, *precision;
    int64_t count, length;
    double sums[TOLERANCES], means[TOLERANCES]; /* fraction of the sums (means) with an error up to tolerance
                                                   number t */
    double worst;                               /* largest relative error of a sum */
    double seconds;
} accuracy_row;

/* Kernels that --accuracy compares: first the plain algorithm, then more accurate ones. */
static const char *const of_cpu[] = {"cpu_sum_serial", "cpu_sum", "cpu_sum_pairwise", "cpu_sum_compensated",
                                     NULL};
static const char *const of_cuda[] = {"sum_ordered", "sum_interleaved", "sum_stream", "sum_compensated",
                                      NULL};

static void head(const sp_series_options *o)
{
    printf("series_mpi %s: sums beside their long double reference; from %g on, within %g %%, seed %lld\n",
           SPMM_VERSION, o->walk.start, 100 * o->walk.epsilon, (long long)o->walk.seed);
    printf("\n%-4s %8s %8s  %-20s %11s %9s", "", "M", "N", "kernel", "worst rel.", "ms");
    for (int t = 0; t < o->tolerances; t++) printf("  sums %-7.2g", o->tolerance[t]);
    for (int t = 0; t < o->tolerances; t++) printf(" means %-7.2g", o->tolerance[t]);
    printf("\n");
}

static void visit(sp_writer *s, const void *record)
{
    const accuracy_row *const r = record;
    const sp_series_options *const o = &r->job->options;
    char name[32];
    sp_writer_text(s, "program", "series_mpi --accuracy");
    sp_writer_text(s, "version", SPMM_VERSION);
    sp_writer_text(s, "precision", r->precision);
    sp_writer_text(s, "kernel", r->kernel);
    sp_writer_text(s, "device", sp_device_word(r->job->binding.device));
    sp_writer_int(s, "ranks", r->job->grid.size);
    sp_writer_int(s, "count", r->count);
    sp_writer_int(s, "length", r->length);
    sp_writer_double(s, "epsilon", o->walk.epsilon);
    sp_writer_double(s, "start", o->walk.start);
    sp_writer_double(s, "seconds", r->seconds);
    sp_writer_double(s, "worst_relative", r->worst);
    for (int t = 0; t < o->tolerances; t++) {
        snprintf(name, sizeof name, "sums_within_%g", o->tolerance[t]);
        sp_writer_double(s, name, r->sums[t]);
        snprintf(name, sizeof name, "means_within_%g", o->tolerance[t]);
        sp_writer_double(s, name, r->means[t]);
    }
}

static spmm_status show(const accuracy_row *r)
{
    const sp_series_options *const o = &r->job->options;
    if (o->verbosity >= 0) {
        printf("%-4s %8lld %8lld  %-20s %11.2e %9.4g", r->precision, (long long)r->count,
               (long long)r->length, r->kernel, r->worst, 1e3 * r->seconds);
        for (int t = 0; t < o->tolerances; t++) printf("  %8.2f %%  ", 100 * r->sums[t]);
        for (int t = 0; t < o->tolerances; t++) printf("  %8.2f %%  ", 100 * r->means[t]);
        printf("\n");
        fflush(stdout);
    }
    if (o->json) TRY(sp_writer_json(o->json, visit, r));
    return o->csv ? sp_writer_csv(o->csv, visit, r) : SPMM_OK;
}

/** Counts how many sums and means of this rank have an error within each tolerance, and updates the largest
 *  relative error of a sum. The error of a mean is computed as the error of the sum divided by the length: a
 *  division by the kernel would only add one rounding error. */
static void count_agreeing(const sp_series_options *o, const double *sum, const long double *exact,
                           int64_t count, accuracy_row *r)
{
    for (int64_t m = 0; m < count; m++) {
        const double error = (double)fabsl(sum[m] - exact[m]), size = (double)fabsl(exact[m]);
        if (size > 0 && error / size > r->worst) r->worst = error / size;
        for (int t = 0; t < o->tolerances; t++) {
            r->sums[t] += error <= o->tolerance[t];
            r->means[t] += error / (double)r->length <= o->tolerance[t];
        }
    }
}

/** Runs kernel k on job->x several times and stores the median time in r->seconds. Collective. */
static spmm_status time_kernel(sp_series_job *job, const sp_series_kernel *k, accuracy_row *r)
{
    double seconds[TIMES];
    const sp_series_launch l = {.x = &job->x,
                                .divisor = 1,
                                .mean = job->mean,
                                .work = job->work,
                                .threads = job->binding.threads,
                                .block = job->options.block};
    for (int i = -1; i < TIMES; i++) {
        TRY(SP_MPI(MPI_Barrier(job->grid.comm)));
        const double start = MPI_Wtime();
        spmm_status status = k->ops->run(&l);
        if (status == SPMM_OK && job->binding.device == SPMM_CUDA) status = sp_device_sync();
        TRY(sp_agree(job->grid.comm, "step", status));
        if (i >= 0) seconds[i] = MPI_Wtime() - start;
    }
    TRY(sp_slowest(job->grid.comm, seconds, TIMES));
    r->seconds = sp_stats_of(seconds, TIMES).median;
    return SPMM_OK;
}

static spmm_status measure(sp_series_job *job, const char *kernel, const long double *exact, double *host,
                           accuracy_row *r)
{
    const sp_series_kernel *const k = sp_series_find(kernel);
    r->kernel = kernel;
    r->worst = 0;
    memset(r->sums, 0, sizeof r->sums);
    memset(r->means, 0, sizeof r->means);
    TRY(sp_agree(job->grid.comm, "step", sp_series_give_work(job, k)));
    TRY(time_kernel(job, k, r));
    TRY(sp_agree(job->grid.comm, "step", sp_series_download(job, host, job->mean, job->x.count * 8)));
    count_agreeing(&job->options, host, exact, job->x.count, r);
    TRY(sp_sum(job->grid.comm, r->sums, TOLERANCES));
    TRY(sp_sum(job->grid.comm, r->means, TOLERANCES));
    TRY(sp_slowest(job->grid.comm, &r->worst, 1));
    for (int t = 0; t < TOLERANCES; t++) {
        r->sums[t] /= (double)r->count;
        r->means[t] /= (double)r->count;
    }
    return sp_agree(job->grid.comm, "report", sp_series_root(job) ? show(r) : SPMM_OK);
}

/** Computes the sum of each series in long double, as the reference for the kernels. Sums the stored values,
 *  which are already rounded to the precision of the series. */
static spmm_status refer(const sp_series_job *job, long double *exact)
{
    spmm_multivector host = {0};
    const spmm_multivector *v = &job->x.v;
    if (v->space == SPMM_CUDA) {
        TRY(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host));
        const spmm_status status = spmm_multivector_copy(v, &host);
        v = &host;
        if (status != SPMM_OK) {
            spmm_multivector_destroy(&host);
            return status;
        }
    }
#pragma omp parallel for schedule(static) num_threads(job->binding.threads)
    for (int64_t m = 0; m < v->rows; m++) {
        exact[m] = 0;
        for (int64_t i = 0; i < v->k; i++) exact[m] += sp_multivector_get(v, m, i);
    }
    spmm_multivector_destroy(&host);
    return SPMM_OK;
}

static spmm_status make_series(sp_series_job *job, int64_t count, int64_t length, spmm_precision precision)
{
    const int size = job->grid.size, rank = job->grid.rank;
    const int64_t first = sp_partition_share(count, size, rank),
                  mine = sp_partition_share(count, size, rank + 1) - first;
    TRY(sp_series_create(mine, length, first, SP_SERIES_MAJOR, precision, job->binding.device, &job->x));
    TRY(sp_series_alloc(job, mine * 8, "sums", (void **)&job->mean));
    const sp_series_launch l = {.x = &job->x, .walk = &job->options.walk, .threads = job->binding.threads};
    TRY(sp_series_default(SP_GENERATE, job->binding.device, SP_SERIES_MAJOR)->ops->run(&l));
    return job->binding.device == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

static spmm_status one_case(sp_series_job *job, int64_t count, int64_t length, spmm_precision precision)
{
    const char *const *const names = job->binding.device == SPMM_CUDA ? of_cuda : of_cpu;
    accuracy_row r = {
        .job = job, .precision = sp_precision_word(precision), .count = count, .length = length};
    long double *exact = NULL;
    double *host = NULL;
    spmm_status status = make_series(job, count, length, precision);
    if (status == SPMM_OK) status = sp_alloc((void **)&exact, job->x.count, sizeof *exact, "exact sums");
    if (status == SPMM_OK) status = sp_alloc((void **)&host, job->x.count, sizeof *host, "sums");
    if (status == SPMM_OK) status = refer(job, exact);
    TRY_GOTO(sp_agree(job->grid.comm, "series", status), done);
    for (int i = 0; names[i]; i++) TRY_GOTO(measure(job, names[i], exact, host, &r), done);
done:
    sp_free(exact);
    sp_free(host);
    spmm_multivector_destroy(&job->x.v);
    sp_series_free(job, job->mean);
    job->mean = NULL;
    return status;
}

spmm_status sp_series_accuracy(sp_series_job *job)
{
    const sp_series_options *const o = &job->options;
    const int64_t count = o->series_given ? o->series : SERIES, from = o->length_given ? o->length : LEAST,
                  to = o->length_given ? o->length : MOST;
    if (sp_series_root(job) && o->verbosity >= 0) head(o);
    for (int p = SPMM_F32; p >= SPMM_F64; p--)
        for (int64_t n = from; n <= to; n *= 2) TRY(one_case(job, count, n, (spmm_precision)p));
    return SPMM_OK;
}
