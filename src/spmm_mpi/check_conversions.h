/** --check-conversions: the baseline conversion algorithms against the counting sort, compared and timed. */
#ifndef SP_SPMM_MPI_CHECK_CONVERSIONS_H
#define SP_SPMM_MPI_CHECK_CONVERSIONS_H

#include <stdio.h>
#include "formats/coo.h"

/** Runs every conversion on `coo`, compares the results element by element with the counting sort's, and
 *  prints one table to out.
 *
 *  The conversions are COO to CSR, to padded ELLPACK and to ELLPACK without padding, each by three algorithms:
 *  the baseline's scan of all entries for each row (rows x entries steps), the baseline's single pass over the
 *  entries with a small critical section, and the counting sort that the program uses. An algorithm that would
 *  take longer than `seconds_limit`, extrapolated from its first rows or entries, is abandoned and shown as
 *  skipped, with the estimate.
 *
 *  Local. coo stays the caller's.
 *  \param [in] coo        general (symmetric entries expanded), without duplicates
 *  \param [in] threads    OpenMP threads, >= 1
 *  \param [in] ell_limit  padded ELLPACK larger than that many times the CSR is shown as refused, without error
 *  \return SPMM_OK; SPMM_ERR_VERIFY when a result differs; SPMM_ERR_USAGE (threads, or coo is not general),
 *          SPMM_ERR_MEMORY */
spmm_status sp_check_conversions(const sp_coo *coo, int threads, double ell_limit, double seconds_limit,
                                 FILE *out);

#endif
