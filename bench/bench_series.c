/** Times the coefficients of all pairs of series on any number of ranks and, on one rank, also the bare
 *  product that they need.
 *
 *      [mpirun -np R] bench_series [--device cpu|cuda] [--commit TEXT] [M N]...     default 8192 8192
 *
 *  M N is a shape: M series of N values.
 *  Prints a CSV line per shape and precision: median and extremes of the pass (centered copies, numerators,
 *  coefficients, histogram), and on one rank the medians of the BLAS's syrk and gemm on the same series.
 *  Pass, syrk and gemm take turns. */
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>

#include "base/memory.h"
#include "comm/binding.h"
#include "device/device.h"
#include "order/partition.h"
#include "formats/multivector.h"
#include "series_mpi/pearson.h"
#include "common/bench.h"

enum { TIMES = 15 };

typedef struct series {
    sp_grid grid;
    sp_binding binding;
    sp_series x;
    spmm_multivector mean, spread, numerators; /* buffers on the device */
} series;

static spmm_status wait_for(const series *b)
{
    return b->binding.device == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

/** Makes series, means and deviations by the default kernels. */
static spmm_status prepare(series *b)
{
    static const sp_step steps[] = {SP_GENERATE, SP_MEAN, SP_DEVIATION};
    const sp_walk walk = {.start = 100, .epsilon = 0.01, .seed = 1};
    const spmm_device device = b->binding.device;
    TRY(spmm_multivector_create(b->x.count, 1, SPMM_F64, device, &b->mean));
    TRY(spmm_multivector_create(b->x.count * (int64_t)sizeof(sp_spread) / 4, 1, SPMM_F32, device,
                                &b->spread));
    if (b->grid.size == 1)
        TRY(spmm_multivector_create(b->x.count * b->x.count, 1, b->x.v.precision, device, &b->numerators));
    const sp_series_launch l = {.x = &b->x,
                                .walk = &walk,
                                .divisor = (double)b->x.length,
                                .mean = b->mean.data,
                                .spread = b->spread.data,
                                .threads = b->binding.threads};
    for (int i = 0; i < 3; i++)
        TRY(sp_series_default(steps[i], b->binding.device, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l));
    return wait_for(b);
}

/** Times the product alone. Multiplies the series without centering them: the time of a product does not
 *  depend on the values. */
static spmm_status bare(const series *b, const sp_series_kernel *kernel, int triangle, double *seconds)
{
    const sp_dots d = {b->x.v.data, b->x.v.data,      b->x.count,         b->x.count, b->x.length,
                       b->x.v.ld,   b->x.v.precision, b->numerators.data, triangle,   b->binding.threads};
    const double start = MPI_Wtime();
    TRY(kernel->ops->dots(&d));
    TRY(wait_for(b));
    *seconds = MPI_Wtime() - start;
    return SPMM_OK;
}

static spmm_status pass(const series *b, sp_pearson *p, double *seconds)
{
    TRY(SP_MPI(MPI_Barrier(b->grid.comm)));
    const double start = MPI_Wtime();
    TRY(sp_pearson_pass(p, b->spread.data, NULL));
    *seconds = MPI_Wtime() - start;
    return sp_slowest(b->grid.comm, seconds, 1);
}

static spmm_status measure(const series *b, sp_pearson *p, const sp_series_kernel *kernel, int64_t count,
                           const char *commit)
{
    double ours[TIMES], syrk[TIMES] = {0}, gemm[TIMES] = {0}, warm;
    for (int i = -2; i < TIMES; i++) {
        TRY(pass(b, p, i < 0 ? &warm : &ours[i]));
        if (b->grid.size > 1) continue;
        TRY(bare(b, kernel, 1, i < 0 ? &warm : &syrk[i]));
        TRY(bare(b, kernel, 0, i < 0 ? &warm : &gemm[i]));
    }
    const sp_stats o = sp_stats_of(ours, TIMES), s = sp_stats_of(syrk, TIMES), g = sp_stats_of(gemm, TIMES);
    if (b->grid.rank == 0)
        printf("%lld,%lld,%s,%s,%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%s\n", (long long)count,
               (long long)b->x.length, b->x.v.precision == SPMM_F64 ? "f64" : "f32",
               b->binding.device == SPMM_CUDA ? b->binding.gpu.name : "cpu", sp_pearson_transport(p),
               b->grid.size, 1e3 * o.median, 1e3 * o.min, 1e3 * o.max, 1e3 * s.median, 1e3 * g.median,
               s.median > 0 ? o.median / (s.median < g.median ? s.median : g.median) : 0, commit);
    return SPMM_OK;
}

static spmm_status one(series *b, int64_t count, int64_t length, spmm_precision precision, const char *commit)
{
    const sp_series_kernel *const kernel = sp_series_default(SP_PEARSON, b->binding.device, SP_SERIES_MAJOR,
                                                             SP_SUM);
    const int r = b->grid.rank;
    sp_pearson *p = NULL;
    int64_t *begin;
    if (!kernel) return sp_fail(SPMM_ERR_NO_DEVICE, "this build has no BLAS for that device");
    TRY(sp_alloc((void **)&begin, b->grid.size + 1, sizeof *begin, "blocks"));
    sp_partition_even(count, b->grid.size, begin);
    b->x = (sp_series){begin[r + 1] - begin[r], length, begin[r], SP_SERIES_MAJOR, {0}};
    spmm_status status = spmm_multivector_create(b->x.count, length, precision, b->binding.device, &b->x.v);
    if (status == SPMM_OK) status = prepare(b);
    status = sp_agree(b->grid.comm, "series", status);
    if (status == SPMM_OK) status = sp_pearson_create(&b->grid, &b->x, begin, kernel, b->binding.threads, &p);
    if (status == SPMM_OK) status = measure(b, p, kernel, count, commit);
    sp_pearson_destroy(p);
    spmm_multivector_destroy(&b->x.v);
    spmm_multivector_destroy(&b->mean);
    spmm_multivector_destroy(&b->spread);
    spmm_multivector_destroy(&b->numerators);
    sp_free(begin);
    return status;
}

static spmm_status work(const settings *s)
{
    series b = {.x = {.count = 0}};
    TRY(sp_grid_create(MPI_COMM_WORLD, 0, 0, &b.grid));
    TRY(sp_bind_rank(b.grid.comm, (sp_device_choice)s->device, 0, &b.binding));
    if (b.grid.rank == 0)
        printf(
            "series,length,precision,device,transport,ranks,pass_ms,pass_min_ms,pass_max_ms,syrk_ms,gemm_ms,"
            "pass_over_best,commit\n");
    spmm_status status = SPMM_OK;
    for (int p = SPMM_F64; p <= SPMM_F32 && status == SPMM_OK; p++) {
        if (s->matrices < 2) status = one(&b, 8192, 8192, (spmm_precision)p, s->commit);
        for (int j = 0; j + 1 < s->matrices && status == SPMM_OK; j += 2)
            status = one(&b, atoll(s->matrix[j]), atoll(s->matrix[j + 1]), (spmm_precision)p, s->commit);
    }
    sp_grid_destroy(&b.grid);
    return status;
}

int main(int argc, char **argv)
{
    static const settings defaults = {.device = SP_DEVICE_AUTO};
    settings s;
    MPI_Init(&argc, &argv);
    const int go = settings_ready(OF_SERIES, "[mpirun -np R] bench_series [OPTIONS] [M N]...", argc, argv,
                                  &defaults, &s);
    const spmm_status status = go ? work(&s) : s.help ? SPMM_OK : SPMM_ERR_USAGE;
    if (go && status != SPMM_OK) fprintf(stderr, "bench_series: error: %s\n", spmm_error_message());
    MPI_Finalize();
    return sp_exit_code(status);
}
