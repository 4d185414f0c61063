/** Watches for ranks that no longer answer (--timeout), since MPI would wait for them forever: stopped processes,
 *  nodes that are lost without notice.
 *
 *  While a watch runs, a thread of every rank exchanges a byte with rank 0's several times per timeout, on a
 *  communicator of its own. A rank that computes for a long time answers all the same: the watch is for the process,
 *  not for its progress. */
#ifndef SP_HEARTBEAT_H
#define SP_HEARTBEAT_H

#include "comm/comm.h"

typedef struct sp_watch sp_watch;

/** Returns the thread level to request from MPI_Init_thread(). Local.
 *  \param [in] seconds  as for sp_watch_start() */
int sp_watch_thread_level(int seconds);

/** Starts watching. When a rank has not answered for `seconds`, one line on the standard error names the ranks that
 *  have not, with their hosts (rank 0 watches all others; if it is silent itself, the others name it), and all
 *  processes of comm end with the exit code of SPMM_ERR_MPI.
 *
 *  Collective over comm.
 *  \param [in]  seconds  the same on every rank; 0: nothing is watched
 *  \param [out] watch    NULL where nothing is watched (seconds is 0, or comm has one rank)
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI (also: MPI does not provide MPI_THREAD_MULTIPLE),
 *          _MEMORY. Where the thread cannot be started, all processes end */
spmm_status sp_watch_start(MPI_Comm comm, int seconds, sp_watch **watch);

/** Ends the watch and frees it; accepts NULL. Collective over comm: it returns when every rank has called it, and
 *  until then all ranks are still watched. */
void sp_watch_stop(sp_watch *watch);

#endif
