/** The state and the phases of spmm_mpi. main.c calls the phases in order. job_preflight.c and job_memory.c
 *  make the checks before the matrix is read; job.c, job_load.c and job_partition.c implement the phases
 *  before the products; job_tune.c chooses kernels; job_run.c makes the runs; job_time.c times products. */
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

/** State of one execution of spmm_mpi; zeroed before the first use. */
typedef struct sp_job {
    sp_options options;
    sp_grid grid;
    sp_shared_memory memory;
    sp_binding binding;

    spmm_csr a;              /**< rank 0: the whole matrix A, as long as it is needed */
    sp_mtx_info info;        /**< rank 0: what the header of the matrix file says */
    sp_ranges ranges;        /**< row and column blocks of A, and the owners of the rows of X */
    spmm_block block;        /**< this rank's block of A */
    sp_halo halo;            /**< which rows of X are exchanged in a product */
    spmm_multivector x_file; /**< rank 0, -x FILE: X from the file, its rows numbered like those of A */

    spmm_csr sample; /**< rank 0, --verify sample: the sampled rows of A */
    int64_t *perm;   /**< rank 0, --partition graph: perm[i] is the new index of row i of A as read */
    int64_t *x_old;  /**< --partition graph and generated X: indices that this rank's rows of X had before
                         renumbering; else NULL */

    int64_t *sampled;     /**< rank 0: global indices of the sampled rows of A */
    int64_t *sample_rows; /**< local indices of the sampled rows of this rank's block */
    int64_t sample_count; /**< number of elements of sample_rows */

    sp_verify_mode verify;    /**< mode in use: sample instead of full if rank 0 has too little memory */
    sp_record record;         /**< report of the current run; each rank stores its own times there */
    sp_preamble preamble;     /**< facts about the matrix, printed once */
    spmm_transport transport; /**< the first plan's choice for --transport auto; later plans use it too */
    const sp_kernel *chosen[SP_MAX_COLUMNS]; /**< --kernel auto: kernel chosen for options.k[i] */
    int64_t touched;       /**< number of nonempty columns of `block`; set with copy_bandwidth */
    double copy_bandwidth; /**< from sp_copy_bandwidth(), bytes per second; 0: not measured */
    int64_t peak_bytes;    /**< peak resident set before measure_dram_bound() resets the peak */
    double start;          /**< MPI_Wtime() at the start of the program */
    int runs, failed;      /**< runs: runs made; failed: runs whose verification failed */
} sp_job;

enum { SP_ROOT = 0 };

/** Returns 1 on rank 0, the rank that reads, verifies and prints. Local. */
static inline int sp_is_root(const sp_job *job) { return job->grid.rank == SP_ROOT; }

/* The phases. "Collective" means over job->grid.comm. A collective phase returns the same status on every
 * rank. A timed phase stores the time that it took on this rank in job->record.seconds. */

/** Reads or generates the matrix into job->a and reads X, if -x names a file, into job->x_file, both on rank
 *  0. Writes the --cache file. Collective. */
spmm_status sp_job_read(sp_job *job);

/** With --io parallel, replaces sp_job_read(), sp_job_partition() and sp_job_scatter(): every rank reads its
 *  own block of A. Sets job->block, job->ranges, job->x_file and what rank 0 needs for verifying.
 *  Collective. */
spmm_status sp_job_load(sp_job *job);

/** Chooses the grid (--grid auto), renumbers the rows (--partition graph), determines job->ranges, and
 *  decides whether rank 0 verifies all rows of Y or only a sample. Collective. */
spmm_status sp_job_partition(sp_job *job);

/** Distributes job->a from rank 0 to job->block on all ranks. Consumes job->a unless rank 0 verifies in full.
 *  Collective. */
spmm_status sp_job_scatter(sp_job *job);

/** Creates job->halo; stores the communication volume and the load imbalance in job->record. Collective. */
spmm_status sp_job_halo(sp_job *job);

/** Stores in job->record what is known before the first product, and prints it on rank 0. Collective. */
spmm_status sp_job_preamble(sp_job *job);

/** If no kernel is named, chooses one for each K by rule or by timing (--autotune) and prints the reason.
 *  Collective. */
spmm_status sp_job_choose(sp_job *job);

/** Makes one run for every K and every requested kernel: converts the block, creates X, multiplies, gathers
 *  and verifies Y, and reports. With --kernel all, a kernel that refuses the matrix (SPMM_ERR_LIMIT) is
 *  reported as left out, and a table compares the other kernels. A failed verification is counted in
 *  job->failed and is not an error. Collective. */
spmm_status sp_job_multiply(sp_job *job);

/** Implements --dry-run: rank 0 prints how much each rank would hold and communicate. Collective. */
spmm_status sp_job_dry_run(sp_job *job);

/** Implements --check-conversions: rank 0 checks and times the conversions of job->a. Collective. */
spmm_status sp_job_check_conversions(sp_job *job);

/** Frees all members of the job and closes the GPU; accepts a zeroed job. Collective over the job's grid. */
void sp_job_destroy(sp_job *job);

/* ---- functions that the job*.c files share ---- */

/** Returns the options for reading files, taken from the job's options, with a progress display if stderr is
 *  a terminal. Local. */
sp_read_options sp_job_read_options(const sp_job *job);

/** If -x names a file, reads X into job->x_file on rank 0 and sets K on every rank to the number of columns
 *  of X. Collective. */
spmm_status sp_job_read_x(sp_job *job);

/** Detects, before the matrix is read, what will make the run fail, e.g. a transport that is missing or an
 *  output file that cannot be written. Collective; returns the same status on every rank. */
spmm_status sp_job_check(const sp_job *job);

/** Checks whether the matrix, X and Y can fit in the memory that rank 0 shares with other ranks. Takes their
 *  sizes from the header of the matrix file or the name of the generator. Accepts a file that it cannot
 *  understand: the reader will report what is wrong.
 *
 *  Local; called on rank 0 only. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_job_check_memory(const sp_job *job);

/** Returns the size in bytes of the whole X and Y, which rank 0 needs besides A to verify in full. Local. */
double sp_job_verify_bytes(const sp_job *job);

/** Lists the sampled rows of all blocks in job->sampled.
 *
 *  Local; called on rank 0 only. \param [out] count  number of sampled rows \return SPMM_OK,
 *  SPMM_ERR_MEMORY */
spmm_status sp_job_list_sample(sp_job *job, int64_t *count);

/** Lists the sampled rows of this rank's block in job->sample_rows. Every rank computes the list from the
 *  block boundaries, so nothing is sent. Collective. */
spmm_status sp_job_own_sample(sp_job *job);

/** Replaces each time in *seconds by its maximum over all ranks, on every rank. The phases only note their
 *  own times, and the maximum is taken when a time is needed, because collectives are expensive if ranks
 *  share cores. Collective. */
spmm_status sp_job_slowest(const sp_job *job, sp_seconds *seconds);

/** Returns the options that all plans of the job share; the caller sets the kernel. Local. */
spmm_plan_options sp_job_plan_options(const sp_job *job);

/** Arrays for the times in seconds of repeated products, each [repeat]; NULL: this time is not wanted. */
typedef struct sp_job_times {
    double *apply;                        /**< from a barrier before the product to a barrier after it;
                                               includes delays of ranks that share a core */
    double *kernel;                       /**< time in kernels, see sp_apply_seconds */
    double *interior, *boundary, *reduce; /**< parts of the product, see sp_apply_seconds */
} sp_job_times;

/** Makes `warmup` untimed and then `repeat` timed products Y := A X.
 *
 *  Collective. A rank on which a product fails still takes part in the later exchanges, so that its neighbors
 *  do not wait forever. A rank whose GPU has failed cannot do this; it ends the processes of all ranks.
 *  \param [out] times  the slowest rank's times of each product, the same on every rank
 *  \return the same status on every rank */
spmm_status sp_job_time(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y,
                        int warmup, int repeat, const sp_job_times *times);

/** Times `repeat` exchanges of X without products. Handles failures as sp_job_time() does.
 *
 *  Collective. \param [out] seconds  [repeat] the slowest rank's time of each exchange */
spmm_status sp_job_time_exchange(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, int repeat,
                                 double *seconds);

/** Times `repeat` products without exchange of X (sp_plan_apply_local()). Handles failures like
 *  sp_job_time().
 *
 *  Collective. \param [out] seconds  [repeat] the slowest rank's time of each product */
spmm_status sp_job_time_local(const sp_job *job, spmm_plan *plan, const spmm_multivector *x,
                              spmm_multivector *y, int repeat, double *seconds);

#endif
