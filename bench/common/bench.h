/** What the four benches of products share: bench_cpu, bench_mpi, bench_gpu and bench_multigpu.
 *
 *  A bench is a table (`bench`) of what is its own. bench_main() reads the options and goes through the
 *  cases, each a matrix, a precision and a K: its contenders, one form of one adaptor (kernels/peers/peer.h)
 *  each, are set up, checked and timed in turn (measure.c). Times are in seconds inside, in ms where shown.
 *  Functions are collective over MPI_COMM_WORLD unless they are said to be local. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

#include "base/stats.h"
#include "base/status.h"
#include "spmm_extended.h"
#include "kernels/peers/peer.h"

enum { MAX_MATRICES = 4096, MAX_LIST = 192, MAX_REPEAT = 1000, MAX_CONTENDERS = 64, MAX_LIBRARIES = 8 };
enum { MAX_RESULTS = 1 << 16 };
enum { LINE = 200 /* bytes of a message */ };

/* ---- options.c: local ---- */

/** Which programs have an option: a set of bits. */
enum { OF_CPU = 1, OF_MPI = 2, OF_GPU = 4, OF_MULTIGPU = 8, OF_READ = 16, OF_SERIES = 32, OF_GRAPH = 64 };

/** The options of all benches; a program has those that rows[] of options.c gives it. */
typedef struct settings {
    const char *matrix[MAX_MATRICES]; /**< generators' specs and files; of some programs other operands */
    const char *folder[MAX_MATRICES]; /**< the collection in which that file was found; NULL: none */
    int matrices, least_entries;      /**< least_entries: of a collection's matrices */
    int64_t columns[MAX_LIST];        /**< the K */
    int column_count, precision;      /**< precision: spmm_precision, or 2: both */
    int threads, repeat, sweeps, mb;
    const char *csv, *commit, *only, *own, *dir, *json; /**< NULL: not given; commit: $COMMIT or "" then */
    double seconds;                                     /**< no case is started later; 0: no limit */
    int device, no_peers, cliffs, scaling, verbose, help;
} settings;

/** Reads the command line; what it leaves open is as in *defaults, but matrices and columns are none.
 *  \param [in] program  one of OF_CPU ..  \param [in] usage  "bench_cpu [OPTIONS] [MATRIX...]"
 *  \return 1; 0: --help was printed (s->help) or, on stderr, what is wrong */
int settings_ready(int program, const char *usage, int argc, char **argv, const settings *defaults,
                   settings *s);

/** 1 when the comma-separated list (may be NULL) has the name or, with or_part, a NAME-PART. */
int listed(const char *list, const char *name, int or_part);

/* ---- check.c: local ---- */

/** A dense matrix: element (i, j) is number i*row_step + j*column_step of data or, where that is NULL, of the
 *  numbers that every X is made of. */
typedef struct dense_view {
    const void *data;
    spmm_precision precision;
    int64_t row_step, column_step;
} dense_view;

/** Writes rows [first, first + rows) of the X that has k numbers in a row to memory that *to describes. */
void dense_fill(const dense_view *to, int64_t first, int64_t rows, int64_t k);

/** Y where it was compared. */
typedef struct difference {
    int64_t wrong, checked;        /**< elements: beyond rounding, compared */
    int64_t row, column;           /**< the first wrong one */
    double found, expected, bound; /**< it, and how far it may be off */
    double error;                  /**< max |y - sum| / sum|a||x| */
} difference;

/** Rows of a product as they should be: sums made in double, entry by entry. */
typedef struct reference {
    const spmm_csr *a;
    int64_t k, count, *row; /**< [count] the rows, increasing */
    double *sum, *size;     /**< [count * k]: sums of a*x and of |a*x| */
} reference;

/** Of all rows or, beyond `most` of them, of groups of consecutive ones everywhere and of the longest.
 *  \param [in] x  whose rows are A's columns \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status reference_create(const spmm_csr *a, const dense_view *x, int64_t k, int64_t most, reference *r);
void reference_destroy(reference *r);

/** Compares rows [begin, end) of the reference with y, whose row 0 is A's row `first`; adds to *d. */
void reference_compare(const reference *r, int64_t begin, int64_t end, const dense_view *y, int64_t first,
                       difference *d);

/* ---- matrix.c ---- */

/** A matrix, distributed over the ranks by rows. */
typedef struct bench_matrix {
    const char *name, *folder; /**< folder: that the file is in; NULL: the name says it all */
    spmm_precision precision;
    spmm_block block; /**< this rank's rows, all columns */
    int64_t nnz;      /**< of the whole matrix */
    double seconds;   /**< that making it took */
    int32_t *start;   /**< row starts of the block in 32 bits */
} bench_matrix;

/** \param [in] folder  may be NULL  \param [out] p  the caller destroys it; zeroed on failure */
spmm_status bench_matrix_create(const char *folder, const char *name, spmm_precision precision,
                                bench_matrix *p);
void bench_matrix_destroy(bench_matrix *p);

/** A generator's matrix, or a file's. Local. */
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
    int is_auto, skip; /**< set by choose(): 1: of ours, what `auto` means; not in this case */
    int told;          /**< 1: it was said for this matrix why it is left out */
    /* of the case: */
    void *product;         /**< the adaptor's struct */
    int ok, left_out;      /**< takes part; does not offer it */
    char problem[LINE];    /**< "": none */
    difference difference; /**< of all ranks */
    double set_up, least;  /**< seconds: of begin; of the fastest product, warm-up included */
    int count, batch;      /**< timed products; how many are queued at a time, in bench_gpu */
    double seconds[MAX_REPEAT];
    sp_stats time;
    double part[2]; /**< medians of what the bench times besides */
} contender;

/** How products are timed. */
typedef struct method {
    int rounds;           /**< of all contenders in turn; 0: --repeat */
    int least, most;      /**< products of a contender in a round: of `seconds` together */
    double seconds;       /**< see there */
    double enough;        /**< seconds after which a contender with three rounds has no more; 0: none */
    int few, hopeless;    /**< after `few` products one so many times slower than the best is left; 0: none */
    int gpu_clock, watch; /**< 1: batches in the GPU's stream, not barrier to barrier; disturbed ones again */
} method;

struct bench;

/** Everything of a run. */
typedef struct run {
    const struct bench *bench;
    settings settings;
    int rank, ranks;
    double start; /**< when it began, MPI_Wtime() */
    char date[48], host[64], processor[96];
    FILE *csv; /**< rank 0's, where one is wanted */
    library library[MAX_LIBRARIES];
    int libraries;
    contender contender[MAX_CONTENDERS];
    int contenders;
    int wrong, failed; /**< contenders in cases, the same on every rank */
    /* of the matrix and the case */
    bench_matrix matrix;
    int64_t k;
    dense_view x;
    reference reference;
    /** Set by load() of a bench with adaptors for GPUs: see peer_matrix, peer_product; A's row starts,
     *  columns and values in the GPU's memory. */
    const peer_gpu *gpu;
    void *stream, *on_gpu[3];
    void *arrays[2][2]; /**< [layout][X, Y] */
    int64_t ld[2];      /**< of X and Y by rows; by columns there is no padding */
    int timed, disturbed;
    int left_out; /**< a collection's matrix that cannot be read, has too few entries or is none for load() */
} run;

/** What is a bench's own. Needed are those that are not said to be NULL. */
typedef struct bench {
    const char *name, *usage, *csv; /**< csv: its heading */
    int program, failure;           /**< OF_..; exit status when a contender failed */
    settings defaults;
    method method;
    void (*adjust)(settings *s); /**< what the options mean for what they leave open; NULL: nothing more */
    spmm_status (*open)(run *r); /**< finds the contenders, prints the head */
    void (*close)(void);         /**< after open(), also one that failed; NULL */
    /** More of a matrix, before the adaptors' load(); the same status on every rank, SPMM_ERR_USAGE where the
     *  matrix is of no kind for the bench; NULL. */
    spmm_status (*load)(run *r);
    void (*unload)(void);          /**< NULL */
    void (*choose)(run *r);        /**< sets is_auto and skip for a case; NULL */
    spmm_status (*arrays)(run *r); /**< sets r->x and r->arrays; NULL: arrays in host memory */
    /** Runs and checks a contender once, r->reference in hand: sets difference; NULL: Y in host memory. */
    const char *(*check)(run *r, contender *c);
    const char *(*parts)(run *r, contender *c); /**< after the rounds of a contender: part[]; NULL */
    void (*report)(run *r);                     /**< rank 0: a case */
    void (*summary)(run *r);                    /**< rank 0: after all matrices; NULL */
} bench;

/** The main function. \return exit status: 0, 1 wrong, 2 usage, 3 input, 4 resources */
int bench_main(const bench *b, int argc, char **argv);

/** The main function of a bench without contenders: between MPI_Init and MPI_Finalize runs program(), whose
 *  error rank 0 prints.
 *  \param [out] rank  of MPI_COMM_WORLD
 *  \return exit status by the status of program() */
int run_under_mpi(int argc, char **argv, const char *name, int *rank,
                  spmm_status (*program)(int argc, char **argv));

/** What the command line of a bench asks for that times a plan's calls on one kind of device. */
typedef struct device_run {
    spmm_plan_options options; /**< device and kernel; kernel lies in argv[1] */
    spmm_plan_study study;     /**< padded ELLPACK of any size */
    int64_t k;
    char on[256]; /**< the rank's GPU or host */
} device_run;

/** Reads NAME cpu|cuda[:KERNEL] K MATRIX..., whose matrices are argv[3] and further, and binds the rank to
 *  its cores or GPU.
 *  \param [in,out] argv  the colon of argv[1] is overwritten \return SPMM_OK, SPMM_ERR_USAGE, or as
 *                        sp_bind_rank() */
spmm_status device_run_ready(const char *name, int argc, char **argv, device_run *r);

/** Adds an adaptor; \return it. Local. */
library *run_add_library(run *r, const peer_adaptor *p);
/** Adds a form of it as a contender of that name; more than MAX_CONTENDERS are ignored. Local. */
void run_add(run *r, library *l, const peer_form *form, const char *name);
/** Adds its forms that are wanted and as `distributed` says (-1: either). Local. */
void run_add_forms(run *r, library *l, int distributed);

/** Takes the case of r->k from its arrays to its end. \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE */
spmm_status case_run(run *r);

/** One product: the slowest rank's seconds, < 0 where it failed (c->problem). */
double contender_time(run *r, contender *c);

/** A product, or what else is timed. \return NULL or a problem */
typedef const char *(*timed_call)(void *of);

/** The median of `count` calls after one more, the slowest rank's. \return NULL or a problem */
const char *time_calls(timed_call call, void *of, int count, double *median);

/** The first rank's complaint, on every rank; NULL when there is none. */
const char *agree(const char *problem);

/** The message of a status; NULL of SPMM_OK. Local. */
const char *failed(spmm_status status);

/* ---- gpu_matrix.c: local ---- */

/** What adaptors for GPUs use of a bench. */
extern const peer_gpu bench_peer_gpu;

/** Copies A in CSR to the GPU. \param [out] on_gpu  row starts, columns and values, which the caller frees by
 *  sp_device_free(), also after a failure */
spmm_status bench_upload(const peer_matrix *a, void *on_gpu[3]);

/* ---- gpu_clock.c: local ---- */

/** For each of one or two functions, which are queued one after another, the seconds of one of `batch` calls.
 *  \return NULL or a problem */
const char *gpu_seconds(const timed_call *calls, int count, void *of, int batch, double *seconds);

/* ---- report.c: local ---- */

/** The date and time, with milliseconds if asked for, UTC. */
void date_text(char *text, size_t size, int milliseconds);

double per_second(const run *r, double seconds); /**< GFLOP/s of the case; 0 for no time */
/** Seconds of the median over those of another, 0 where there are none. */
double over(double a, double b);

const char *layout_word(const contender *c);   /**< "row", "column" */
const char *contender_way(const contender *c); /**< what the adaptor says within a case; "": nothing */

/** A table of the case's contenders on the standard output. */
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

/** Keeps a result of the case; \return it, zeroed. */
result *result_add(const run *r);

/** Some results. */
typedef struct selection {
    int precision;       /**< -1: any */
    int64_t least, most; /**< K */
    const char *matrix;  /**< NULL: any */
    int structure;       /**< 1: and those whose names are equal up to the colon */
} selection;

/** How many of them have value[which]; their geometric mean, and the least one, NULL for none. */
int results_mean(const selection *s, int which, double *mean, const result **worst);
/** "lap2d5" of "lap2d5:700", "A.mtx" of "folder/A.mtx"; \return its length */
int structure_of(const char *matrix, const char **name);
int same_structure(const char *a, const char *b);

#endif
