/** Implements sp_device_alloc() and sp_device_free(). CUDA takes 60 to 170 microseconds to allocate or to
 *  free a block of a megabyte or more (H200), as long as several products take, and plans are made with a
 *  dozen of them. So freed blocks are kept and used again: those of medium size, up to a limit. */
#include "base/environment.h"
#include "base/memory.h"
#include "device/device_cuda.h"

/* A block is reused for an allocation of at least half its size. Blocks of less than SMALLEST bytes are
 * allocated fast. */
enum { MOST_BLOCKS = 256, SMALLEST = 256 << 10, LARGEST = 64 << 20, KEPT_MB = 256 };

/** A block of medium size. */
typedef struct gpu_block {
    void *p;
    int64_t bytes;
    int in_use; /* 0: kept for a later allocation */
} gpu_block;

static struct {
    gpu_block list[MOST_BLOCKS];
    int count;
    int64_t kept_bytes; /* in all blocks that are not in use */
} blocks;

static int is_medium(int64_t bytes) { return bytes >= SMALLEST && bytes <= LARGEST; }

static void forget(gpu_block *b)
{
    if (!b->in_use) blocks.kept_bytes -= b->bytes;
    *b = blocks.list[--blocks.count];
}

/** Returns the smallest kept block for `bytes` bytes; NULL if none fits. */
static gpu_block *fitting(int64_t bytes)
{
    gpu_block *best = NULL;
    for (gpu_block *b = blocks.list; b < blocks.list + blocks.count; b++)
        if (!b->in_use && b->bytes >= bytes && b->bytes / 2 <= bytes && (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

/** Gives the blocks that are kept back to the GPU. */
static void free_kept(void)
{
    for (int i = blocks.count - 1; i >= 0; i--) {
        if (blocks.list[i].in_use) continue;
        (void)cudaFree(blocks.list[i].p);
        forget(&blocks.list[i]);
    }
    (void)cudaGetLastError();
}

void sp_cuda_forget_blocks(void)
{
    free_kept();
    blocks.count = 0;
}

spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what)
{
    *p = NULL;
    if (bytes < 0) return sp_fail(SPMM_ERR_LIMIT, "%s: %lld bytes", what, (long long)bytes);
    TRY(sp_cuda_enter());
    gpu_block *const kept = is_medium(bytes) ? fitting(bytes) : NULL;
    if (kept) {
        kept->in_use = 1;
        blocks.kept_bytes -= kept->bytes;
        *p = kept->p;
        return SPMM_OK;
    }
    cudaError_t error = cudaMalloc(p, bytes > 0 ? (size_t)bytes : 1);
    if (error == cudaErrorMemoryAllocation && blocks.kept_bytes > 0) {
        (void)cudaGetLastError();
        free_kept();
        error = cudaMalloc(p, (size_t)bytes);
    }
    if (error == cudaSuccess) {
        if (is_medium(bytes) && blocks.count < MOST_BLOCKS)
            blocks.list[blocks.count++] = (gpu_block){*p, bytes, 1};
        return SPMM_OK;
    }
    *p = NULL;
    return error == cudaErrorMemoryAllocation ? sp_cuda_no_memory(bytes, what) : sp_cuda_fail(error, what);
}

void sp_device_free(void *p)
{
    if (!p || !sp_cuda_is_open() || sp_cuda_keeps(p)) return;
    gpu_block *b = blocks.list;
    while (b < blocks.list + blocks.count && b->p != p) b++;
    const int known = b < blocks.list + blocks.count;
    if (known && blocks.kept_bytes + b->bytes <= sp_environment_number("SPMM_GPU_KEPT_MB", KEPT_MB) << 20) {
        (void)
            cudaDeviceSynchronize(); /* as cudaFree() does: nothing that is queued uses the block any more */
        b->in_use = 0;
        blocks.kept_bytes += b->bytes;
    } else {
        (void)cudaFree(p);
        if (known) forget(b);
    }
    (void)cudaGetLastError();
}
