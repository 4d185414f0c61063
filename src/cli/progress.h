/** Shows what a program is doing, in one line of stderr that is overwritten each time, if stderr appears on a
 *  terminal. Local, no MPI. */
#ifndef SP_PROGRESS_H
#define SP_PROGRESS_H

/** Returns 1 if what this process writes to stderr appears on a terminal: its own, or that of Open MPI's
 *  mpirun, which forwards it via a pipe; 0 for files and other pipes. Looks once. */
int sp_progress_is_seen(void);

/** Shows `fraction` as a percentage; from 1 on, removes the line. A callback of readers and of the scatter.
 *  \param [in] phase  its name, a const char * */
void sp_progress_show(void *phase, double fraction);

/** Shows a phase that cannot tell how far it is.
 *  \param [in] phase  its name; NULL: it is over, the line is removed */
void sp_progress_phase(const char *phase);

#endif
