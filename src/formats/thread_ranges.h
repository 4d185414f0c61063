/** Row ranges of the OpenMP threads: found once per matrix, used by conversions and kernels alike, so
 *  that a thread computes on the rows whose memory it touched first. */
#ifndef SP_THREAD_RANGES_H
#define SP_THREAD_RANGES_H

#include "base/status.h"

enum {
    SP_CPU_ROW_SEGMENT = 65536
}; /**< entries of the longest row that a thread sums alone; longer ones are cut */

/** What each OpenMP thread computes, balanced by entries + 2 rows: thread t rows [begin[t], begin[t+1]), and
 *  pieces [segment[t], segment[t+1]) of those rows that have more than SP_CPU_ROW_SEGMENT entries, which its range may
 *  hold but does not count. The pieces of all of those are numbered on: long_row[0]'s, then long_row[1]'s, ... */
typedef struct sp_thread_ranges {
    int threads;
    int64_t *begin; /**< [threads + 1] */
    int64_t long_rows;
    int64_t *long_row; /**< [long_rows], the rows, increasing */
    int64_t *segment;  /**< [threads + 1] */
} sp_thread_ranges;

/** Pieces that a row of that many entries is cut into; 0: it is not cut. */
int64_t sp_row_segments(int64_t entries);

/** Cuts rows into `threads` consecutive ranges balanced by entries + 2 rows, by binary search; the pieces of
 *  rows of more than SP_CPU_ROW_SEGMENT entries are handed out apart from the ranges, and balanced with them.
 *
 *  \param [in]  row_start  as in CSR, [rows + 1]; NULL: all rows count the same. Not kept.
 *  \param [out] w          the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (threads < 1 or rows < 0), SPMM_ERR_MEMORY
 */
spmm_status sp_thread_ranges_create(const int64_t *row_start, int64_t rows, int threads, sp_thread_ranges *w);

/** Accepts NULL and zeroed objects. */
void sp_thread_ranges_destroy(sp_thread_ranges *w);

#endif
