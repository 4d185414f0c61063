/** bench_mpi: the distributed product of libspmm beside PETSc's, in one MPI program on the same row blocks.
 *
 *  It sees spmm.h and an adaptor to PETSc (peer_petsc.c, or peer_none.c where PETSc is not found), nothing else of
 *  the project. A case is a matrix and a K; its contenders take turns. Functions that return text return NULL when
 *  all went well. Times are in seconds inside, in ms where shown. */
#ifndef BENCH_MPI_H
#define BENCH_MPI_H

#include <spmm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_LIST = 64, MAX_REPEAT = 1000, MAX_TRIALS = 8, TEXT = 200 };

/** This rank's rows of a dense matrix in whatever layout: element (i, j) is data[i * row_step + j * column_step]. */
typedef struct view {
    double *data;
    int64_t row_step, column_step;
} view;

typedef enum side { SIDE_X, SIDE_Y } side;

/** A way to multiply. All functions but `view`, `release` and `kernel` are collective. */
typedef struct contender {
    const char *name;
    int64_t most_columns; /**< offers K up to this; 0: any */

    /** Makes all that repeated products with K columns need; not timed. The block outlives the state. */
    const char *(*begin)(const spmm_block *block, int64_t k, int threads, void **state);
    /** Y := A X; timed. */
    const char *(*run)(void *state);
    /** Where X or Y lie, until release. */
    const char *(*view)(void *state, side which, view *v);
    const char *(*release)(void *state, side which, view *v);
    const char *(*kernel)(const void *state);
    /** Accepts NULL and what a failed begin left. */
    void (*end)(void *state);
} contender;

/** Another library; exactly one is linked. */
typedef struct peer {
    const char *name;
    const contender *forms;
    int form_count;
    /** Once, after MPI_Init. \param [out] version [size] \return NULL, or why the library cannot take part */
    const char *(*open)(char *version, size_t size);
    void (*close)(void);
} peer;

extern const peer spmm_peer;
extern const contender own;

typedef struct settings {
    const char *matrix[MAX_LIST]; /**< generators' specs and files */
    int64_t columns[MAX_LIST];    /**< the K */
    int matrices, column_count, threads, repeat;
    int rank, ranks;
    const char *csv; /**< file; NULL: not wanted */
} settings;

/** The first rank's complaint, on every rank; NULL when there is none. Collective over MPI_COMM_WORLD. */
const char *agree(const char *problem);

/* ---- measure.c ---- */

/** One contender within a case. */
typedef struct trial {
    const contender *c;
    void *state;
    double seconds[MAX_REPEAT];
    int count;
    double least; /**< of all products, warm-up included: decides how long to settle */
    double median, min, max;
    double error;       /**< max |y - ref| / sum|a||x| */
    long long wrong;    /**< elements beyond rounding */
    char problem[TEXT]; /**< "" : none */
} trial;

typedef struct outcome {
    trial trial[MAX_TRIALS]; /**< the first is ours */
    int count;
    int timed, disturbed; /**< products; those during which a rank was without a core to the last */
} outcome;

/** Times and checks `own` and the forms of another library (none if other is NULL) on a block and K; destroy what it leaves
 *  with measure_end(). Collective. */
void measure(const settings *s, const peer *other, const spmm_block *block, int64_t k, outcome *o);
void measure_end(outcome *o);

/** 1 where a trial was wrong or failed. */
int in_trouble(const outcome *o);

/* ---- check.c ---- */

/** Element (row, column) of X: a function of both, so that every rank knows all of X without a message. */
double x_element(int64_t row, int64_t column);

/** Compares every trial's Y (of those without a problem) with sums made here, element by element: sets error and
 *  wrong. Collective. */
void check(const spmm_block *block, int64_t k, outcome *o);

/* ---- report.c; rank 0 only ---- */

/** 1, or 0 and a message: *csv is NULL where none is wanted. */
int report_open(const settings *s, FILE **csv);
void report_header(const settings *s, const char *peer_text);
void report_case(const settings *s, const char *matrix, const spmm_block *block, long long nnz, int64_t k,
                 const outcome *o, FILE *csv);
/** Means of all cases so far, the worst, and whether the bar was reached. */
void report_summary(const settings *s);

#endif
