/** bench_gpu: every CUDA kernel of the registry beside cuSPARSE, in one process.
 *
 *  For each matrix and precision a problem (A in all formats, X, room for Y) is made once; for each K the
 *  contenders are set up, checked and timed in turn. Times are in seconds inside, in ms where shown. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include <stdio.h>

#include "base/stats.h"
#include "device/device.h"
#include "plan/choose.h"
#include "gpu_peer.h"

enum { MAX_MATRICES = 32, MAX_COLUMNS = 64, MAX_CONTENDERS = 64, MAX_ROUNDS = 9 };

/* ---- options.c ---- */

typedef struct settings {
    const char *matrix[MAX_MATRICES]; /**< generators' specs and files */
    int matrices;
    int64_t columns[MAX_COLUMNS]; /**< the K */
    int column_count;
    int f64, f32;
    const char *own; /**< ours, all, auto, or kernels' names between commas */
    int peers, cliffs, help;
    const char *csv, *commit;
    double seconds; /**< no case is started later; 0: no limit */
} settings;

/** \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status settings_parse(int argc, char **argv, settings *s);
void settings_help(FILE *out);

/** 1 when --own names the kernel. */
int settings_own(const settings *s, const sp_kernel *kernel);

/* ---- problem.c ---- */

/** Rows that are checked against a sum made on the host: some everywhere, and the longest. */
typedef struct sample {
    int64_t *row; /**< [count], increasing */
    int64_t count;
} sample;

typedef struct problem {
    const char *name;
    spmm_csr csr; /**< in host memory; the rest is in the GPU's */
    int threads;
    int64_t k_max, touched; /**< touched: columns that have an entry */
    sp_features features;
    sp_matrix a[SP_FORMATS];
    struct {
        int tried;
        spmm_status status;
        double seconds; /**< conversion and upload; 0 for CSR, which everybody starts from */
    } made[SP_FORMATS];
    void *x;         /**< the numbers of every X: K and layout cut their X from its start */
    void *y, *first; /**< room for a Y, and for one to compare it with */
    peer_matrix *peer;
    sample sample;
    unsigned char told[MAX_CONTENDERS]; /**< 1: it was said why this one is left out */
} problem;

/** \param [in] k_max  the largest K of the products to come
 *  \param [in] peers  1: for a peer too, where the build and the matrix allow one
 *  \param [out] p  the caller destroys it; zeroed on failure */
spmm_status problem_create(const char *name, spmm_precision precision, int64_t k_max, int threads, int peers,
                           problem *p);
void problem_destroy(problem *p);

/** Makes A in a format at the first call. \return SPMM_ERR_LIMIT when the format is refused */
spmm_status problem_format(problem *p, spmm_format format);

/** The multivectors of a product; in COLUMN_MAJOR ld is the distance between columns. */
spmm_multivector problem_x(const problem *p, int64_t k, dense_layout layout);
spmm_multivector problem_y(const problem *p, int64_t k, dense_layout layout);

/** Element (row, column) of problem_x(). */
double problem_x_element(const spmm_multivector *x, dense_layout layout, int64_t row, int64_t column);

/* ---- contender.c ---- */

/** One way to compute one product. */
typedef struct contender {
    const char *name;
    const sp_kernel *kernel; /**< ours; NULL: a peer's */
    const peer_form *form;   /**< a peer's; NULL: ours */
    dense_layout layout;
    int is_auto; /**< 1: what `auto` would take */
    problem *problem;
    spmm_multivector x, y;
    void *state; /**< the kernel's */
    peer_product *product;
    double prepare;             /**< seconds of set-up from the CSR in device memory on */
    int batch;                  /**< products between two marks in the stream */
    int rounds, is_out;         /**< is_out: no more rounds */
    double seconds[MAX_ROUNDS]; /**< per product; sorted when time is there */
    sp_stats time;
    int ok;
} contender;

/** Sets a contender up; name, kernel, form and is_auto are the caller's to fill in before.
 *  \return SPMM_ERR_LIMIT, SPMM_ERR_UNSUPPORTED: not for this matrix, the message says why */
spmm_status contender_prepare(problem *p, int64_t k, contender *c);
void contender_release(contender *c);

/** Queues the product. */
spmm_status contender_run(const contender *c);

/** Runs, checks and times them in turn: rounds of batches, until each has MAX_ROUNDS rounds or time enough
 *  was spent on it. A contender that fails is taken off the list; *n is what is left.
 *  \return SPMM_OK, or the first failure of one of ours */
spmm_status contenders_time(contender *c, int *n);

/* ---- check.c ---- */

/** What a product should be: sampled rows, summed on the host, and the first result that agreed with them. */
typedef struct reference {
    dense_layout layout;
    int64_t k;
    double *sum, *bound; /**< [sample.count * k]: sum of a*x, and the largest error that it may have */
    int has_first;       /**< 1: the problem's `first` is that result */
} reference;

spmm_status reference_create(const problem *p, int64_t k, dense_layout layout, reference *r);
void reference_destroy(reference *r);

/** Compares the Y in device memory with the reference. \param [out] ok  1, or 0 with a line on stderr */
spmm_status reference_check(reference *r, const contender *c, int *ok);

/* ---- report.c ---- */

/** A case: ms of the best of ours, of what auto takes, of the best SpMM of the peer's, and of its best SpMV;
 *  0: none. */
typedef struct result {
    const char *matrix;
    spmm_precision precision;
    int64_t k;
    double best, automatic, peer, vector;
} result;

enum { MAX_RESULTS = 2 * MAX_MATRICES * MAX_COLUMNS };

typedef struct report {
    const settings *settings;
    sp_device_info gpu;
    double copy; /**< bytes a second, read + written, of a copy in device memory */
    char date[32];
    FILE *csv;
    int wrong; /**< contenders whose result was wrong */
    result results[MAX_RESULTS];
    int count;
} report;

/** Measures the copy and opens the CSV. \return SPMM_OK, SPMM_ERR_OUTPUT, _MEMORY, _DEVICE */
spmm_status report_open(const settings *s, report *r);
spmm_status report_close(report *r);

void report_heading(const report *r);
/** A case: its line, its rows of the CSV, its part in the summary. */
void report_case(report *r, const problem *p, const contender *c, int n);
/** Rows of the CSV alone. */
void report_csv(report *r, const contender *c, int n);
const char *precision_name(spmm_precision precision);

/* ---- summary.c ---- */

/** Geometric means and worst cases. */
void summary_print(const report *r);

/* ---- cliffs.c ---- */

/** --cliffs: K, K + 1 and the next multiple of 8 by the kernel that `auto` takes. */
spmm_status cliffs_run(problem *p, report *r);

#endif
