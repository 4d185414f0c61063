/** Shared by the files that implement device.h with the CUDA runtime. */
#ifndef SP_DEVICE_CUDA_H
#define SP_DEVICE_CUDA_H

#include <cuda_runtime.h>

#include "device/device.h"

/** Makes the open GPU the calling thread's current device: CUDA keeps that per thread, and the thread may be new.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (no GPU is open), _DEVICE */
spmm_status sp_cuda_enter(void);

/** Sets the message "GPU: what: CUDA's text", and clears the error in the runtime, so that no later check finds it.
 *  Local. \return SPMM_ERR_DEVICE */
spmm_status sp_cuda_fail(cudaError_t error, const char *what);

/** Like sp_cuda_fail() for an error reported while waiting, where errors of kernels show up: the message names the
 *  kernel launched last, if any, instead of `what`. Local. */
spmm_status sp_cuda_wait_fail(cudaError_t error, const char *what);

/** If the memory is shared, marks it as freed, so that sp_device_unshare() frees it later. Local.
 *  \return 1: it is shared and must not be freed now, 0: it is not shared */
int sp_cuda_keeps(void *p);

/** Returns from the calling function with sp_cuda_fail() if a call of the CUDA runtime fails. */
#define CUDA(call, what)                                              \
    do {                                                              \
        const cudaError_t error_ = (call);                            \
        if (error_ != cudaSuccess) return sp_cuda_fail(error_, what); \
    } while (0)

#endif
