/** Computes the minimum memory traffic of a product, and how many rows of X the product reads. */
#include "spmm_mpi/dram_bound.h"

#include "base/memory.h"
#include "base/value_type.h"

spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns)
{
    unsigned char *seen;
    int64_t count = 0;
    TRY(sp_alloc_zero((void **)&seen, block->cols, 1, "marks of columns"));
    for (int64_t e = 0; e < block->nnz; e++) seen[block->ja[e]] = 1;
    for (int64_t j = 0; j < block->cols; j++) count += seen[j];
    sp_free(seen);
    *columns = count;
    return SPMM_OK;
}

double sp_dram_bytes(const spmm_csr *block, int64_t touched, int64_t k)
{
    const double value = (double)sp_value_size(block->precision);
    return (double)block->nnz * (value + 4) + 8 * ((double)block->rows + 1) +
           value * (double)k * ((double)touched + (double)block->rows);
}
