/** What spmm_mpi's phases hand on to each other. main.c names the phases, job.c has them. */
#ifndef SP_JOB_H
#define SP_JOB_H

#include "../kernels/kernel.h"
#include "grid.h"
#include "options.h"
#include "read.h"
#include "report.h"
#include "scatter.h"

typedef struct sp_job {
    sp_options options;
    sp_grid grid;
    sp_place place;

    spmm_csr a;              /**< rank 0: the whole matrix, while it is needed */
    sp_mtx_info info;        /**< rank 0: what the file said */
    int64_t *begin;          /**< rank 0: block boundaries, [ranks + 1] */
    sp_block block;          /**< this rank's rows */
    spmm_multivector x_file; /**< rank 0, with -x FILE: X as read */

    spmm_csr sample;      /**< rank 0, mode sample: the rows looked at */
    int64_t *sampled;     /**< rank 0: their global indices */
    int64_t *sample_rows; /**< every rank: this rank's rows of the sample, local indices */
    int64_t sample_count;

    sp_verify_mode verify; /**< what is really done */
    sp_record record;      /**< rank 0 prints it; every rank keeps the times */
    sp_preamble preamble;
    double start; /**< MPI_Wtime() at the start */
    int runs, failed;
} sp_job;

/* Each is collective over the job's grid (before it exists: MPI_COMM_WORLD) and returns the same status on every
   rank. Times go to job->record.seconds. */

spmm_status sp_job_read(sp_job *job);      /**< file or generator -> job->a, X from a file -> job->x_file */
spmm_status sp_job_partition(sp_job *job); /**< -> job->begin, and what is kept for verifying */
spmm_status sp_job_scatter(sp_job *job);   /**< -> job->block; frees job->a when nothing needs it */
spmm_status sp_job_preamble(sp_job *job);  /**< prints what there is before the first product */

/** One run: convert, X, products, gather, verify, report. */
spmm_status sp_job_multiply(sp_job *job, const sp_kernel *kernel, int64_t k);

/** --check-conversions on rank 0. */
spmm_status sp_job_check_conversions(sp_job *job);

void sp_job_destroy(sp_job *job);

#endif
