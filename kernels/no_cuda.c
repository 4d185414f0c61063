/** The CUDA kernels of a build without CUDA: listed, but they cannot run. */
#include "kernel.h"
#include "status.h"

#define CPU(id)
#define CUDA(id)                                                                                \
    spmm_status sp_kernel_##id(const sp_launch *l);                                             \
    spmm_status sp_kernel_##id(const sp_launch *l)                                              \
    {                                                                                           \
        (void)l;                                                                                \
        return sp_fail(SPMM_ERR_NO_DEVICE, "kernel " #id ": this build was made without CUDA"); \
    }
#define KERNEL(id, backend, format, exact, what) backend(id)
#include "kernels.def"
