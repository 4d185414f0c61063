/** \file spmm_types.h
 *  libspmm without MPI: its types, errors, and what is done by one process alone. spmm.h includes it, and has the
 *  conventions of all functions. Everything here is local, not collective.
 */
#ifndef SPMM_TYPES_H
#define SPMM_TYPES_H

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
    int64_t ghost_low,
        ghost_high; /**< rows of room that lie in memory before and behind data, where spmm_apply()
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

#ifdef __cplusplus
}
#endif
#endif
