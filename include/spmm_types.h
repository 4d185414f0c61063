/** \file spmm_types.h
 *  The part of libspmm without MPI: its types, its errors, and what one process does alone. spmm.h includes it and
 *  states the conventions of all functions. Every function here is local, not collective.
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
    SPMM_FORMAT_AUTO = -1, /**< in a plan's options: the library chooses; no matrix has this format */
    SPMM_CSR = 0,
    SPMM_ELL = 1,       /**< ELLPACK, padded to the longest row */
    SPMM_ELL_NOPAD = 2, /**< ELLPACK without padding */
    SPMM_SELL = 3,      /**< sliced ELLPACK, rows sorted by length */
    SPMM_PANEL = 4      /**< panels of 8 rows that share their column indices */
} spmm_format;

/** Text of a status code, in static storage; never NULL. Local. */
const char *spmm_status_string(spmm_status status);

/** Message of the calling thread's last failed call: one line without newline; "" if no call has failed. Owned by the
 *  library, valid until that thread's next failure. Local. */
const char *spmm_error_message(void);

/** A sparse matrix in compressed sparse row format, in host memory. Column indices increase strictly within a row.
 *  Members may be read; spmm_csr_destroy() frees the arrays. */
typedef struct spmm_csr {
    int64_t rows, cols;       /**< m x n; n <= 2^31 - 1 */
    int64_t nnz;              /**< number of stored entries, = irp[rows] */
    spmm_precision precision; /**< element type of as */
    int64_t *irp;             /**< row starts, [rows + 1] */
    int32_t *ja;              /**< column indices, [nnz] */
    void *as;                 /**< values, [nnz] of double or float */
} spmm_csr;

/** A dense multivector [rows x k], row-major: element (i, j) is data[i * ld + j]. A program may fill one in around
 *  memory of its own, with ghost_low and ghost_high 0; it must not destroy it then. */
typedef struct spmm_multivector {
    int64_t rows, k;
    int64_t ld;               /**< leading dimension in elements, >= k */
    spmm_precision precision; /**< element type of data */
    spmm_device space;        /**< memory that data lies in: host (SPMM_CPU) or GPU (SPMM_CUDA) */
    void *data;               /**< [rows * ld] */
    int64_t ghost_low,
        ghost_high; /**< numbers of ghost rows in the same memory before and after data, into which spmm_apply()
                         receives other ranks' rows of X; see spmm_plan_x_create() */
} spmm_multivector;

/** One rank's part of a distributed matrix. A program may fill one in itself: column indices of csr are relative to
 *  col_begin; ranks of a process row (the same p) have the same rows, ranks of a process column (the same q) the
 *  same columns; blocks follow one another without gaps. The rows of X that correspond to a block's columns are
 *  owned by the ranks of its process column, in consecutive ranges in the order of p. spmm_plan_create() checks all
 *  of this. */
typedef struct spmm_block {
    spmm_csr csr;                 /**< the block's entries */
    int64_t rows, cols;           /**< size of the whole matrix, m x n */
    int64_t row_begin, col_begin; /**< global indices of the block's first row and column */
    int64_t x_begin, x_rows; /**< the rows of X that this rank owns: [x_begin, x_begin + x_rows), global */
    int p, q;                /**< the process grid */
    int borrowed;            /**< 1: csr's ja and as are owned elsewhere and are not freed with the block */
} spmm_block;

/** Reads a Matrix Market file (plain or gzipped) with all OpenMP threads of the process.
 *
 *  Local. Accepts real, integer and pattern (values 1.0) matrices that are general, symmetric or skew-symmetric, in
 *  coordinate or array format. Duplicates are summed in increasing order of value (by their bits: -0 before +0), so
 *  that the sum depends neither on the order of the file nor on the threads.
 *
 *  \param [in]  path       file name
 *  \param [in]  precision  element type of *a
 *  \param [out] a          the whole matrix, symmetric parts expanded; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (also: an environment variable SPMM_* has a value that it does not take), _OPEN,
 *          _SYNTAX, _UNSUPPORTED (complex values, or 2^31 or more rows or columns; the message names file and
 *          line), _MEMORY
 */
spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a);

/** Generates a matrix from a generator's specification.
 *
 *  Local. The result is the same on every machine and for any number of ranks.
 *  \param [in]  spec       e.g. "lap3d27:32"; spmm_mpi --help lists the generators
 *  \param [in]  precision  element type of *a
 *  \param [out] a          the whole matrix; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (bad specification), _MEMORY, _LIMIT
 */
spmm_status spmm_csr_generate(const char *spec, spmm_precision precision, spmm_csr *a);

/** Makes a CSR matrix from triplets in any order; duplicates are summed in increasing order of value, as in
 *  spmm_csr_read().
 *
 *  Local. The three input arrays are copied and stay the caller's.
 *  \param [in]  rows, cols, nnz       size of the matrix; number of triplets, duplicates included
 *  \param [in]  row_index, col_index  0-based, [nnz]
 *  \param [in]  val                   [nnz], or NULL for all 1.0
 *  \param [in]  precision             element type of *a
 *  \param [out] a                     the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (an index out of range, a negative size), _MEMORY, _LIMIT
 */
spmm_status spmm_csr_from_triplets(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                   const int64_t *col_index, const double *val, spmm_precision precision,
                                   spmm_csr *a);

/** Frees the arrays and zeroes *a; accepts NULL and zeroed objects. Local. */
void spmm_csr_destroy(spmm_csr *a);

/** Closes the GPU that spmm_device_open() opened; does nothing if none is open. Plans and multivectors on it must
 *  have been destroyed before. Local. */
void spmm_device_close(void);

/** Allocates a multivector of zeros without ghost rows. Its leading dimension is padded to a multiple of 32 bytes, or
 *  to a power of two below that, so that no row straddles a 32-byte sector. Local. The caller destroys it.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT (the size overflows), _NO_DEVICE (space is SPMM_CUDA and no GPU
 *          is open), _DEVICE */
spmm_status spmm_multivector_create(int64_t rows, int64_t k, spmm_precision precision, spmm_device space,
                                    spmm_multivector *v);

/** Frees the memory, ghost rows included, and zeroes *v; accepts NULL and zeroed objects. Local. */
void spmm_multivector_destroy(spmm_multivector *v);

/** Copies src into dst: the same rows, k and precision, any spaces and leading dimensions; ghost rows are not copied.
 *  Local; complete on return. The memory of the two, ghost rows and padding included, must not overlap. With equal
 *  leading dimensions and a GPU involved, dst's padding columns are overwritten.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_copy(const spmm_multivector *src, spmm_multivector *dst);

/** Which rows of X are sent to which rank. */
typedef enum spmm_exchange {
    SPMM_EXCHANGE_AUTO = 0, /**< halo where it moves clearly less */
    SPMM_EXCHANGE_HALO = 1, /**< each rank gets only the rows that its block's columns touch */
    SPMM_EXCHANGE_BCAST = 2 /**< each rank of a process column gets all rows of the column's range of X */
} spmm_exchange;

/** What carries the rows of X. */
typedef enum spmm_transport {
    SPMM_TRANSPORT_AUTO = 0,
    SPMM_TRANSPORT_MPI = 1,        /**< MPI from host memory; rows in GPU memory are host-staged */
    SPMM_TRANSPORT_STAGED = 2,     /**< the same in chunks, so that copies and messages overlap */
    SPMM_TRANSPORT_CUDA_AWARE = 3, /**< MPI from GPU memory, where the MPI library reports that it can */
    SPMM_TRANSPORT_NCCL = 4,       /**< NCCL, where the build has it */
    SPMM_TRANSPORT_PEER = 5        /**< GPUs of one node write into each other's memory (CUDA IPC) */
} spmm_transport;

/** How the partial sums of Y in a process row are added (Q > 1); the order is always the same. */
typedef enum spmm_reduce {
    SPMM_REDUCE_AUTO = 0,
    SPMM_REDUCE_LINEAR = 1, /**< every rank sends to the first, one after another */
    SPMM_REDUCE_TREE = 2,   /**< pairwise in log2(Q) steps, result on the first rank */
    SPMM_REDUCE_BUTTERFLY =
        3,               /**< pairs exchange in log2(Q) steps, result on every rank of the process row */
    SPMM_REDUCE_MPI = 4, /**< MPI_Reduce */
    SPMM_REDUCE_NCCL = 5 /**< ncclReduce, for GPUs */
} spmm_reduce;

#ifdef __cplusplus
}
#endif
#endif
