/** Fills and copies of memory of the open GPU. */
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "device/device_cuda.h"

/* PIECE: bytes of a staging buffer. STAGE_FROM: minimum size in bytes of copies of pageable memory that use
 * staging buffers. */
enum { PIECE = 16 << 20, STAGE_FROM = 4 << 20, STAGES = 2 };

static struct {
    void *buffer[STAGES]; /* pinned, PIECE bytes each, allocated when they are first needed */
    cudaEvent_t copied[STAGES];
    int failed;
} stages;

spmm_status sp_device_zero(void *p, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes > 0)
        CUDA(cudaMemsetAsync(p, 0, (size_t)bytes, sp_cuda.queue[SP_STREAM_MAIN]), "cannot zero memory");
    return SPMM_OK;
}

spmm_status sp_device_zero_2d(void *p, int64_t pitch, int64_t bytes, int64_t rows)
{
    TRY(sp_cuda_enter());
    if (bytes > 0 && rows > 0)
        CUDA(cudaMemset2DAsync(p, (size_t)pitch, 0, (size_t)bytes, (size_t)rows,
                               sp_cuda.queue[SP_STREAM_MAIN]),
             "cannot zero rows");
    return SPMM_OK;
}

spmm_status sp_device_nan(void *p, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes > 0)
        CUDA(cudaMemsetAsync(p, 0xff, (size_t)bytes, sp_cuda.queue[SP_STREAM_MAIN]),
             "cannot fill memory with NaNs");
    return SPMM_OK;
}

/* ---- copies ---- */

void sp_cuda_free_stages(void)
{
    for (int i = 0; i < STAGES; i++) {
        if (stages.copied[i]) (void)cudaEventDestroy(stages.copied[i]);
        if (stages.buffer[i]) (void)cudaFreeHost(stages.buffer[i]);
        stages.copied[i] = NULL;
        stages.buffer[i] = NULL;
    }
    stages.failed = 0;
    (void)cudaGetLastError();
}

/** Allocates the pinned staging buffers for large copies if that has not been done yet. Without them, the
 *  driver copies pageable memory through its own buffers with one thread, which is several times slower.
 *  \return 1 if the buffers exist, 0 if they cannot be allocated: then the driver copies */
static int have_stages(void)
{
    if (stages.buffer[0]) return 1;
    if (stages.failed) return 0;
    for (int i = 0; i < STAGES && !stages.failed; i++)
        stages.failed = cudaHostAlloc(&stages.buffer[i], PIECE, cudaHostAllocDefault) != cudaSuccess ||
                        cudaEventCreateWithFlags(&stages.copied[i], cudaEventDisableTiming) != cudaSuccess;
    if (!stages.failed) return 1;
    sp_cuda_free_stages();
    stages.failed = 1; /* no further attempts until the GPU is closed */
    return 0;
}

/** Works like memcpy(), with all OpenMP threads of the process. */
static void copy_by_threads(char *to, const char *from, int64_t bytes)
{
    enum { PART = 1 << 20 };
    const int64_t parts = (bytes + PART - 1) / PART;
#pragma omp parallel for schedule(static) num_threads(sp_threads_default())
    for (int64_t i = 0; i < parts; i++) {
        const int64_t left = bytes - i * PART;
        memcpy(to + i * PART, from + i * PART, (size_t)(left < PART ? left : PART));
    }
}

static int64_t piece_bytes(int64_t bytes, int64_t i)
{
    const int64_t left = bytes - i * PIECE;
    return left < PIECE ? left : PIECE;
}

/** Uploads in chunks: while the host fills one staging buffer, the other one is copied to the GPU. */
static cudaError_t staged_upload(char *to, const char *from, int64_t bytes)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
    cudaError_t error = cudaSuccess;
    for (int64_t i = 0; i < pieces && error == cudaSuccess; i++) {
        const int s = (int)(i % STAGES);
        const int64_t n = piece_bytes(bytes, i);
        if (i >= STAGES && (error = cudaEventSynchronize(stages.copied[s])) != cudaSuccess) break;
        copy_by_threads(stages.buffer[s], from + i * PIECE, n);
        error = cudaMemcpyAsync(to + i * PIECE, stages.buffer[s], (size_t)n, cudaMemcpyHostToDevice,
                                sp_cuda.queue[SP_STREAM_MAIN]);
        if (error == cudaSuccess) error = cudaEventRecord(stages.copied[s], sp_cuda.queue[SP_STREAM_MAIN]);
    }
    return error;
}

/** Downloads in chunks: while one chunk is copied from the GPU, the host empties the staging buffer of the
 *  previous chunk. */
static cudaError_t staged_download(char *to, const char *from, int64_t bytes)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
    cudaError_t error = cudaSuccess;
    for (int64_t i = 0; i <= pieces && error == cudaSuccess; i++) {
        if (i < pieces) {
            const int s = (int)(i % STAGES);
            error = cudaMemcpyAsync(stages.buffer[s], from + i * PIECE, (size_t)piece_bytes(bytes, i),
                                    cudaMemcpyDeviceToHost, sp_cuda.queue[SP_STREAM_MAIN]);
            if (error == cudaSuccess)
                error = cudaEventRecord(stages.copied[s], sp_cuda.queue[SP_STREAM_MAIN]);
        }
        if (i > 0 && error == cudaSuccess) {
            const int s = (int)((i - 1) % STAGES);
            error = cudaEventSynchronize(stages.copied[s]);
            if (error == cudaSuccess)
                copy_by_threads(to + (i - 1) * PIECE, stages.buffer[s], piece_bytes(bytes, i - 1));
        }
    }
    return error;
}

/** Waits for a copy to finish. Waits even if `error` is a failure, because the staging buffers must be idle
 *  before the next copy. */
static spmm_status device_cuda_copies_finish(cudaError_t error, const char *what)
{
    const cudaError_t waited = cudaStreamSynchronize(sp_cuda.queue[SP_STREAM_MAIN]);
    if (error != cudaSuccess) return sp_cuda_fail(error, what);
    return waited == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(waited, what);
}

spmm_status sp_device_upload(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    if (bytes >= STAGE_FROM && have_stages())
        return device_cuda_copies_finish(staged_upload(to, from, bytes), "upload");
    return device_cuda_copies_finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, sp_cuda.queue[SP_STREAM_MAIN]),
        "upload");
}

spmm_status sp_device_download(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    if (bytes >= STAGE_FROM && have_stages())
        return device_cuda_copies_finish(staged_download(to, from, bytes), "download");
    return device_cuda_copies_finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, sp_cuda.queue[SP_STREAM_MAIN]),
        "download");
}

sp_reach sp_device_reach(const void *p)
{
    struct cudaPointerAttributes about;
    int pageable = 0; /* 1: the GPU can access all host memory, pageable memory included */
    if (!sp_cuda.open) return SP_REACH_ANY;
    if (cudaPointerGetAttributes(&about, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return SP_REACH_ANY;
    }
    if (about.type == cudaMemoryTypeDevice) return SP_REACH_GPU;
    if (about.type != cudaMemoryTypeUnregistered) return SP_REACH_ANY;
    if (cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, sp_cuda.ordinal) != cudaSuccess)
        (void)cudaGetLastError();
    return pageable ? SP_REACH_ANY : SP_REACH_HOST;
}

spmm_status sp_device_copy(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    return device_cuda_copies_finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, sp_cuda.queue[SP_STREAM_MAIN]),
        "cannot copy");
}

spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind)
{
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                cudaMemcpyDeviceToDevice};
    if (kind < 0 || kind > 2) return sp_fail(SPMM_ERR_INTERNAL, "copy_2d: unknown kind %d", kind);
    TRY(sp_cuda_enter());
    if (bytes <= 0 || rows <= 0) return SPMM_OK;
    return device_cuda_copies_finish(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch,
                                                       (size_t)bytes, (size_t)rows, kinds[kind],
                                                       sp_cuda.queue[SP_STREAM_MAIN]),
                                     "cannot copy rows");
}

spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream)
{
    TRY(sp_cuda_enter());
    if (bytes > 0)
        CUDA(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, sp_cuda.queue[stream]),
             "cannot copy");
    return SPMM_OK;
}

spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream)
{
    /* contiguous rows are copied as one block, because copy engines are slower for short rows */
    if (to_pitch == bytes && from_pitch == bytes) return sp_stream_copy(to, from, bytes * rows, stream);
    TRY(sp_cuda_enter());
    if (bytes > 0 && rows > 0)
        CUDA(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)bytes, (size_t)rows,
                               cudaMemcpyDefault, sp_cuda.queue[stream]),
             "cannot copy rows");
    return SPMM_OK;
}

spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what)
{
    char size[32];
    *p = NULL;
    if (bytes < 0)
        return sp_fail(SPMM_ERR_LIMIT, "%s: found a size of %lld bytes, expected at least 0", what,
                       (long long)bytes);
    TRY(sp_cuda_enter());
    if (cudaHostAlloc(p, bytes > 0 ? (size_t)bytes : 1, cudaHostAllocDefault) == cudaSuccess) return SPMM_OK;
    *p = NULL;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s of pinned host memory for %s",
                   sp_bytes_text(size, sizeof size, (double)bytes), what);
}

void sp_device_host_free(void *p)
{
    if (!p || !sp_cuda.open) return;
    (void)cudaFreeHost(p);
    (void)cudaGetLastError();
}
