/** The kernel cpu_csr_static, the baseline OpenMP product on CSR (see docs/KERNELS.md): static chunks of
 *  rows, and one private sum per element of Y. */
#include "kernels/baseline/cpu_baseline.h"

#define PRODUCT(TARGET, VALUE, SUFFIX, NAME)                                                       \
    TARGET static void NAME(const sp_launch *l, int64_t begin, int64_t end)                        \
    {                                                                                              \
        const VALUE *const val = l->a->val, *const x = l->x->data;                                 \
        for (int64_t i = begin; i < end; i++)                                                      \
            for (int64_t j = 0; j < l->x->k; j++) {                                                \
                VALUE partial_sum = 0;                                                             \
                for (int64_t e = l->a->row_start[i]; e < l->a->row_start[i + 1]; e++)              \
                    partial_sum = sp_baseline_fma_##SUFFIX(val[e], x[l->a->col[e] * l->x->ld + j], \
                                                           partial_sum);                           \
                ((VALUE *)l->y->data)[i * l->y->ld + j] = partial_sum;                             \
            }                                                                                      \
    }
SP_BASELINE_PRODUCTS(PRODUCT)

static spmm_status cpu_csr_static_run(const sp_launch *l)
{
    sp_baseline_rows(l, SP_BASELINE_PRODUCT(l->a));
    return SPMM_OK;
}

SP_KERNEL(cpu_csr_static) = {cpu_csr_static_run, NULL, NULL, NULL, NULL, NULL};
