/** \file spmm.h
 *  libspmm: distributed sparse matrix x multivector products, Y := A X.
 *
 *  A is sparse [m x n]; X [n x K] and Y [m x K] are dense multivectors, row-major. Processes form a
 *  P x Q grid: rank p*Q + q holds the entries of A in a range of rows and a range of columns, some rows
 *  of X, and, where q is 0, the range's rows of Y. Values are f64 or f32, chosen at run time.
 *
 *  Conventions of every function here
 *  - returns an spmm_status; SPMM_OK is 0. spmm_error_message() gives the text of the calling
 *    thread's last failure.
 *  - on failure *out is NULL or zeroed, and destroy functions accept that.
 *  - "collective" functions are called by every rank of the communicator, between MPI_Init and MPI_Finalize, and
 *    return the same status on every rank: no rank is left waiting for one that failed, or whose arguments alone
 *    were wrong. Only of a communicator that cannot be used (MPI_COMM_NULL, an inter-communicator) the others
 *    cannot be told.
 *  - arguments are looked at before anything is done with them: NULL where something must be, a value that its
 *    enumeration does not have, a size or a leading dimension that cannot be is SPMM_ERR_USAGE, and the message
 *    names the function, the argument and what was expected; so is data in memory of another kind than `space`
 *    says, where an open GPU can tell. Not looked at: whether arrays are as long as they should be, and the
 *    values in them; NaNs and infinities are computed with.
 *  - communicators that the library makes inherit the error handler of the caller's. Under MPI's default,
 *    MPI_ERRORS_ARE_FATAL, a failing MPI call ends the program; under MPI_ERRORS_RETURN it is SPMM_ERR_MPI, and
 *    other ranks may then wait for this one.
 *  - indices are 0-based; counts of rows, columns, entries and bytes are int64_t.
 */
#ifndef SPMM_H
#define SPMM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPMM_VERSION "0.1.0"

/** The one list of status codes: name, exit code of spmm_mpi, text. */
#define SPMM_STATUS_LIST(S)                                                     \
    S(SPMM_OK, 0, "success")                                                    \
    S(SPMM_ERR_VERIFY, 1, "verification failed")                                \
    S(SPMM_ERR_USAGE, 2, "invalid argument")                                    \
    S(SPMM_ERR_OPEN, 3, "cannot open or read the input")                        \
    S(SPMM_ERR_SYNTAX, 3, "the input is not a valid Matrix Market file")        \
    S(SPMM_ERR_UNSUPPORTED, 3, "the input is of a kind that is not supported")  \
    S(SPMM_ERR_MEMORY, 4, "out of memory")                                      \
    S(SPMM_ERR_LIMIT, 4, "a size is beyond a limit")                            \
    S(SPMM_ERR_NO_DEVICE, 4, "no such device in this build or on this machine") \
    S(SPMM_ERR_DEVICE, 4, "a device operation failed")                          \
    S(SPMM_ERR_MPI, 4, "an MPI operation failed")                               \
    S(SPMM_ERR_OUTPUT, 4, "cannot write the output")                            \
    S(SPMM_ERR_INTERNAL, 4, "internal error")

/* clang-format off */
typedef enum spmm_status {
#define SPMM_STATUS_ENUM(name, exit_code, text) name,
    SPMM_STATUS_LIST(SPMM_STATUS_ENUM)
#undef SPMM_STATUS_ENUM
    SPMM_STATUS_COUNT
} spmm_status;
/* clang-format on */

typedef enum spmm_precision { SPMM_F64 = 0, SPMM_F32 = 1 } spmm_precision;
typedef enum spmm_device { SPMM_CPU = 0, SPMM_CUDA = 1 } spmm_device;
typedef enum spmm_format {
    SPMM_FORMAT_AUTO = -1, /**< of a plan's options: the library chooses; no matrix has it */
    SPMM_CSR = 0,
    SPMM_ELL = 1,       /**< ELLPACK, padded to the longest row */
    SPMM_ELL_NOPAD = 2, /**< ELLPACK without padding */
    SPMM_SELL = 3,      /**< sliced ELLPACK, rows sorted by length */
    SPMM_PANEL = 4      /**< panels of 8 rows that share their columns */
} spmm_format;

/** Text of a status code; never NULL. Static storage. */
const char *spmm_status_string(spmm_status status);

/** What the calling thread's last failed call said: one line, no newline; "" if none failed.
 *  Owned by the library, valid until that thread's next failure. */
const char *spmm_error_message(void);

/** A sparse matrix in compressed sparse rows, in host memory. Column indices increase strictly
 *  within a row. Fields may be read; arrays are freed by spmm_csr_destroy(). */
typedef struct spmm_csr {
    int64_t rows, cols;       /**< m x n; n <= 2^31 - 1 */
    int64_t nnz;              /**< stored entries, = irp[rows] */
    spmm_precision precision; /**< type of as */
    int64_t *irp;             /**< row starts, [rows + 1] */
    int32_t *ja;              /**< column indices, [nnz] */
    void *as;                 /**< values, [nnz] of double or float */
} spmm_csr;

/** A dense multivector [rows x k], row-major: element (i, j) is data[i * ld + j]. A program may fill one in
 *  around memory of its own, before and behind 0, and does not destroy it then. */
typedef struct spmm_multivector {
    int64_t rows, k;
    int64_t ld;               /**< leading dimension, elements, >= k */
    spmm_precision precision; /**< type of data */
    spmm_device space;        /**< memory that data lies in: host (SPMM_CPU) or GPU (SPMM_CUDA) */
    void *data;               /**< [rows * ld] */
    int64_t before, behind;   /**< rows of room that lie in memory before and behind data, where spmm_apply()
                                   receives other ranks' rows of X; spmm_plan_x_create() */
} spmm_multivector;

/** One rank's part of a distributed matrix. A program may fill one in itself: columns of csr are relative to
 *  col_begin; ranks of a process row (the same p) have the same rows, ranks of a process column the same
 *  columns; blocks follow one another without gaps. The rows of X that belong to a block's columns are owned
 *  by the ranks of its process column, in consecutive ranges that follow p. spmm_plan_create() checks all of it. */
typedef struct spmm_block {
    spmm_csr csr;                 /**< the block's entries */
    int64_t rows, cols;           /**< of the whole matrix, m x n */
    int64_t row_begin, col_begin; /**< global indices of the block's first row and column */
    int64_t x_begin, x_rows; /**< the rows of X that this rank owns: [x_begin, x_begin + x_rows), global */
    int p, q;                /**< the process grid */
    int borrowed;            /**< 1: csr's ja and as belong to somebody else, and are not freed */
} spmm_block;

/** Reads a Matrix Market file (plain or gzipped) with all the process's OpenMP threads.
 *
 *  Local, not collective. Real, integer and pattern (1.0) x general, symmetric and
 *  skew-symmetric, coordinate and array; duplicates are summed, in increasing order of value (by their
 *  bits: -0 before +0), so that the sum does not depend on the order of the file or on threads.
 *
 *  \param [in]  path       file name
 *  \param [in]  precision  of the values of *a
 *  \param [out] a          the whole matrix, symmetric parts expanded; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (also: an environment variable SPMM_* with a value that it does not take),
 *          _OPEN, _SYNTAX, _UNSUPPORTED (complex, or 2^31 rows or columns and more;
 *          the message names file and line), _MEMORY
 */
spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a);

/** Makes a matrix from a generator's spec, e.g. "lap3d27:32" (see spmm_mpi --help).
 *
 *  Local. The same matrix on every machine and for any number of ranks.
 *  \return SPMM_OK, SPMM_ERR_USAGE (bad spec), _MEMORY, _LIMIT
 */
spmm_status spmm_csr_generate(const char *spec, spmm_precision precision, spmm_csr *a);

/** Copies triplets into a CSR matrix; entries in any order, duplicates summed in increasing
 *  order of value, as spmm_csr_read() does.
 *
 *  Local. \param [in] row_index, col_index  0-based, [nnz]; \param [in] val  [nnz] doubles, or
 *  NULL for all 1.0; all three stay the caller's.
 *  \return SPMM_OK, SPMM_ERR_USAGE (an index out of range, a negative size), _MEMORY, _LIMIT
 */
spmm_status spmm_csr_from_triplets(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                   const int64_t *col_index, const double *val, spmm_precision precision,
                                   spmm_csr *a);

/** Frees the arrays and zeroes *a; accepts NULL and zeroed objects. Local. */
void spmm_csr_destroy(spmm_csr *a);

/** Distributes root's matrix over a P x Q grid of the ranks, both directions balanced by entries.
 *
 *  Collective over comm. Rank p*Q + q gets block (p, q). X is owned in the blocks of rows where Q is 1 and
 *  the matrix square, so that the Y of one product can be the X of the next; else in even parts.
 *  \param [in]  root   a rank of comm, the same on every rank, as p and q are
 *  \param [in]  a      on rank root: the whole matrix, still the caller's; ignored elsewhere (may be NULL)
 *  \param [in]  p, q   p*q is the number of ranks; 0 x 0: ranks x 1
 *  \param [out] block  the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also: row starts or columns of a that are not
 *          as spmm_csr says), _MEMORY, _MPI */
spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block);

/** Frees what the block owns and zeroes it; accepts NULL and zeroed objects. Local. */
void spmm_block_destroy(spmm_block *block);

/** Gives this rank a GPU: the one of its number among the ranks of its node, modulo the visible ones
 *  (CUDA_VISIBLE_DEVICES and a batch system's binding decide what is visible). To be called once, before
 *  anything with SPMM_CUDA; ranks beyond the GPUs share them.
 *
 *  Collective over comm.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_NO_DEVICE (a rank sees no usable GPU; the
 *          message says why), SPMM_ERR_USAGE, _DEVICE, _MPI
 */
spmm_status spmm_device_open(MPI_Comm comm);

/** Gives the GPU back. Plans and multivectors on it must have been destroyed. Local. */
void spmm_device_close(void);

/** Allocates a multivector of zeros, leading dimension padded so that no row straddles a 32-byte
 *  sector. Local. The caller destroys it.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE (space SPMM_CUDA without an open GPU), _DEVICE */
spmm_status spmm_multivector_create(int64_t rows, int64_t k, spmm_precision precision, spmm_device space,
                                    spmm_multivector *v);

/** Frees the memory and zeroes *v; accepts NULL and zeroed objects. Local. */
void spmm_multivector_destroy(spmm_multivector *v);

/** Copies src into dst: same rows, k and precision, any spaces and leading dimensions. Local;
 *  complete on return. Their memory, from the first row to the last and room included, must not overlap.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_copy(const spmm_multivector *src, spmm_multivector *dst);

/** How rows of X reach the ranks that need them. */
typedef enum spmm_exchange {
    SPMM_EXCHANGE_AUTO = 0, /**< halo where it moves clearly less */
    SPMM_EXCHANGE_HALO = 1, /**< those rows alone that the block's columns touch */
    SPMM_EXCHANGE_BCAST = 2 /**< all rows of the block's columns, to every rank of the process column */
} spmm_exchange;

/** By what they travel. */
typedef enum spmm_transport {
    SPMM_TRANSPORT_AUTO = 0,
    SPMM_TRANSPORT_MPI = 1,        /**< MPI from host memory; a GPU's rows are copied there and back */
    SPMM_TRANSPORT_STAGED = 2,     /**< the same in pieces, so that copies and messages overlap */
    SPMM_TRANSPORT_CUDA_AWARE = 3, /**< MPI from GPU memory, where the MPI library says that it can */
    SPMM_TRANSPORT_NCCL = 4,       /**< NCCL, where the build has it */
    SPMM_TRANSPORT_PEER = 5        /**< GPUs of one node write into each other's memory (CUDA IPC) */
} spmm_transport;

/** How the partial Y of a process row are summed (Q > 1), always in the same order. */
typedef enum spmm_reduce {
    SPMM_REDUCE_AUTO = 0,
    SPMM_REDUCE_LINEAR = 1,    /**< every rank to the first, one after another */
    SPMM_REDUCE_TREE = 2,      /**< pairs, log2(Q) steps, result on the first */
    SPMM_REDUCE_BUTTERFLY = 3, /**< pairs exchange, log2(Q) steps, result on every rank of the process row */
    SPMM_REDUCE_MPI = 4,       /**< MPI_Reduce */
    SPMM_REDUCE_NCCL = 5       /**< ncclReduce, for GPUs */
} spmm_reduce;

/** How a plan shall compute. Zero-initialise, then set what differs from the default. All but threads are the
 *  same on every rank. */
typedef struct spmm_plan_options {
    spmm_device device; /**< default SPMM_CPU; SPMM_CUDA after spmm_device_open() */
    spmm_format format; /**< default SPMM_CSR; SPMM_FORMAT_AUTO: chosen for the matrix, or the kernel's */
    const char *kernel; /**< a name of spmm_mpi --list-kernels for that device and format; NULL: chosen for
                             the matrix, K and precision among the kernels of the format */
    int threads; /**< OpenMP threads of this rank (SPMM_CPU); 0: omp_get_max_threads(), within a bound of 4 per
                             core or 256; beyond it: SPMM_ERR_USAGE */
    double ell_limit; /**< padded ELLPACK is refused beyond this many times the CSR's bytes; 0: 3.0 */
    int block_size;   /**< threads of a CUDA block, a multiple of 32 up to 1024; 0: the kernel's choice */
    int subwarp;      /**< lanes that share an element, where a kernel has that parameter; 0: its choice */
    spmm_exchange exchange;
    spmm_transport transport;
    spmm_reduce reduce;
    int no_overlap; /**< 1: the product starts when the exchange has ended */
    int slices; /**< cut X into so many slices of columns, each exchanged while the one before is multiplied; 1:
                         not; 0: where GPUs have too few rows that need no other rank's X */
} spmm_plan_options;

typedef struct spmm_plan spmm_plan;

/** Prepares repeated products Y := alpha A X + beta Y: finds out which rows of X must travel between which
 *  ranks, picks the kernel (the same one on every rank, by the entries of all), converts the block to its
 *  format, and moves it to the device. Which kernels give the serial product's bits, spmm_mpi
 *  --list-kernels says (on P x 1 grids, with alpha = 1 and beta = 0); with SPMM_FORMAT_AUTO it may be
 *  another one.
 *
 *  Collective over comm, of which the plan keeps a duplicate. Checked are, on each rank, that sizes and places lie
 *  within the whole matrix, that row starts begin at 0, do not decrease and end at nnz, that columns increase
 *  strictly within a row and lie within the block; and over the ranks that rows, cols, precision, p and q, k and
 *  all options but threads are the same, that blocks agree along process rows and columns, and that rows, columns
 *  and rows of X follow one another without gap or overlap.
 *  \param [in]  block    this rank's part of A; may have 0 rows or columns; stays the caller's, unchanged,
 *                        and must outlive the plan (a CSR plan on the CPU reads it in place)
 *  \param [in]  k        columns of X, >= 1
 *  \param [in]  options  NULL for the defaults
 *  \param [out] plan     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (any of these checks failed, a rank has more threads
 *          than its machine bears, or an environment variable SPMM_* a value that it does not take; the message
 *          names the rank unless it is 0, and what was found and expected), _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE, _MPI */
spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan);

/** Allocates this rank's rows of X for the plan, zeros, in the plan's memory and with the room that
 *  spmm_apply() receives into. Where X and Y are distributed alike, Y may be such a one too: they can change
 *  places from product to product. Local. The caller destroys it, before the plan or after it; with
 *  SPMM_TRANSPORT_PEER its memory then stays with the plan for the next one, until the plan is destroyed.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_x_create(const spmm_plan *plan, spmm_multivector *x);

/** Allocates this rank's rows of Y, zeros: the block's where q is 0 or the sum is SPMM_REDUCE_BUTTERFLY, else
 *  none. Local. The caller destroys it.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_y_create(const spmm_plan *plan, spmm_multivector *y);

/** Y := alpha A X + beta Y.
 *
 *  Collective over the plan's communicator: every rank calls it, and waits for its neighbours alone.
 *  Complete on return. Once it was called with a kind of arguments, calls of that kind allocate nothing.
 *  \param [in,out] plan  reusable
 *  \param [in]     x     this rank's rows of X, [x_rows x k], in the plan's device memory; its room before and
 *                        behind is overwritten. One with less room than the plan needs, or with
 *                        SPMM_TRANSPORT_PEER one that is not from the plan's spmm_plan_x_create(), is copied
 *                        each time
 *  \param [in,out] y     this rank's rows of Y as spmm_plan_y_create() has them; not read where beta is 0;
 *                        padding columns are overwritten; must not overlap x, room and padding included
 *  \return this rank's status: SPMM_OK, SPMM_ERR_USAGE (a shape, precision or space differs from the plan's, a
 *          leading dimension is below k, x and y overlap, an argument is NULL; where it is the plan, or MPI has
 *          ended, the other ranks are not told),
 *          _MEMORY, _DEVICE, _MPI (also: a neighbour failed and sent nothing). On error y is undefined, but
 *          the rank took part in the exchange and in the sum, so nobody waits for ever: ranks that cannot be
 *          told (of a process row; over NCCL) get NaNs. A program should agree on the outcome, and end where
 *          it was SPMM_ERR_DEVICE: what a GPU had begun to send may never come */
spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y);

/** Name of the kernel that the plan runs; static storage. "" for NULL. Local. */
const char *spmm_plan_kernel(const spmm_plan *plan);

/** Frees the plan; accepts NULL (on every rank, then). Collective over the plan's communicator; after MPI_Finalize it
 *  frees its memory alone. */
void spmm_plan_destroy(spmm_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
