/** Splits a rank's block of A into row blocks, converts each to the kernel's format, and runs the kernel on
 *  the row blocks. */
#include "product/row_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/thread_ranges.h"

/** Interior row blocks are created only if together they hold at least 1/WORTH of the rows of the rank's
 *  block. */
enum { WORTH = 16 };

typedef struct row_run {
    int64_t first, end;
} row_run;

/** Returns 1 if row i needs no ghost rows. If its column indices increase, checks only the first and the last
 *  entry: ghost rows lie before and after the owned rows. */
static int is_interior(const sp_local_block *b, int64_t i)
{
    const spmm_csr *const a = &b->csr;
    const int64_t first = a->irp[i], end = a->irp[i + 1], low = b->low, high = low + b->own;
    for (int64_t e = first; b->any_order && e < end; e++)
        if (a->ja[e] < low || a->ja[e] >= high) return 0;
    return first == end || (a->ja[first] >= low && a->ja[end - 1] < high);
}

/** Trims run r to whole panels and adds it to `kept`, the array of the longest runs so far. If the array has
 *  SP_MOST_INTERIOR runs already, r replaces the shortest of them, provided that r is longer. */
static void keep(row_run r, int64_t rows, row_run *kept, int *count)
{
    int shortest = 0;
    r.first = (r.first + SP_PANEL - 1) / SP_PANEL * SP_PANEL;
    if (r.end < rows) r.end = r.end / SP_PANEL * SP_PANEL;
    if (r.end <= r.first) return;
    if (*count < SP_MOST_INTERIOR) {
        kept[(*count)++] = r;
        return;
    }
    for (int i = 1; i < *count; i++)
        if (kept[i].end - kept[i].first < kept[shortest].end - kept[shortest].first) shortest = i;
    if (r.end - r.first > kept[shortest].end - kept[shortest].first) kept[shortest] = r;
}

static int by_place(const void *a, const void *b)
{
    const row_run *const r = a, *const s = b;
    return (r->first > s->first) - (r->first < s->first);
}

/** Lists in `kept` the runs of interior rows that become row blocks, in increasing order of rows.
 *  \return the number of runs */
static int interior_runs(const sp_local_block *b, row_run kept[SP_MOST_INTERIOR])
{
    const int64_t rows = b->csr.rows;
    int count = 0;
    int64_t in_runs = 0;
    for (int64_t i = 0; i < rows;) {
        const int64_t first = i;
        while (i < rows && is_interior(b, i)) i++;
        if (i > first) keep((row_run){first, i}, rows, kept, &count);
        while (i < rows && !is_interior(b, i)) i++;
    }
    for (int i = 0; i < count; i++) in_runs += kept[i].end - kept[i].first;
    if (in_runs < rows / WORTH) count = 0;
    qsort(kept, (size_t)count, sizeof *kept, by_place);
    return count;
}

static void row_blocks_append(int64_t first, int64_t end, sp_row_blocks *parts)
{
    if (end > first) parts->part[parts->count++] = (sp_row_block){.first = first, .rows = end - first};
}

void sp_row_blocks_find(const sp_local_block *local, int overlap, sp_row_blocks *parts)
{
    row_run interior[SP_MOST_INTERIOR];
    const int64_t rows = local->csr.rows;
    const int alone = local->csr.cols == local->own; /* there are no ghost rows */
    const int runs = overlap && !alone ? interior_runs(local, interior) : 0;
    memset(parts, 0, sizeof *parts);
    if (runs == 0) {
        row_blocks_append(0, rows, parts);
        parts->interior = alone ? parts->count : 0;
        return;
    }
    for (int i = 0; i < runs; i++) row_blocks_append(interior[i].first, interior[i].end, parts);
    parts->interior = parts->count;
    int64_t at = 0;
    for (int i = 0; i < runs; i++) {
        row_blocks_append(at, interior[i].first, parts);
        at = interior[i].end;
    }
    row_blocks_append(at, rows, parts);
}

/** Sets part->csr to the part's rows of matrix a. Copies the row starts, shifted to begin at 0; column
 *  indices and values point into the arrays of a. */
static spmm_status cut_out(const spmm_csr *a, sp_row_block *part)
{
    if (part->rows == a->rows) {
        part->csr = *a;
        part->borrowed = 1;
        return SPMM_OK;
    }
    const int64_t at = part->entry = a->irp[part->first];
    part->csr = (spmm_csr){
        part->rows, a->cols,    a->irp[part->first + part->rows] - at,           a->precision,
        NULL,       a->ja + at, (char *)a->as + at * sp_value_size(a->precision)};
    TRY(sp_alloc((void **)&part->csr.irp, part->rows + 1, sizeof *part->csr.irp, "row starts of a part"));
    for (int64_t i = 0; i <= part->rows; i++) part->csr.irp[i] = a->irp[part->first + i] - at;
    return SPMM_OK;
}

spmm_status sp_row_blocks_create(const spmm_csr *a, const sp_kernel *kernel, int64_t k, int64_t most,
                                 sp_conversion conversion, int threads, sp_shape shape, sp_row_blocks *parts)
{
    parts->kernel = kernel;
    parts->made = parts->k = k;
    parts->most = most;
    parts->conversion = conversion;
    parts->threads = threads;
    parts->shape = shape;
    for (int i = 0; i < parts->count; i++) {
        TRY(cut_out(a, &parts->part[i]));
        TRY(sp_row_block_convert(parts, &parts->part[i]));
    }
    return SPMM_OK;
}

int sp_row_blocks_made_anew(const sp_row_blocks *parts, int64_t k)
{
    return parts->count > 0 && k != parts->k && parts->kernel->ops->prepare && !parts->kernel->ops->set_k;
}

spmm_status sp_row_blocks_set_k(sp_row_blocks *parts, int64_t k)
{
    if (k == parts->k) return SPMM_OK;
    const int anew = sp_row_blocks_made_anew(parts, k);
    parts->k = k;
    for (int i = 0; i < parts->count; i++) {
        if (parts->part[i].lost) continue; /* after a failed update, this row block has no matrix */
        parts->part[i].unmapped = 0;       /* the arrays of a state may depend on k */
        const spmm_status status = sp_row_block_set_k(parts, &parts->part[i], anew);
        if (status != SPMM_OK) parts->k = 0; /* the next call tries again */
        TRY(status);
    }
    return SPMM_OK;
}

int64_t sp_row_blocks_bytes(const sp_row_blocks *parts)
{
    int64_t bytes = 0;
    for (int i = 0; i < parts->count; i++) {
        const sp_row_block *const p = &parts->part[i];
        sp_value_copy copies[SP_MOST_COPIES];
        for (int n = 0; n < SP_ARRAYS && p->a.borrowed != SP_BORROWED; n++)
            if (n != SP_VAL || p->a.borrowed != SP_BORROWED_VALUES) bytes += p->a.bytes[n];
        const int count = parts->kernel->ops->values ? parts->kernel->ops->values(p->state, copies) : 0;
        for (int n = 0; n < count; n++)
            bytes += copies[n].count * (sp_value_size(p->csr.precision) + (int64_t)sizeof *p->csr.ja);
    }
    return bytes;
}

void sp_row_blocks_destroy(sp_row_blocks *parts)
{
    for (int i = 0; i < parts->count; i++) {
        sp_row_block *const p = &parts->part[i];
        sp_row_block_release(parts, p);
        sp_value_maps_destroy(p->maps);
        if (!p->borrowed) sp_free(p->csr.irp);
    }
    memset(parts, 0, sizeof *parts);
}

spmm_status sp_row_blocks_run(const sp_row_blocks *parts, int begin, int end, sp_shape shape, int conjugate,
                              const spmm_multivector *x, const spmm_multivector *y, sp_stream stream)
{
    const int on_gpu = parts->kernel->device == SPMM_CUDA;
    for (int i = begin; i < end; i++) {
        const sp_row_block *const p = &parts->part[i];
        spmm_multivector rows = *y;
        if (p->lost)
            return sp_fail(SPMM_ERR_USAGE, "the plan lost its matrix when spmm_plan_update_values() failed: "
                                           "call it again, or destroy the plan");
        rows.rows = p->rows;
        rows.data = sp_row(y, p->first);
        const sp_launch launch = {.a = &p->a,
                                  .ranges = on_gpu ? NULL : &p->work,
                                  .state = p->state,
                                  .shape = shape,
                                  .conjugate = conjugate,
                                  .stream = on_gpu ? sp_device_stream(stream) : NULL,
                                  .x = x,
                                  .y = &rows};
        TRY(parts->kernel->ops->run(&launch));
    }
    return SPMM_OK;
}

int64_t sp_row_blocks_interior_rows(const sp_row_blocks *parts)
{
    int64_t rows = 0;
    for (int i = 0; i < parts->interior; i++) rows += parts->part[i].rows;
    return rows;
}
