/** series_mpi's command line, parsed into a struct. No MPI. */
#ifndef SP_SERIES_MPI_OPTIONS_H
#define SP_SERIES_MPI_OPTIONS_H

#include <stdio.h>

#include "cli/program.h"
#include "cli/program.h"
#include "comm/binding.h"
#include "kernels/series/series.h"

enum { SP_SERIES_KERNELS = 64 }; /**< most names that --kernel takes */

/** What the program does; actions other than the first two need no MPI. */
typedef enum sp_series_action {
    SP_SERIES_MEASURE,
    SP_SERIES_ACCURACY,
    SP_SERIES_LIST_KERNELS,
    SP_SERIES_VERSION,
    SP_SERIES_HELP
} sp_series_action;

typedef struct sp_series_options {
    const char *file;       /**< NULL: series are generated; points into argv */
    int64_t series, length; /**< shape of generated series */
    int series_given, length_given;
    int walk_given; /**< 1: --start, --epsilon or --seed was given */
    sp_walk walk;
    sp_series_order layout;
    sp_device_choice device;
    spmm_precision precision;
    int threads; /**< 0: default */
    int repeat;  /**< timed runs per step; 0: default */
    int warmup;
    int timeout;        /**< seconds; 0: none */
    int block;          /**< threads per CUDA block; 0: the kernel's choice */
    int step[SP_STEPS]; /**< 1: the step is measured */
    int steps_given;
    int all_kernels; /**< 1: --kernel all */
    int kernels;     /**< number of kernels named by --kernel */
    const sp_series_kernel *kernel[SP_SERIES_KERNELS];
    int top;             /**< extreme pairs to print, at each end */
    double bound;        /**< series with a lower mean coefficient are listed */
    double tolerance[8]; /**< of --accuracy */
    int tolerances;
    int tolerance_given;
    sp_verify_mode verify;
    const char *output, *json, *csv; /**< NULL: none */
    sp_series_action action;
    int verbosity;                /**< -1: quiet, 0: normal */
    char notes[SP_MESSAGE_BYTES]; /**< warnings about options that override others; "": none */
} sp_series_options;

/** Reads argv into *o; the strings of argv must outlive *o.
 *  \return SPMM_OK, SPMM_ERR_USAGE with a message that names the option and what it takes, or SPMM_ERR_NO_DEVICE (a
 *          kernel that this build lacks) */
spmm_status sp_series_options_parse(int argc, char **argv, sp_series_options *o);

/** Prints the text of --help. */
void sp_series_options_help(FILE *out);

/** Returns the step's word on the command line and in records: "generate", "mean", ... */
const char *sp_step_word(sp_step step);

/** Returns the layout's word: "series", "index" or "any". */
const char *sp_series_order_word(sp_series_order layout);

#endif
