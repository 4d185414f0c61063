/** Helpers of the baseline OpenMP kernels (docs/KERNELS.md): chunks of rows, and the transposition of X. */
#include "kernels/baseline/cpu_baseline.h"

#include "base/fp_environment.h"
#include "base/memory.h"

int64_t sp_baseline_chunk(int64_t rows, int threads)
{
    const int64_t chunk = rows / threads / 16 * 16;
    return chunk > 0 ? chunk : 1;
}

void sp_baseline_rows(const sp_launch *l, sp_baseline_product *product)
{
    const int64_t rows = l->a->rows, chunk = sp_baseline_chunk(rows, l->ranges->threads);
#pragma omp parallel num_threads(l->ranges->threads)
    {
        SP_DEFAULT_FP;
        /* one iteration is one chunk: with a plain schedule(static) the first thread would get two of them if
         * the number of rows is not a multiple of 16 times the number of threads */
#pragma omp for schedule(static, 1)
        for (int64_t begin = 0; begin < rows; begin += chunk)
            product(l, begin, begin + chunk < rows ? begin + chunk : rows);
    }
}

spmm_status sp_baseline_prepare(const sp_setup *setup, void **state)
{
    *state = NULL;
    return sp_alloc(state, setup->k * setup->a->cols, sp_value_size(setup->a->precision), "X transposed");
}

#define TRANSPOSE(T) ((T *)l->state)[j * rows + i] = ((const T *)l->x->data)[i * ld + j];

void sp_baseline_transpose(const sp_launch *l)
{
    const int64_t rows = l->x->rows, k = l->x->k, ld = l->x->ld;
    const int threads = l->ranges->threads;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < rows; i++) SP_BY_REAL(l->a->precision, TRANSPOSE);
}

void sp_baseline_release(void *state) { sp_free(state); }
