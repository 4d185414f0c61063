/** Creates a block of A in a storage format, copies it to the GPU, and destroys it. */
#include "formats/matrix.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "formats/ell.h"
#include "formats/panel.h"
#include "formats/sell.h"

/** Describes an array of sp_matrix: the offset of the pointer in sp_matrix, and the name of the contents for
 *  messages. */
typedef struct array_row {
    size_t offset;
    const char *what;
} array_row;

static const array_row arrays[] = {
    {offsetof(sp_matrix, row_start), "row starts"},     {offsetof(sp_matrix, nz_per_row), "row lengths"},
    {offsetof(sp_matrix, col), "column indices"},       {offsetof(sp_matrix, val), "values"},
    {offsetof(sp_matrix, target), "rows of Y"},         {offsetof(sp_matrix, split), "long rows"},
    {offsetof(sp_matrix, tile_start), "panels' tiles"}, {offsetof(sp_matrix, mask), "tiles' masks"},
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

static void **array_of(sp_matrix *m, int i) { return (void **)((char *)m + arrays[i].offset); }

/** Returns the number of elements of host->col, padding included; -1 if that exceeds 64 bits. */
static int64_t stored_columns(const sp_matrix *host)
{
    int64_t stored;
    switch (host->format) {
    case SPMM_ELL:
        return __builtin_mul_overflow(host->rows, host->width, &stored) || stored > INT64_MAX / 8 ? -1
                                                                                                  : stored;
    case SPMM_SELL: return host->row_start[host->groups];
    case SPMM_PANEL: return host->tile_start[host->groups] * SP_TILE_COLUMNS;
    case SPMM_FORMAT_AUTO:
    case SPMM_CSR:
    case SPMM_ELL_NOPAD: break;
    }
    return host->nnz;
}

/** Computes the size in bytes of each array of host, in the order of the table `arrays`. Reads row_start and
 *  tile_start, so these arrays must be in host memory. */
static spmm_status array_bytes(const sp_matrix *host, int64_t bytes[ARRAYS])
{
    const int64_t columns = stored_columns(host);
    if (columns < 0)
        return sp_fail(SPMM_ERR_LIMIT, "padded ELLPACK of %lld rows x %lld does not fit 64-bit sizes",
                       (long long)host->rows, (long long)host->width);
    const int64_t starts = host->format == SPMM_SELL || host->format == SPMM_PANEL
                               ? host->groups + 1
                               : host->rows + (host->format == SPMM_CSR);
    bytes[0] = starts * (int64_t)sizeof *host->row_start;
    bytes[1] = host->rows * (int64_t)sizeof *host->nz_per_row;
    bytes[2] = columns * (int64_t)sizeof *host->col;
    bytes[3] = (host->format == SPMM_PANEL ? host->nnz : columns) * sp_value_size(host->precision);
    bytes[4] = host->groups * SP_SLICE * (int64_t)sizeof *host->target;
    bytes[5] = host->splits * (int64_t)sizeof *host->split;
    bytes[6] = (host->groups + 1) * (int64_t)sizeof *host->tile_start;
    bytes[7] = columns / SP_TILE_COLUMNS * (int64_t)sizeof *host->mask;
    for (int i = 0; i < ARRAYS; i++)
        if (!*array_of((sp_matrix *)(uintptr_t)host, i)) bytes[i] = 0;
    return SPMM_OK;
}

spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device)
{
    int64_t bytes[ARRAYS];
    spmm_status status;
    *device = *host;
    device->space = SPMM_CUDA;
    device->borrowed = 0;
    for (int i = 0; i < ARRAYS; i++) *array_of(device, i) = NULL;
    TRY_GOTO(array_bytes(host, bytes), done);
    for (int i = 0; i < ARRAYS; i++) {
        const void *const from = *array_of((sp_matrix *)(uintptr_t)host, i);
        if (!from) continue;
        TRY_GOTO(sp_device_alloc(array_of(device, i), bytes[i], arrays[i].what), done);
        TRY_GOTO(sp_device_upload(*array_of(device, i), from, bytes[i]), done);
    }
done:
    if (status != SPMM_OK) sp_matrix_destroy(device);
    return status;
}

void sp_matrix_destroy(sp_matrix *m)
{
    if (!m) return;
    for (int i = 0; i < ARRAYS && !m->borrowed; i++)
        if (m->space == SPMM_CUDA)
            sp_device_free(*array_of(m, i));
        else
            sp_free(*array_of(m, i));
    memset(m, 0, sizeof *m);
}

sp_matrix sp_matrix_like(const spmm_csr *a, spmm_format format)
{
    return (sp_matrix){.format = format,
                       .precision = a->precision,
                       .space = SPMM_CPU,
                       .rows = a->rows,
                       .cols = a->cols,
                       .nnz = a->nnz};
}

void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m)
{
    *m = sp_matrix_like(a, SPMM_CSR);
    m->borrowed = 1;
    m->row_start = a->irp;
    m->col = a->ja;
    m->val = a->as;
}

static spmm_status convert(const spmm_csr *block, spmm_format format, double ell_limit, int threads,
                           sp_matrix *m)
{
    switch (format) {
    case SPMM_ELL: return sp_ell_from_csr(block, ell_limit > 0 ? ell_limit : 3.0, threads, m);
    case SPMM_ELL_NOPAD: return sp_ell_nopad_from_csr(block, threads, m);
    case SPMM_SELL: return sp_sell_from_csr(block, threads, m);
    case SPMM_PANEL: return sp_panel_from_csr(block, threads, m);
    case SPMM_FORMAT_AUTO:
    case SPMM_CSR: break;
    }
    sp_matrix_view_csr(block, m);
    return SPMM_OK;
}

spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int threads, sp_matrix *m)
{
    memset(m, 0, sizeof *m);
    TRY(convert(block, format, ell_limit, threads, m));
    if (space == SPMM_CPU) return SPMM_OK;
    sp_matrix host = *m;
    const spmm_status status = sp_matrix_upload(&host, m);
    sp_matrix_destroy(&host);
    return status;
}
