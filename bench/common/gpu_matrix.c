/** What a bench provides to adaptors for GPUs: functions, and A in the GPU's memory. */
#include "base/status.h"
#include "device/device.h"
#include "bench.h"

static const char *gpu_alloc(void **p, int64_t bytes)
{
    return failed(sp_device_alloc(p, bytes, "a library's matrix"));
}
static const char *gpu_upload(void *to, const void *from, int64_t bytes)
{
    return failed(sp_device_upload(to, from, bytes));
}
static const char *gpu_wait(void) { return failed(sp_device_sync()); }

const peer_gpu bench_peer_gpu = {gpu_alloc, sp_device_free, gpu_upload, gpu_wait};

spmm_status bench_upload(const peer_matrix *a, void *on_gpu[3])
{
    const void *const host[3] = {a->row_start, a->col, a->val};
    const int64_t bytes[3] = {(a->rows + 1) * (int64_t)sizeof *a->row_start, a->nnz * (int64_t)sizeof *a->col,
                              a->nnz * (int64_t)peer_value_bytes(a)};
    if (!a->row_start) return sp_fail(SPMM_ERR_LIMIT, "more than 2^31 - 1 entries");
    for (int i = 0; i < 3; i++) {
        TRY(sp_device_alloc(&on_gpu[i], bytes[i], "a library's matrix"));
        TRY(sp_device_upload(on_gpu[i], host[i], bytes[i]));
    }
    return SPMM_OK;
}
