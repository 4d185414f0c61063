/** Row ranges of the OpenMP threads: found once per matrix, used by conversions and kernels alike, so
 *  that a thread computes on the rows whose memory it touched first. */
#ifndef SP_WORK_H
#define SP_WORK_H

#include "base/status.h"

enum {
    SP_CPU_PIECE = 65536
}; /**< entries of the longest row that a thread sums alone; longer ones are cut */

/** What each OpenMP thread computes, balanced by entries + 2 rows: thread t rows [begin[t], begin[t+1]), and
 *  pieces [piece[t], piece[t+1]) of those rows that have more than SP_CPU_PIECE entries, which its range may
 *  hold but does not count. The pieces of all of those are numbered on: giant[0]'s, then giant[1]'s, ... */
typedef struct sp_work {
    int threads;
    int64_t *begin; /**< [threads + 1] */
    int64_t giants;
    int64_t *giant; /**< [giants], the rows, increasing */
    int64_t *piece; /**< [threads + 1] */
} sp_work;

/** Pieces that a row of that many entries is cut into; 0: it is not cut. */
int64_t sp_work_pieces(int64_t entries);

/** Cuts rows into `threads` consecutive ranges balanced by entries + 2 rows, by binary search; the pieces of
 *  rows of more than SP_CPU_PIECE entries are handed out apart from the ranges, and balanced with them.
 *
 *  \param [in]  row_start  as in CSR, [rows + 1]; NULL: all rows count the same. Not kept.
 *  \param [out] w          the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (threads < 1 or rows < 0), SPMM_ERR_MEMORY
 */
spmm_status sp_work_create(const int64_t *row_start, int64_t rows, int threads, sp_work *w);

/** Accepts NULL and zeroed objects. */
void sp_work_destroy(sp_work *w);

#endif
