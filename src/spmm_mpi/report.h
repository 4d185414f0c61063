/** Reports one record per run as text, JSON Lines and CSV. All functions are local; rank 0 alone calls them. */
#ifndef SP_SPMM_MPI_REPORT_H
#define SP_SPMM_MPI_REPORT_H

#include <stdio.h>

#include "base/stats.h"
#include "cli/program.h"
#include "spmm_mpi/options.h"
#include "spmm_mpi/verify.h"

/** Seconds of the phases, each the slowest rank's. halo is its set-up, once. Those of a product are medians: apply is
 *  the whole product; of it, kernel is the kernels of interior and boundary rows together, and reduce the sum of
 *  partial Y. On a GPU the two kernels run concurrently: kernel then lasts from the start of the first to the end of
 *  the last, less than interior plus boundary. exchange is measured alone, without a product; no_exchange is a
 *  product without its exchange. All members are doubles: sp_job_slowest() treats the struct as an array. */
typedef struct sp_seconds {
    double read, partition, scatter, halo, convert, x, exchange, no_exchange, kernel, interior, boundary,
        reduce, apply, gather, verify, total;
} sp_seconds;

/** Everything that is reported about one run: one K, one kernel. */
typedef struct sp_record {
    struct {
        const char *source, *field, *symmetry;
        int64_t rows, cols, nnz;
    } matrix;
    struct {
        int ranks, grid[2], threads, repeat, warmup;
        int64_t k;
        int overlap;
        const char *device, *gpu, *format, *kernel, *precision, *partition, *exchange, *transport, *reduce,
            *x, *verify, *host;
    } run;
    struct {
        int64_t rows;       /**< ghost rows of X, maximum over the ranks */
        int64_t all_rows;   /**< ghost rows of X of all ranks together */
        int64_t bcast_rows; /**< what all_rows would be with --exchange bcast */
        int neighbours;     /**< ranks that a rank receives from, maximum over the ranks */
        int column_blocks;  /**< of X, exchanged one after another */
        double interior;    /**< share of the rows that are computed during the exchange */
        double hidden;      /**< share of the exchange's own time that does not prolong the product */
    } moved;                /**< between ranks in a product */
    sp_seconds seconds;
    sp_stats apply;      /**< seconds of the slowest rank in each repetition */
    double gflops;       /**< 2 nnz K / median apply / 1e9 */
    double imbalance;    /**< maximum over mean of the entries per rank; 1 without entries */
    sp_verify_mode mode; /**< how Y was verified in fact */
    sp_error error;
    int passed; /**< also 1 where nothing was verified */
    struct {
        int64_t root_peak_bytes,
            rank_peak_bytes;     /**< resident set: rank 0's, and the maximum over the ranks */
        int64_t load_peak_bytes; /**< rank 0's, after reading and scattering */
    } memory;
    struct {
        double bytes;          /**< least DRAM traffic of a product, all ranks */
        double copy_bandwidth; /**< bytes per second that the memories of all ranks copy; 0: not measured */
        double share; /**< the slowest rank's least traffic at its bandwidth, over the median apply */
    } dram_bound;
    struct {
        double latency, per_byte, per_flop; /**< seconds, as in sp_probe; 0: not measured */
    } probe;
} sp_record;

/** Facts of the matrix that are printed once, before the runs. */
typedef struct sp_preamble {
    int64_t stored, duplicates, longest, empty; /**< entries of the file; duplicates summed; entries of
                                                     the longest row; empty rows */
    double read_bytes; /**< of text, or of the arrays of a .spmm file; 0 for a generator */
    int binary;        /**< 1: a .spmm file */
    double parse_seconds;
} sp_preamble;

/** One rank's line of the verbose table. */
typedef struct sp_rank_row {
    sp_binding binding;
    int64_t row_begin, rows, nnz, bytes;  /**< of the block */
    int64_t x_rows, halo_rows, sent_rows; /**< rows of X: owned; received and sent in a product */
    int sources, targets;                 /**< ranks that it receives from and sends to */
} sp_rank_row;

/** Prints what is known before the first product: matrix, grid, binding, X, exchange, times of reading.
 *  \param [in] ranks  one per rank, in rank order; the binding of rank 0 is printed */
void sp_report_preamble(FILE *out, const sp_options *o, const sp_record *r, const sp_preamble *p,
                        const sp_rank_row *ranks);

/** Prints a table with one line per rank. \param [in] ranks  [count] */
void sp_report_ranks(FILE *out, const sp_rank_row *ranks, int count);

/** Prints the head of the table of runs. \param [in] width  of the column of kernel names */
void sp_report_table_head(FILE *out, int width);

/** Prints one run's line of that table, and its first wrong element if there is one. */
void sp_report_run(FILE *out, const sp_record *r, int width);

/** Prints the times of a run's phases, and the results of --probe and the DRAM bound where they were measured. */
void sp_report_phases(FILE *out, const sp_record *r);

/** Prints the runs of --kernel all, the fastest of each K first.
 *  \param [in,out] runs  [count], sorted on return by K and time */
void sp_report_comparison(FILE *out, sp_record *runs, int count, int width);

/** Prints the summary: precision, memory, phases and exchange of the last run, and how many of the runs failed. */
void sp_report_end(FILE *out, const sp_record *last, int runs, int failed);

/** Appends the record to a file of JSON Lines.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_report_json(const char *path, const sp_record *r);

/** Appends the record to a CSV file, which gets its header when it is new or empty; returns as sp_report_json(). */
spmm_status sp_report_csv(const char *path, const sp_record *r);

#endif
