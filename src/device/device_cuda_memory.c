/** Implements sp_device_alloc(), its variants, and sp_device_free(). CUDA takes about as long to allocate or
 *  free a large block as several products take, and a plan allocates a dozen blocks. So memory comes from a
 *  memory pool, which keeps freed memory for reuse (CUDA C++ Programming Guide, "Stream Ordered Memory
 *  Allocator"). */
#include "base/environment.h"
#include "base/memory.h"
#include "device/device_cuda.h"

/* The pool keeps at most KEPT_MB MiB, and at most 1/SHARE of the GPU's memory. */
enum { KEPT_MB = 256, SHARE = 64 };

static cudaMemPool_t pool; /* pool of the open GPU; NULL: there is none, or no memory is to be kept */

/** Allocates the memory that the pool keeps, so that the first plan need not wait for it. */
static cudaError_t device_cuda_memory_fill(uint64_t bytes, cudaStream_t stream)
{
    void *p;
    cudaError_t error = cudaMallocFromPoolAsync(&p, bytes, pool, stream);
    if (error == cudaSuccess) error = cudaFreeAsync(p, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

void sp_cuda_open_pool(int ordinal, int64_t memory_bytes)
{
    const int64_t kept = sp_environment_number("SPMM_GPU_KEPT_MB", KEPT_MB) << 20;
    uint64_t bytes = (uint64_t)(kept < memory_bytes / SHARE ? kept : memory_bytes / SHARE);
    int supported = 0;
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = ordinal}};
    (void)cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, ordinal);
    if (supported && bytes > 0 && cudaMemPoolCreate(&pool, &properties) != cudaSuccess) pool = NULL;
    if (pool &&
        (cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes) != cudaSuccess ||
         device_cuda_memory_fill(bytes, (cudaStream_t)sp_device_stream(SP_STREAM_MAIN)) != cudaSuccess))
        sp_cuda_close_pool();
    (void)cudaGetLastError();
}

void sp_cuda_close_pool(void)
{
    if (pool) (void)cudaMemPoolDestroy(pool);
    pool = NULL;
    (void)cudaGetLastError();
}

/** Memory of sp_device_alloc() (POOLED), sp_device_alloc_exchanged() (EXCHANGED) and
 *  sp_device_alloc_managed() (MANAGED). Only POOLED memory is allocated from the pool, in SP_STREAM_MAIN, if
 *  there is a pool. */
typedef enum memory_kind { POOLED, EXCHANGED, MANAGED } memory_kind;

static cudaError_t device_cuda_memory_allocate(void **p, int64_t bytes, memory_kind kind)
{
    const size_t n = bytes > 0 ? (size_t)bytes : 1;
    if (kind == MANAGED) return cudaMallocManaged(p, n, cudaMemAttachGlobal);
    if (kind == EXCHANGED || !pool) return cudaMalloc(p, n);
    return cudaMallocFromPoolAsync(p, n, pool, (cudaStream_t)sp_device_stream(SP_STREAM_MAIN));
}

static spmm_status alloc(void **p, int64_t bytes, memory_kind kind, const char *what)
{
    *p = NULL;
    if (bytes < 0)
        return sp_fail(SPMM_ERR_LIMIT, "%s: found a size of %lld bytes, expected at least 0", what,
                       (long long)bytes);
    TRY(sp_cuda_enter());
    cudaError_t error = device_cuda_memory_allocate(p, bytes, kind);
    /* try again after the pool has released the memory that it keeps */
    if (error == cudaErrorMemoryAllocation && pool) {
        (void)cudaGetLastError();
        (void)cudaMemPoolTrimTo(pool, 0);
        error = device_cuda_memory_allocate(p, bytes, kind);
    }
    if (error == cudaSuccess) return SPMM_OK;
    *p = NULL;
    return error == cudaErrorMemoryAllocation ? sp_cuda_no_memory(bytes, what) : sp_cuda_fail(error, what);
}

spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what)
{
    return alloc(p, bytes, POOLED, what);
}

spmm_status sp_device_alloc_exchanged(void **p, int64_t bytes, const char *what)
{
    return alloc(p, bytes, EXCHANGED, what);
}

spmm_status sp_device_alloc_managed(void **p, int64_t bytes, const char *what)
{
    return alloc(p, bytes, MANAGED, what);
}

void sp_device_free(void *p)
{
    if (p && sp_device_is_open() && !sp_cuda_keeps(p)) sp_cuda_free(p);
}
