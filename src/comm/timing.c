/** Times what all ranks do together. */
#include "comm/timing.h"

#include "comm/comm.h"

/** ROWS: rows that are timed; MOST: of one row, at most; SHORT: seconds of a row, at least, if it has fewer. */
enum { ROWS = 4, MOST = 10 };
static const double SHORT = 3e-4;

/** Times `count` in a row: seconds of one. */
static spmm_status time_row(MPI_Comm comm, const char *stage, sp_timed *once, void *of, int count,
                            double *seconds)
{
    spmm_status first = SPMM_OK;
    TRY(SP_MPI(MPI_Barrier(comm)));
    const double start = MPI_Wtime();
    /* all of them even after a failure: the other ranks go on, too */
    for (int i = 0; i < count; i++) {
        const spmm_status status = once(of);
        if (first == SPMM_OK) first = status;
    }
    *seconds = (MPI_Wtime() - start) / count;
    TRY(sp_agree(comm, stage, first));
    return sp_slowest(comm, seconds, 1);
}

spmm_status sp_time_least(MPI_Comm comm, const char *stage, sp_timed *once, void *of, double enough,
                          double *seconds)
{
    double took;
    TRY(time_row(comm, stage, once, of, 1, seconds));
    if (*seconds > enough) return SPMM_OK;
    const int count = *seconds * MOST < SHORT ? MOST : (int)(SHORT / *seconds) + 1;
    for (int i = 0; i < ROWS; i++) {
        TRY(time_row(comm, stage, once, of, count, &took));
        if (i == 0 || took < *seconds) *seconds = took;
    }
    return SPMM_OK;
}
