/** The least time that a product's traffic takes, as a measure for its kernels. */
#ifndef SP_SPMM_MPI_DRAM_BOUND_H
#define SP_SPMM_MPI_DRAM_BOUND_H

#include "base/status.h"

/** Columns that have an entry: rows of X that a product needs. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns);

/** Bytes that a product with K columns moves at least: entries and row starts of the CSR and the touched
 *  rows of X are read once, Y is written once: nnz (s + 4) + 8 (rows + 1) + s K (touched + rows). */
double sp_dram_bytes(const spmm_csr *block, int64_t touched, int64_t k);

#endif
