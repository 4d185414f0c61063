/** Builds the table of kernels from kernels.def, followed by the kernels that are added, and looks up kernels
 *  in it. */
#include "kernels/kernel.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "formats/summation.h"

#define KERNEL(...) +1
enum {
    KERNELS = 0
#include "kernels/kernels.def"
};
#undef KERNEL

#define KERNEL(id, ...)                        \
    extern const sp_kernel_ops sp_kernel_##id; \
    sp_suits sp_suits_##id; /* defined if the kernel's line has RULE or BOTH */
#include "kernels/kernels.def"
#undef KERNEL

#define NO(id) NULL
#define TREE(id) NULL
#define RULE(id) sp_suits_##id
#define BOTH(id) sp_suits_##id
static sp_kernel registry[KERNELS + SP_MOST_ADDED] = {
#define KERNEL(id, device, format, types, exact, by, what)                           \
    {#id,          SPMM_##device, SPMM_##format, SP_TYPES_##types, SP_EXACT_##exact, \
     SP_AUTO_##by, by(id),        what,          &sp_kernel_##id,  NULL},
#include "kernels/kernels.def"
#undef KERNEL
};
static int added;

spmm_status sp_kernel_any_k(const sp_setup *setup, void *state)
{
    (void)setup, (void)state;
    return SPMM_OK;
}

const sp_kernel *sp_kernels(int *count)
{
    *count = KERNELS;
    return registry;
}

const sp_kernel *sp_kernels_all(int *count)
{
    *count = KERNELS + added;
    return registry;
}

void sp_kernels_add(const sp_kernel *kernel)
{
    if (added < SP_MOST_ADDED) registry[KERNELS + added++] = *kernel;
}

const sp_kernel *sp_kernel_find(const char *id)
{
    for (int i = 0; i < KERNELS + added; i++)
        if (strcmp(registry[i].id, id) == 0) return &registry[i];
    return NULL;
}

int sp_kernel_is_baseline(const char *id)
{
    static const char *const baseline[] = {
#define KERNEL(id, ...) #id,
#include "kernels/baseline.def"
#undef KERNEL
    };
    for (size_t i = 0; i < sizeof baseline / sizeof *baseline; i++)
        if (strcmp(baseline[i], id) == 0) return 1;
    return 0;
}

int sp_kernel_left_out(const char *id) { return sp_kernel_is_baseline(id) && !sp_kernel_find(id); }

int sp_kernel_takes(const sp_kernel *kernel, spmm_precision precision)
{
    return kernel->types >> precision & 1;
}

int sp_kernel_is_exact(const sp_kernel *kernel, spmm_precision precision, int64_t longest)
{
    return kernel->exact == SP_EXACT_YES || (kernel->exact == SP_EXACT_F64 && precision == SPMM_F64) ||
           (kernel->exact == SP_EXACT_UNSPLIT && longest <= SP_CHAIN);
}

const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format)
{
    for (int i = 0; i < KERNELS; i++)
        if (registry[i].device == device && registry[i].format == format) return &registry[i];
    return NULL;
}

spmm_status sp_shape_check(sp_shape shape)
{
    if (shape.block < 0 || shape.block > 1024 || shape.block % 32)
        return sp_fail(SPMM_ERR_USAGE, "block size %d: expected a multiple of 32 up to 1024, or 0 (default)",
                       shape.block);
    if (shape.subwarp < 0 || shape.subwarp > 32 || (shape.subwarp & (shape.subwarp - 1)))
        return sp_fail(SPMM_ERR_USAGE, "sub-warp %d: expected 1, 2, 4, 8, 16 or 32, or 0 (default)",
                       shape.subwarp);
    return SPMM_OK;
}
