/** Implements --timeout: ends the job if a rank no longer answers, because its process is stopped or its node
 *  is lost. Without --timeout, MPI waits for such a rank forever. Before the watch has started and after it
 *  has stopped, in MPI_Init() and MPI_Finalize(), a timer ends the process.
 *
 *  A watch runs one background thread per rank. The threads exchange one-byte messages with the thread of
 *  rank 0, several times per timeout, on a separate communicator. A rank that computes for a long time still
 *  answers: the watch checks that a process is alive, not that the process makes progress.
 *
 *  If no rank of another host answers, the host may be lost. mpirun of Open MPI can detect that itself if the
 *  MCA parameters oob_tcp_keepalive_* are set, but not after an abort. So the watch waits for mpirun for the
 *  time that follows from these parameters, and 5 seconds more. If they are not set, the watch does not wait
 *  and warns when it starts. MPI_Abort() may wait for mpirun in turn, so a timer ends the process then. */
#ifndef SP_HEARTBEAT_H
#define SP_HEARTBEAT_H

#include "comm/comm.h"

typedef struct sp_watch sp_watch;

/** Returns the thread level to request from MPI_Init_thread(). Local.
 *  \param [in] seconds  timeout as passed to sp_watch_start(); 0: no watch */
int sp_watch_thread_level(int seconds);

/** Sets a timer that ends this process, with one line on stderr and the exit code of SPMM_ERR_MPI, unless
 *  sp_watch_returned() is called within `seconds` and 2 seconds more. It needs no MPI. A process that is
 *  stopped meanwhile, and continued after that time, ends too. Local.
 *  \param [in] what     what takes too long, after "MPI did not": "start" or "end"
 *  \param [in] seconds  0: no timer
 *  \param [in] rank     rank 1 waits a second longer than rank 0, and the others two, so that the launcher
 *                       ends them before they print the line again */
void sp_watch_call(const char *what, int seconds, int rank);

/** Stops the timer of sp_watch_call(). Local. */
void sp_watch_returned(void);

/** Starts a watch of all ranks of comm. If a rank does not answer for `seconds` seconds, or longer if a host
 *  may be lost, one line on stderr names the silent ranks and their hosts, and all processes of comm end with
 *  the exit code of SPMM_ERR_MPI. Rank 0 watches all other ranks, and each of the other ranks watches rank 0.
 *  A process that does so ends at most 2 seconds later, even if the launcher does not end it. If there are
 *  several hosts, and mpirun is of Open MPI and does not probe its connections to them, rank 0 prints a
 *  warning with the variables to set.
 *
 *  Collective over comm.
 *  \param [in]  seconds  the timeout, the same on every rank; 0: no watch
 *  \param [out] watch    NULL if nothing is watched: seconds is 0, or comm has only one rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI (also if MPI does not provide
 *          MPI_THREAD_MULTIPLE), SPMM_ERR_MEMORY. Does not return if a rank cannot start its thread: all
 *          processes of comm end */
spmm_status sp_watch_start(MPI_Comm comm, int seconds, sp_watch **watch);

/** Ends the watch and frees it; accepts NULL. Collective over the communicator passed to sp_watch_start():
 *  returns when every rank has called sp_watch_stop(). Until then all ranks are still watched.
 *  Afterwards MPI_Finalize() must return in time: see sp_watch_call(). */
void sp_watch_stop(sp_watch *watch);

#endif
