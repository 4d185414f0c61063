/** Tells what machine code this build holds, for device_cuda.c, which gcc compiles. */
#include <cuda_runtime.h>

__global__ void probe_kernel() {}

/** The architectures of the build, as compute capability x 100 ("sm_90": 900), ascending, 0-terminated. */
extern "C" const int sp_cuda_architectures[] = {__CUDA_ARCH_LIST__, 0};

/** Looks for code that the current GPU can run. \return a cudaError_t; 0 if there is some */
extern "C" int sp_cuda_probe()
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, probe_kernel);
}
