/** Reports the results of series_mpi's steps as text, JSON Lines and CSV. Only rank 0 calls these
 *  functions. */
#ifndef SP_SERIES_MPI_REPORT_H
#define SP_SERIES_MPI_REPORT_H

#include <stdio.h>

#include "cli/stats.h"
#include "series_mpi/options.h"
#include "series_mpi/pearson.h"

/** Data that are reported about one step, run by one kernel. */
typedef struct sp_series_record {
    struct {
        const char *source; /**< path of the input file, or "generated" */
        int64_t count, length;
        double read_seconds;   /**< seconds for reading the input file and distributing its series */
        double start, epsilon; /**< parameters of generated series (see sp_walk); NaN: the series come from a
                                    file */
        int64_t seed;
        const char *layout;
    } series;
    struct {
        int ranks, repeat, warmup, block;
        int batch; /**< runs per timing: short runs are timed together, and their mean time is recorded */
        const sp_binding *binding; /**< of rank 0 */
        int parts;                 /**< blocks per series; 0: the kernel does not divide series */
        const char *precision, *verify, *memory;
        sp_operator op; /**< operator of step SP_MEAN */
    } run;
    sp_step step;
    const char *kernel;
    sp_stats seconds;      /**< statistics of the seconds per run; each time is that of the slowest rank */
    double total;          /**< seconds of the measured steps up to this one: the sum of their medians, each
                                with its fastest kernel; meaningless for SP_ARRAY_SUM */
    double bytes;          /**< lower bound of the step's DRAM traffic in bytes, summed over all ranks */
    double flops;          /**< floating-point operations of the step, summed over all ranks */
    double copy_bandwidth; /**< bytes read plus written per second while all ranks copy memory at the same
                                time, summed over the ranks; 0: not measured */
    double sequential;     /**< seconds that the sequential program takes for the step; NaN: not measured */
    double measured;       /**< fraction of the sequential program's work that was run; `sequential` is
                                extrapolated from the time for this fraction */
    struct {
        int64_t checked, wrong;
        double worst; /**< largest ratio of a result's error to the error bound of the check */
        int64_t row;  /**< number of the first series (for SP_ARRAY_SUM: of the first rank) with a wrong
                           result; -1: no wrong result */
        double found, expected;
        int done; /**< 1: results were checked; 0: no result was checked */
    } check;
    struct {
        int64_t constant; /**< number of constant series, which have no coefficients */
        const char *transport;
        double received_bytes; /**< bytes of series that a rank receives per pass, maximum over the ranks */
        double seconds[SP_PEARSON_PARTS]; /**< seconds of each part of a pass: slowest rank, median over all
                                               passes */
    } pearson;                            /**< meaningful for step SP_PEARSON only */
    struct {
        const char *reduce; /**< strategy by which the ranks' sums are added; NULL: the step is not
                                 SP_ARRAY_SUM */
        int steps;          /**< number of successive steps of that strategy on these ranks */
        double calc;        /**< seconds of an addition, measured on rank 0 (T_calc of the model) */
        double com;         /**< seconds of a message with one number, measured (T_com) */
        double model;       /**< seconds of the whole sum by the model */
        double combine;     /**< seconds of adding the ranks' sums alone: slowest rank, median */
        double value;       /**< the sum, on rank 0 */
    } sum;                  /**< meaningful for SP_ARRAY_SUM only */
    sp_histogram histogram; /**< histogram of the coefficients; empty unless the step is SP_PEARSON */
} sp_series_record;

/** Prints the head of the report: series, ranks, binding and copy bandwidth. */
void sp_series_report_head(FILE *out, const sp_series_record *r);

/** Prints the results of step SP_PEARSON: quantiles and histogram of the coefficients, the pairs with extreme
 *  coefficients, and the series whose mean coefficient is below o->bound.
 *  \param [in] count  total number of series */
void sp_series_report_pairs(FILE *out, const sp_series_options *o, const sp_series_record *r,
                            const sp_pearson_result *result, int64_t count);

/** Appends a record to the files given by --json and --csv, if any.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with a message that names the file and the reason */
spmm_status sp_series_report_files(const sp_series_options *o, const sp_series_record *r);

/** Returns the bandwidth that a step achieves (r->bytes per second) as a fraction of the copy bandwidth; NaN
 *  if r->copy_bandwidth was not measured. */
double sp_series_share(const sp_series_record *r);

#endif
