/** What the programs of this project share: their frame from MPI_Init() to the exit code, what a rank has
 *  from the start to the end, and the fields of a record that tell of it. Messages start with the program's
 *  name as called. */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include "cli/option_table.h"
#include "cli/record_writer.h"
#include "comm/binding.h"
#include "comm/grid.h"

enum { SP_ROOT = 0 }; /**< the rank that reads, verifies and prints */

/** Values of --verify: how much of the result is compared with the serial result. */
typedef enum sp_verify_mode { SP_VERIFY_FULL, SP_VERIFY_SAMPLE, SP_VERIFY_NONE } sp_verify_mode;

/** The arguments that --verify accepts, indexed by sp_verify_mode; NULL after the last. */
extern const char *const sp_verify_words[];

/** What a rank has from the start of the program to its end. */
typedef struct sp_place {
    sp_grid grid;
    sp_shared_memory memory;
    sp_binding binding;
    int verbosity; /**< rank 0: -1: --quiet, 0: default, 1: --verbose; other ranks: -1, they print nothing */
    double start;  /**< MPI_Wtime() before the grid was made */
} sp_place;

/** Returns 1 on rank 0. Local. */
static inline int sp_is_root(const sp_place *place) { return place->grid.rank == SP_ROOT; }

/** Makes the grid of all ranks, lets the ranks of a node count their memory together, and binds the rank:
 *  device, GPU, number of threads, also of parallel regions that name none.
 *
 *  Collective over MPI_COMM_WORLD.
 *  \param [in]     p, q       process grid; both 0: ranks x 1
 *  \param [in]     threads    OpenMP threads per rank; 0: the default
 *  \param [in]     verbosity  of the options
 *  \param [in,out] place      zeroed by the caller, who destroys it, also after a failure
 *  \return the same status on every rank, as sp_grid_create(), sp_share_memory() and sp_bind_rank() */
spmm_status sp_place_create(int p, int q, sp_device_choice device, int threads, int verbosity,
                            sp_place *place);

/** Frees the grid and ends the sharing; accepts a zeroed place. Collective over the grid. */
void sp_place_destroy(sp_place *place);

/** Prints the last line of a program on rank 0: PASS, FAIL, or that nothing was verified. Collective.
 *  \param [in] failed  how many results are wrong; that of rank 0 counts
 *  \param [in] what    the message of SPMM_ERR_VERIFY
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_VERIFY if results are wrong, SPMM_ERR_MPI */
spmm_status sp_program_verdict(const sp_place *place, sp_verify_mode verify, int failed, const char *what);

/** What sp_program_run() runs. */
typedef struct sp_program {
    const char *name;            /**< the program and its version, "spmm_mpi 0.3.0" */
    const sp_command_line *line; /**< compared between the ranks (same_command.h) */
    int all_read;                /**< as of sp_same_command() */
    void (*answer)(void);        /**< prints what needs no MPI, e.g. --help, and the program ends; or NULL */
    int timeout;                 /**< of the options */
    int *verbosity;              /**< of the options; that of rank 0 replaces the others' before the work */
    spmm_status (*work)(void *job); /**< collective; returns the same status on every rank */
    void (*destroy)(void *job);     /**< collective; called also if there was nothing to work on */
    void *job;
} sp_program;

/** Runs a program from MPI_Init() to MPI_Finalize(), watched for --timeout; or prints the answer on rank 0,
 *  without MPI where a single process was launched, since login nodes may forbid MPI. An error is one line on
 *  stderr of rank 0; for SPMM_ERR_USAGE a second one points to --help. If the standard output cannot be
 *  written, that is an error. If an option names "-" as its file, all that is printed goes to stderr. Ranks
 *  whose command lines differ end with SPMM_ERR_USAGE. Processes that a launcher started together and MPI
 *  does not connect get a warning.
 *
 *  Collective over all processes.
 *  \param [in] parsed  status of the options, of which any rank's failure is that of all
 *  \return the exit code */
int sp_program_run(int argc, char **argv, spmm_status parsed, const sp_program *program);

/** Returns the rank of this process from the launcher's environment variables, without calling MPI; 0 if
 *  there is no launcher. Local. */
int sp_program_rank(void);

/** Returns the number of processes that the launcher started together, from its environment variables,
 *  without calling MPI; 1 if there is no launcher. Local. */
int sp_program_launched(void);

/** Writes the fields device, gpu, host and threads of a record. Local. */
void sp_program_write_binding(sp_writer *s, const sp_binding *binding);

#endif
