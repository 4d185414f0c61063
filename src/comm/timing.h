/** Times what all ranks do together, for choices made at set-up. */
#ifndef SP_TIMING_H
#define SP_TIMING_H

#include <mpi.h>

#include "base/status.h"

/** What is timed, once. Called by all ranks equally often, also after a failure. \param [in] of  the caller's object */
typedef spmm_status sp_timed(void *of);

/** Determines how many seconds it takes on the slowest rank: the least of a few rows, after a first time. Short ones are
 *  timed in rows of up to ten, some tenths of a millisecond, as solvers do them: one alone, after a barrier, varies by some
 *  microseconds.
 *
 *  Collective over comm.
 *  \param [in]  stage    of agreements, see sp_agree()
 *  \param [in]  enough   if the first time takes more seconds, it counts, and nothing more is timed; the same on every rank
 *  \param [out] seconds  the same on every rank
 *  \return the same status on every rank: SPMM_OK, the worst of those of `once`, SPMM_ERR_MPI */
spmm_status sp_time_least(MPI_Comm comm, const char *stage, sp_timed *once, void *of, double enough,
                          double *seconds);

/** Returns 1 if a time of sp_time_least() is so much less than another one that what takes it is worth taking instead: times of a
 *  few rows vary by more than one per cent. Local. */
static inline int sp_clearly_less(double seconds, double than)
{
    static const double CLEARLY = 0.97;
    return seconds < CLEARLY * than;
}

#endif
