/** bench_multigpu: products on several GPUs, a rank a GPU, by libspmm and by what a user would write with NCCL and
 *  cuSPARSE, in one process per GPU.
 *
 *  A matrix is made on rank 0 and scattered in row blocks once; for each K both sides are set up, checked and timed
 *  in turn. Times are in seconds inside, in ms where shown. Every function here is collective over all ranks and
 *  returns the same status on each, unless it says that it is local. */
#ifndef BENCH_MULTIGPU_H
#define BENCH_MULTIGPU_H

#include <stdio.h>

#include "base/memory.h"
#include "base/stats.h"
#include "comm/binding.h"
#include "comm/comm.h"

enum { MAX_MATRICES = 32, MAX_COLUMNS = 16, MAX_CONTENDERS = 8, MAX_REPEATS = 60, MAX_RESULTS = 2 * 32 * 16 };

/* ---- options.c: local ---- */

typedef struct settings {
    const char *matrix[MAX_MATRICES]; /**< generators' specs and files */
    int matrices;
    int64_t columns[MAX_COLUMNS]; /**< the K */
    int column_count;
    int f64, f32;
    int scaling; /**< 1: one time for each side, for bench/scaling.py */
    int verbose; /**< 1: every transport that is there */
    int help;
    const char *csv, *commit;
    double seconds; /**< no case is started later; 0: no limit */
} settings;

/** \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status settings_parse(int argc, char **argv, settings *s);
void settings_help(FILE *out);

/* ---- problem.c ---- */

typedef struct problem {
    MPI_Comm comm;
    int rank, size, threads;
    const char *name;
    spmm_precision precision;
    spmm_block block;   /**< all columns */
    int64_t nnz;        /**< of the whole matrix */
    double *row_weight; /**< [block.csr.rows] sums of |a| */
} problem;

/** \param [in]  place  of this rank
 *  \param [out] p      the caller destroys it; zeroed on failure */
spmm_status problem_create(MPI_Comm comm, const sp_binding *place, const char *name, spmm_precision precision,
                           problem *p);
void problem_destroy(problem *p);

/** Element (row, column) of X: a multiple of 2^-23 in [-1, 1). Local. */
double problem_x(int64_t row, int64_t column);

/** Puts global rows [first, first + rows) of X into memory of the GPU: element (i, j) at data[i*ld + j], or, with
 *  by_column, at data[j*ld + i]. Local. */
spmm_status problem_fill(const problem *p, int64_t first, int64_t rows, int64_t k, int by_column, int64_t ld,
                         void *data);

/* ---- theirs.c: X gathered whole by NCCL, then a product by cuSPARSE, in one stream ---- */

typedef struct theirs theirs;

/** The libraries' names and versions; static storage. Local. */
const char *theirs_libraries(void);

spmm_status theirs_open(MPI_Comm comm);
void theirs_close(void);

/** Sets up buffers, tries each way to call cuSPARSE with either layout of X and Y, and keeps the fastest.
 *  \param [out] t  the caller destroys it */
spmm_status theirs_create(const problem *p, int64_t k, theirs **t);
void theirs_destroy(theirs *t);

/** "alg2 row": the way that was kept; static storage. Local. */
const char *theirs_form(const theirs *t);

/** Fills Y with NaNs, so that what an earlier product left does not pass for the next one's. Local. */
spmm_status theirs_spoil(const theirs *t);

/** The all-gather and the product, complete on return. Local errors. */
spmm_status theirs_run(const theirs *t);

/** The same with the GPU's clock between the two, this rank's seconds. Local errors. */
spmm_status theirs_run_parts(const theirs *t, double *gather, double *product);

/** This rank's rows of Y where they lie: rows x k, or k x rows with *by_column. Local. */
spmm_multivector theirs_y(const theirs *t, int *by_column);

/* ---- contender.c ---- */

typedef struct contender {
    const char *name;         /**< "theirs", "ours" */
    theirs *theirs;           /**< NULL: ours */
    spmm_plan *plan;          /**< NULL: theirs */
    spmm_transport transport; /**< asked for */
    int no_overlap;
    spmm_multivector x, y;       /**< ours */
    double seconds[MAX_REPEATS]; /**< of a product, the slowest rank's */
    int count;
    sp_stats time;
    double gather, product; /**< theirs, by the GPU's clock, the slowest rank's */
    double exchange;        /**< ours, alone */
    double no_exchange;     /**< ours, without its exchange */
    double set_up;
    int ok;
} contender;

/** name, transport and no_overlap are the caller's to fill in before. SPMM_ERR_USAGE: no such transport here. */
spmm_status contender_create(const problem *p, int64_t k, contender *c);
void contender_destroy(contender *c);

/** Text of what is used, static storage: kernel or form; transport or "nccl". Local. */
const char *contender_way(const contender *c);
const char *contender_transport(const contender *c);

/** Times them in turn, in rounds. They have run before. */
spmm_status contenders_time(const problem *p, contender *c, int n);

/* ---- check.c ---- */

/** Runs each once and checks its Y: some rows against sums made on the host, every element against the first one's.
 *  Sets ok; tells on stderr what is wrong. */
spmm_status contenders_check(const problem *p, int64_t k, contender *c, int n);

/* ---- report.c: local, on rank 0 ---- */

typedef struct result {
    const char *matrix;
    int64_t k;
    double ratio;
} result;

typedef struct report {
    const settings *settings;
    sp_binding binding;
    int ranks;
    char date[32];
    FILE *csv;
    int wrong; /**< contenders whose Y was wrong */
    result results[MAX_RESULTS];
    int count;
} report;

/** \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status report_open(const settings *s, const sp_binding *place, int ranks, report *r);
spmm_status report_close(report *r);
void report_matrix(const problem *p, double seconds);
/** c[0]: theirs; c[1]: ours; the others are ours, too. */
void report_case(report *r, const problem *p, int64_t k, const contender *c, int n);
/** One more of ours, by a transport of --verbose. */
void report_more(report *r, const problem *p, int64_t k, const contender *c);
/** Geometric mean and worst case beside the bars. */
void report_summary(const report *r);

#endif
