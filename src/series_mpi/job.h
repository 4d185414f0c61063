/** The job that series_mpi's phases share, and the functions of each. main.c calls the phases; load.c has the series,
 *  run.c the measured steps, check.c the sequential program, finish.c the end of the coefficients, sum_accuracy.c the
 *  table of --accuracy. */
#ifndef SP_SERIES_MPI_JOB_H
#define SP_SERIES_MPI_JOB_H

#include "comm/grid.h"
#include "distribute/scatter.h"
#include "series_mpi/options.h"
#include "series_mpi/pearson.h"
#include "series_mpi/report.h"

/** The series that rank 0 checks: some of them, or all with --verify full. */
typedef struct sp_series_sample {
    int64_t count;
    int64_t *number; /**< [count], global numbers, increasing; the same on every rank */
    int64_t local;   /**< how many of them this rank owns: */
    int64_t first;   /**< number[first .. first + local - 1] */
    /* on rank 0 only: */
    sp_series series; /**< the sequential program's, or those of the file: series-major, [count x length] */
    double *absolute; /**< [count], sum of the absolute values */
    double *centre, *spread, *off; /**< [count], reference mean, sqrt(sum (x - mean)^2), mean |x - mean| */
    int *constant;                 /**< [count], 1: all values are equal */
    double seconds[SP_STEPS];      /**< of the sequential program on all series, extrapolated from the sampled
                                        ones; NaN: not measured */
    double share[SP_STEPS];        /**< share of the work on all series that was really done */
} sp_series_sample;

typedef struct sp_series_job {
    sp_series_options options;
    sp_grid grid; /**< R x 1 */
    sp_shared_memory memory;
    sp_binding binding;
    sp_ranges ranges;
    const int64_t *begin;  /**< [R + 1], first series of each rank; points into ranges */
    int64_t count, length; /**< number of series of all ranks, and of values in each */
    double read_seconds;   /**< to read and distribute the file */

    sp_series x;       /**< this rank's, in the memory where it computes and the layout of the options */
    sp_series rows;    /**< series-major copy of an index-major x, once a step needs it; zeroed otherwise */
    double *mean;      /**< [x.count], in the memory of x */
    sp_spread *spread; /**< [x.count], in the memory of x */
    void *work;        /**< workspace of the kernel that runs */
    sp_series_sample sample;

    sp_series_record record; /**< what the records of all steps have in common */
    int last_kernel; /**< 1: the step's last kernel: the coefficients' report may follow its table row */
    int failed;      /**< on rank 0: kernels with wrong results */
} sp_series_job;

static inline int sp_series_root(const sp_series_job *job) { return job->grid.rank == 0; }

/* ---- the phases: each returns the same status on every rank ---- */

/** Distributes the series over the ranks and allocates x, mean and spread; with a file, x gets its values.
 *  Collective over job->grid. \return SPMM_OK, or the readers' and allocators' errors */
spmm_status sp_series_load(sp_series_job *job);

/** Chooses the series to be checked; rank 0 runs the sequential program on them and times it. Fills in job->sample.
 *  Collective over job->grid. \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI */
spmm_status sp_series_sample_make(sp_series_job *job);

/** Runs, times, checks and reports all steps of the options. Wrong results are no error: job->failed counts them.
 *  Collective over job->grid. \return SPMM_OK, or the error of the step that failed */
spmm_status sp_series_measure(sp_series_job *job);

/** Makes the table of --accuracy, of series that it generates itself.
 *  Collective over job->grid. \return SPMM_OK, or the error of the kernel or output that failed */
spmm_status sp_series_accuracy(sp_series_job *job);

/** Frees what the job holds; accepts a zeroed job. Collective over job->grid. */
void sp_series_job_destroy(sp_series_job *job);

/* ---- what the files share ---- */

/** Makes series of that shape, layout and memory, all values 0; the caller destroys x->v. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_series_create(int64_t count, int64_t length, int64_t first, sp_series_order layout,
                             spmm_precision precision, spmm_device space, sp_series *x);

/** Allocates a zeroed array in the memory where the rank computes; sp_series_free() frees it. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_series_alloc(const sp_series_job *job, int64_t bytes, const char *what, void **p);

/** Frees what sp_series_alloc() gave; accepts NULL. Local. */
void sp_series_free(const sp_series_job *job, void *p);

/** Replaces job->work by the zeroed workspace that the kernel needs for job->x, NULL if none. Local.
 *  \return as sp_series_alloc() */
spmm_status sp_series_give_work(sp_series_job *job, const sp_series_kernel *k);

/** Copies from the memory where the rank computes to the host's. Complete on return. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_series_download(const sp_series_job *job, void *to, const void *from, int64_t bytes);

/** Checks a step's results for the sampled series of all ranks: values against the sequential program's, means and
 *  deviations against long double ones. Rank 0 fills in the record's check. Does nothing for SP_PEARSON.
 *  Collective over job->grid. \return the same status on every rank */
spmm_status sp_series_check(sp_series_job *job, sp_step step, sp_series_record *record);

/** Checks, reports and writes the coefficients on rank 0. everything: 1: result has the coefficients of all series,
 *  not only of the sampled ones. Collective over job->grid. \return the same status on every rank */
spmm_status sp_series_finish_pearson(sp_series_job *job, sp_series_record *r, const sp_pearson_result *result,
                                     int everything);

/** Checks the coefficients of the sampled series against long double ones and fills in the record's check.
 *  coefficients: [sample.count x sample.count]. Local; rank 0 only. */
void sp_series_check_pearson(const sp_series_job *job, const spmm_multivector *coefficients,
                             sp_series_record *record);

#endif
