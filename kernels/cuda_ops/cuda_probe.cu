/** Provides data to device_cuda.c, which is not compiled by nvcc: the GPU architectures for which this build
 *  contains machine code, and the resources of a multiprocessor that a kernel uses. */
#include <cuda_runtime.h>

extern "C" {
#include "device/device.h"
}

__global__ void probe_kernel() {}

/** The architectures for which this build was compiled, as compute capability x 100 (900 for sm_90), in
 *  ascending order, terminated by 0. */
extern "C" const int sp_cuda_architectures[] = {__CUDA_ARCH_LIST__, 0};

/** Checks whether this build contains code that the current GPU can run.
 *  \param [out] architecture  the architecture for which that code was compiled, as compute capability x 10;
 *                             it may be lower than the GPU's; 0 on failure
 *  \return a cudaError_t: 0 (cudaSuccess) if there is such code */
extern "C" int sp_cuda_probe(int *architecture)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);
    *architecture = error == cudaSuccess ? attributes.ptxVersion : 0;
    return error;
}

/** Sets the members of *shape that the compiler and the GPU determine: registers, static_shared and resident.
 *  The other members describe how the kernel was launched on the current GPU. \return the error of the first
 *  call that failed */
extern "C" int sp_cuda_occupancy(const void *kernel, sp_launch_shape *shape)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) return error;
    shape->registers = attributes.numRegs;
    shape->static_shared = (int64_t)attributes.sharedSizeBytes;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&shape->resident, kernel, shape->block,
                                                         (size_t)shape->dynamic_shared);
}
