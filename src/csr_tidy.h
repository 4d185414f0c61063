/** The second half of the conversion from triplets: rows in file order become rows in column order. */
#ifndef SP_CSR_TIDY_H
#define SP_CSR_TIDY_H

#include "status.h"

/** Sorts each row by column, stably, and sums duplicates in the order they had; a row that is sorted
 *  already costs one look. In place; the arrays keep their size when duplicates make them shorter.
 *
 *  Memory: scratch for half of a long row per thread that meets one.
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] duplicates  entries that were added onto another one
 *  \return SPMM_OK, SPMM_ERR_MEMORY (a is then in no defined order) */
spmm_status sp_csr_tidy(spmm_csr *a, int threads, int64_t *duplicates);

#endif
