/** Parses spmm_mpi's command line into a struct, by a table that also makes --help. No MPI. */
#ifndef SP_SPMM_MPI_OPTIONS_H
#define SP_SPMM_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/program.h"
#include "comm/binding.h"
#include "distribute/partition.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "spmm_mpi/verify.h"

enum { SP_MAX_COLUMNS = 64 }; /**< values in a list of --columns or --plan-ranks, at most */

/** Matrix formats; SP_FORMAT_AUTO, then 1 + spmm_format. */
typedef enum sp_format_choice {
    SP_FORMAT_AUTO,
    SP_FORMAT_CSR,
    SP_FORMAT_ELL,
    SP_FORMAT_ELL_NOPAD,
    SP_FORMAT_SELL,
    SP_FORMAT_PANEL
} sp_format_choice;

/** What the program does: products, or something else after which it ends. If several are asked for, the last in this
 *  list wins. */
typedef enum sp_action {
    SP_ACTION_MULTIPLY,
    SP_ACTION_SCATTER_ONLY,
    SP_ACTION_DRY_RUN,
    SP_ACTION_CHECK_CONVERSIONS,
    SP_ACTION_LIST_KERNELS,
    SP_ACTION_LIST_DEVICES,
    SP_ACTION_VERSION,
    SP_ACTION_HELP
} sp_action;

/** The options, with their defaults filled in. */
typedef struct sp_options {
    const char *matrix;        /**< file or generator spec; points into argv or static storage */
    int64_t k[SP_MAX_COLUMNS]; /**< [k_count] columns of X, one run each */
    int k_count;
    int k_given; /**< 1: --columns was given */
    sp_device_choice device;
    sp_format_choice format;
    const char *kernel; /**< a kernel's name, "all", or NULL: auto */
    int tune;           /**< 1: auto chooses by timing the kernels */
    sp_shape shape;
    int p, q;                           /**< process grid; 0 x 0: default */
    int grid_auto;                      /**< 1: the grid of least cost */
    int64_t plan_ranks[SP_MAX_COLUMNS]; /**< --dry-run: [plan_count] numbers of ranks */
    int plan_count;
    const char *cache; /**< file to write the matrix to in binary form; NULL: none */
    int io_parallel;   /**< 1: every rank reads its block */
    int verify_given;  /**< 1: --verify was given */
    spmm_exchange exchange;
    spmm_transport transport;
    spmm_reduce reduce;
    int no_overlap, probe;
    int column_blocks; /**< 0: the plan's choice */
    sp_partition partition;
    spmm_precision precision;
    sp_x_kind x_kind;
    uint64_t x_seed;
    const char *x_file; /**< NULL: X is generated */
    int threads;        /**< per rank; 0: default */
    int repeat, warmup;
    int timeout; /**< seconds; 0: none */
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< NULL: none */
    double ell_limit;
    int allow_nonfinite;
    sp_action action;
    int verbosity;                /**< -1 quiet, 0, 1 verbose */
    char notes[SP_MESSAGE_BYTES]; /**< which options overrode others; "": none */
} sp_options;

/** Parses argv into *o, which keeps pointers to argv's strings. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the option and what it takes */
spmm_status sp_options_parse(int argc, char **argv, sp_options *o);

/** Checks that --column-blocks divides every K as column blocks require. Where X comes from a file, its K must be
 *  known already. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says what is expected */
spmm_status sp_options_check_column_blocks(const sp_options *o);

/** Prints the text of --help. Local. */
void sp_options_help(FILE *out);

/** The word for it that --partition takes, e.g. "nnz". Local. */
const char *sp_partition_word(sp_partition partition);

#endif
