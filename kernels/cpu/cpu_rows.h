/** Products by rows on the CPU, for the formats that store a row's entries together: the implementation of the
 *  kernels cpu_csr, cpu_ell and cpu_ell_nopad. */
#ifndef SP_CPU_ROWS_H
#define SP_CPU_ROWS_H

#include "kernels/kernel.h"

/** Prepares the products with a matrix, as a kernel's prepare(): finds runs and long rows, chooses prefetch
 *  distances.
 *
 *  \param [in] begin, end  row i's entries are begin[i] .. end[i] - 1 of col and val; consecutive rows of equal
 *                          length begin equally far apart. Both arrays outlive the state.
 *  \param [in] owned       from sp_alloc, or NULL: the state frees it; freed on failure too
 *  \param [out] state      for sp_rows_run() and sp_rows_destroy(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_rows_create(const sp_setup *setup, const int64_t *begin, const int64_t *end, void *owned,
                           void **state);

/** Computes Y := A X, as a kernel's run(); the state is from sp_rows_create().
 *  \return SPMM_OK */
spmm_status sp_rows_run(const sp_launch *launch);

/** Frees a state and what it owns, as a kernel's release(); accepts NULL. */
void sp_rows_destroy(void *state);

/** For tests: sets the bytes of Y from which it is written by streaming stores; negative: the default, the size of
 *  the last-level cache. */
void sp_rows_stream_from(int64_t bytes);

#endif
