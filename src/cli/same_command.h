/** Compares the command lines and environments of ranks, which launchers and wrapper scripts may give each a
 *  different one. What may differ is listed in docs/DESIGN.md, "Ranks and their command lines". */
#ifndef SP_SAME_COMMAND_H
#define SP_SAME_COMMAND_H

#include "cli/option_table.h"
#include "comm/comm.h"

/** Checks that all ranks run the same build of the same program, with the same options, operand and SPMM_*
 *  variables as far as these have to agree. Names of input files may differ if the files begin, end and are
 *  as long alike.
 *
 *  Collective over comm; to be called before anything that depends on an option.
 *  \param [in] program   name of the program and its version
 *  \param [in] all_read  1: every rank reads the file that the operand names, so it is compared even if its
 *                        name is the same everywhere
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the message names the option and two
 *          ranks), SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_same_command(MPI_Comm comm, const char *program, const sp_command_line *line, int all_read);

#endif
