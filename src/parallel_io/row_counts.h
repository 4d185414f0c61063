/** How many entries rows and columns have, held in even ranges by the ranks; and the partition that follows. */
#ifndef SP_ROW_COUNTS_H
#define SP_ROW_COUNTS_H

#include "comm/grid.h"
#include "distribute/partition.h"
#include "parallel_io/shuffle.h"

/** Counts, or starts, along one dimension. */
typedef struct sp_row_counts {
    int64_t size;   /* rows or columns of the matrix */
    int64_t *begin; /* even ranges, [ranks + 1] */
    int64_t *count; /* of this rank's range, [its length + 1], the first one 0: starts once they are summed */
} sp_row_counts;

spmm_status sp_row_counts_create(const sp_grid *grid, int64_t size, sp_row_counts *counts);
void sp_row_counts_destroy(sp_row_counts *counts);

/** Counts become starts, counted from the first row of the matrix. Collective. */
spmm_status sp_row_counts_sum(const sp_grid *grid, sp_row_counts *counts);

/** The most that a row has, and how many have none; of starts. Collective. */
spmm_status sp_row_counts_lengths(const sp_grid *grid, const sp_row_counts *counts, int64_t *longest,
                                  int64_t *empty);

/** What sp_partition_entries() makes of all the starts. Collective. \param [out] begin  [parts + 1], on every rank */
spmm_status sp_row_counts_partition(const sp_grid *grid, const sp_row_counts *counts, int parts,
                                    int64_t *begin);

/** Gives each rank the counts of the rows that it has in other ranges, a range a rank. Starts become counts, and the
 *  tally is of no further use.
 *
 *  Collective. \param [in]  begin  those ranges, [ranks + 1], the same on every rank
 *              \param [out] count  [length of this rank's range] */
spmm_status sp_row_counts_give(const sp_grid *grid, sp_row_counts *counts, const int64_t *begin,
                               int64_t *count);

/** The range that index i is in; begin [parts + 1]. \param [in] guess  is looked at first */
static inline int sp_range_of(const int64_t *begin, int parts, int64_t i, int guess)
{
    if (i >= begin[guess] && i < begin[guess + 1]) return guess;
    int low = 0, high = parts - 1; /* the first one that ends behind i */
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
