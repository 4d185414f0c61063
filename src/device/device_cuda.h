/** Helpers of the files device_cuda*.c, which implement device.h with the CUDA runtime. */
#ifndef SP_DEVICE_CUDA_H
#define SP_DEVICE_CUDA_H

#include <cuda_runtime.h>

#include "device/device.h"

/** The GPU of this process. */
extern struct sp_cuda_device {
    int open;
    int index;      /**< number of the open GPU among the usable ones */
    int ordinal;    /**< number that CUDA gives the open GPU */
    int code;       /**< architecture of the code that the open GPU runs, compute capability x 10 */
    char name[160]; /**< for messages, e.g. "GPU 0 (NVIDIA H200)" */
    cudaStream_t queue[SP_STREAMS];
    cudaStream_t own;      /**< the library's SP_STREAM_MAIN, while queue[SP_STREAM_MAIN] is the caller's
                                stream; else NULL */
    cudaEvent_t order;     /**< event by which one stream waits for another; each use records it anew */
    const char *kernel;    /**< name of the kernel launched last */
    const void *product;   /**< function of the last launched kernel of a product; NULL: it has been queried
                                since */
    sp_launch_shape shape; /**< shape of that launch, as far as it was recorded */
} sp_cuda;

/** Makes the open GPU the calling thread's current device: CUDA keeps the current device per thread, and
 *  this thread may be new. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (no GPU is open), _DEVICE */
spmm_status sp_cuda_enter(void);

/** Sets the error message "NAME: WHAT: TEXT", where NAME is the open GPU's, e.g. "GPU 0 (NVIDIA H200)", or
 *  "GPU" if none is open, and TEXT is CUDA's description of the error. Clears the error in the CUDA runtime,
 *  so that no later check reports it again. Local. \return SPMM_ERR_DEVICE */
spmm_status sp_cuda_fail(cudaError_t error, const char *what);

/** Like sp_cuda_fail(), for an error that CUDA reported while the host was waiting. Such an error may come
 *  from a kernel: the message names the kernel launched last, if any, instead of `what`. Local. */
spmm_status sp_cuda_wait_fail(cudaError_t error, const char *what);

/** Sets the error message for `bytes` bytes that cannot be allocated, and clears the error in the CUDA
 *  runtime. Local.
 *  \return SPMM_ERR_MEMORY */
spmm_status sp_cuda_no_memory(int64_t bytes, const char *what);

/** Creates the memory pool of the GPU that was just opened. If that fails, memory is allocated without one.
 *  Local. \param [in] memory_bytes size of the GPU's memory */
void sp_cuda_open_pool(int ordinal, int64_t memory_bytes);

/** Destroys the memory pool, for sp_device_close(); memory that is in use stays valid. Local. */
void sp_cuda_close_pool(void);

/** Frees the staging buffers of copies, for sp_device_close(). Local. */
void sp_cuda_free_stages(void);

/** Describes the usable GPU with number `index`, as sp_device_describe() counts. Local.
 *  \param [out] ordinal  CUDA's number of this GPU
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (no usable GPU has this number) */
spmm_status sp_cuda_find_gpu(int index, int *ordinal, sp_device_info *info);

/** Frees the resources of flags, for sp_device_close(). Local. */
void sp_cuda_close_flags(void);

/** Waits for the open GPU and frees memory on it. Local. */
void sp_cuda_free(void *p);

/** Checks whether the memory p is shared; if so, marks it as freed, so that sp_device_unshare() frees it
 *  later. Local.
 *  \return 1: p is shared and must not be freed now, 0: p is not shared */
int sp_cuda_keeps(void *p);

/** Calls a function of the CUDA runtime; if that fails, returns from the calling function with
 *  sp_cuda_fail(). */
#define CUDA(call, what)                                              \
    do {                                                              \
        const cudaError_t error_ = (call);                            \
        if (error_ != cudaSuccess) return sp_cuda_fail(error_, what); \
    } while (0)

#endif
