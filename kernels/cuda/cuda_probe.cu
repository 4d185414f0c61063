/** Tells device_cuda.c, which is not compiled by nvcc, for which GPU architectures this build contains
 *  machine code, and how many registers a kernel takes. */
#include <cuda_runtime.h>

__global__ void probe_kernel() {}

/** The architectures for which this build was compiled, as compute capability x 100 (900 for sm_90), in
 *  ascending order, terminated by 0. */
extern "C" const int sp_cuda_architectures[] = {__CUDA_ARCH_LIST__, 0};

/** Looks in this build for code that the current GPU can run.
 *  \param [out] architecture  the one for which that code was compiled, as compute capability x 10; it may be
 *                             lower than the GPU's; 0 on failure
 *  \return a cudaError_t: 0 (cudaSuccess) if there is such code */
extern "C" int sp_cuda_probe(int *architecture)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);
    *architecture = error == cudaSuccess ? attributes.ptxVersion : 0;
    return error;
}

/** Returns the number of registers that a thread of the kernel has on the current GPU; 0 if that is not known. */
extern "C" int sp_cuda_registers(const void *kernel)
{
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) return attributes.numRegs;
    (void)cudaGetLastError();
    return 0;
}
