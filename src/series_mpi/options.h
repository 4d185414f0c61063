/** Parser of series_mpi's command line, which it stores in a struct. Makes no MPI calls. */
#ifndef SP_SERIES_MPI_OPTIONS_H
#define SP_SERIES_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/option_table.h"
#include "cli/program.h"
#include "comm/binding.h"
#include "kernels/series/series.h"

enum {
    SP_SERIES_KERNELS = 64, /**< maximum number of kernels that --kernel accepts */
    SP_SERIES_SUMS = 3,     /**< number of strategies of --sum */
    SP_SERIES_PARTS = 8     /**< maximum number of values that --blocks-per-series accepts */
};

/** What the program is to do: the mode of the table of options. SP_SERIES_MEASURE, _ACCURACY and _SUM need
 *  MPI. SP_SERIES_VERSION and later ones ignore all other options. */
typedef enum sp_series_action {
    SP_SERIES_MEASURE,
    SP_SERIES_ACCURACY,
    SP_SERIES_SUM,
    SP_SERIES_LIST_KERNELS,
    SP_SERIES_VERSION,
    SP_SERIES_HELP,
    SP_SERIES_HELP_ALL
} sp_series_action;

/** Memory that contains the values on which a GPU works: GPU memory; pinned host memory, which the GPU reads
 *  and writes over the bus (zero-copy); unified memory, whose pages move between host and GPU. */
typedef enum sp_series_memory { SP_DEVICE_MEMORY, SP_MAPPED_MEMORY, SP_MANAGED_MEMORY } sp_series_memory;

typedef struct sp_series_options {
    const char *file;       /**< path of the input file, points into argv; NULL: the series are generated */
    int64_t series, length; /**< series: number of series to generate; length: number of values in each */
    int series_given, length_given;
    int walk_given; /**< 1: at least one of --start, --epsilon and --seed was given */
    sp_walk walk;
    sp_series_order layout;
    sp_series_memory memory; /**< SP_DEVICE_MEMORY on a CPU */
    sp_device_choice device;
    spmm_precision precision;
    int threads; /**< OpenMP threads per rank; 0: the default number */
    int repeat;  /**< timed runs per step; 0: the number depends on the duration of a run */
    int warmup;
    int timeout;    /**< if a rank does not answer for this many seconds, the job ends; 0: no limit */
    int block;      /**< threads per CUDA block; 0: each kernel uses its own default */
    sp_operator op; /**< operator of step SP_MEAN; if it is not SP_SUM, no step follows SP_MEAN */
    int parts
        [SP_SERIES_PARTS]; /**< numbers of CUDA blocks per series; each kernel that divides series runs with
                                every number */
    int parts_count;       /**< number of elements of parts[]; at least 1 */
    int parts_given;
    int step[SP_STEPS]; /**< step[s] is 1 if step s is to be measured */
    int steps_given;
    int all_kernels; /**< 1: --kernel all was given */
    int kernels;     /**< number of kernels named by --kernel, stored in kernel[] */
    const sp_series_kernel *kernel[SP_SERIES_KERNELS];
    int top;             /**< how many pairs with the greatest coefficients to print, and how many with the
                              least */
    double bound;        /**< the report lists the series whose mean coefficient is below this bound */
    double tolerance[8]; /**< values of --tolerance: for each, --accuracy prints the fraction of results with
                              an error up to it */
    int tolerances;
    spmm_reduce sum[SP_SERIES_SUMS]; /**< strategies of --sum, in the order given */
    int sums;
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< paths of the output files; NULL: the file is not written */
    sp_series_action action;
    int verbosity;        /**< -1: --quiet, 0: normal, 1: --verbose */
    sp_command_line line; /**< the command line from which the options were parsed */
} sp_series_options;

/** Parses argv into *o. The strings of argv must outlive *o.
 *  \return SPMM_OK; SPMM_ERR_USAGE with a message that names the option and the values that it accepts;
 *          SPMM_ERR_NO_DEVICE if --kernel names a kernel that this build cannot run */
spmm_status sp_series_options_parse(int argc, char **argv, sp_series_options *o);

/** Prints the text of --help or, if all is 1, of --help-all. Local. */
void sp_series_options_help(int all, FILE *out);

/** Returns the name of an operator on the command line and in records: "sum", "minimum", ... */
const char *sp_operator_word(sp_operator op);

/** Returns what --list-kernels prints for the operators of a kernel: "-", "sum", "commutative", "any". */
const char *sp_operators_word(sp_operators operators);

/** Returns the name of a step on the command line and in records: "generate", "mean", ... */
const char *sp_step_word(sp_step step);

/** Returns the name of a layout: "series", "index" or "any". */
const char *sp_series_order_word(sp_series_order layout);

/** Returns the name of a memory: "device", "mapped" or "managed". */
const char *sp_series_memory_word(sp_series_memory memory);

#endif
