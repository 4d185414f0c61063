/** The second half of making a CSR matrix: rows in any order become rows in column order. */
#ifndef SP_CSR_SORT_H
#define SP_CSR_SORT_H

#include "base/status.h"

/** Sorts each row by column and sums duplicates in increasing order of value (-0 before +0, NaNs by their
 *  bits): the outcome does not depend on the order that they had. A row that is sorted already costs one
 *  look. In place; what duplicates leave over at the arrays' ends goes back to the system.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] duplicates  entries that were added onto another one
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_sort_sum_duplicates(spmm_csr *a, int threads, int64_t *duplicates);

#endif
