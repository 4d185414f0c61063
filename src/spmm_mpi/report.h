/** One record a run -> text, JSON Lines, CSV. Rank 0 alone calls this. */
#ifndef SP_SPMM_MPI_REPORT_H
#define SP_SPMM_MPI_REPORT_H

#include <stdio.h>

#include "base/stats.h"
#include "cli/program.h"
#include "spmm_mpi/options.h"
#include "spmm_mpi/verify.h"

/** Seconds of the phases, each the slowest rank's. Those of a product are medians: apply, and within it
 *  kernel, the interior and boundary rows together, and reduce. On a GPU the two kinds of rows run side by side: kernel
 *  is from the first to the last then, and less than their sum. exchange is what it takes alone, without a product, and
 *  no_exchange what a product takes without its exchange. */
typedef struct sp_seconds {
    double read, partition, scatter, halo, convert, x, exchange, no_exchange, kernel, interior, boundary,
        reduce, apply, gather, verify, total;
} sp_seconds;

/** Everything that is said about one run: one K, one kernel. */
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
        int64_t rows;       /**< of X that a rank receives, at most */
        int64_t all_rows;   /**< and all ranks together */
        int64_t bcast_rows; /**< and would with --exchange bcast */
        int neighbours;     /**< that a rank receives from, at most */
        int column_blocks;  /**< of X that are exchanged one after another */
        double interior;    /**< share of the rows that are computed during the exchange */
        double hidden;      /**< share of the exchange's time that products did not wait for */
    } moved;                /**< in a product */
    sp_seconds seconds;
    sp_stats apply;      /**< of the slowest rank in each repeat, seconds */
    double gflops;       /**< 2 nnz K / median apply / 1e9 */
    double imbalance;    /**< most over mean entries a rank; 1 without entries */
    sp_verify_mode mode; /**< what was really done */
    sp_error error;
    int passed; /**< 1 also when nothing was to be verified */
    struct {
        int64_t root_peak_bytes, rank_peak_bytes; /**< resident set: rank 0's, and the largest */
        int64_t load_peak_bytes;                  /**< rank 0's after reading and scattering */
    } memory;
    struct {
        double bytes;          /**< that a product moves through DRAM at least, all ranks */
        double copy_bandwidth; /**< bytes a second that all ranks' memories copy; 0: not measured */
        double share;          /**< time of the slowest rank's bytes at that rate, over the median apply */
    } dram_bound;
    struct {
        double latency, per_byte, per_flop; /**< seconds, as sp_probe has them; 0: not measured */
    } probe;
} sp_record;

/** What the whole run of the program starts with. */
typedef struct sp_preamble {
    int64_t stored, duplicates, longest, empty; /**< entries of the file; summed ones; row facts */
    double read_bytes;                          /**< of text or of a .spmm file's arrays; 0 for a generator */
    int binary;                                 /**< 1: the latter */
    double parse_seconds;
} sp_preamble;

/** One rank's line of the verbose table. */
typedef struct sp_rank_row {
    sp_binding binding;
    int64_t row_begin, rows, nnz, bytes;  /**< of the block */
    int64_t x_rows, halo_rows, sent_rows; /**< of X: own, received and sent in a product */
    int sources, targets;                 /**< ranks that they come from and go to */
} sp_rank_row;

void sp_report_preamble(FILE *out, const sp_options *o, const sp_record *r, const sp_preamble *p,
                        const sp_rank_row *ranks);
void sp_report_ranks(FILE *out, const sp_rank_row *ranks, int count);
/* The table of runs. width: of the column of kernels' names */
void sp_report_table_head(FILE *out, int width);
void sp_report_run(FILE *out, const sp_record *r, int width);
void sp_report_phases(FILE *out, const sp_record *r);

/** The runs of --kernel all, each K's fastest first. runs [count], sorted on return. */
void sp_report_comparison(FILE *out, sp_record *runs, int count, int width);

void sp_report_end(FILE *out, const sp_record *last, int runs, int failed);

/** Append the record. The CSV gets its header when the file is new or empty.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason */
spmm_status sp_report_json(const char *path, const sp_record *r);
spmm_status sp_report_csv(const char *path, const sp_record *r);

#endif
