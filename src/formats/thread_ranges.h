/** The static schedule of the OpenMP threads: row ranges that are determined once per matrix and used by both
 *  conversions and kernels, so that a thread computes on rows whose memory it touched first. */
#ifndef SP_THREAD_RANGES_H
#define SP_THREAD_RANGES_H

#include "base/status.h"
#include "formats/summation.h"

/** The rows and parts of rows that each OpenMP thread computes, balanced by entries + 2 * rows. Rows of more
 *  than SP_PART entries are long rows and are cut into parts (formats/summation.h). Thread t computes
 *  rows [begin[t], begin[t+1]) except the long rows among them, and parts [part[t], part[t+1]) of long
 *  rows. The parts of all long rows are numbered consecutively: first those of long_row[0], then those of
 *  long_row[1], and so on. */
typedef struct sp_thread_ranges {
    int threads;
    int64_t *begin;    /**< first row of each thread, [threads + 1] */
    int64_t long_rows; /**< number of long rows */
    int64_t *long_row; /**< the long rows, increasing, [long_rows] */
    int64_t *part;     /**< first part of each thread, [threads + 1] */
} sp_thread_ranges;

/** Returns the number of parts that a row of `entries` entries is cut into; 0 if the row is not cut.
 *  Local. */
int64_t sp_row_parts(int64_t entries);

/** Divides rows into `threads` consecutive ranges, and divides the parts of long rows among the threads.
 *  Each thread gets about the same sum of entries + 2 * rows, parts included. Local.
 *
 *  \param [in]  row_start  row starts as in CSR, [rows + 1]; NULL: all rows cost the same. Need not outlive
 *                          the call
 *  \param [out] w          the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (threads < 1 or rows < 0), SPMM_ERR_MEMORY */
spmm_status sp_thread_ranges_create(const int64_t *row_start, int64_t rows, int threads, sp_thread_ranges *w);

/** As sp_thread_ranges_create(), for rows of at most `longest` entries: if none is long, rows are not
 *  examined. */
spmm_status sp_thread_ranges_create_for(const int64_t *row_start, int64_t rows, int64_t longest, int threads,
                                        sp_thread_ranges *w);

/** Frees the arrays and zeroes *w; accepts NULL and zeroed objects. Local. */
void sp_thread_ranges_destroy(sp_thread_ranges *w);

#endif
