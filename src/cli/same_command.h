/** Compares the command lines and environments of the ranks, because launchers and wrapper scripts may give
 *  them different ones. The first difference is reported with the numbers of two ranks. Ranks may differ in
 *  options marked MAY_VARY in an option table, and in variables marked `own` in base/environment.c:
 *
 *      -t, OMP_NUM_THREADS     any number of threads
 *      -q, -v                  any; the values of rank 0 replace those of the other ranks, because collective
 *                              steps depend on them
 *      SPMM_ISA, SPMM_MEMORY_CHECK, SPMM_GPU_KEPT_MB, SPMM_FAULT
 *                              any value
 *
 *  All other options and variables, the program and its version must be the same. Values in effect are
 *  compared, so that an option may be given on one rank as its default; options of type SP_OPTION_CALL are
 *  compared as they were typed. */
#ifndef SP_SAME_COMMAND_H
#define SP_SAME_COMMAND_H

#include "cli/option_table.h"
#include "comm/comm.h"

/** Checks that all ranks run the same build of the same program, with the same options, operand and SPMM_*
 *  variables as far as these must agree.
 *
 *  Collective over comm; must be called before anything that depends on an option.
 *  \param [in] program   name of the program and its version
 *  \param [in] all_read  1: every rank reads the file that the operand names, so its length and its first and
 *                        last 64 KiB are compared, too
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the message names the option and two
 *          ranks), SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_same_command(MPI_Comm comm, const char *program, const sp_command_line *line, int all_read);

#endif
