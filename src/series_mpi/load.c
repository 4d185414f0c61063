/** Distributes the series over the ranks: rank 0 reads them from a file, or each rank only allocates memory
 *  for the series that will be generated. */
#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "device/device.h"
#include "order/partition.h"
#include "formats/multivector.h"
#include "io/csv.h"
#include "io/input.h"
#include "io/mtx_read.h"
#include "series_mpi/job.h"

/* A multivector needs at least one column. So on a rank without series, the series' multivector is
 * [0 x length] if they are series-major, and [length x 1] if they are index-major. */
static int64_t rows_of(const sp_series *x) { return x->layout == SP_SERIES_MAJOR ? x->count : x->length; }
static int64_t columns_of(const sp_series *x)
{
    return x->layout == SP_SERIES_MAJOR ? x->length : x->count > 0 ? x->count : 1;
}

spmm_status sp_series_create(int64_t count, int64_t length, int64_t first, sp_series_order layout,
                             spmm_precision precision, spmm_device space, sp_series *x)
{
    *x = (sp_series){count, length, first, layout, {0}};
    return spmm_multivector_create(rows_of(x), columns_of(x), precision, space, &x->v);
}

spmm_status sp_series_make(const sp_series_job *job, int64_t count, int64_t first, sp_series_order layout,
                           sp_series *x)
{
    const sp_series_options *const o = &job->options;
    void *memory;
    int64_t bytes;
    if (o->memory == SP_DEVICE_MEMORY)
        return sp_series_create(count, job->length, first, layout, o->precision, job->place.binding.device,
                                x);
    *x = (sp_series){count, job->length, first, layout, {0}};
    TRY(sp_multivector_size(rows_of(x), columns_of(x), o->precision, &bytes));
    TRY(o->memory == SP_MAPPED_MEMORY ? sp_device_host_alloc(&memory, bytes, "series")
                                      : sp_device_alloc_managed(&memory, bytes, "series"));
    x->v = sp_multivector_in(memory, 0, rows_of(x), 0, columns_of(x), o->precision, SPMM_CUDA);
    TRY(sp_device_zero(memory, bytes));
    return sp_device_sync();
}

void sp_series_unmake(const sp_series_job *job, sp_series *x)
{
    if (job->options.memory == SP_MAPPED_MEMORY)
        sp_device_host_free(x->v.data);
    else
        spmm_multivector_destroy(&x->v);
    memset(x, 0, sizeof *x);
}

spmm_status sp_series_alloc(spmm_device device, int64_t bytes, const char *what, void **p)
{
    if (device == SPMM_CPU) return sp_alloc_zero(p, bytes, 1, what);
    TRY(sp_device_alloc(p, bytes, what));
    const spmm_status status = sp_device_zero(*p, bytes);
    if (status != SPMM_OK) {
        sp_device_free(*p);
        *p = NULL;
    }
    return status;
}

spmm_status sp_series_give_work(const sp_series_kernel *k, const sp_series_launch *launch, void **work)
{
    const spmm_device space = launch->x->v.space;
    sp_series_free(space, *work);
    *work = NULL;
    if (!k->ops->work_bytes) return SPMM_OK;
    return sp_series_alloc(space, k->ops->work_bytes(launch), "a kernel's workspace", work);
}

spmm_status sp_series_download(spmm_device device, void *to, const void *from, int64_t bytes)
{
    if (device == SPMM_CUDA) return sp_device_download(to, from, bytes);
    memcpy(to, from, (size_t)bytes);
    return SPMM_OK;
}

void sp_series_free(spmm_device device, void *p)
{
    if (device == SPMM_CPU)
        sp_free(p);
    else
        sp_device_free(p);
}

/* ---- reading the series from a file ---- */

/** Returns 1 if the file starts with the banner of Matrix Market files. The file may be compressed:
 *  sp_input_read() decompresses it. */
static int is_matrix_market(const char *path)
{
    static const char banner[] = "%%MatrixMarket";
    char text[sizeof banner] = "";
    int64_t got = 0;
    sp_input *source;
    if (sp_input_open(path, &source) != SPMM_OK) return 0; /* the reader will report this error */
    if (sp_input_read(source, text, sizeof text - 1, &got) != SPMM_OK) got = 0;
    sp_input_close(source);
    return got == (int64_t)sizeof text - 1 && strncmp(text, banner, sizeof text - 1) == 0;
}

spmm_status sp_series_read(const sp_series_options *o, int threads, sp_series *all)
{
    const sp_read_options options = {.precision = o->precision, .threads = threads};
    sp_series columns = {.layout = SP_INDEX_MAJOR};
    *all = (sp_series){.layout = SP_SERIES_MAJOR};
    if (!is_matrix_market(o->file)) {
        TRY(sp_read_csv(o->file, &options, &all->v));
        all->count = all->v.rows;
        all->length = all->v.k;
        return SPMM_OK;
    }
    TRY(sp_read_dense(o->file, &options, &columns.v));
    spmm_status status = SPMM_OK;
    if (columns.v.rows < 1 || columns.v.k < 1)
        status = sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld series of %lld values, expected at least 1 of each",
                         o->file, (long long)columns.v.k, (long long)columns.v.rows);
    if (status == SPMM_OK)
        status = sp_series_create(columns.v.k, columns.v.rows, 0, SP_SERIES_MAJOR, o->precision, SPMM_CPU,
                                  all);
    if (status == SPMM_OK) status = sp_series_transpose(&columns, all, threads);
    spmm_multivector_destroy(&columns.v);
    return status;
}

/* ---- distributing the series over the ranks ---- */

spmm_status sp_series_cut(const sp_grid *grid, int64_t count, sp_ranges *ranges)
{
    spmm_status status = sp_ranges_create(grid->size, 1, ranges);
    if (status == SPMM_OK && grid->rank == 0) {
        sp_partition_even(count, grid->size, ranges->row_begin);
        ranges->col_begin[1] = count;
    }
    TRY(sp_agree(grid->comm, "series", status));
    return sp_ranges_share(grid, 0, count, count, ranges);
}

/** Distributes the series `all`, in host memory of rank 0, over the ranks. Each rank stores its series in
 *  job->x, in the memory and layout of job->x. Collective. */
static spmm_status send_out(sp_series_job *job, const sp_series *all)
{
    const int64_t first = job->begin[job->place.grid.rank],
                  count = job->begin[job->place.grid.rank + 1] - first;
    const spmm_precision precision = job->options.precision;
    sp_series mine = {0}, turned = {0};
    spmm_status status = sp_series_create(count, job->length, first, SP_SERIES_MAJOR, precision, SPMM_CPU,
                                          &mine);
    TRY_GOTO(sp_agree(job->place.grid.comm, "series", status), done);
    TRY_GOTO(sp_scatter_rows(&job->place.grid, &job->ranges, 0, all->v.data, sp_row_bytes(&mine.v),
                             mine.v.data, SP_TAG_SERIES),
             done);
    if (job->x.layout == SP_INDEX_MAJOR) {
        status = sp_series_create(count, job->length, first, SP_INDEX_MAJOR, precision, SPMM_CPU, &turned);
        if (status == SPMM_OK && count > 0)
            status = sp_series_transpose(&mine, &turned, job->place.binding.threads);
    }
    if (status == SPMM_OK)
        status = spmm_multivector_copy(job->x.layout == SP_INDEX_MAJOR ? &turned.v : &mine.v, &job->x.v);
    status = sp_agree(job->place.grid.comm, "series", status);
done:
    spmm_multivector_destroy(&mine.v);
    spmm_multivector_destroy(&turned.v);
    return status;
}

/** Fails if the series cannot fit into the host memory that the ranks of a node share; called before they are
 *  allocated. Counts only the minimum that the steps need: the series; for deviations and coefficients, a
 *  series-major copy if they are index-major; for coefficients on a CPU, a centered copy and, with several
 *  ranks, a buffer for received series. With a GPU, only series in mapped memory use host memory. */
static spmm_status check_memory(const sp_series_job *job, int64_t count)
{
    const sp_series_options *const o = &job->options;
    const int ordered = o->layout == SP_INDEX_MAJOR && (o->step[SP_DEVIATION] || o->step[SP_PEARSON]);
    const int on_cpu = job->place.binding.device == SPMM_CPU;
    const int copies = 1 + ordered + (on_cpu && o->step[SP_PEARSON] ? 1 + (job->place.grid.size > 1) : 0);
    if (!on_cpu && o->memory != SP_MAPPED_MEMORY) return SPMM_OK;
    return sp_memory_needs((double)count * (double)job->length * (double)sp_value_size(o->precision) *
                               copies * sp_budget_sharers(),
                           "the series and the results of the steps");
}

static spmm_status make_room(sp_series_job *job)
{
    const int64_t first = job->begin[job->place.grid.rank],
                  count = job->begin[job->place.grid.rank + 1] - first;
    TRY(check_memory(job, count));
    const spmm_device device = job->place.binding.device;
    TRY(sp_series_make(job, count, first, job->options.layout, &job->x));
    TRY(sp_series_alloc(device, count * sp_operator_width(job->options.op) * 8, "means",
                        (void **)&job->mean));
    return sp_series_alloc(device, count * (int64_t)sizeof(sp_spread), "deviations", (void **)&job->spread);
}

spmm_status sp_series_load(sp_series_job *job)
{
    int64_t shape[2] = {job->options.series, job->options.length};
    sp_series all = {0};
    spmm_status status = SPMM_OK;
    if (job->options.file) {
        if (sp_is_root(&job->place)) status = sp_series_read(&job->options, job->place.binding.threads, &all);
        shape[0] = all.count;
        shape[1] = all.length;
        TRY_GOTO(sp_agree(job->place.grid.comm, "series", status), done);
    }
    TRY_GOTO(sp_bcast(job->place.grid.comm, 0, shape, sizeof shape), done);
    job->count = shape[0];
    job->length = shape[1];
    TRY_GOTO(sp_series_cut(&job->place.grid, job->count, &job->ranges), done);
    job->begin = job->ranges.row_begin;
    TRY_GOTO(sp_agree(job->place.grid.comm, "series", make_room(job)), done);
    if (job->options.file) status = send_out(job, &all);
done:
    spmm_multivector_destroy(&all.v);
    return status;
}
