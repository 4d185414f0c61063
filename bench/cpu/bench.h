/** bench_cpu: our CPU kernels beside other sparse libraries, in one process on the same arrays.
 *
 *  A case is a matrix and a K. Its contenders, ours and each form of each library (bench/peer.h), are set up and
 *  checked; then rounds time one product of each in turn. Times are in seconds inside, in ms where shown. */
#ifndef BENCH_CPU_H
#define BENCH_CPU_H

#include <stdio.h>

#include "spmm.h"
#include "../peer.h"
#include "base/stats.h"
#include "kernels/kernel.h"

enum { MAX_LIST = 64, MAX_REPEAT = 1000, MAX_CONTENDERS = 64, LIBRARIES = 7 };

typedef struct settings {
    const char *matrix[MAX_LIST]; /**< generators' specs and files */
    int64_t columns[MAX_LIST];    /**< the K */
    int matrices, column_count, threads, repeat, sweeps;
    spmm_precision precision;
    const char *csv, *only, *own; /**< file; lists of names; NULL: not given */
} settings;

/** 1 when the comma-separated list (may be NULL) has the name. */
int listed(const char *list, const char *name);

/* ---- dense.c: X and Y ---- */

/** One multivector in the layouts that the contenders have. */
typedef struct dense {
    spmm_multivector own; /**< ours: row-major, rows padded */
    void *row;            /**< row-major without padding; own.data where that has none */
    void *column;         /**< column-major */
} dense;

spmm_status dense_create(int64_t rows, int64_t k, const settings *s, dense *d);
void dense_destroy(dense *d);

/** Random numbers, the same in all layouts. */
void dense_fill(dense *d, int threads);

/** NaN everywhere. */
void dense_poison(dense *d);

/** Row-major from column-major. */
void dense_rows_from_columns(dense *d, int threads);

/* ---- contender.c ---- */

typedef struct library {
    const peer *peer; /**< NULL: not here */
    void *matrix;     /**< the library's A */
    int loaded;       /**< 1: and it is whole */
} library;

/** One of our kernels or one form of a library. */
typedef struct contender {
    char name[64];
    peer_layout layout;
    int threads;
    library *library;        /**< NULL: ours */
    const peer_form *form;   /**< a library's */
    const sp_kernel *kernel; /**< ours; NULL: the one that auto means */
    spmm_plan *plan;         /**< ours, within a case */
    spmm_block block;        /**< all of A, for it */
    void *product;           /**< a library's, within a case */
    int ok, left_out;        /**< takes part in the case; does not offer it */
    double seconds[MAX_REPEAT];
    int count;    /**< timed products */
    double least; /**< seconds of the fastest, the warm-up included */
    sp_stats time;
} contender;

typedef struct field {
    library library[LIBRARIES];
    contender contender[MAX_CONTENDERS]; /**< the first is `auto` */
    int count;
    int trouble; /**< 1: something was wrong or failed */
} field;

/** Finds the contenders; prints which libraries are there. */
void field_open(const settings *s, field *f);
void field_close(field *f);

/** Gives every library its matrix; NULL takes it away. */
void field_load(field *f, const peer_matrix *a);

/** NULL, or what went wrong; so do the next two. */
const char *contender_start(contender *c, const settings *s, const spmm_csr *a, int64_t k, const dense *x,
                            dense *y);
void contender_stop(contender *c);

/** Y := A X, timed. */
const char *contender_run(contender *c, const dense *x, dense *y, double *seconds);

/** Brings Y to where the layout has it. */
const char *contender_fetch(contender *c);

/* ---- measure.c ---- */

typedef struct outcome {
    int timed, disturbed; /**< products; those that other processes disturbed to the last */
} outcome;

/** Checks and times all contenders of a case. */
spmm_status measure(field *f, const settings *s, const spmm_csr *a, int64_t k, outcome *o);

/* ---- report.c ---- */

/** Opens the CSV file, if one is wanted; NULL and a message on stderr on failure, else *csv may be NULL. */
int report_open(const settings *s, FILE **csv);
void report_header(const settings *s);
void report_case(const field *f, const settings *s, const char *matrix, const spmm_csr *a, int64_t k,
                 const outcome *o, const char *date, FILE *csv);

#endif
