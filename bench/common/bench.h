/** What the four benches of products share: bench_cpu, bench_mpi, bench_gpu and bench_multigpu.
 *
 *  A struct `bench` describes what is specific to a bench. bench_main() reads the options and runs the cases.
 *  A case is a matrix, a precision and a K. Its contenders, each one form of one adaptor
 *  (kernels/peers/peer.h), are set up, checked and timed in turn (measure.c). Times are stored in seconds and
 *  shown in ms. Functions are collective over MPI_COMM_WORLD unless marked as local. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

#include "cli/stats.h"
#include "base/status.h"
#include "spmm_extended.h"
#include "kernels/peers/peer.h"

enum { MAX_MATRICES = 4096, MAX_LIST = 192, MAX_REPEAT = 1000, MAX_CONTENDERS = 64, MAX_LIBRARIES = 8 };
enum { MAX_RESULTS = 1 << 16 };
enum { LINE = 200 /* bytes of a message */ };

/* ---- options.c: local ---- */

/** The programs that accept an option, as a set of bits. */
enum { OF_CPU = 1, OF_MPI = 2, OF_GPU = 4, OF_MULTIGPU = 8, OF_READ = 16, OF_SERIES = 32, OF_GRAPH = 64 };

enum { BOTH_REAL = SPMM_C64 + 1 /* in place of a precision: f64 and f32 */ };

/** The options of all benches; a program accepts those that rows[] of options.c lists for it. */
typedef struct settings {
    const char *matrix[MAX_MATRICES]; /**< generators' specs and files; in some programs other operands */
    const char *folder[MAX_MATRICES]; /**< the collection that contains the file matrix[i]; NULL: none */
    int matrices, least_entries;      /**< least_entries: minimum for a collection's matrices */
    int64_t columns[MAX_LIST];        /**< the K */
    int column_count, precision;      /**< precision: spmm_precision, or BOTH_REAL */
    int threads, repeat, sweeps, mb;
    const char *csv, *commit, *only, *own, *dir, *json; /**< NULL: not given, except commit: $COMMIT or "" */
    double seconds;                                     /**< no case starts after this time; 0: no limit */
    int device, no_peers, transposed, cliffs, scaling, pair, verbose, help;
} settings;

/** Reads the command line. Options that are not given have the values of *defaults, except that there are
 *  then no matrices and no columns.
 *  \param [in] program  one of OF_CPU ..  \param [in] usage  "bench_cpu [OPTIONS] [MATRIX...]"
 *  \return 1; 0: --help was printed (s->help is 1) or, on stderr, an error */
int settings_ready(int program, const char *usage, int argc, char **argv, const settings *defaults,
                   settings *s);

/** Returns 1 if the comma-separated list contains the name or, with or_part, a word NAME-PART; else 0, also
 *  if the list is NULL. */
int listed(const char *list, const char *name, int or_part);

/* ---- check.c: local ---- */

/** A dense matrix: element (i, j) is data[i*row_step + j*column_step]. If data is NULL, the element is the
 *  one with this index in the sequence from which every X is filled. */
typedef struct dense_view {
    const void *data;
    spmm_precision precision;
    int64_t row_step, column_step;
} dense_view;

/** Writes rows [first, first + rows) of the X of k columns to the memory that *to describes. */
void dense_fill(const dense_view *to, int64_t first, int64_t rows, int64_t k);

/** The result of comparing Y. */
typedef struct difference {
    int64_t wrong, checked;       /**< numbers of elements: beyond the bound; compared */
    int64_t row, column;          /**< position of the first wrong element */
    spmm_complex found, expected; /**< the first wrong element, its reference */
    double bound;                 /**< their allowed difference */
    double error;                 /**< max |y - sum| / sum|a||x| */
} difference;

/** Reference rows of a product: sums in double, entry by entry. */
typedef struct reference {
    const spmm_csr *a;
    int64_t k, count, *row; /**< [count] the rows, increasing */
    spmm_complex *sum;      /**< [count * k]: sums of a*x */
    double *size;           /**< [count * k]: sums of |a*x| */
    double more;            /**< for the bound: number of additions in an element that are not of its row's
                                 entries */
} reference;

/** Creates the reference for all rows or, if there are more than `most`, for groups of consecutive rows at
 *  even distances and for the longest row. \param [in] x row j belongs to column j of A \return SPMM_OK,
 *  SPMM_ERR_MEMORY */
spmm_status reference_create(const spmm_csr *a, const dense_view *x, int64_t k, int64_t most, reference *r);
void reference_destroy(reference *r);

/** Compares rows [begin, end) of the reference with y, whose row 0 is A's row `first`; adds to *d. */
void reference_compare(const reference *r, int64_t begin, int64_t end, const dense_view *y, int64_t first,
                       difference *d);

/* ---- matrix.c ---- */

/** A matrix, distributed over the ranks by rows. */
typedef struct bench_matrix {
    const char *name, *folder; /**< folder: folder of the file; NULL: name is the path, or a generator's
                                    spec */
    spmm_precision precision;
    spmm_block block; /**< this rank's rows, all columns */
    int64_t nnz;      /**< of the whole matrix */
    double seconds;   /**< time of reading or generating, and distributing */
    int32_t *start;   /**< row starts of the block in 32 bits */
} bench_matrix;

/** \param [in] folder  may be NULL  \param [out] p  the caller destroys it; zeroed on failure */
spmm_status bench_matrix_create(const char *folder, const char *name, spmm_precision precision,
                                bench_matrix *p);
void bench_matrix_destroy(bench_matrix *p);

/** Generates a matrix, or reads it from a file. Local. */
spmm_status matrix_make(const char *name, spmm_precision precision, spmm_csr *a);

/* ---- measure.c ---- */

/** An adaptor, and its matrix. */
typedef struct library {
    const peer_adaptor *peer;
    void *matrix;
    const char *problem; /**< why there is no matrix; NULL: there is one */
} library;

/** One form of an adaptor. */
typedef struct contender {
    char name[64];
    library *library;
    const peer_form *form;
    int threads;
    int is_auto, skip; /**< set by choose(). is_auto 1: our kernel that `auto` selects; skip 1: not in this
                            case */
    int told;          /**< 1: why it is left out has been printed for this matrix */
    /* the members below are of the current case */
    void *product;         /**< the adaptor's struct */
    int ok, left_out;      /**< ok 1: takes part in the case; left_out 1: does not support it */
    char problem[LINE];    /**< "": none */
    difference difference; /**< combined over all ranks */
    double set_up, least;  /**< seconds of begin(); of the fastest product, including warm-up */
    int count, batch;      /**< number of timings; products per timing, queued together (bench_gpu) */
    double seconds[MAX_REPEAT];
    sp_stats time;
    double part[2]; /**< median seconds of the parts that bench.parts() times */
} contender;

/** How products are timed. */
typedef struct method {
    int rounds;        /**< rounds in which the contenders take turns; 0: --repeat */
    int least, most;   /**< bounds for the number of a contender's products in a round */
    double seconds;    /**< time that a contender's products in a round should take together */
    double enough;     /**< a contender is done if it has LEAST_ROUNDS or more timings, which together took
                               longer than this; 0: no limit */
    int few, hopeless; /**< after `few` timings, a contender that takes more than `hopeless` times as long as
                               the best is done; hopeless 0: no limit */
    int gpu_clock, watch; /**< gpu_clock 1: times batches in the GPU's stream, not barrier to barrier; watch
                               1: repeats disturbed products */
} method;

struct bench;

/** The state of a run. */
typedef struct run {
    const struct bench *bench;
    settings settings;
    int rank, ranks;
    double start; /**< when it began, MPI_Wtime() */
    char date[48], host[64], processor[96];
    FILE *csv; /**< on rank 0, with --csv; else NULL */
    library library[MAX_LIBRARIES];
    int libraries;
    contender contender[MAX_CONTENDERS];
    int contenders;
    int wrong, failed; /**< numbers of wrong and failed contenders in all cases; the same on every rank */
    /* the members below are of the current matrix and case */
    bench_matrix matrix;
    int64_t k;
    dense_view x;
    reference reference;
    /** gpu, stream and on_gpu are set by load() of a bench with adaptors for GPUs. gpu, stream: see
     *  peer_matrix, peer_product; on_gpu: A's row starts, columns and values in the GPU's memory. */
    const peer_gpu *gpu;
    void *stream, *on_gpu[3];
    void *arrays[2][2]; /**< [layout][X, Y] */
    int64_t ld[2];      /**< leading dimensions of row-major X and Y; column-major ones have no padding */
    int timed, disturbed;
    int left_out; /**< 1: a collection's matrix that cannot be read, has too few entries or is rejected by
                       load() */
} run;

/** What is specific to a bench. Members are required unless marked "may be NULL". */
typedef struct bench {
    const char *name, *usage, *csv; /**< csv: heading of the CSV file */
    int program, failure;           /**< OF_..; exit status if a contender failed */
    settings defaults;
    method method;
    void (*adjust)(settings *s); /**< sets options that depend on other options; may be NULL */
    spmm_status (*open)(run *r); /**< finds the contenders, prints the head */
    void (*close)(void);         /**< runs even if open() failed; may be NULL */
    /** Prepares more for a matrix, before the adaptors' load(). Returns the same status on every rank,
     *  SPMM_ERR_USAGE if the bench has no case for this kind of matrix; may be NULL. */
    spmm_status (*load)(run *r);
    void (*unload)(void);          /**< may be NULL */
    void (*choose)(run *r);        /**< sets is_auto and skip for a case; may be NULL */
    spmm_status (*arrays)(run *r); /**< sets r->x and r->arrays; NULL: arrays in host memory */
    /** Runs a contender once, compares its Y with r->reference and sets c->difference. NULL: Y is in host
     *  memory. */
    const char *(*check)(run *r, contender *c);
    const char *(*parts)(run *r, contender *c); /**< after the rounds: sets c->part[]; may be NULL */
    void (*report)(run *r);                     /**< rank 0: prints a case */
    void (*summary)(run *r);                    /**< rank 0: after all matrices; may be NULL */
} bench;

/** The main function. \return exit status: 0, 1 wrong, 2 usage, 3 input, 4 resources */
int bench_main(const bench *b, int argc, char **argv);

/** The main function of a bench without contenders: between MPI_Init and MPI_Finalize runs program(), whose
 *  error rank 0 prints.
 *  \param [out] rank  of MPI_COMM_WORLD
 *  \return exit status for the status of program() */
int run_under_mpi(int argc, char **argv, const char *name, int *rank,
                  spmm_status (*program)(int argc, char **argv));

/** The command line of a bench that times a plan's calls on one kind of device. */
typedef struct device_run {
    spmm_plan_options options; /**< device and kernel; kernel points into argv[1] */
    spmm_plan_study study;     /**< accepts padded ELLPACK up to 100 times as large as CSR */
    int64_t k;
    char on[256]; /**< the rank's GPU or host */
} device_run;

/** Reads the command line NAME cpu|cuda[:KERNEL] K MATRIX..., whose matrices begin at argv[3], and binds the
 *  rank to its cores or GPU.
 *  \param [in,out] argv  the colon of argv[1] is overwritten \return SPMM_OK, SPMM_ERR_USAGE, or as
 *                        sp_bind_rank() */
spmm_status device_run_ready(const char *name, int argc, char **argv, device_run *r);

/** Adds an adaptor. \return its library. Local. */
library *run_add_library(run *r, const peer_adaptor *p);
/** Adds a form of library l as a contender of that name; ignores it beyond MAX_CONTENDERS. Local. */
void run_add(run *r, library *l, const peer_form *form, const char *name);
/** Adds the forms of library l that --only selects and whose `distributed` is as given (-1: any). Local. */
void run_add_forms(run *r, library *l, int distributed);

/** Runs the case of r->k: creates the arrays; sets up, checks, times and reports the contenders; frees all.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE */
spmm_status case_run(run *r);

/** Runs one product. \return the slowest rank's seconds; < 0: it failed (see c->problem) */
double contender_time(run *r, contender *c);

/** A timed function: a product, or a part of one. \return NULL or a problem */
typedef const char *(*timed_call)(void *of);

/** Measures the median seconds of `count` calls on the slowest rank, after an untimed call. \return NULL or a
 *  problem */
const char *time_calls(timed_call call, void *of, int count, double *median);

/** Returns on every rank the problem of the lowest rank that has one; NULL if no rank has one. */
const char *agree(const char *problem);

/** Returns the message of a status; NULL for SPMM_OK. Local. */
static inline const char *failed(spmm_status status)
{
    return status == SPMM_OK ? NULL : spmm_error_message();
}

/* ---- gpu_matrix.c: local ---- */

/** The functions of a bench that adaptors for GPUs call. */
extern const peer_gpu bench_peer_gpu;

/** Copies A in CSR to the GPU. \param [out] on_gpu  row starts, columns and values, which the caller frees by
 *  sp_device_free(), also after a failure */
spmm_status bench_upload(const peer_matrix *a, void *on_gpu[3]);

/* ---- gpu_clock.c: local ---- */

/** Measures for each of one or two functions, queued one after the other, the mean seconds of `batch` calls.
 *  \return NULL or a problem */
const char *gpu_seconds(const timed_call *calls, int count, void *of, int batch, double *seconds);

/* ---- report.c: local ---- */

/** Writes the date and time (UTC); with milliseconds if `milliseconds` is 1. */
void date_text(char *text, size_t size, int milliseconds);

double per_second(const run *r, double seconds); /**< GFLOP/s of the case; 0 for no time */
/** Returns a / b; 0 unless both are positive. */
double over(double a, double b);

const char *layout_word(const contender *c);   /**< "row", "column" */
const char *contender_way(const contender *c); /**< what the adaptor's way() returns within a case; "":
                                                    nothing */

/** Prints a table of the case's contenders on the standard output. */
void report_table(const run *r);

/** A result to be averaged. */
typedef struct result {
    const char *matrix;
    spmm_precision precision;
    int64_t k;
    double value[5]; /**< 0: none */
} result;
extern result results[MAX_RESULTS];
extern int result_count;

/** Adds a result for the case. \return it, with all values 0 */
result *result_add(const run *r);

/** Which results to average. */
typedef struct selection {
    int precision;       /**< -1: any */
    int64_t least, most; /**< K */
    const char *matrix;  /**< NULL: any */
    int structure;       /**< 1: also matrices whose names are equal up to the colon */
} selection;

/** Returns how many selected results have value[which]. Sets *mean to their geometric mean and, if worst is
 *  not NULL, *worst to the least one (NULL: none). */
int results_mean(const selection *s, int which, double *mean, const result **worst);
/** "lap2d5" of "lap2d5:700", "A.mtx" of "folder/A.mtx"; \return its length */
int structure_of(const char *matrix, const char **name);
int same_structure(const char *a, const char *b);

#endif
