/** How many entries rows and columns have, held in even ranges by the ranks; and the partition that follows. */
#ifndef SP_LOAD_TALLY_H
#define SP_LOAD_TALLY_H

#include "comm/grid.h"
#include "distribute/partition.h"
#include "parallel_io/shuffle.h"

/** Counts, or starts, along one dimension. */
typedef struct sp_tally {
    int64_t size;   /* rows or columns of the matrix */
    int64_t *begin; /* even ranges, [ranks + 1] */
    int64_t *count; /* of this rank's range, [its length + 1], the first one 0: starts once they are summed */
} sp_tally;

spmm_status sp_tally_create(const sp_grid *grid, int64_t size, sp_tally *tally);
void sp_tally_destroy(sp_tally *tally);

/** Counts become starts, counted from the first row of the matrix. Collective. */
spmm_status sp_tally_sum(const sp_grid *grid, sp_tally *tally);

/** The most that a row has, and how many have none; of starts. Collective. */
spmm_status sp_tally_lengths(const sp_grid *grid, const sp_tally *tally, int64_t *longest, int64_t *empty);

/** What sp_partition_entries() makes of all the starts. Collective. \param [out] begin  [parts + 1], on every rank */
spmm_status sp_tally_partition(const sp_grid *grid, const sp_tally *tally, int parts, int64_t *begin);

/** Gives each rank the counts of the rows that it has in other ranges, a range a rank. Starts become counts, and the
 *  tally is of no further use.
 *
 *  Collective. \param [in]  begin  those ranges, [ranks + 1], the same on every rank
 *              \param [out] count  [length of this rank's range] */
spmm_status sp_tally_give(const sp_grid *grid, sp_tally *tally, const int64_t *begin, int64_t *count);

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
