#include "matrix_device.h"

#include <string.h>

#include "device.h"
#include "memory.h"

/** A device copy of count elements in *to; NULL when there is no such array, and on failure. */
static spmm_status upload_array(const void *from, int64_t count, size_t size, const char *what, void **to)
{
    *to = NULL;
    if (!from) return SPMM_OK;
    const int64_t bytes = count * (int64_t)size;
    TRY(sp_device_alloc(to, bytes, what));
    const spmm_status status = sp_device_upload(*to, from, bytes);
    if (status != SPMM_OK) {
        sp_device_free(*to);
        *to = NULL;
    }
    return status;
}

static spmm_status upload_arrays(const sp_matrix *host, sp_matrix *device)
{
    void *p;
    int64_t stored = host->nnz;
    if (host->format == SPMM_ELL &&
        (__builtin_mul_overflow(host->rows, host->width, &stored) || stored > INT64_MAX / 8))
        return sp_fail(SPMM_ERR_LIMIT, "padded ELLPACK of %lld rows x %lld does not fit 64-bit sizes",
                       (long long)host->rows, (long long)host->width);
    const int64_t starts = host->format == SPMM_CSR ? host->rows + 1 : host->rows;
    TRY(upload_array(host->row_start, starts, sizeof *host->row_start, "row pointers", &p));
    device->row_start = p;
    TRY(upload_array(host->nz_per_row, host->rows, sizeof *host->nz_per_row, "row lengths", &p));
    device->nz_per_row = p;
    TRY(upload_array(host->col, stored, sizeof *host->col, "column indices", &p));
    device->col = p;
    TRY(upload_array(host->val, stored, sp_value_size(host->precision), "values", &p));
    device->val = p;
    return SPMM_OK;
}

spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device)
{
    *device = *host;
    device->space = SPMM_CUDA;
    device->row_start = NULL;
    device->nz_per_row = NULL;
    device->col = NULL;
    device->val = NULL;
    const spmm_status status = upload_arrays(host, device);
    if (status != SPMM_OK) sp_matrix_destroy_device(device);
    return status;
}

void sp_matrix_destroy_device(sp_matrix *m)
{
    if (!m) return;
    sp_device_free(m->row_start);
    sp_device_free(m->nz_per_row);
    sp_device_free(m->col);
    sp_device_free(m->val);
    memset(m, 0, sizeof *m);
}
