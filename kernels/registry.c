#include "kernel.h"

#include <stddef.h>
#include <string.h>

#define KERNEL(id, device, format, exact, what) spmm_status sp_kernel_##id(const sp_launch *launch);
#include "kernels.def"
#undef KERNEL

static const sp_kernel registry[] = {
#define KERNEL(id, device, format, exact, what) \
    {#id, SPMM_##device, SPMM_##format, exact, what, sp_kernel_##id},
#include "kernels.def"
#undef KERNEL
};

enum { KERNELS = sizeof registry / sizeof *registry };

const sp_kernel *sp_kernels(int *count)
{
    *count = KERNELS;
    return registry;
}

const sp_kernel *sp_kernel_find(const char *id)
{
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(registry[i].id, id) == 0) return &registry[i];
    return NULL;
}

const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format)
{
    for (int i = 0; i < KERNELS; i++)
        if (registry[i].device == device && registry[i].format == format) return &registry[i];
    return NULL;
}
