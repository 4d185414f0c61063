/* Times every CUDA kernel of the registry on a few generated matrices:
 *
 *     bench_gpu_quick [f64|f32] [--csv FILE] [--kernel ID] [--k K] [--matrix SPEC]
 *
 * One line per matrix, K and kernel: the median of 20 products, each between two events in the stream,
 * after 3 warm-up products; GFLOP/s; and the share of the DRAM floor, i.e. the time in which a copy at
 * PEAK bytes a second would move A once, the touched rows of X once, and Y once. --csv appends. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernel.h"
#include "device.h"
#include "gen.h"
#include "matrix.h"
#include "memory.h"
#include "multivector.h"
#include "stats.h"

enum { WARM_UP = 3, REPEATS = 20 };
static const double ELL_LIMIT = 3.0;

/* bytes a second read + written by a copy in device memory, measured: performance.md, KINDS.md */
static const struct {
    const char *gpu;
    double peak;
} peaks[] = {{"H200", 4.3e12}, {"H100", 3.0e12}, {"", 3.0e12}};

static struct {
    spmm_precision precision;
    const char *csv, *kernel, *matrix;
    int64_t k;
    double peak;
    char gpu[128];
    FILE *out;
} run;

static int fail(const char *what)
{
    fprintf(stderr, "bench_gpu_quick: %s: %s\n", what, spmm_error_message());
    return 1;
}

/** Statistics of the repeats, seconds. */
static spmm_status time_kernel(const sp_kernel *kernel, const sp_launch *launch, sp_stats *time)
{
    double seconds[REPEATS];
    sp_timer *timer;
    spmm_status status = SPMM_OK;
    TRY(sp_timer_create(&timer));
    for (int i = -WARM_UP; i < REPEATS; i++) {
        TRY_GOTO(sp_timer_start(timer), done);
        TRY_GOTO(kernel->ops->run(launch), done);
        TRY_GOTO(sp_timer_stop(timer), done);
        TRY_GOTO(sp_timer_seconds(timer, &seconds[i < 0 ? 0 : i]), done);
    }
    *time = sp_stats_of(seconds, REPEATS);
done:
    sp_timer_destroy(timer);
    return status;
}

/** Bytes that have to pass between the multiprocessors and DRAM at the least. */
static double floor_bytes(const sp_matrix *a, int64_t k)
{
    const double s = (double)sp_value_size(a->precision);
    return (double)a->nnz * (s + 4) + 8.0 * (double)(a->rows + 1) +
           s * (double)k * (double)(a->cols + a->rows);
}

static void show(const char *matrix, const sp_kernel *kernel, const sp_matrix *a, int64_t k,
                 const sp_stats *time)
{
    const double gflops = 2.0 * (double)a->nnz * (double)k / time->median / 1e9;
    const double least = floor_bytes(a, k) / run.peak;
    const char *precision = a->precision == SPMM_F64 ? "f64" : "f32";
    printf("%-22s %5lld  %-15s %9.3f %9.3f %9.3f %10.1f %8.2f\n", matrix, (long long)k, kernel->id,
           time->median * 1e3, time->min * 1e3, time->max * 1e3, gflops, least / time->median);
    fflush(stdout);
    if (run.out)
        fprintf(run.out, "%s,%s,%lld,%lld,%lld,%lld,%s,%s,%.6f,%.6f,%.6f,%.3f,%.4f\n", run.gpu, matrix,
                (long long)a->rows, (long long)a->cols, (long long)a->nnz, (long long)k, precision,
                kernel->id, time->median * 1e3, time->min * 1e3, time->max * 1e3, gflops,
                least / time->median);
}

/** All kernels of a's format for one K. */
static spmm_status bench_k(const char *matrix, const spmm_csr *csr, const sp_matrix *a,
                           const spmm_multivector *host_x, int64_t k)
{
    spmm_multivector view = *host_x, x = {0}, y = {0};
    spmm_status status;
    int count;
    const sp_kernel *kernels = sp_kernels(&count);
    view.k = k;
    TRY_GOTO(spmm_multivector_create(a->cols, k, a->precision, SPMM_CUDA, &x), done);
    TRY_GOTO(spmm_multivector_create(a->rows, k, a->precision, SPMM_CUDA, &y), done);
    TRY_GOTO(spmm_multivector_copy(&view, &x), done);
    for (int i = 0; i < count; i++) {
        const sp_setup setup = {a, csr, k, omp_get_max_threads(), {0}};
        void *state = NULL;
        sp_stats time;
        if (kernels[i].device != SPMM_CUDA || kernels[i].format != a->format) continue;
        if (run.kernel && strcmp(run.kernel, kernels[i].id) != 0) continue;
        if (kernels[i].ops->prepare) TRY_GOTO(kernels[i].ops->prepare(&setup, &state), done);
        const sp_launch launch = {a, NULL, state, {0}, &x, &y};
        TRY_GOTO(time_kernel(&kernels[i], &launch, &time), done);
        if (kernels[i].ops->release) kernels[i].ops->release(state);
        show(matrix, &kernels[i], a, k, &time);
    }
done:
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

/** 1 when some kernel to be timed has that format. */
static int wanted(spmm_format format)
{
    int count, any = 0;
    const sp_kernel *kernels = sp_kernels(&count);
    for (int i = 0; i < count; i++)
        any |= kernels[i].device == SPMM_CUDA && kernels[i].format == format &&
               (!run.kernel || strcmp(run.kernel, kernels[i].id) == 0);
    return any;
}

static spmm_status bench_format(const char *matrix, const spmm_csr *csr, spmm_format format,
                                const spmm_multivector *x)
{
    static const int64_t all_k[] = {1, 4, 16, 64, 128};
    const int threads = omp_get_max_threads();
    sp_matrix device;
    if (!wanted(format)) return SPMM_OK;
    spmm_status status = sp_matrix_create(csr, format, SPMM_CUDA, ELL_LIMIT, threads, &device);
    if (status == SPMM_ERR_LIMIT) return SPMM_OK; /* padding: ELLPACK is not for this matrix */
    for (size_t i = 0; i < sizeof all_k / sizeof *all_k && status == SPMM_OK && run.k == 0; i++)
        status = bench_k(matrix, csr, &device, x, all_k[i]);
    if (run.k > 0 && status == SPMM_OK) status = bench_k(matrix, csr, &device, x, run.k);
    sp_matrix_destroy(&device);
    return status;
}

static spmm_status bench_matrix(const char *spec)
{
    spmm_csr a;
    spmm_multivector x;
    TRY(sp_gen_csr(spec, run.precision, omp_get_max_threads(), &a));
    spmm_status status = spmm_multivector_create(a.cols, run.k > 128 ? run.k : 128, run.precision, SPMM_CPU,
                                                 &x);
    if (status == SPMM_OK) sp_multivector_generate(&x, SP_X_UNIFORM, 1, 0, omp_get_max_threads());
    for (int f = SPMM_CSR; f < SP_FORMATS && status == SPMM_OK; f++)
        status = bench_format(spec, &a, (spmm_format)f, &x);
    spmm_multivector_destroy(&x);
    spmm_csr_destroy(&a);
    return status;
}

static int parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "f64") == 0)
            run.precision = SPMM_F64;
        else if (strcmp(argv[i], "f32") == 0)
            run.precision = SPMM_F32;
        else if (strcmp(argv[i], "--csv") == 0 && next)
            run.csv = argv[++i];
        else if (strcmp(argv[i], "--kernel") == 0 && next)
            run.kernel = argv[++i];
        else if (strcmp(argv[i], "--matrix") == 0 && next)
            run.matrix = argv[++i];
        else if (strcmp(argv[i], "--k") == 0 && next)
            run.k = strtoll(argv[++i], NULL, 10);
        else
            return 0;
    }
    return run.k >= 0 && (!run.kernel || sp_kernel_find(run.kernel));
}

static int prepare(void)
{
    sp_device_info info;
    const char *why;
    if (sp_device_count(&why) == 0) {
        fprintf(stderr, "bench_gpu_quick: %s\n", why);
        return 0;
    }
    if (sp_device_open(0) != SPMM_OK || sp_device_describe(0, &info) != SPMM_OK) return !fail("the GPU");
    size_t p = 0;
    while (!strstr(info.name, peaks[p].gpu)) p++;
    run.peak = peaks[p].peak;
    snprintf(run.gpu, sizeof run.gpu, "%s", info.name);
    if (run.csv) {
        run.out = fopen(run.csv, "a");
        if (!run.out) perror(run.csv);
        if (run.out && fseek(run.out, 0, SEEK_END) == 0 && ftell(run.out) == 0)
            fprintf(run.out,
                    "gpu,matrix,rows,cols,nnz,k,precision,kernel,median_ms,min_ms,max_ms,gflops,roof\n");
        if (!run.out) return 0;
    }
    printf("%s, %s, DRAM %.2f TB/s (read + written by a copy%s)\n", info.name,
           run.precision == SPMM_F64 ? "f64" : "f32", run.peak / 1e12, peaks[p].gpu[0] ? "" : "; a guess");
    printf("%-22s %5s  %-15s %9s %9s %9s %10s %8s\n", "matrix", "K", "kernel", "ms", "min", "max", "GFLOP/s",
           "roof");
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const matrices[] = {"lap3d7:140", "lap3d27:90", "fem3:56", "uniform:1000000,16"};
    int failed = 0;
    if (!parse(argc, argv)) {
        fprintf(stderr,
                "usage: bench_gpu_quick [f64|f32] [--csv FILE] [--kernel ID] [--k K] [--matrix SPEC]\n");
        return 2;
    }
    if (!prepare()) return 4;
    if (run.matrix && bench_matrix(run.matrix) != SPMM_OK) failed = fail(run.matrix);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices && !run.matrix; i++)
        if (bench_matrix(matrices[i]) != SPMM_OK) failed = fail(matrices[i]);
    if (run.out && fclose(run.out) != 0) failed = fail(run.csv);
    sp_device_close();
    return failed ? 4 : 0;
}
