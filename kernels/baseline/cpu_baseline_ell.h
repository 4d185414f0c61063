/* The baseline OpenMP product on ELLPACK (see docs/KERNELS.md): X is transposed first, and the loops over the
 * rows and columns of Y are collapsed. This file is included once per format, with the macros
 *   ROW_BEGIN(a, i)    position of the first entry of row i of the matrix a
 *   ROW_LENGTH(a, i)   number of positions of row i; padding (column index -1) ends the row earlier */
#include "base/fp_environment.h"
#include "kernels/baseline/cpu_baseline.h"

#define PRODUCT(TARGET, VALUE, SUFFIX, NAME)                                                               \
    TARGET static void NAME(const sp_launch *l, int64_t i, int64_t j)                                      \
    {                                                                                                      \
        const sp_matrix *const a = l->a;                                                                   \
        const int64_t begin = ROW_BEGIN(a, i), end = begin + ROW_LENGTH(a, i);                             \
        const VALUE *const x = (const VALUE *)l->state + j * a->cols;                                      \
        VALUE partial_sum = 0;                                                                             \
        for (int64_t e = begin; e < end && a->col[e] >= 0; e++)                                            \
            partial_sum = sp_baseline_fma_##SUFFIX(((const VALUE *)a->val)[e], x[a->col[e]], partial_sum); \
        ((VALUE *)l->y->data)[i * l->y->ld + j] = partial_sum;                                             \
    }
SP_BASELINE_PRODUCTS(PRODUCT)

static spmm_status run(const sp_launch *l)
{
    const int64_t rows = l->a->rows, k = l->x->k;
    const int threads = l->ranges->threads;
    const int64_t chunk = sp_baseline_chunk(rows, threads);
    void (*const element)(const sp_launch *, int64_t, int64_t) = SP_BASELINE_PRODUCT(l->a);
    sp_baseline_transpose(l);
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for collapse(2) schedule(static, chunk)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < k; j++) element(l, i, j);
    }
    return SPMM_OK;
}
