/** Shows the current phase of a program in one line of stderr, which is overwritten each time, if stderr is
 *  displayed on a terminal. Local, without MPI. */
#ifndef SP_PROGRESS_H
#define SP_PROGRESS_H

/** Returns 1 if stderr of this process is displayed on a terminal: its own one, or that of Open MPI's mpirun,
 *  which forwards stderr by a pipe; 0 for files and other pipes. Checks only once. */
int sp_progress_is_seen(void);

/** Shows `fraction` as a percentage; removes the line if it is 1 or more. A callback for readers and for the
 *  scatter.
 *  \param [in] phase  name of the phase, a const char * */
void sp_progress_show(void *phase, double fraction);

/** Shows a phase without a percentage.
 *  \param [in] phase  name of the phase; NULL: the phase has ended, the line is removed */
void sp_progress_phase(const char *phase);

#endif
