/** Sorts the rows of a CSR matrix by column and sums duplicates: the last step of every conversion to CSR. */
#ifndef SP_CSR_SORT_H
#define SP_CSR_SORT_H

#include "base/status.h"

/** Sorts each row by column and sums duplicates in increasing order of value (-0 before +0, NaNs by their
 *  bits), so that the result does not depend on the order of the entries. Works in place. A row that is
 *  already sorted is only read, unless it must move because duplicates before it were summed. The memory that
 *  becomes free at the ends of the arrays is returned to the system. Local.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] duplicates  number of entries that were added to another entry
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_sort_sum_duplicates(spmm_csr *a, int threads, int64_t *duplicates);

#endif
