/** --check-conversions: the seeds' conversion algorithms beside ours, compared and timed. */
#ifndef SP_SPMM_MPI_CHECK_CONVERSIONS_H
#define SP_SPMM_MPI_CHECK_CONVERSIONS_H

#include <stdio.h>
#include "formats/coo.h"

/** Runs every conversion on `coo` (general, i.e. expanded, without duplicates), compares the results
 *  element by element with the counting sort's, and prints one table to out.
 *
 *  COO to CSR, to padded ELLPACK, to ELLPACK without padding: each by the scan of all entries per
 *  row (seed 000 section 3.1 and 4.1: rows x entries steps), by the single pass with a small
 *  critical section, and by ours. One that would take longer than `seconds_limit`, judged by timing
 *  some of its rows first, is shown as skipped with the estimate.
 *
 *  Local. coo stays the caller's.
 *  \return SPMM_OK; SPMM_ERR_VERIFY when a result differs; _MEMORY; _LIMIT never: padded ELLPACK
 *          beyond ell_limit is shown as refused */
spmm_status sp_check_conversions(const sp_coo *coo, int threads, double ell_limit, double seconds_limit,
                                 FILE *out);

#endif
