/** Reports each run as text, JSON Lines and CSV. All functions are local; only rank 0 calls them. */
#ifndef SP_SPMM_MPI_REPORT_H
#define SP_SPMM_MPI_REPORT_H

#include <stdio.h>

#include "cli/stats.h"
#include "cli/program.h"
#include "device/device.h"
#include "plan/plan.h"
#include "spmm_mpi/grid_cost.h"
#include "spmm_mpi/options.h"
#include "spmm_mpi/probe.h"
#include "spmm_mpi/verify.h"

/** Times of the phases in seconds, each the maximum over the ranks. All members must be doubles, since
 *  sp_job_slowest() treats the struct as an array of double. The times of products are medians:
 *  - apply: the whole product
 *  - kernel: the part of the product spent in kernels
 *  - interior, boundary: the kernels of interior rows, the kernels of boundary rows. On a GPU both run
 *    concurrently; `kernel` then lasts from the first start to the last end and is less than their sum
 *  - reduce: the sum of partial Y
 *  - exchange: an exchange of X without a product; no_exchange: a product without exchange of X
 *
 *  halo is the time to create the halo, once; bands, pad and unpad are as in sp_scatter_times. */
typedef struct sp_seconds {
    double read, partition, scatter, halo, convert, x, exchange, no_exchange, kernel, interior, boundary,
        reduce, apply, gather, verify, total, bands, pad, unpad;
} sp_seconds;

/** Facts about the matrix. */
typedef struct sp_matrix_facts {
    const char *source, *field, *symmetry;
    int64_t rows, cols, nnz;
    int64_t stored, duplicates, longest, empty; /**< stored: number of entries in the file; duplicates: number
                                                     of these that were added to another entry at the same
                                                     position; longest: number of entries of the longest row;
                                                     empty: number of rows without entries */
    double read_bytes; /**< size of the text, or of the arrays of a binary file; 0 for a generator */
    int binary;        /**< 1: the matrix was read from a binary file (.npz, PETSc) */
    double parse_seconds;
} sp_matrix_facts;

/** All data reported about one run, i.e. about one K and one kernel. */
typedef struct sp_record {
    sp_matrix_facts matrix;
    struct {
        int ranks, grid[2], repeat, warmup;
        int64_t k;
        int overlap;
        const sp_binding *binding; /**< binding of rank 0 */
        const char *format, *kernel, *precision, *partition, *exchange, *transport, *reduce, *x, *verify;
        const char *backend;   /**< name of the backend that exchanges rows of X; "": no rows are
                                     exchanged */
        int rounded;           /**< 1: rows of X traveled as f32, rounded */
        sp_launch_shape shape; /**< launch shape of rank 0's kernel; zeroed on a CPU */
    } run;
    struct {
        int64_t rows; /**< number of rows of X and partial rows of Y that a rank receives, maximum over the
                           ranks */
        int64_t all_rows;     /**< number of rows of X and partial rows of Y received, sum over the ranks */
        int64_t partial_rows; /**< number of partial rows of Y in all_rows; 0 without the joint exchange */
        int64_t nnz_rows; /**< rows of X for all ranks together with --partition nnz; -1: not counted */
        int64_t bcast_rows; /**< the value that all_rows would have with --exchange bcast */
        int neighbors;      /**< number of ranks from which a rank receives, maximum over the ranks */
        int column_blocks;  /**< number of column blocks of X, which are exchanged one after another */
        double interior;    /**< fraction of the rows of Y that are computed during the exchange; 1 if
                                 nothing is exchanged */
        double hidden;      /**< fraction of the exchange's time that does not prolong the product */
        /** Number of rows of X and partial Y that are sent as messages, sum over all ranks
         *  (sp_plan_facts.message_rows). */
        int64_t message_rows;
    } moved;         /**< communication in one product */
    const char *cut; /**< the choice of --partition auto, in words; "": none */
    struct {
        const char *way,
            *format; /**< arguments of --scatter and --scatter-format; "none" with --io parallel */
    } scatter;
    struct {
        sp_decisions decisions;     /**< what the plan decided, and why */
        char steps[SP_STEPS_BYTES]; /**< steps of a product, in words */
        double one_rank;            /**< kernel seconds summed over all ranks, about the time on one rank */
    } plan;
    sp_seconds seconds;
    sp_stats apply;      /**< statistics of the products' times in seconds, each of the slowest rank */
    double gflops;       /**< 2 nnz K (8 nnz K in complex types) / median apply / 1e9 */
    double imbalance;    /**< entries per rank: maximum / mean; 1 if there are no entries */
    sp_verify_mode mode; /**< verification mode that was used; sample may replace full */
    sp_error error;
    int passed; /**< 1: Y is correct, or was not verified */
    struct {
        int64_t root_peak_bytes, /**< rank 0's peak resident set */
            rank_peak_bytes;     /**< peak resident set, maximum over the ranks */
        int64_t load_peak_bytes; /**< peak resident set of rank 0 until the matrix is distributed */
    } memory;
    struct {
        double bytes;          /**< minimum DRAM traffic of a product, sum over all ranks */
        double copy_bandwidth; /**< sum over all ranks of sp_copy_bandwidth(); 0: not measured */
        double share;          /**< slowest rank: (its bytes / its copy_bandwidth) / median of apply */
    } dram_bound;
    sp_probe probe; /**< zeroed: not measured */
    struct {
        const char *version; /**< e.g. "Eigen 3.4.0, AVX512"; "": this library's kernel */
        char way[64];        /**< name of the library's function on rank 0, e.g. "mkl_sparse_d_mm" */
    } library;               /**< the other library that provides the kernel */
} sp_record;

/** One line of the table of ranks that --verbose prints. */
typedef struct sp_rank_row {
    sp_binding binding;
    int coords[2];                        /**< {p, q} */
    int64_t row_begin, rows;              /**< block of A: first row, number of rows */
    int64_t col_begin, cols;              /**< first column, number of columns */
    int64_t nnz, bytes;                   /**< entries, bytes */
    int64_t x_rows, halo_rows, sent_rows; /**< rows of X: x_rows owned; halo_rows received, sent_rows sent */
    int sources, targets;                 /**< number of ranks from which it receives, to which it sends */
} sp_rank_row;

/** The counts of --dry-run on one grid. */
typedef struct sp_counts_record {
    const sp_options *options;
    const spmm_csr *a;
    const sp_cost_model *model;
    const sp_grid_cost *cost;
    const sp_rank_count *ranks; /**< [P*Q] */
} sp_counts_record;

/** Prints a text after a label of at most 10 letters, wrapped at blanks into lines of at most 100 columns. */
void sp_report_line(FILE *out, const char *label, const char *text);

/** Prints the first line: the program's name and version, and the operation. */
void sp_report_head(FILE *out);

/** Prints the data known before the first product: matrix, grid, binding, X, times of reading. */
void sp_report_preamble(FILE *out, const sp_options *o, const sp_record *r);

/** Prints the table of ranks, with one line per rank. \param [in] ranks  [count] */
void sp_report_ranks(FILE *out, const sp_rank_row *ranks, int count);

/** Prints the column headings of the table of runs. \param [in] width  width of the column of kernel names */
void sp_report_table_head(FILE *out, int width);

/** Prints one line of the table of runs. For another library's kernel, prints a second line with the library,
 *  its function and the time of set-up. If the verification failed, a further line shows the number of wrong
 *  elements and the first of them.
 *  \param [in] width  width of the column of kernel names */
void sp_report_run(FILE *out, const sp_record *r, int width);

/** Prints the results of --probe. */
void sp_report_probe(FILE *out, const sp_record *r);

/** Prints the times of a run's phases, the shape of its launch on a GPU and, if measured, the DRAM bound. */
void sp_report_phases(FILE *out, const sp_record *r);

/** Prints the table that compares the runs of --kernel all with one K, with the set-up time of each. A line
 *  below it has the times of baseline kernels; only those that failed have a row.
 *  \param [in,out] runs   [count]; on return sorted by time
 *  \param [in]     width  width of the column of kernel names */
void sp_report_comparison(FILE *out, sp_record *runs, int count, int width);

/** Explains the columns of the tables of --kernel all, if the DRAM bound was measured. */
void sp_report_bound(FILE *out, const sp_record *r);

/** Prints the table of the launches of --kernel all: threads, registers, shared memory, occupancy. Prints
 *  nothing if no run launched a CUDA kernel. \param [in] runs [count] \param [in] width width of the column
 *  of kernel names */
void sp_report_launches(FILE *out, const sp_record *runs, int count, int width);

/** Prints the communication of a product and, if r->run.transport is not NULL, its transport; prints nothing
 *  on one rank. */
void sp_report_exchange(FILE *out, const sp_record *r);

/** Returns 1 if the times of the run's products vary so much that similar times cannot be ranked. */
int sp_report_is_noisy(const sp_record *r);

/** Prints the number of noisy runs, and the load; prints nothing if no run was noisy. */
void sp_report_noise(FILE *out, int noisy, int runs);

/** Prints the summary after the last run: exchange, memory and phases of that run, and the number of failed
 *  runs.
 *  \param [in] verbose  1: also print the exchanges that were compared, and the errors */
void sp_report_end(FILE *out, const sp_record *last, int verbose, int runs, int failed);

/** Appends the record *r to the files of --json and --csv, if given.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_report_files(const sp_options *o, const sp_record *r);

/** Appends the counts of --dry-run on a grid to the files of --json and --csv, if given.
 *  \return as sp_report_files() */
spmm_status sp_report_counts(const sp_counts_record *counts);

#endif
