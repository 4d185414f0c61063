/** What spmm_mpi's phases hand on to each other. main.c names the phases; job.c, job_load.c and job_layout.c have
 *  those before the products, job_tune.c the choice of kernels, job_run.c the runs, job_time.c times products. */
#ifndef SP_SPMM_MPI_JOB_H
#define SP_SPMM_MPI_JOB_H

#include "cli/program.h"
#include "comm/grid.h"
#include "distribute/halo.h"
#include "distribute/scatter.h"
#include "io/mtx_read.h"
#include "kernels/kernel.h"
#include "spmm_mpi/options.h"
#include "spmm_mpi/report.h"

typedef struct sp_job {
    sp_options options;
    sp_grid grid;
    sp_shared_memory memory;
    sp_binding binding;

    spmm_csr a;              /**< rank 0: the whole matrix, while it is needed */
    sp_mtx_info info;        /**< rank 0: what the file said */
    sp_ranges ranges;        /**< who has what */
    spmm_block block;        /**< this rank's part of A */
    sp_halo halo;            /**< what moves in a product */
    spmm_multivector x_file; /**< rank 0, with -x FILE: X as read */

    spmm_csr sample; /**< rank 0, mode sample: the rows looked at */
    int64_t *perm;   /**< rank 0, with --partition graph: new numbers of rows */
    int64_t *x_old;  /**< likewise, each rank: old numbers of its rows of X; NULL: as they are */

    int64_t *sampled;     /**< rank 0: their global indices */
    int64_t *sample_rows; /**< every rank: its block's rows of the sample, local indices */
    int64_t sample_count;

    sp_verify_mode verify; /**< what is really done */
    sp_record record;      /**< rank 0 prints it; every rank keeps the times */
    sp_preamble preamble;
    spmm_transport transport; /**< that auto turned out to be in the first plan, and is in the others */
    const sp_kernel *chosen[SP_MAX_COLUMNS]; /**< with kernel auto: that of each K */
    int64_t touched;                         /**< columns of the block that have an entry; with copy_rate */
    double copy_bandwidth; /**< bytes a second that this rank's memory copies; 0: not measured */
    int64_t peak_bytes;    /**< before that was measured */
    double start;          /**< MPI_Wtime() at the start */
    int runs, failed;
} sp_job;

enum { SP_ROOT = 0 };

static inline int sp_is_root(const sp_job *job) { return job->grid.rank == SP_ROOT; }

/* Each is collective over the job's grid (before it exists: MPI_COMM_WORLD) and returns the same status on every
   rank. Times go to job->record.seconds. */

spmm_status sp_job_read(sp_job *job);      /**< file or generator -> job->a, X from a file -> job->x_file */
spmm_status sp_job_load(sp_job *job);      /**< with --io parallel these and the next two: -> block, ranges */
spmm_status sp_job_partition(sp_job *job); /**< -> job->ranges, and what is kept for verifying */
spmm_status sp_job_scatter(sp_job *job);   /**< -> job->block; frees job->a when nothing needs it */
spmm_status sp_job_halo(sp_job *job);      /**< -> job->halo */
spmm_status sp_job_preamble(sp_job *job);  /**< prints what there is before the first product */

spmm_status sp_job_choose(sp_job *job); /**< the kernel of each K, where it is auto; says why */

/** Every K and every kernel asked for: convert, X, products, gather, verify, report; with --kernel all a
 *  format or kernel that refuses the matrix (SPMM_ERR_LIMIT) is said and passed over, and a table compares
 *  the others. */
spmm_status sp_job_multiply(sp_job *job);

/** --dry-run: what the blocks would be, on rank 0. */
spmm_status sp_job_dry_run(sp_job *job);

/** --check-conversions on rank 0. */
spmm_status sp_job_check_conversions(sp_job *job);

void sp_job_destroy(sp_job *job);

/* ---- what the job's files share ---- */

sp_read_options sp_job_read_options(const sp_job *job);

/** X from a file -> job->x_file, on rank 0; every rank learns K. Collective, as is all of this. */
spmm_status sp_job_read_x(sp_job *job);

/** Refuses what can be known to fail before the matrix is read: a transport that is not there, an output that cannot be written,
 *  ... Collective; the same status on every rank. */
spmm_status sp_job_check(const sp_job *job);

/** Whether matrix, X and Y can fit the memory that rank 0 and the ranks beside it share, by sizes that are known before any
 *  of it is read; what is wrong with a file is left to its reader. Rank 0 alone.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_job_check_memory(const sp_job *job);

/** Bytes that verifying in full needs on rank 0 beside A: X and Y. Local. */
double sp_job_verify_bytes(const sp_job *job);

/** Rank 0's list of the sampled rows -> job->sampled; *count of them. Local. */
spmm_status sp_job_list_sample(sp_job *job, int64_t *count);

/** This block's rows of the sample: every rank computes the same list from the same boundaries. */
spmm_status sp_job_own_sample(sp_job *job);

/** The slowest rank's duration of each phase so far, on every rank. Phases note their own rank's; this is
 *  called where they are read, since every collective costs where ranks share cores. */
spmm_status sp_job_slowest(const sp_job *job, sp_seconds *seconds);

/** What a plan is made with; kernel and format still to be set. */
spmm_plan_options sp_job_plan_options(const sp_job *job);

/** Where the times of repeated products go, each [repeat], in seconds; NULL: not wanted. */
typedef struct sp_job_times {
    double *apply;  /**< from the barrier that all ranks left to the one that all reached: where ranks
                                     share a core, one that starts late does not make the product look short */
    double *kernel; /**< within: of the rank's kernels */
    double *interior, *boundary, *reduce; /**< as sp_apply_seconds has them */
} sp_job_times;

/** Times products; the slowest rank's, on every rank. An error leaves no rank behind. */
spmm_status sp_job_time(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y,
                        int warmup, int repeat, const sp_job_times *times);

/** Times the exchange of a product alone: seconds [repeat], likewise. */
spmm_status sp_job_time_exchange(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, int repeat,
                                 double *seconds);

/** Times products without their exchange (sp_plan_apply_local()), likewise. */
spmm_status sp_job_time_local(const sp_job *job, spmm_plan *plan, const spmm_multivector *x,
                              spmm_multivector *y, int repeat, double *seconds);

#endif
