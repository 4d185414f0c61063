/** What series_mpi reports about the steps: text, JSON Lines, CSV. Only rank 0 calls these functions. */
#ifndef SP_SERIES_MPI_REPORT_H
#define SP_SERIES_MPI_REPORT_H

#include <stdio.h>

#include "base/stats.h"
#include "series_mpi/options.h"
#include "series_mpi/pearson.h"

/** The record of one step by one kernel. */
typedef struct sp_series_record {
    struct {
        const char *source; /**< the file, or "generated" */
        int64_t count, length;
        double start, epsilon; /**< NaN for a file */
        int64_t seed;
        const char *layout;
    } series;
    struct {
        int ranks, threads, repeat, warmup, block;
        int batch; /**< runs per timing, of which each time is the mean: short runs are timed together */
        const char *device, *gpu, *host, *precision, *verify;
    } run;
    sp_step step;
    const char *kernel;
    sp_stats seconds;      /**< per run, of the slowest rank */
    double bytes;          /**< least DRAM traffic of the step, all ranks */
    double flops;          /**< of the step, all ranks */
    double copy_bandwidth; /**< bytes/s, read and written, that all ranks' memories copy; 0: not measured */
    double sequential;     /**< seconds of the sequential program; NaN: not measured */
    double measured;       /**< share of its work that was measured; `sequential` is extrapolated from it */
    struct {
        int64_t checked, wrong;
        double worst; /**< largest ratio of an error to its bound */
        int64_t row;  /**< number of the first wrong series; -1: none */
        double found, expected;
        int done; /**< 0: nothing was checked */
    } check;
    struct {
        int64_t constant; /**< series without coefficients */
        const char *transport;
        double received_bytes; /**< most that a rank receives */
        double centre_seconds; /**< median over passes of the slowest rank's deviations and centered copies */
    } pearson;                 /**< SP_PEARSON */
    sp_histogram histogram;    /**< SP_PEARSON; pairs 0 otherwise */
} sp_series_record;

/** Prints what the run is about: series, ranks, binding, copy bandwidth. read_seconds: of a file. */
void sp_series_report_head(FILE *out, const sp_series_record *r, const sp_binding *place,
                           double read_seconds);

/** Prints the heading of the table of steps. */
void sp_series_report_table_head(FILE *out);

/** Prints one row of the table of steps. */
void sp_series_report_step(FILE *out, const sp_series_record *r);

/** Prints the coefficients: quantiles, histogram, extreme pairs, series that stand apart. count: of all series. */
void sp_series_report_pairs(FILE *out, const sp_series_options *o, const sp_series_record *r,
                            const sp_pearson_result *result, int64_t count);

/** Returns the coefficient that the given share of the pairs does not exceed, interpolated within its bin of the
 *  histogram; NaN without pairs. */
double sp_histogram_quantile(const sp_histogram *histogram, double share);

/** Appends the record to the files of --json and --csv.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason */
spmm_status sp_series_report_files(const sp_series_options *o, const sp_series_record *r);

/** Returns the step's least bytes per second as a share of the copy bandwidth; NaN where that was not measured. */
double sp_series_share(const sp_series_record *r);

#endif
