/** Products by rows on the CPU, for the formats that keep a row's entries together: how the kernels cpu_csr,
 *  cpu_ell and cpu_ell_nopad compute. */
#ifndef SP_CPU_ROWS_H
#define SP_CPU_ROWS_H

#include "kernels/kernel.h"

/** Finds what products with a matrix gain from, once: a kernel's prepare().
 *
 *  \param [in] begin, end  row i's entries are begin[i] .. end[i] - 1 of col and val; rows of equal length
 *                          behind one another begin equally far apart. They outlive the state.
 *  \param [in] owned       from sp_alloc, or NULL: given to the state, also on failure
 *  \param [out] state      for sp_rows_run() and sp_rows_destroy(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_rows_create(const sp_setup *setup, const int64_t *begin, const int64_t *end, void *owned,
                           void **state);

/** A kernel's run(), and release(). */
spmm_status sp_rows_run(const sp_launch *launch);
void sp_rows_destroy(void *state);

/** For tests: Y is stored past the caches from that many bytes on; negative: the default, which is the size
 *  of the last-level cache. */
void sp_rows_stream_from(int64_t bytes);

#endif
