/** What is said about the steps on series: text, JSON Lines, CSV. Rank 0 alone calls this. */
#ifndef SP_SERIES_MPI_REPORT_H
#define SP_SERIES_MPI_REPORT_H

#include <stdio.h>

#include "base/stats.h"
#include "series_mpi/options.h"
#include "series_mpi/pearson.h"

/** One step by one kernel. */
typedef struct sp_series_record {
    struct {
        const char *source;
        int64_t count, length;
        double start, epsilon;
        int64_t seed;
        const char *layout;
    } series;
    struct {
        int ranks, threads, repeat, warmup, block;
        int batch; /**< runs that each time is the mean of: short ones are timed together */
        const char *device, *gpu, *host, *precision, *verify;
    } run;
    sp_step step;
    const char *kernel;
    sp_stats seconds;      /**< of the slowest rank */
    double bytes;          /**< that the step moves through DRAM at least, all ranks */
    double flops;          /**< that it computes, all ranks */
    double copy_bandwidth; /**< bytes a second that all ranks' memories copy; 0: not measured */
    double sequential;     /**< seconds of the sequential program; NaN: not measured */
    double measured; /**< share of the sequential program's work that was measured, from which that follows */
    struct {
        int64_t checked, wrong;
        double worst; /**< largest error over its bound */
        int64_t row;  /**< number of the first wrong series; -1: none */
        double found, expected;
        int done; /**< 0: nothing was checked */
    } check;
    struct {
        int64_t constant; /**< series without coefficients */
        const char *transport;
        double received_bytes; /**< by a rank, at most */
        double centre_seconds; /**< of centred copies and deviations, the slowest rank's median */
    } pearson;                 /**< SP_PEARSON */
    sp_histogram tally;        /**< SP_PEARSON; pairs 0 otherwise */
} sp_series_record;

void sp_series_report_head(FILE *out, const sp_series_record *r, const sp_binding *place,
                           double read_seconds);
void sp_series_report_table_head(FILE *out);
void sp_series_report_step(FILE *out, const sp_series_record *r);

/** The coefficients: quantiles, histogram, extreme pairs, series that stand apart. */
void sp_series_report_pairs(FILE *out, const sp_series_options *o, const sp_series_record *r,
                            const sp_pearson_result *result, int64_t count);

/** The coefficient that the given share of the pairs does not exceed, to half a bin of the histogram. */
double sp_histogram_quantile(const sp_histogram *tally, double share);

/** Append the record.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason */
spmm_status sp_series_report_files(const sp_series_options *o, const sp_series_record *r);

/** The share of the copy rate that a step's bytes come to; NaN where it was not measured. */
double sp_series_share(const sp_series_record *r);

#endif
