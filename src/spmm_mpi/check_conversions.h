/** Implements --check-conversions: compares and times algorithms that convert from COO. */
#ifndef SP_SPMM_MPI_CHECK_CONVERSIONS_H
#define SP_SPMM_MPI_CHECK_CONVERSIONS_H

#include <stdio.h>
#include "formats/coo.h"

/** Runs every conversion on `coo`, compares each result element by element with the result of the counting
 *  sort, and prints one table to `out`.
 *
 *  The conversions are COO to CSR, to padded ELLPACK and to ELLPACK without padding, each by three
 *  algorithms: the baseline's scan of all entries for each row (rows x entries steps), the baseline's single
 *  pass over the entries with a small critical section, and the counting sort of this program. An algorithm
 *  is abandoned if its time, extrapolated from its first rows or entries, would exceed `seconds_limit`; the
 *  table then shows the estimate and the word "skipped".
 *
 *  Local. The caller keeps `coo`.
 *  \param [in] coo        general (symmetric entries expanded), without duplicates
 *  \param [in] threads    number of OpenMP threads, >= 1
 *  \param [in] ell_limit  if padded ELLPACK is larger than ell_limit times the CSR, the table shows it as
 *                         refused; this is not an error
 *  \return SPMM_OK; SPMM_ERR_VERIFY if a result differs; SPMM_ERR_USAGE if threads < 1 or coo is not general;
 *          SPMM_ERR_MEMORY */
spmm_status sp_check_conversions(const sp_coo *coo, int threads, double ell_limit, double seconds_limit,
                                 FILE *out);

#endif
