/** spmm_mpi's argv -> struct, by one table, which makes --help too. No MPI. */
#ifndef SP_SPMM_MPI_OPTIONS_H
#define SP_SPMM_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/program.h"
#include "comm/binding.h"
#include "distribute/partition.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "spmm_mpi/verify.h"

enum { SP_MAX_COLUMNS = 64 };

typedef enum sp_format_choice {
    SP_FORMAT_AUTO,
    SP_FORMAT_CSR,
    SP_FORMAT_ELL,
    SP_FORMAT_ELL_NOPAD,
    SP_FORMAT_SELL,
    SP_FORMAT_PANEL
} sp_format_choice;

/** What ends the program after its set-up instead of a product. */
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

typedef struct sp_options {
    const char *matrix; /**< file or generator spec; points into argv or static storage */
    int64_t k[SP_MAX_COLUMNS];
    int k_count;
    int k_given; /**< 1: --columns was there */
    sp_device_choice device;
    sp_format_choice format;
    const char *kernel; /**< a name, "all", or NULL: auto */
    int tune;           /**< 1: auto times the kernels */
    sp_shape shape;
    int p, q; /**< process grid; 0 x 0: default */
    int grid_auto;
    int64_t plan_ranks[SP_MAX_COLUMNS]; /**< of --dry-run */
    int plan_count;
    const char *cache; /**< NULL: none */
    int io_parallel;
    int verify_given; /**< 1: --verify was there */
    spmm_exchange exchange;
    spmm_transport transport;
    spmm_reduce reduce;
    int no_overlap, probe;
    int column_blocks; /**< 0: the plan's choice */
    sp_partition partition;
    spmm_precision precision;
    sp_x_kind x_kind;
    uint64_t x_seed;
    const char *x_file; /**< NULL: generated */
    int threads;        /**< 0: default */
    int repeat, warmup;
    int timeout; /**< seconds; 0: none */
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< NULL: none */
    double ell_limit;
    int allow_nonfinite;
    sp_action action;
    int verbosity;                /**< -1 quiet, 0, 1 verbose */
    char notes[SP_MESSAGE_BYTES]; /**< options that override others; "": none */
} sp_options;

/** Reads argv into *o; argv's strings must outlive *o.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the option and what it takes */
spmm_status sp_options_parse(int argc, char **argv, sp_options *o);

/** Can X be cut into the column blocks that are asked for, for every K? Where K is a file's: once it is known.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says what is expected */
spmm_status sp_options_check_column_blocks(const sp_options *o);

/** Prints what --help prints. */
void sp_options_help(FILE *out);

/** The word that --partition takes: "nnz", ... */
const char *sp_partition_word(sp_partition partition);

#endif
