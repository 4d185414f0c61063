/** Makes the table of --accuracy: which fraction of sums and means is exact within given tolerances, by
 *  precision, length of the series and algorithm. */
#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/search.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

enum { TIMES = 5, SERIES = 2048, LEAST = 32, MOST = 65536, TOLERANCES = 8, NAMED = 8 };

/** The series of one precision and length, and one row of the table: the sums of one kernel. */
typedef struct bench {
    const sp_series_options *o;
    const sp_place *place;
    const char *precision;
    int64_t count, length;
    sp_series x;
    double *sum;        /* [x.count] in the same memory as x */
    void *work;         /* workspace of the current kernel, in the same memory as x; NULL: not needed */
    long double *exact; /* [x.count] sums in long double, the reference for the kernels */
    double *host;       /* [x.count] copy of `sum` in host memory */
    const char *kernel;
    /* fraction of the sums (means) with an error up to tolerance number t */
    double sums[TOLERANCES], means[TOLERANCES];
    double worst; /* largest relative error of a sum */
    double seconds;
} bench;

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
    const bench *const b = record;
    const sp_series_options *const o = b->o;
    char name[32];
    sp_writer_text(s, "program", "series_mpi --accuracy");
    sp_writer_text(s, "version", SPMM_VERSION);
    sp_writer_text(s, "precision", b->precision);
    sp_writer_text(s, "kernel", b->kernel);
    sp_writer_text(s, "device", sp_device_word(b->place->binding.device));
    sp_writer_int(s, "ranks", b->place->grid.size);
    sp_writer_int(s, "count", b->count);
    sp_writer_int(s, "length", b->length);
    sp_writer_double(s, "epsilon", o->walk.epsilon);
    sp_writer_double(s, "start", o->walk.start);
    sp_writer_double(s, "seconds", b->seconds);
    sp_writer_double(s, "worst_relative", b->worst);
    for (int t = 0; t < o->tolerances; t++) {
        snprintf(name, sizeof name, "sums_within_%g", o->tolerance[t]);
        sp_writer_double(s, name, b->sums[t]);
        snprintf(name, sizeof name, "means_within_%g", o->tolerance[t]);
        sp_writer_double(s, name, b->means[t]);
    }
    sp_writer_schema(s);
    sp_writer_text(s, "warning", sp_program_warning());
    sp_program_write_measured(s);
}

static spmm_status show(const bench *b)
{
    const sp_series_options *const o = b->o;
    if (o->verbosity >= 0) {
        printf("%-4s %8lld %8lld  %-20s %11.2e %9.4g", b->precision, (long long)b->count,
               (long long)b->length, b->kernel, b->worst, 1e3 * b->seconds);
        for (int t = 0; t < o->tolerances; t++) printf("  %8.2f %%  ", 100 * b->sums[t]);
        for (int t = 0; t < o->tolerances; t++) printf("  %8.2f %%  ", 100 * b->means[t]);
        printf("\n");
        fflush(stdout);
    }
    return sp_writer_files(o->json, o->csv, visit, b);
}

/** Counts how many sums and means of this rank have an error within each tolerance, and updates the largest
 *  relative error of a sum. The error of a mean is computed as the error of the sum divided by the length: a
 *  division by the kernel would only add one rounding error. */
static void count_agreeing(bench *b)
{
    for (int64_t m = 0; m < b->x.count; m++) {
        const double error = (double)fabsl(b->host[m] - b->exact[m]), size = (double)fabsl(b->exact[m]);
        if (size > 0 && error / size > b->worst) b->worst = error / size;
        for (int t = 0; t < b->o->tolerances; t++) {
            b->sums[t] += error <= b->o->tolerance[t];
            b->means[t] += error / (double)b->length <= b->o->tolerance[t];
        }
    }
}

/** Runs kernel k several times and stores the median time in b->seconds. Collective. */
static spmm_status time_kernel(bench *b, const sp_series_kernel *k)
{
    double seconds[TIMES];
    MPI_Comm comm = b->place->grid.comm;
    sp_series_launch l = {
        .x = &b->x, .divisor = 1, .mean = b->sum, .threads = b->place->binding.threads, .block = b->o->block};
    TRY(sp_agree(comm, "step", sp_series_give_work(k, &l, &b->work)));
    l.work = b->work;
    for (int i = -1; i < TIMES; i++) {
        TRY(SP_MPI(MPI_Barrier(comm)));
        const double start = MPI_Wtime();
        spmm_status status = k->ops->run(&l);
        if (status == SPMM_OK && b->x.v.space == SPMM_CUDA) status = sp_device_sync();
        TRY(sp_agree(comm, "step", status));
        if (i >= 0) seconds[i] = MPI_Wtime() - start;
    }
    TRY(sp_slowest(comm, seconds, TIMES));
    b->seconds = sp_stats_of(seconds, TIMES).median;
    return SPMM_OK;
}

/** A series whose sum differs from the reference. Plain data, sent between ranks as bytes. */
typedef struct differing {
    int64_t series; /* global number; -1: there is none */
    double sum, exact;
} differing;

/** Finds the first NAMED series of this rank whose sums have an error beyond the least tolerance. */
static void find_differing(const bench *b, differing *found)
{
    double least = INFINITY;
    int named = 0;
    for (int t = 0; t < b->o->tolerances; t++) least = fmin(least, b->o->tolerance[t]);
    for (int i = 0; i < NAMED; i++) found[i].series = -1;
    for (int64_t m = 0; m < b->x.count && named < NAMED; m++)
        if (fabsl(b->host[m] - b->exact[m]) > least)
            found[named++] = (differing){b->x.first + m, b->host[m], (double)b->exact[m]};
}

/** Prints the first NAMED series of all ranks whose sums differ: the kernel's sum and the reference.
 *  Collective. */
static spmm_status name_differing(const bench *b)
{
    const int size = b->place->grid.size;
    MPI_Comm comm = b->place->grid.comm;
    differing mine[NAMED], *all = NULL;
    spmm_status status = SPMM_OK;
    if (sp_is_root(b->place)) status = sp_alloc((void **)&all, size, sizeof mine, "sums that differ");
    TRY_GOTO(sp_agree(comm, "report", status), done);
    find_differing(b, mine);
    status = sp_collect(comm, mine, sizeof mine, all);
    int named = 0;
    for (int i = 0; all && status == SPMM_OK && i < size * NAMED; i++)
        if (all[i].series >= 0 && named++ < NAMED)
            printf("     Series %lld: %.6f VS %.6f\n", (long long)all[i].series, all[i].sum, all[i].exact);
done:
    sp_free(all);
    return status;
}

static spmm_status measure(bench *b, const char *kernel)
{
    const sp_series_kernel *const k = sp_series_find(kernel);
    MPI_Comm comm = b->place->grid.comm;
    b->kernel = kernel;
    b->worst = 0;
    memset(b->sums, 0, sizeof b->sums);
    memset(b->means, 0, sizeof b->means);
    TRY(time_kernel(b, k));
    TRY(sp_agree(comm, "step", sp_series_download(b->x.v.space, b->host, b->sum, b->x.count * 8)));
    count_agreeing(b);
    TRY(sp_sum(comm, b->sums, TOLERANCES));
    TRY(sp_sum(comm, b->means, TOLERANCES));
    TRY(sp_slowest(comm, &b->worst, 1));
    for (int t = 0; t < TOLERANCES; t++) {
        b->sums[t] /= (double)b->count;
        b->means[t] /= (double)b->count;
    }
    return sp_agree(comm, "report", sp_is_root(b->place) ? show(b) : SPMM_OK);
}

/** Computes the sum of each series in long double. Sums the stored values, which are already rounded to the
 *  precision of the series. */
static spmm_status refer(const spmm_multivector *v, int threads, long double *exact)
{
    spmm_multivector host = {0};
    if (v->space == SPMM_CUDA) {
        TRY(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host));
        const spmm_status status = spmm_multivector_copy(v, &host);
        v = &host;
        if (status != SPMM_OK) {
            spmm_multivector_destroy(&host);
            return status;
        }
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < v->rows; m++) {
        exact[m] = 0;
        for (int64_t i = 0; i < v->k; i++) exact[m] += sp_multivector_get(v, m, i);
    }
    spmm_multivector_destroy(&host);
    return SPMM_OK;
}

static spmm_status make_series(bench *b, spmm_precision precision)
{
    const int size = b->place->grid.size, rank = b->place->grid.rank, threads = b->place->binding.threads;
    const spmm_device device = b->place->binding.device;
    const int64_t first = sp_partition_share(b->count, size, rank),
                  mine = sp_partition_share(b->count, size, rank + 1) - first;
    TRY(sp_series_create(mine, b->length, first, SP_SERIES_MAJOR, precision, device, &b->x));
    TRY(sp_series_alloc(device, mine * 8, "sums", (void **)&b->sum));
    TRY(sp_alloc((void **)&b->exact, mine, sizeof *b->exact, "exact sums"));
    TRY(sp_alloc((void **)&b->host, mine, sizeof *b->host, "sums"));
    const sp_series_launch l = {.x = &b->x, .walk = &b->o->walk, .threads = threads};
    TRY(sp_series_default(SP_GENERATE, device, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l));
    if (device == SPMM_CUDA) TRY(sp_device_sync());
    return refer(&b->x.v, threads, b->exact);
}

static spmm_status one_case(const sp_series_options *o, const sp_place *place, int64_t count, int64_t length,
                            spmm_precision precision)
{
    const spmm_device device = place->binding.device;
    const char *const *const names = device == SPMM_CUDA ? of_cuda : of_cpu;
    bench b = {o, place, sp_precision_word(precision), count, length, .sum = NULL};
    spmm_status status = make_series(&b, precision);
    TRY_GOTO(sp_agree(place->grid.comm, "series", status), done);
    for (int i = 0; names[i]; i++) {
        TRY_GOTO(measure(&b, names[i]), done);
        if (i == 0 && o->verbosity > 0) TRY_GOTO(name_differing(&b), done); /* the plain algorithm */
    }
done:
    sp_free(b.exact);
    sp_free(b.host);
    spmm_multivector_destroy(&b.x.v);
    sp_series_free(device, b.sum);
    sp_series_free(device, b.work);
    return status;
}

spmm_status sp_series_accuracy(const sp_series_options *o, const sp_place *place)
{
    const int64_t count = o->series_given ? o->series : SERIES, from = o->length_given ? o->length : LEAST,
                  to = o->length_given ? o->length : MOST;
    if (place->verbosity >= 0) head(o);
    for (int p = SPMM_F32; p >= SPMM_F64; p--)
        for (int64_t n = from; n <= to; n *= 2) TRY(one_case(o, place, count, n, (spmm_precision)p));
    return SPMM_OK;
}
