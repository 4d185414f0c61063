/** The DRAM bound of a product: the least memory traffic that any kernel needs for it. */
#ifndef SP_SPMM_MPI_DRAM_BOUND_H
#define SP_SPMM_MPI_DRAM_BOUND_H

#include "base/status.h"

/** Counts the columns of a block that have an entry, i.e. the rows of X that a product reads.
 *
 *  Local. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns);

/** Least number of bytes that a product with K columns moves: values, column indices and row starts of the CSR and
 *  the touched rows of X are read once, and Y is written once: nnz (s + 4) + 8 (rows + 1) + s K (touched + rows),
 *  with s bytes per value.
 *
 *  Local. \param [in] touched  from sp_touched_columns() */
double sp_dram_bytes(const spmm_csr *block, int64_t touched, int64_t k);

#endif
