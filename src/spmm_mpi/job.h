/** The state and the phases of spmm_mpi. main.c calls the phases in order. job_preflight.c and job_memory.c
 *  make checks before the matrix is read. job.c, job_load.c and job_partition.c implement the phases before
 *  the products. job_multiply.c makes the runs, job_run.c makes one run, and job_time.c times products. */
#ifndef SP_SPMM_MPI_JOB_H
#define SP_SPMM_MPI_JOB_H

#include "cli/program.h"
#include "halo/ghosted_block.h"
#include "distribute/scatter.h"
#include "files/matrix_file.h"
#include "order/comm_volume.h"
#include "kernels/kernel.h"
#include "spmm_mpi/options.h"
#include "spmm_mpi/report.h"

/** The matrix, and X if it is read from a file. */
typedef struct sp_job_input {
    sp_matrix_file file;   /**< rank 0: the file of the matrix, from sp_job_check() until sp_job_read() */
    spmm_csr a;            /**< rank 0: the whole matrix A, while it is needed */
    sp_mtx_info info;      /**< rank 0: data from the header of the matrix file */
    sp_matrix_facts facts; /**< the numbers are set on every rank; the texts are set only in the record's
                                copy */
    spmm_multivector x;    /**< rank 0, -x FILE: X from the file, its rows numbered like those of A */
    sp_columns columns;    /**< K of each run: from --columns or, with -x FILE, from the file */
} sp_job_input;

/** The chosen cut, and the reason; the same on every rank. */
typedef struct sp_cut {
    sp_partition taken;
    int any_order; /**< 1: the entries of a row of the renumbered A have the order of the caller's columns */
    int64_t nnz_rows; /**< rows of X for all ranks together with --partition nnz; -1: not counted */
    char why[256];    /**< the rows that each cut would move, or why they were not counted; "": nothing to
                           report */
} sp_cut;

/** The distribution of A and X. */
typedef struct sp_distribution {
    sp_cut cut;
    sp_ranges ranges; /**< row and column blocks of A, and the owners of the rows of X */
    spmm_block block; /**< this rank's block of A */
    sp_matrix slice;  /**< --scatter-format ell: the received block, whose values plans use; else zeroed */
    sp_ghosted_block ghosted; /**< this rank's block with its ghost rows */
    int64_t *perm; /**< rank 0, if rows are renumbered: perm[i] is the new index of row i of A as read */
    sp_ghosted_block joint; /**< the block with the joint exchange, if that may be chosen; else zeroed */
    int64_t *x_old; /**< if rows are renumbered and X is generated: indices that this rank's rows of X had
                           before renumbering; else NULL */
} sp_distribution;

/** The reference for the verification of Y. In mode full, the reference is input.a, the whole A. The members
 *  after `mode` are for a sample. */
typedef struct sp_reference {
    sp_verify_mode mode; /**< mode in use: sample instead of full if rank 0 has too little memory */
    spmm_csr rows;       /**< rank 0: the sampled rows of A */
    int64_t *sampled;    /**< [count] global indices of all sampled rows */
    int64_t count;
    int64_t *own; /**< [own_count] indices within this rank's block; points into `sampled` */
    int64_t own_count;
} sp_reference;

/** State of one execution of spmm_mpi; zeroed before the first use. */
typedef struct sp_job {
    sp_options options;
    sp_place place;
    sp_job_input input;
    sp_distribution dist;
    sp_reference reference;
} sp_job;

/** Returns the block as it was scattered in padded ELLPACK; NULL without --scatter-format ell. Local. */
static inline const sp_matrix *sp_job_slice(const sp_job *job)
{
    return job->options.scatter_padded ? &job->dist.slice : NULL;
}

/* The phases, except sp_ghosted_block_create(). All are collective over the place's grid and return the same
 * status on every rank. Each sets its arguments that are not const. */

/** Detects, before the matrix is read, conditions under which the run would fail, e.g. a transport that is
 *  not available or an output file that cannot be written. On rank 0, opens the file of the matrix and reads
 *  its header.
 *  \param [out] file  rank 0: the file, open for sp_job_read(); with --io parallel it is closed, and only
 *                     file->format is set */
spmm_status sp_job_check(const sp_options *o, const sp_place *place, sp_matrix_file *file);

/** Reads the matrix on rank 0 from input->file and closes the file, or generates the matrix. Writes the file
 *  of --cache. */
spmm_status sp_job_read(const sp_options *o, const sp_place *place, sp_job_input *input);

/** Writes the matrix on rank 0 to the file of --convert, and prints a line about it. Collective. */
spmm_status sp_job_convert(const sp_options *o, const sp_place *place, const sp_job_input *input);

/** With --io parallel, replaces sp_job_read(), sp_job_partition() and the scatter: every rank reads its
 *  own block of A. Sets dist->ranges and dist->block. */
spmm_status sp_job_load(const sp_options *o, const sp_place *place, sp_job_input *input,
                        sp_distribution *dist);

/** With --values f32, rounds the values of *a to the nearest f32. Products and their verification use the
 *  rounded values; files of --cache and --convert contain A as it was read.
 *  \param [in]     first  global index of row 0 of *a
 *  \param [in,out] a      this rank's rows of A, or all of A on rank 0 and a zeroed matrix on other ranks
 *  \return also SPMM_ERR_USAGE: a value is beyond the range of f32 */
spmm_status sp_job_round(const sp_options *o, const sp_place *place, int64_t first, spmm_csr *a);

/** If -x names a file, reads X into input->x on rank 0. Sets input->columns on every rank. */
spmm_status sp_job_read_x(const sp_options *o, const sp_place *place, sp_job_input *input);

/** With --io parallel, after sp_job_load() and sp_job_read_x(): decides whether rank 0 verifies all rows of Y
 *  or only a sample, and gathers these rows of A on rank 0, in input->a or reference->rows. */
spmm_status sp_job_collect_reference(const sp_options *o, const sp_place *place, const sp_distribution *dist,
                                     sp_job_input *input, sp_reference *reference);

/** Replaces the grid (--grid auto), renumbers the rows of A and X (--partition), determines the ranges, and
 *  decides whether rank 0 verifies all rows of Y or only a sample. Copies the sampled rows of A. */
spmm_status sp_job_partition(const sp_options *o, sp_place *place, sp_job_input *input, sp_distribution *dist,
                             sp_reference *reference);

/** Chooses the cut of --partition auto, and renumbers the rows of A and X if that cut requires it.
 *
 *  Collective over the grid. Sets dist->cut on every rank; on rank 0 also dist->perm and the row blocks of
 *  dist->ranges, if the rows are renumbered.
 *  \param [in,out] dist  its ranges have been created on every rank */
spmm_status sp_job_renumber(const sp_options *o, const sp_place *place, sp_job_input *input,
                            sp_distribution *dist);

/** Sends each rank its block of A, according to --scatter and --scatter-format. Sets dist->block and
 *  dist->slice. If rank 0 verifies in full, it keeps A; otherwise A is destroyed.
 *  \param [in,out] record  receives the peak memory so far, and the times of the scatter on this rank */
spmm_status sp_job_scatter(const sp_options *o, const sp_place *place, const sp_reference *reference,
                           sp_job_input *input, sp_distribution *dist, sp_record *record);

/** Stores in the record the data known before the first product, and prints them on rank 0.
 *  \param [in,out] record  contains the times of this rank's phases; they are replaced by those of the
 *                          slowest rank */
spmm_status sp_job_preamble(const sp_job *job, sp_record *record);

/** Makes one run for every K and every requested kernel: converts the block, creates X, multiplies, gathers
 *  and verifies Y, and reports. With --kernel all, a kernel that refuses the matrix (SPMM_ERR_LIMIT) is
 *  reported as skipped, and a table compares the other kernels. Prints a summary after the last run.
 *  \param [in]  record  from sp_job_preamble()
 *  \param [out] failed  number of runs whose verification failed, which is not an error */
spmm_status sp_job_multiply(const sp_job *job, const sp_record *record, int *failed);

/** Implements --dry-run: rank 0 prints the memory and communication of each rank. */
spmm_status sp_job_dry_run(const sp_options *o, const sp_place *place, const sp_job_input *input);

/** Implements --check-conversions: rank 0 checks and times the conversions of the matrix a. */
spmm_status sp_job_check_conversions(const sp_place *place, const spmm_csr *a, double ell_limit);

/** Frees all members of the job and closes the GPU; accepts a zeroed job. */
void sp_job_destroy(sp_job *job);

/* ---- functions that the job*.c files share ---- */

/** Returns the stencil from which --dry-run counts without the matrix: a generator's, unless --cache or the
 *  counts (the joint exchange, nodes of several CPU ranks) need the matrix. Else its side is 0. Local. */
sp_stencil sp_job_stencil(const sp_options *o, const sp_place *place);

/** Returns sp_progress_show(), or NULL if progress is not visible or this rank prints nothing. Local. */
sp_scatter_progress sp_job_progress(const sp_place *place);

/** Shows the name of a phase with sp_progress_phase(), if sp_job_progress() shows progress. Local. */
void sp_job_phase(const sp_place *place, const char *phase);

/** Replaces x, in host memory, by its renumbered copy: row i becomes row perm[i]. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY; on failure x is unchanged */
spmm_status sp_job_permute(const int64_t *perm, spmm_multivector *x);

/** Returns the options for reading files, with a progress display if stderr is a terminal. Local. */
sp_read_options sp_job_read_options(const sp_options *o, const sp_place *place);

/** Checks whether the matrix, X and Y fit in the memory that rank 0 shares with other ranks. The sizes come
 *  from the header of the matrix file or the name of the generator. Accepts a file of X that it cannot parse;
 *  the reader will report the error.
 *
 *  Local; called on rank 0 only.
 *  \param [in] file  the file of the matrix, open; zeroed if the matrix is generated
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_job_check_memory(const sp_options *o, const sp_place *place, const sp_matrix_file *file);

/** Returns the size in bytes of the whole X and Y, which rank 0 needs in addition to A to verify in full.
 *  Local. */
double sp_job_verify_bytes(const sp_job_input *input, spmm_precision precision);

/** Lists the sampled rows of all blocks and of this rank's block in *reference. Every rank computes the list
 *  from the block boundaries, so nothing is sent. Collective. */
spmm_status sp_job_list_sample(const sp_grid *grid, const sp_ranges *ranges, sp_reference *reference);

/** Replaces each time in *seconds by its maximum over all ranks, on every rank. The phases only record their
 *  own times, and the maximum is computed when a time is needed, because collectives are expensive if ranks
 *  share cores. Collective. */
spmm_status sp_job_slowest(const sp_grid *grid, sp_seconds *seconds);

/** Returns the options that all plans of the job share; the caller sets the kernel and, if an earlier plan
 *  has chosen one, the transport. Local. */
spmm_plan_options sp_job_plan_options(const sp_options *o, const sp_binding *binding);

/** Returns the study options (spmm_extended.h) that all plans of the job share. Local. */
spmm_plan_study sp_job_plan_study(const sp_options *o);

/** Stores in the record the communication of a product with `ghosted`, and the imbalance of the ranks'
 *  numbers of entries. Collective over the grid. */
spmm_status sp_job_note_moves(const sp_ghosted_block *ghosted, sp_record *record);

/** Arrays for the times in seconds of repeated products, each [repeat]; NULL: this time is not measured.
 *  Parts are timed if `kernel` is not NULL. Timing them makes small products on a GPU longer, and a plan does
 *  not stop timing them, so they are timed in separate products after those for `apply`. */
typedef struct sp_job_times {
    double *apply;                        /**< from a barrier before the product to a barrier after it;
                                               includes delays of ranks that share a core */
    double *kernel;                       /**< time in kernels, see sp_apply_seconds */
    double *interior, *boundary, *reduce; /**< parts of the product, see sp_apply_seconds */
    double *all_kernels;                  /**< time in kernels, sum over the ranks */
} sp_job_times;

/** Makes `warmup` untimed and then `repeat` timed products Y := A X.
 *
 *  Collective. A rank on which a product fails still takes part in the later exchanges, so that its neighbors
 *  do not wait forever. A rank whose GPU has failed cannot do this; it ends the processes of all ranks.
 *  \param [out] times  the slowest rank's times of each product, the same on every rank
 *  \return the same status on every rank */
spmm_status sp_job_time(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y,
                        int warmup, int repeat, const sp_job_times *times);

/** Times `repeat` exchanges of X without products. Handles failures as sp_job_time() does.
 *
 *  Collective. \param [out] seconds  [repeat] the slowest rank's time of each exchange */
spmm_status sp_job_time_exchange(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x, int repeat,
                                 double *seconds);

/** Times `repeat` products without exchange of X (sp_plan_apply_local()). If a product fails on any rank, all
 *  ranks return after that product. A rank whose GPU has failed ends the processes of all ranks.
 *
 *  Collective. \param [out] seconds [repeat] the slowest rank's time of each product */
spmm_status sp_job_time_local(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x,
                              spmm_multivector *y, int repeat, double *seconds);

#endif
