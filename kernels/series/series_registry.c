/** Registry of the kernels on series; the table is generated from series.def. */
#include <stddef.h>
#include <string.h>

#include "kernels/series/series.h"

static const sp_series_kernel registry[] = {
#define SERIES(id, device, step, layout, operators, what) \
    {#id, SPMM_##device, SP_##step, SP_##layout, SP_##operators, what, &sp_series_##id},
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

int sp_series_offers(const sp_series_kernel *k, sp_operator op)
{
    return k->step != SP_MEAN || k->operators == SP_ANY_OPERATOR || op == SP_SUM ||
           (k->operators == SP_COMMUTATIVE && op != SP_MATRIX);
}

const sp_series_kernel *sp_series_default(sp_step step, spmm_device device, sp_series_order layout,
                                          sp_operator op)
{
    for (int i = 0; i < KERNELS; i++)
        if (registry[i].step == step && registry[i].device == device && !registry[i].ops->missing &&
            (registry[i].layout == SP_ANY_LAYOUT || registry[i].layout == layout) &&
            sp_series_offers(&registry[i], op))
            return &registry[i];
    return NULL;
}
