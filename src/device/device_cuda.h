/** What the files share that do device.h by the CUDA runtime. */
#ifndef SP_DEVICE_CUDA_H
#define SP_DEVICE_CUDA_H

#include <cuda_runtime.h>

#include "device/device.h"

/** The current GPU is CUDA's state per thread; the caller's may be a new one. */
spmm_status sp_cuda_enter(void);

/** Fails with what CUDA says; takes the error out of the runtime, so that no later check finds it. */
spmm_status sp_cuda_fail(cudaError_t error, const char *what);

/** Waiting is where the errors of kernels come up: names the one launched last. */
spmm_status sp_cuda_wait_fail(cudaError_t error, const char *what);

/** Has sp_device_free() taken note of shared memory, which is freed later? */
int sp_cuda_keeps(void *p);

#define CUDA(call, what)                                              \
    do {                                                              \
        const cudaError_t error_ = (call);                            \
        if (error_ != cudaSuccess) return sp_cuda_fail(error_, what); \
    } while (0)

#endif
