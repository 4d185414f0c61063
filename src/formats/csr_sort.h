/** Sorting the rows of a CSR matrix by column, and summing duplicates: the last step of every conversion to CSR. */
#ifndef SP_CSR_SORT_H
#define SP_CSR_SORT_H

#include "base/status.h"

/** Sorts each row by column and sums duplicates in increasing order of value (-0 before +0, NaNs by their
 *  bits), so that the result does not depend on the order of the entries. A row that is sorted already is
 *  only read. Works in place; the memory that duplicates free at the ends of the arrays is returned to the
 *  system. Local.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] duplicates  entries that were added to another one
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_sort_sum_duplicates(spmm_csr *a, int threads, int64_t *duplicates);

#endif
