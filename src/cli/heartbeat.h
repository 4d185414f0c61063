/** Implements --timeout: ends the job if a rank no longer answers, because its process is stopped or its node
 *  is lost. Without --timeout, MPI waits for such a rank forever.
 *
 *  A watch runs one background thread per rank. The threads exchange one-byte messages with the thread of
 *  rank 0, several times per timeout, on a separate communicator. A rank that computes for a long time still
 *  answers: the watch checks that a process is alive, not that the process makes progress.
 *
 *  If no rank of another host answers, the host may be lost. mpirun of Open MPI can detect that itself if the
 *  MCA parameters oob_tcp_keepalive_* are set, but not after an abort. So the watch waits for mpirun for the
 *  time that follows from these parameters, and 5 seconds more. */
#ifndef SP_HEARTBEAT_H
#define SP_HEARTBEAT_H

#include "comm/comm.h"

typedef struct sp_watch sp_watch;

/** Returns the thread level to request from MPI_Init_thread(). Local.
 *  \param [in] seconds  timeout as passed to sp_watch_start(); 0: no watch */
int sp_watch_thread_level(int seconds);

/** Starts a watch of all ranks of comm. If a rank does not answer for `seconds` seconds, or longer if a host
 *  may be lost, one line on stderr names the silent ranks and their hosts, and all processes of comm end with
 *  the exit code of SPMM_ERR_MPI. Rank 0 watches all other ranks, and each of the other ranks watches rank 0.
 *
 *  Collective over comm.
 *  \param [in]  seconds  the timeout, the same on every rank; 0: no watch
 *  \param [out] watch    NULL if nothing is watched: seconds is 0, or comm has only one rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI (also if MPI does not provide
 *          MPI_THREAD_MULTIPLE), SPMM_ERR_MEMORY. Does not return if a rank cannot start its thread: all
 *          processes of comm end */
spmm_status sp_watch_start(MPI_Comm comm, int seconds, sp_watch **watch);

/** Ends the watch and frees it; accepts NULL. Collective over the communicator passed to sp_watch_start():
 *  returns when every rank has called sp_watch_stop(). Until then all ranks are still watched. */
void sp_watch_stop(sp_watch *watch);

#endif
