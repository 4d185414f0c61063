/** Distributed histogram of the entries per row or column, and the partition that follows from it. */
#ifndef SP_ROW_COUNTS_H
#define SP_ROW_COUNTS_H

#include "comm/grid.h"
#include "distribute/partition.h"
#include "parallel_io/shuffle.h"

/** Numbers of entries per row (or per column), distributed over the ranks in even ranges; or, where a function below
 *  asks for starts, their prefix sums, which sp_row_counts_sum() computes in place. */
typedef struct sp_row_counts {
    int64_t size;   /* number of rows or columns of the matrix */
    int64_t *begin; /* [ranks + 1], boundaries of the even ranges */
    int64_t *count; /* [length of this rank's range + 1]; [i + 1] counts row begin[rank] + i, [0] is 0 */
} sp_row_counts;

/** Allocates this rank's counts, zeroed. Local. The caller destroys them, also on failure.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_row_counts_create(const sp_grid *grid, int64_t size, sp_row_counts *counts);

/** Frees the arrays; accepts zeroed objects. Local. */
void sp_row_counts_destroy(sp_row_counts *counts);

/** Turns the counts into starts: prefix sums from the first row of the matrix on. Collective over grid->comm.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_sum(const sp_grid *grid, sp_row_counts *counts);

/** Finds the number of entries of the longest row and the number of empty rows of the whole matrix, from starts.
 *  Collective over grid->comm. \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_lengths(const sp_grid *grid, const sp_row_counts *counts, int64_t *longest,
                                  int64_t *empty);

/** Computes from starts the same partition as sp_partition_entries() does from the row starts of the whole matrix.
 *  Collective over grid->comm.
 *  \param [out] begin  [parts + 1], the same on every rank
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_partition(const sp_grid *grid, const sp_row_counts *counts, int parts,
                                    int64_t *begin);

/** Redistributes the counts: each rank receives those of the rows in its range of another partition, one range per
 *  rank. Expects starts; they are overwritten, and only sp_row_counts_destroy() may be called afterwards.
 *
 *  Collective over grid->comm.
 *  \param [in]  begin  [ranks + 1], boundaries of that partition, the same on every rank
 *  \param [out] count  [length of this rank's range in it], number of entries per row
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_row_counts_give(const sp_grid *grid, sp_row_counts *counts, const int64_t *begin,
                               int64_t *count);

/** Returns the range that contains index i. Local.
 *  \param [in] begin  [parts + 1], boundaries of the ranges
 *  \param [in] guess  the range that is tried first */
static inline int sp_range_of(const int64_t *begin, int parts, int64_t i, int guess)
{
    if (i >= begin[guess] && i < begin[guess + 1]) return guess;
    int low = 0, high = parts - 1; /* bisection for the first range that ends after i */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (begin[middle + 1] > i)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

#endif
