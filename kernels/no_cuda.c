/** The CUDA kernels of a build without CUDA: listed, but they cannot run. */
#include "kernel.h"
#include "status.h"

static spmm_status refuse(const sp_launch *l)
{
    (void)l;
    return sp_fail(SPMM_ERR_NO_DEVICE, "a CUDA kernel: this build was made without CUDA");
}

#define CPU(id)
#define CUDA(id) const sp_kernel_ops sp_kernel_##id = {refuse, NULL, NULL};
#define KERNEL(id, backend, format, exact, what) backend(id)
#include "kernels.def"
