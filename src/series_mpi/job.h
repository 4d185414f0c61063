/** What series_mpi's phases hand on to each other. series_main.c names the phases; series_load.c has the series,
 *  series_run.c the measured steps, series_check.c the sequential program, series_accuracy.c the table of --accuracy. */
#ifndef SP_SERIES_MPI_JOB_H
#define SP_SERIES_MPI_JOB_H

#include "comm/grid.h"
#include "distribute/scatter.h"
#include "series_mpi/options.h"
#include "series_mpi/pearson.h"
#include "series_mpi/report.h"

/** Series that are looked at closely on rank 0: some, or with --verify full all. */
typedef struct sp_series_sample {
    int64_t count;
    int64_t *number; /**< [count], increasing; the same on every rank */
    int64_t local;   /**< how many of them are this rank's, */
    int64_t first;   /**< from this one of the list on */
    /* rank 0's: */
    sp_series series; /**< the sequential program's, or those of the file: series-major, [count x length] */
    double *absolute; /**< [count] the sum of the absolute values */
    double *centre, *spread, *off; /**< [count] the mean, sqrt(sum (x - mean)^2), mean |x - mean| */
    int *constant;                 /**< [count] */
    double
        seconds[SP_STEPS]; /**< that the sequential program takes for all series, from what it took for these;
                                   NaN: not measured */
    double share[SP_STEPS]; /**< of the work that was really done */
} sp_series_sample;

typedef struct sp_series_job {
    sp_series_options options;
    sp_grid grid; /**< R x 1 */
    sp_shared_memory memory;
    sp_binding binding;
    sp_ranges ranges;
    const int64_t *begin;  /**< first series of each rank, [R + 1]: ranges' */
    int64_t count, length; /**< of all ranks' series */
    double read_seconds;

    sp_series x;    /**< this rank's, where it computes, in the layout asked for */
    sp_series rows; /**< the same series-major, where x is not; zeroed otherwise */
    double *mean;   /**< [x.count], in x's memory */
    sp_spread *spread;
    void *work; /**< of a kernel */
    sp_series_sample sample;

    sp_series_record record; /**< what all steps have in common */
    int last_kernel; /**< 1: no further one of the step follows, whose row would belong under this one's */
    int failed;
} sp_series_job;

static inline int sp_series_root(const sp_series_job *job) { return job->grid.rank == 0; }

/* Each is collective over the job's grid and returns the same status on every rank. */

spmm_status sp_series_load(sp_series_job *job); /**< -> ranges, x (of a file with its values) */
spmm_status sp_series_sample_make(
    sp_series_job *job); /**< -> sample: the sequential program's results and times */
spmm_status sp_series_measure(sp_series_job *job); /**< all steps: times, checks, report */
spmm_status sp_series_accuracy(sp_series_job *job);

void sp_series_job_destroy(sp_series_job *job);

/* ---- what the files share ---- */

/** Series of that shape in that memory; the caller destroys v. Local. */
spmm_status sp_series_create(int64_t count, int64_t length, int64_t first, sp_series_order layout,
                             spmm_precision precision, spmm_device space, sp_series *x);

/** An array in the memory where the rank computes, zeroed. */
spmm_status sp_series_alloc(const sp_series_job *job, int64_t bytes, const char *what, void **p);
void sp_series_free(const sp_series_job *job, void *p);

/** job->work becomes what that kernel needs for job->x, instead of what another one had. Local. */
spmm_status sp_series_give_work(sp_series_job *job, const sp_series_kernel *k);

/** From the memory where the rank computes to the host's. Local; complete on return. */
spmm_status sp_series_download(const sp_series_job *job, void *to, const void *from, int64_t bytes);

/** Compares the sampled series, means or deviations of all ranks with the sequential program's; rank 0 fills in the
 *  record's check. Collective. */
spmm_status sp_series_check(sp_series_job *job, sp_step step, sp_series_record *record);

/** The coefficients on rank 0: checked, reported and written. everything: result has those of all series, not of the
 *  sampled ones alone. Collective. */
spmm_status sp_series_finish_pearson(sp_series_job *job, sp_series_record *r, const sp_pearson_result *result,
                                     int everything);

/** The same of coefficients of the sampled series; rank 0 alone. */
void sp_series_check_pearson(const sp_series_job *job, const spmm_multivector *coefficients,
                             sp_series_record *record);

#endif
