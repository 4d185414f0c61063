/** The state that the phases of spmm_mpi share, and the phases. main.c calls them in order; job_preflight.c and
 *  job_memory.c check before anything is read, job.c, job_load.c and job_partition.c have the phases before the
 *  products, job_tune.c chooses kernels, job_run.c makes the runs, and job_time.c times products. */
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

/** Everything that one execution of spmm_mpi knows. Zeroed at first. */
typedef struct sp_job {
    sp_options options;
    sp_grid grid;
    sp_shared_memory memory;
    sp_binding binding;

    spmm_csr a;              /**< rank 0: the whole matrix, while it is needed */
    sp_mtx_info info;        /**< rank 0: what the file's header says */
    sp_ranges ranges;        /**< row and column blocks, and the owners of X */
    spmm_block block;        /**< this rank's part of A */
    sp_halo halo;            /**< which rows of X are exchanged in a product */
    spmm_multivector x_file; /**< rank 0, with -x FILE: X as read, renumbered with A */

    spmm_csr sample; /**< rank 0, --verify sample: the sampled rows of A */
    int64_t *perm;   /**< rank 0, --partition graph: new index of each row of the matrix as read */
    int64_t *x_old; /**< every rank, --partition graph: old indices of its rows of a generated X; else NULL */

    int64_t *sampled;     /**< rank 0: global indices of the sampled rows */
    int64_t *sample_rows; /**< every rank: the sampled rows of its block, local indices */
    int64_t sample_count; /**< entries of sample_rows */

    sp_verify_mode verify;    /**< what is done in fact: sample where full was asked for and does not fit */
    sp_record record;         /**< rank 0 prints it; every rank keeps its own times there */
    sp_preamble preamble;     /**< facts of the matrix that are printed once */
    spmm_transport transport; /**< what auto became in the first plan, imposed on the later ones */
    const sp_kernel *chosen[SP_MAX_COLUMNS]; /**< with kernel auto: the kernel of each K */
    int64_t touched;       /**< columns of the block that have an entry; set together with copy_bandwidth */
    double copy_bandwidth; /**< bytes per second that this rank's memory copies; 0: not measured */
    int64_t peak_bytes;    /**< peak resident set before that measurement, which restarts the peak */
    double start;          /**< MPI_Wtime() at the start of the program */
    int runs, failed;      /**< runs made, and those that failed verification */
} sp_job;

enum { SP_ROOT = 0 };

/** Whether this rank is rank 0, which reads, verifies and prints. Local. */
static inline int sp_is_root(const sp_job *job) { return job->grid.rank == SP_ROOT; }

/* The phases. Each that is collective is so over the job's grid and returns the same status on every rank. Those that
   are timed note their time on this rank in job->record.seconds. */

/** Reads or generates the matrix into job->a, and X from a file into job->x_file; writes the --cache file.
 *  Collective. */
spmm_status sp_job_read(sp_job *job);

/** With --io parallel, takes the place of sp_job_read(), sp_job_partition() and sp_job_scatter(): every rank reads
 *  its block; sets job->block, job->ranges, job->x_file and what rank 0 verifies with. Collective. */
spmm_status sp_job_load(sp_job *job);

/** Chooses the grid (--grid auto), renumbers the rows (--partition graph), determines job->ranges, and decides
 *  whether rank 0 verifies in full or by a sample. Collective. */
spmm_status sp_job_partition(sp_job *job);

/** Distributes job->a into job->block; job->a is consumed unless rank 0 verifies in full. Collective. */
spmm_status sp_job_scatter(sp_job *job);

/** Makes job->halo and notes the communication volume and the imbalance in the record. Collective. */
spmm_status sp_job_halo(sp_job *job);

/** Completes the record with what is known before the first product, which rank 0 prints. Collective. */
spmm_status sp_job_preamble(sp_job *job);

/** Chooses the kernel of each K where it is auto, by rule or by timing (--autotune), and prints why. Collective. */
spmm_status sp_job_choose(sp_job *job);

/** Makes a run for every K and every kernel asked for: conversion, X, products, gather, verification, report. With
 *  --kernel all, a kernel that refuses the matrix (SPMM_ERR_LIMIT) is reported as left out, and a table compares the
 *  others. A failed verification is counted in job->failed and is no error. Collective. */
spmm_status sp_job_multiply(sp_job *job);

/** --dry-run: rank 0 prints what the ranks would hold and move. Collective. */
spmm_status sp_job_dry_run(sp_job *job);

/** --check-conversions on rank 0's job->a. Collective. */
spmm_status sp_job_check_conversions(sp_job *job);

/** Frees everything and closes the device; accepts a zeroed job. Collective over the job's grid. */
void sp_job_destroy(sp_job *job);

/* ---- what the job's files share ---- */

/** The options of the readers, from the job's; with a progress display where stderr is a terminal. Local. */
sp_read_options sp_job_read_options(const sp_job *job);

/** Reads X from its file, if it has one, into job->x_file on rank 0, and tells every rank K. Collective. */
spmm_status sp_job_read_x(sp_job *job);

/** Refuses what can be known to fail before the matrix is read, e.g. a transport that is missing or an output that
 *  cannot be written. Collective; the same status on every rank. */
spmm_status sp_job_check(const sp_job *job);

/** Checks whether the matrix, X and Y can fit the memory that rank 0 shares with other ranks, by the sizes that a
 *  header or a generator's name tells. A file that cannot be understood passes: its reader says what is wrong.
 *
 *  Local; rank 0 alone calls it. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_job_check_memory(const sp_job *job);

/** Bytes of X and Y that rank 0 needs beside A to verify in full. Local. */
double sp_job_verify_bytes(const sp_job *job);

/** Lists the sampled rows of all blocks in job->sampled.
 *
 *  Local; rank 0 alone calls it. \param [out] count  rows in the list \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_job_list_sample(sp_job *job, int64_t *count);

/** Lists this block's sampled rows in job->sample_rows; no list is sent, since every rank computes it from the same
 *  boundaries. Collective. */
spmm_status sp_job_own_sample(sp_job *job);

/** Replaces each phase's duration on this rank by the slowest rank's, on every rank. Phases only note their own
 *  times, and this is called where they are read, because collectives are expensive where ranks share cores.
 *  Collective. */
spmm_status sp_job_slowest(const sp_job *job, sp_seconds *seconds);

/** The options that every plan of the job is made with; kernel and format are still to be set. Local. */
spmm_plan_options sp_job_plan_options(const sp_job *job);

/** Arrays for the times of repeated products, each [repeat], in seconds; NULL: not wanted. */
typedef struct sp_job_times {
    double
        *apply; /**< between the barriers before and after the product: where ranks share a core, a rank that
                         starts late does not make the product look short */
    double *kernel;                       /**< of that, in the rank's kernels */
    double *interior, *boundary, *reduce; /**< see sp_apply_seconds */
} sp_job_times;

/** Makes `warmup` untimed and `repeat` timed products Y := A X.
 *
 *  Collective. A rank whose product fails goes on taking part in the exchanges, so that its neighbors do not wait for
 *  ever; after a failure of the device, when that is impossible, all ranks are ended.
 *  \param [out] times  the slowest rank's in each repetition, the same on every rank
 *  \return the same status on every rank */
spmm_status sp_job_time(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y,
                        int warmup, int repeat, const sp_job_times *times);

/** Times the exchange of a product alone, otherwise like sp_job_time().
 *
 *  Collective. \param [out] seconds  [repeat] */
spmm_status sp_job_time_exchange(const sp_job *job, spmm_plan *plan, const spmm_multivector *x, int repeat,
                                 double *seconds);

/** Times products without their exchange (sp_plan_apply_local()), otherwise like sp_job_time().
 *
 *  Collective. \param [out] seconds  [repeat] */
spmm_status sp_job_time_local(const sp_job *job, spmm_plan *plan, const spmm_multivector *x,
                              spmm_multivector *y, int repeat, double *seconds);

#endif
