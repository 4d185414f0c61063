/** series_mpi's argv -> struct. No MPI. */
#ifndef SP_SERIES_MPI_OPTIONS_H
#define SP_SERIES_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/program.h"
#include "cli/program.h"
#include "comm/binding.h"
#include "kernels/series/series.h"

enum { SP_SERIES_KERNELS = 64 }; /**< that may be named */

typedef enum sp_series_action {
    SP_SERIES_MEASURE,
    SP_SERIES_ACCURACY,
    SP_SERIES_LIST_KERNELS,
    SP_SERIES_VERSION,
    SP_SERIES_HELP
} sp_series_action;

typedef struct sp_series_options {
    const char *file;       /**< NULL: series are generated; points into argv */
    int64_t series, length; /**< of generated ones */
    int series_given, length_given;
    int walk_given; /**< 1: --start, --epsilon or --seed was there */
    sp_walk walk;
    sp_series_order layout;
    sp_device_choice device;
    spmm_precision precision;
    int threads; /**< 0: default */
    int repeat;  /**< 0: default */
    int warmup;
    int timeout;        /**< seconds; 0: none */
    int block;          /**< threads of a CUDA block; 0: the kernel's choice */
    int step[SP_STEPS]; /**< 1: is measured */
    int steps_given;
    int all_kernels; /**< --kernel all */
    int kernels;     /**< named ones: */
    const sp_series_kernel *kernel[SP_SERIES_KERNELS];
    int top;
    double bound;
    double tolerance[8]; /**< of --accuracy */
    int tolerances;
    int tolerance_given;
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< NULL: none */
    sp_series_action action;
    int verbosity;                /**< -1 quiet, 0 */
    char notes[SP_MESSAGE_BYTES]; /**< options that override others; "": none */
} sp_series_options;

/** Reads argv into *o; argv's strings must outlive *o.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the option and what it takes */
spmm_status sp_series_options_parse(int argc, char **argv, sp_series_options *o);

/** Prints what --help prints. */
void sp_series_options_help(FILE *out);

/** The words that options take: "generate", "series", ... */
const char *sp_step_word(sp_step step);
const char *sp_series_order_word(sp_series_order layout);

#endif
