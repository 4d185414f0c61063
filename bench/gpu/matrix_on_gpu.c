/* X and Y in the GPU's memory. Every X is the beginning of the same sequence of numbers, which is made and
 * uploaded once per matrix. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "device/difference.h"
#include "formats/multivector.h"
#include "product/choose.h"
#include "spmm_mpi/dram_bound.h"
#include "gpu.h"

enum { PIECE = 8 << 20, MOST_SAMPLED = 1536 };

static struct {
    sp_features features;
    int64_t touched; /* number of columns with an entry */
    void *x, *y;     /* room for the largest K */
    void *csr[3];    /* A, for another library */
    void *first;     /* a Y that was right, with first_k columns (0: none) in first_layout */
    int64_t first_k;
    peer_layout first_layout;
    reference column; /* the Y that is expected if X is column-major. A column-major X has other elements than
                         a row-major one. column.k is 0 until the reference is created */
} here;

static int64_t most_columns(const settings *s)
{
    int64_t most = 0;
    for (int i = 0; i < s->column_count; i++) most = s->columns[i] > most ? s->columns[i] : most;
    return most;
}

/** Makes and uploads the numbers of X piece by piece, each as an X with one column. */
static spmm_status upload_x(spmm_precision precision, int64_t numbers)
{
    const int64_t size = (int64_t)sp_value_size(precision);
    void *host;
    spmm_status status = SPMM_OK;
    TRY(sp_alloc(&host, PIECE, (size_t)size, "a piece of X"));
    const dense_view piece = {host, precision, 1, 1};
    for (int64_t begin = 0; begin < numbers && status == SPMM_OK; begin += PIECE) {
        const int64_t n = numbers - begin < PIECE ? numbers - begin : PIECE;
        dense_fill(&piece, begin, n, 1);
        status = sp_device_upload((char *)here.x + begin * size, host, n * size);
    }
    sp_free(host);
    return status;
}

/** Uploads A for another library, if there is one and A has few enough entries for it. */
static spmm_status load_for_peer(run *r)
{
    const spmm_csr *const a = &r->matrix.block.csr;
    const peer_matrix m = {.f32 = sp_type_of(a->precision).real == SPMM_F32,
                           .is_complex = sp_is_complex(a->precision),
                           .rows = a->rows,
                           .nnz = a->nnz,
                           .row_start = r->matrix.start,
                           .col = a->ja,
                           .val = a->as};
    const spmm_status status = r->libraries > 1 && m.row_start ? bench_upload(&m, here.csr) : SPMM_OK;
    r->gpu = &bench_peer_gpu;
    r->stream = sp_device_stream(SP_STREAM_MAIN);
    memcpy(r->on_gpu, here.csr, sizeof r->on_gpu);
    return status;
}

spmm_status gpu_load(run *r)
{
    const spmm_csr *const a = &r->matrix.block.csr;
    const int64_t row = sp_multivector_ld(most_columns(&r->settings), a->precision),
                  size = row * (int64_t)sp_value_size(a->precision);
    sp_features_of(a, 0, r->matrix.block.any_order, omp_get_max_threads(), &here.features);
    TRY(sp_touched_columns(a, &here.touched));
    TRY(sp_device_alloc(&here.x, a->cols * size, "X"));
    TRY(sp_device_alloc(&here.y, a->rows * size, "Y"));
    TRY(sp_device_alloc(&here.first, a->rows * size, "a Y to compare with"));
    TRY(load_for_peer(r));
    return upload_x(a->precision, a->cols * row);
}

void gpu_unload(void)
{
    for (int i = 0; i < 3; i++) sp_device_free(here.csr[i]);
    sp_device_free(here.x);
    sp_device_free(here.y);
    sp_device_free(here.first);
    reference_destroy(&here.column);
    memset(&here, 0, sizeof here);
}

spmm_status gpu_arrays(run *r)
{
    r->ld[0] = r->ld[1] = sp_multivector_ld(r->k, r->matrix.precision);
    for (int layout = PEER_ROW; layout <= PEER_COLUMN; layout++) {
        r->arrays[layout][0] = here.x;
        r->arrays[layout][1] = here.y;
    }
    r->x = (dense_view){NULL, r->matrix.precision, r->ld[0], 1};
    reference_destroy(&here.column);
    here.first_k = 0;
    return SPMM_OK;
}

/** Returns 1 if the options ask for this kernel. --own ours: the default for CSR, and what `auto` finds. */
static int is_wanted(const settings *s, const char *name)
{
    const sp_kernel *const kernel = sp_kernel_find(name);
    if (s->cliffs || strcmp(s->own, "auto") == 0) return 0;
    if (strcmp(s->own, "all") == 0) return 1;
    if (strcmp(s->own, "ours") != 0) return listed(s->own, name, 0);
    return kernel->chosen != SP_AUTO_NO || kernel == sp_kernel_default(SPMM_CUDA, SPMM_CSR);
}

const sp_features *gpu_features(void) { return &here.features; }

/** Writes the name of the kernel that a plan chooses by its trial. */
static spmm_status plan_kernel(const run *r, char *name, size_t n)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .format = SPMM_FORMAT_AUTO};
    spmm_plan *plan;
    TRY(spmm_plan_create(MPI_COMM_SELF, &r->matrix.block, r->k, &options, &plan));
    snprintf(name, n, "%s", spmm_plan_kernel(plan));
    spmm_plan_destroy(plan);
    return SPMM_OK;
}

int gpu_is_transposed(const contender *c) { return strncmp(c->name, "cusparse_transposed", 19) == 0; }

void gpu_choose(run *r)
{
    char chosen[64];
    if (plan_kernel(r, chosen, sizeof chosen) != SPMM_OK) return;
    for (contender *c = r->contender; c < r->contender + r->contenders; c++) {
        const int own = c->library->peer == &own_kernels_peer;
        c->is_auto = own && strcmp(c->name, chosen) == 0;
        c->skip = own ? !c->is_auto && !is_wanted(&r->settings, c->name)
                      : r->settings.cliffs || (gpu_is_transposed(c) && !r->settings.transposed);
    }
}

double gpu_dram_seconds(const run *r, double copy)
{
    return sp_dram_bytes(&r->matrix.block.csr, here.touched, r->k) / copy;
}

/* ---- the check ---- */

/** Returns Y as a row-major multivector for reductions: its rows are the contiguous rows or columns of Y. */
static spmm_multivector stored(const run *r, peer_layout layout, void *data)
{
    const int64_t rows = r->matrix.block.csr.rows;
    const int row = layout == PEER_ROW;
    return (spmm_multivector){row ? rows : r->k,
                              row ? r->k : rows,
                              row ? r->ld[1] : rows,
                              r->matrix.precision,
                              SPMM_CUDA,
                              data,
                              0,
                              0,
                              SPMM_ROW_MAJOR};
}

/** Downloads the sampled rows, a run of consecutive ones at a time, and compares them. */
static spmm_status check_sample(const reference *ref, const spmm_multivector *y, int row, difference *d)
{
    const int64_t size = (int64_t)sp_value_size(y->precision), k = ref->k;
    void *host;
    spmm_status status = SPMM_OK;
    TRY(sp_alloc(&host, ref->count * k, (size_t)size, "sampled rows of Y"));
    for (int64_t begin = 0, end; begin < ref->count && status == SPMM_OK; begin = end) {
        for (end = begin + 1; end < ref->count && ref->row[end] == ref->row[end - 1] + 1;) end++;
        const int64_t n = end - begin, wide = row ? k : n, pitch = y->ld * size;
        const char *const from = (const char *)y->data + ref->row[begin] * (row ? pitch : size);
        const dense_view view = {host, y->precision, row ? k : 1, row ? 1 : n};
        status = sp_device_copy_2d(host, wide * size, from, pitch, wide * size, row ? n : k, 1);
        if (status == SPMM_OK) reference_compare(ref, begin, end, &view, ref->row[begin], d);
    }
    sp_free(host);
    return status;
}

/** Compares all of Y with the first right one. The errors of many rows have either sign, so that the norm of
 *  the difference is about sqrt(n) u times the norm of Y, where n is the length of the longest row and u the
 *  unit round-off. More than 16 times that is a wrong result. */
static spmm_status compare_with_first(const run *r, const contender *c, const spmm_multivector *y,
                                      difference *d)
{
    const double u = sp_type_of(y->precision).unit;
    const double tolerance = 16 * sqrt(here.features.longest + 1) * u;
    const spmm_multivector first = stored(r, c->form->layout, here.first);
    sp_difference all;
    TRY(sp_device_compare(y, &first, &all));
    if (all.unmatched == 0 && all.norm <= tolerance * all.norm_reference) return SPMM_OK;
    d->wrong++;
    fprintf(
        stderr,
        "bench_gpu: WRONG: %s, %s, K = %lld: differs from the first contender's by %.2e of its norm (%.1e is "
        "allowed), by %.3e in an element, and %lld elements are not finite in one of them\n",
        r->matrix.name, c->name, (long long)r->k, all.norm / all.norm_reference, tolerance, all.max_absolute,
        (long long)all.unmatched);
    return SPMM_OK;
}

static spmm_status check(run *r, contender *c)
{
    const int row = c->form->layout == PEER_ROW;
    const spmm_csr *const a = &r->matrix.block.csr;
    const spmm_multivector y = stored(r, c->form->layout, here.y);
    const dense_view x = {NULL, a->precision, 1, a->cols};
    if (!row && here.column.k == 0) TRY(reference_create(a, &x, r->k, MOST_SAMPLED, &here.column));
    TRY(check_sample(row ? &r->reference : &here.column, &y, row, &c->difference));
    if (c->difference.wrong) return SPMM_OK;
    if (here.first_k == r->k && here.first_layout == c->form->layout)
        return compare_with_first(r, c, &y, &c->difference);
    here.first_k = r->k;
    here.first_layout = c->form->layout;
    return sp_device_copy(here.first, y.data, sp_multivector_bytes(&y));
}

const char *gpu_check(run *r, contender *c)
{
    const spmm_multivector y = stored(r, c->form->layout, here.y);
    const char *const line = failed(sp_device_nan(y.data, sp_multivector_bytes(&y)));
    if (line || contender_time(r, c) < 0) return line ? line : c->problem;
    return failed(check(r, c));
}
