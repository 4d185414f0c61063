/** The distributed numbers of entries per row or column, and the partition that balances entries. */
#ifndef SP_ROW_COUNTS_H
#define SP_ROW_COUNTS_H

#include "base/search.h"
#include "comm/grid.h"
#include "order/partition.h"
#include "distribute/shuffle.h"

/** Numbers of entries per row (or per column) of a matrix, distributed over the ranks in even ranges of rows.
 *  sp_row_counts_sum() replaces the counts by their prefix sums, the row starts; the functions declared after
 *  it expect row starts. */
typedef struct sp_row_counts {
    int64_t size;   /* number of rows or columns of the matrix */
    int64_t *begin; /* [ranks + 1], boundaries of the ranks' ranges of rows */
    int64_t *count; /* [rows of this rank + 1]; count[i + 1]: entries of row begin[rank] + i; count[0]: 0 */
} sp_row_counts;

/** Allocates this rank's counts, zeroed, for `size` rows or columns. Local. The caller destroys them, also on
 *  failure.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_row_counts_create(const sp_grid *grid, int64_t size, sp_row_counts *counts);

/** Frees the arrays of *counts; accepts zeroed objects. Local. */
void sp_row_counts_destroy(sp_row_counts *counts);

/** Turns the counts in place into row starts: prefix sums that begin at the first row of the matrix.
 *  Collective over grid->comm.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_sum(const sp_grid *grid, sp_row_counts *counts);

/** Finds the number of entries of the longest row and the number of empty rows of the whole matrix. `counts`
 *  must contain row starts (sp_row_counts_sum()). Collective over grid->comm.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_lengths(const sp_grid *grid, const sp_row_counts *counts, int64_t *longest,
                                  int64_t *empty);

/** Computes the same partition as sp_partition_entries() computes from the row starts of the whole matrix.
 *  `counts` must contain row starts (sp_row_counts_sum()). Collective over grid->comm.
 *  \param [out] begin  [parts + 1], the same on every rank
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_partition(const sp_grid *grid, const sp_row_counts *counts, int parts,
                                    int64_t *begin);

/** Redistributes the row counts to another partition of the rows, with one range of rows per rank: each rank
 *  receives the counts for the rows of its new range. `counts` must contain row starts (sp_row_counts_sum()),
 *  which are overwritten: afterwards, only sp_row_counts_destroy() may be called for `counts`.
 *
 *  Collective over grid->comm.
 *  \param [in]  begin  [ranks + 1], boundaries of the new ranges, the same on every rank
 *  \param [out] count  number of entries per row, for this rank's new range of rows
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_give(const sp_grid *grid, sp_row_counts *counts, const int64_t *begin,
                               int64_t *count);

/** Returns the number of the range that contains index i. Local.
 *  \param [in] begin  [parts + 1], boundaries of the ranges
 *  \param [in] guess  number of the range that is tried first */
static inline int sp_range_of(const int64_t *begin, int parts, int64_t i, int guess)
{
    return i >= begin[guess] && i < begin[guess + 1] ? guess : sp_part_of(begin, parts, i);
}

#endif
