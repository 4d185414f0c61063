/** Parses the command line of spmm_mpi into a struct, and prints --help. Without MPI. */
#ifndef SP_SPMM_MPI_OPTIONS_H
#define SP_SPMM_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/option_table.h"
#include "cli/program.h"
#include "comm/binding.h"
#include "order/partition.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "spmm_mpi/verify.h"

enum { SP_MAX_COLUMNS = 64 }; /**< maximum length of the lists of --columns and --plan-ranks */

/** The numbers of columns of X; one run is made for each. */
typedef struct sp_columns {
    int64_t k[SP_MAX_COLUMNS]; /**< [count] */
    int count;
} sp_columns;

/** The action of the program: the mode of the table of options. All actions except SP_ACTION_MULTIPLY end the
 *  program before any product. SP_ACTION_VERSION and later ones ignore all other options; of several, the
 *  last one in this enum is performed. */
typedef enum sp_action {
    SP_ACTION_MULTIPLY,
    SP_ACTION_SCATTER_ONLY,
    SP_ACTION_CONVERT,
    SP_ACTION_DRY_RUN,
    SP_ACTION_CHECK_CONVERSIONS,
    SP_ACTION_LIST_KERNELS,
    SP_ACTION_LIST_DEVICES,
    SP_ACTION_VERSION,
    SP_ACTION_HELP,
    SP_ACTION_HELP_ALL
} sp_action;

/** Which bits of Y are required, in the order of the words of --reproducible. */
typedef enum sp_bits { SP_BITS_REPRODUCIBLE, SP_BITS_ANY, SP_BITS_EXACT } sp_bits;

/** The options of spmm_mpi; options that are not on the command line have their default values. */
typedef struct sp_options {
    const char *matrix; /**< file or generator spec; points into argv or static storage */
    sp_columns columns; /**< --columns or its default; with -x FILE, sp_job_input.columns replaces them */
    int k_given;        /**< 1: --columns was given */
    sp_device_choice device;
    spmm_format format;
    const sp_kernel *kernel; /**< the kernel that --kernel names, in the registry; NULL: auto, or all */
    int all_kernels;         /**< 1: --kernel all */
    int tune;                /**< 1: --autotune: the kernel is chosen by timing */
    sp_shape shape;
    int p, q;                           /**< process grid p x q; both 0: default */
    int grid_auto;                      /**< 1: --grid auto: the grid with the least cost */
    int64_t plan_ranks[SP_MAX_COLUMNS]; /**< [plan_count] numbers of ranks, from --plan-ranks */
    int plan_count;
    const char *cache;   /**< --cache: file to write the matrix to, in the format of its ending; NULL: none */
    const char *convert; /**< --convert: the same */
    int io_parallel;     /**< 1: --io parallel: every rank reads its own block */
    int two_stage;       /**< 1: --scatter two-stage */
    int scatter_padded;  /**< 1: --scatter-format ell */
    int verify_given;    /**< 1: --verify was given */
    spmm_exchange exchange;
    spmm_transport transport;
    spmm_reduce reduce;
    int no_overlap;
    int probe;          /**< 1: --probe was given */
    int ranks_per_node; /**< argument of --ranks-per-node; 0: one node */
    sp_bits bits;       /**< --reproducible */
    int quick_plan;     /**< 1: --plan quick */
    int column_blocks;  /**< argument of --column-blocks; 0: the plan chooses the number */
    int products;       /**< argument of --products; 0: the default of spmm_plan_options */
    sp_partition partition;
    spmm_precision precision;
    spmm_precision exchange_precision; /**< --exchange-precision; has an effect if `precision` is f64 */
    int round_values; /**< 1: --values f32: A's values are rounded to f32, also with precision f64 */
    sp_x_kind x_kind;
    uint64_t x_seed;
    const char *x_file; /**< file to read X from; NULL: X is generated */
    int threads;        /**< OpenMP threads per rank; 0: default */
    int repeat, warmup;
    int timeout; /**< --timeout in seconds; 0: none */
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< names of the files to write; NULL: none */
    double ell_limit;
    int allow_nonfinite;
    int edges; /**< --read-as; 0: not given; 1 or 2: the file is an edge list whose vertices count from 0 or
                    1 */
    sp_action action;
    int brief;            /**< 1: --brief: print only the tables of the report */
    int verbosity;        /**< -1: --quiet; 0: default; 1: --verbose */
    sp_command_line line; /**< the command line from which the options were parsed */
} sp_options;

/** Parses the command line argv into *o, which keeps pointers to the strings of argv. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the option and its valid arguments */
spmm_status sp_options_parse(int argc, char **argv, sp_options *o);

/** Returns 1 if rows of X travel between ranks as f32, rounded. Local. */
static inline int sp_options_round(const sp_options *o)
{
    return sp_rounds(o->precision, o->exchange_precision);
}

/** Returns 1 if the exchange may be the joint one. Local. */
static inline int sp_options_may_join(const sp_options *o)
{
    return o->exchange == SPMM_EXCHANGE_JOINT ||
           (o->exchange == SPMM_EXCHANGE_AUTO && o->bits == SP_BITS_ANY);
}

/** Returns the maximum K of the list, at least 1. Local. */
int64_t sp_most_columns(const sp_columns *columns);

/** Checks that X can be split into the number of blocks given by --column-blocks, for every K
 *  (sp_column_blocks_fit()). Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that states the valid numbers */
spmm_status sp_options_check_column_blocks(const sp_options *o, const sp_columns *columns);

/** Prints the text of --help or, if all is 1, of --help-all. Local. */
void sp_options_help(int all, FILE *out);

/** Returns the argument of --partition that stands for `partition`, e.g. "nnz". Local. */
const char *sp_partition_word(sp_partition partition);

/** Returns the argument of --reproducible: "on", "off" or "exact". Local. */
const char *sp_bits_word(sp_bits bits);

/** Returns the argument of --values: "exact" or "f32". Local. */
const char *sp_values_word(const sp_options *o);

/** Returns the argument of --scatter: "direct" or "two-stage". Local. */
const char *sp_scatter_word(const sp_options *o);

#endif
