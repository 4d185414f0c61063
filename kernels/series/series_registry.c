/** Registry of the kernels on series; the table is generated from series.def. */
#include <stddef.h>
#include <string.h>

#include "kernels/series/series.h"

static const sp_series_kernel registry[] = {
#define SERIES(id, device, step, layout, what) \
    {#id, SPMM_##device, SP_##step, SP_##layout, what, &sp_series_##id},
#include "kernels/series/series.def"
#undef SERIES
};

enum { KERNELS = sizeof registry / sizeof *registry };

const sp_series_kernel *sp_series_kernels(int *count)
{
    *count = KERNELS;
    return registry;
}

const sp_series_kernel *sp_series_find(const char *id)
{
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(registry[i].id, id) == 0) return &registry[i];
    return NULL;
}

const sp_series_kernel *sp_series_default(sp_step step, spmm_device device, sp_series_order layout)
{
    for (int i = 0; i < KERNELS; i++)
        if (registry[i].step == step && registry[i].device == device && !registry[i].ops->missing &&
            (registry[i].layout == SP_ANY_LAYOUT || registry[i].layout == layout))
            return &registry[i];
    return NULL;
}
