/** Common code of the programs of this project: running a program from MPI_Init() to the exit code, the data
 *  of a rank (sp_place), and the record fields for these data. Messages begin with the program's name as it
 *  was called. */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include "cli/option_table.h"
#include "cli/record_writer.h"
#include "comm/binding.h"
#include "comm/grid.h"

/* the commit of the source; the Makefile sets it for the main.c of the programs alone */
#ifndef SPMM_COMMIT
#define SPMM_COMMIT ""
#endif

enum { SP_ROOT = 0 }; /**< the rank that reads, verifies and prints */

/** Values of --verify: how many rows of the result are compared with the serial result. */
typedef enum sp_verify_mode { SP_VERIFY_FULL, SP_VERIFY_SAMPLE, SP_VERIFY_NONE } sp_verify_mode;

/** The arguments that --verify accepts, indexed by sp_verify_mode; NULL after the last. */
extern const char *const sp_verify_words[];

/** Data of a rank from the start of the program to its end. */
typedef struct sp_place {
    sp_grid grid;
    sp_shared_memory memory;
    sp_binding binding;
    int verbosity; /**< rank 0: -1: --quiet, 0: default, 1: --verbose; other ranks: -1, they print nothing */
    double start;  /**< MPI_Wtime() before the grid was created */
} sp_place;

/** Returns 1 on rank 0. Local. */
static inline int sp_is_root(const sp_place *place) { return place->grid.rank == SP_ROOT; }

/** Creates the grid of all ranks, makes the ranks of a node count their memory together, and binds the rank
 *  to a device, a GPU and a number of threads, which is also the default of parallel regions.
 *
 *  Collective over MPI_COMM_WORLD.
 *  \param [in]     p, q       process grid; both 0: ranks x 1
 *  \param [in]     threads    OpenMP threads per rank; 0: the default
 *  \param [in]     verbosity  from the options
 *  \param [in,out] place      zeroed by the caller, who destroys it, also after a failure
 *  \return the same status on every rank, as sp_grid_create(), sp_share_memory() and sp_bind_rank() */
spmm_status sp_place_create(int p, int q, sp_device_choice device, int threads, int verbosity,
                            sp_place *place);

/** Frees the grid and ends the sharing; accepts a zeroed place. Collective over the grid. */
void sp_place_destroy(sp_place *place);

/** Prints the last line of a program on rank 0: PASS, FAIL, or that nothing was verified. Collective.
 *  \param [in] failed  number of wrong results; the value on rank 0 is used
 *  \param [in] what    the error message if results are wrong
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_VERIFY if results are wrong, SPMM_ERR_MPI */
spmm_status sp_program_verdict(const sp_place *place, sp_verify_mode verify, int failed, const char *what);

/** The program that sp_program_run() runs. */
typedef struct sp_program {
    const char *name;            /**< the program and its version, "spmm_mpi 0.3.0" */
    const char *commit;          /**< SPMM_COMMIT */
    const sp_command_line *line; /**< compared between the ranks (same_command.h) */
    int all_read;                /**< as for sp_same_command() */
    void (*answer)(void);        /**< prints output that needs no MPI, e.g. --help, and then the program ends;
                                      or NULL */
    int timeout;                 /**< from the options */
    int *verbosity;              /**< from the options; before the work, the value of rank 0 replaces those of
                                      the other ranks */
    spmm_status (*work)(void *job); /**< collective; returns the same status on every rank */
    void (*destroy)(void *job);     /**< collective; also called if there was no work */
    void *job;
} sp_program;

/** Runs a program from MPI_Init() to MPI_Finalize(), watched for --timeout. If the command line needs no MPI,
 *  prints the answer on rank 0, without MPI if only one process was launched, because login nodes may forbid
 *  MPI. An error is printed as one line on stderr of rank 0; for SPMM_ERR_USAGE a second line refers to
 *  --help. If standard output cannot be written, that is an error. If an option names "-" as its file, all
 *  other output goes to stderr. If the command lines of ranks differ, the result is SPMM_ERR_USAGE. If MPI
 *  does not connect the processes that the launcher started, one of them prints a warning, and the reports of
 *  all begin with it.
 *
 *  Collective over all processes.
 *  \param [in] parsed  status of the options; a failure on any rank is a failure on all
 *  \return the exit code */
int sp_program_run(int argc, char **argv, spmm_status parsed, const sp_program *program);

/** Returns the rank of this process from the launcher's environment variables, without calling MPI; 0 if
 *  there is no launcher. Local. */
int sp_program_rank(void);

/** Returns the warning that MPI does not connect the processes that the launcher started, for records; "" if
 *  it does. Valid after the start of MPI. Local. */
const char *sp_program_warning(void);

/** Returns the load average of this node from before the program's own work; negative: unknown. Local. */
double sp_program_load(void);

/** Writes the group "measured" of a record: the date, the processor and its cores, the program's commit and
 *  sp_program_load(). Local. */
void sp_program_write_measured(sp_writer *s);

/** Writes the fields device, gpu, host and threads of a record. Local. */
void sp_program_write_binding(sp_writer *s, const sp_binding *binding);

#endif
