/** The DRAM bound of a product Y := A X: the minimum memory traffic of a kernel that reads all of A in
 *  CSR. */
#ifndef SP_SPMM_MPI_DRAM_BOUND_H
#define SP_SPMM_MPI_DRAM_BOUND_H

#include "base/status.h"

/** Counts the columns of a block that have at least one entry, i.e. the rows of X that a product reads.
 *
 *  Local. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns);

/** Returns the minimum number of bytes that a product with k columns reads or writes. The values, column
 *  indices and row starts of the CSR block and the touched rows of X are read once, and Y is written once.
 *  With s bytes per value, this is nnz (s + 4) + 8 (rows + 1) + s k (touched + rows).
 *
 *  Local. \param [in] touched  number of rows of X that the product reads, from sp_touched_columns() */
double sp_dram_bytes(const spmm_csr *block, int64_t touched, int64_t k);

#endif
