/** \file spmm_types.h
 *  The part of libspmm without MPI: types, errors, and functions that need no communication. spmm.h includes
 *  this header and states the conventions of all functions. Every function here is local, not collective.
 */
#ifndef SPMM_TYPES_H
#define SPMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header; before 1.0 a minor version may change the interface. spmm_version() returns
 *  the library's version. */
#define SPMM_VERSION "0.3.0"
#define SPMM_VERSION_MAJOR 0
#define SPMM_VERSION_MINOR 3
#define SPMM_VERSION_PATCH 0

/** All status codes. Each has a name, the exit code of the program spmm_mpi, and a text. */
#define SPMM_STATUS_LIST(S)                                                     \
    S(SPMM_OK, 0, "success")                                                    \
    S(SPMM_ERR_VERIFY, 1, "verification failed")                                \
    S(SPMM_ERR_USAGE, 2, "invalid argument")                                    \
    S(SPMM_ERR_OPEN, 3, "cannot open or read the input")                        \
    S(SPMM_ERR_SYNTAX, 3, "the input file breaks the rules of its format")      \
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

/** Types of the values of matrices and multivectors. A value of SPMM_C128 is two f64, the real and the
 *  imaginary part (double complex in C, complex128 in NumPy); a value of SPMM_C64 is two f32. */
typedef enum spmm_precision { SPMM_F64 = 0, SPMM_F32 = 1, SPMM_C128 = 2, SPMM_C64 = 3 } spmm_precision;

/** A complex factor, `double complex` of C11. C++ compilers and nvcc take this spelling; std::complex<double>
 *  has the same memory layout. */
__extension__ typedef double _Complex spmm_complex;

typedef enum spmm_device { SPMM_CPU = 0, SPMM_CUDA = 1 } spmm_device;

/** All storage formats, numbered from 1. Each has a name, the suffix of the object sp_format_* that
 *  implements it, and a word for options, records and messages. SPMM_ELL is ELLPACK padded to the longest
 *  row. SPMM_ELL_NOPAD is ELLPACK without padding. SPMM_SELL is sliced ELLPACK, with the rows sorted by
 *  length if that saves padding. SPMM_PANEL consists of panels: a panel is 8 rows with one list of column
 *  indices for all of them. SPMM_STAGED consists of panels ordered so that a GPU can keep the rows of X that
 *  they need in shared memory. */
#define SPMM_FORMAT_LIST(F)                   \
    F(SPMM_CSR, csr, "csr")                   \
    F(SPMM_ELL, ell, "ell")                   \
    F(SPMM_ELL_NOPAD, ell_nopad, "ell-nopad") \
    F(SPMM_SELL, sell, "sell")                \
    F(SPMM_PANEL, panel, "panel")             \
    F(SPMM_STAGED, staged, "staged")

/* clang-format off */
typedef enum spmm_format {
    SPMM_FORMAT_AUTO = 0, /**< the library chooses; only in the options of a plan, no matrix has this
                               format */
#define SPMM_FORMAT_ENUM(name, object, word) name,
    SPMM_FORMAT_LIST(SPMM_FORMAT_ENUM)
#undef SPMM_FORMAT_ENUM
    SPMM_FORMAT_COUNT
} spmm_format;
/* clang-format on */

/** Returns the version of the library that the program runs with, in static storage, and its three numbers.
 *  Local.
 *  \param [out] major, minor, patch  each may be NULL */
const char *spmm_version(int *major, int *minor, int *patch);

/** Returns the text for a status code, in static storage; never NULL. Local. */
const char *spmm_status_string(spmm_status status);

/** Returns the message of the calling thread's last failed call: one line without newline; "" if no call has
 *  failed. The library owns the text, which is valid until the next failure in this thread. Local. */
const char *spmm_error_message(void);

/** A sparse matrix in compressed sparse row format, in host memory. In the block of a plan on a GPU all three
 *  arrays may instead be in GPU memory. Column indices increase strictly within a row. Programs may read the
 *  members; spmm_csr_destroy() frees the arrays. */
typedef struct spmm_csr {
    int64_t rows, cols;       /**< numbers of rows and columns, m x n; n <= 2^31 - 1 */
    int64_t nnz;              /**< number of stored entries, = irp[rows] */
    spmm_precision precision; /**< type of the values in `as` */
    int64_t *irp;             /**< row starts, [rows + 1] */
    int32_t *ja;              /**< column indices, [nnz] */
    void *as;                 /**< values, [nnz] of the type `precision` */
} spmm_csr;

/** Entries of a rank's rows in arrays of the program or of another library, for spmm_block_from_rows(). The
 *  arrays are in host memory. Integers are signed, or unsigned with values that fit the signed type. Columns
 *  of a row may be in any order. */
typedef struct spmm_rows {
    const void *irp; /**< row starts, [rows + 1]: row i has entries irp[i] to irp[i + 1] - 1 of ja and as;
                          irp[0] need not be 0 */
    const void *ja;  /**< column indices */
    const void *as;  /**< values, of the precision passed to spmm_block_from_rows(); NULL: all are 1.0 */
    int irp_bytes, ja_bytes; /**< size in bytes of an element of irp and of ja: 4 or 8 */
    int map_bytes;           /**< size in bytes of an element of map, 4 or 8; ignored if map is NULL */
    int64_t first_column;    /**< added to each index to get the column of A: 0 if ja has global columns of A;
                                  ignored if map is not NULL */
    const void *map;         /**< [map_size] the column of A for each index; NULL: first_column is used
                                  instead */
    int64_t map_size;        /**< number of elements of map; ignored if map is NULL */
    int64_t nnz; /**< for spmm_rows_apply(): number of elements of ja and as, which it will not exceed; 0:
                                  as many as irp says. Other functions ignore it */
} spmm_rows;

/** How the elements of a multivector lie in memory. Row-major: element (i, j) is data[i * ld + j];
 *  column-major: data[j * ld + i]. */
typedef enum spmm_layout { SPMM_ROW_MAJOR = 0, SPMM_COLUMN_MAJOR = 1 } spmm_layout;

/** A dense multivector [rows x k]. To describe its own memory, a program may fill in this struct, with
 *  ghost_low and ghost_high 0; then it must not call spmm_multivector_destroy(). `data` is aligned as C
 *  aligns the elements, in GPU memory to the size of an element. */
typedef struct spmm_multivector {
    int64_t rows, k;
    int64_t ld;                    /**< leading dimension in elements: >= k, or, if column-major, >= rows */
    spmm_precision precision;      /**< element type of data */
    spmm_device space;             /**< where `data` lies: host memory (SPMM_CPU) or GPU memory (SPMM_CUDA) */
    void *data;                    /**< [rows * ld], or column-major [(k - 1) * ld + rows] */
    int64_t ghost_low, ghost_high; /**< ghost_low: number of ghost rows before data; ghost_high: number of
                                        ghost rows after the last row. spmm_apply() receives other ranks' rows
                                        of X there, see spmm_plan_x_create() */
    spmm_layout layout; /**< column-major multivectors have no ghost rows. Only spmm_apply(), _begin() and
                             _transposed(), spmm_multivector_copy() and spmm_multivector_scale_rows() accept
                             them. Of these, spmm_multivector_scale_rows() works in place; the others copy
                             the elements from one layout to the other */
} spmm_multivector;

/** One rank's block of a distributed matrix. A program may fill in this struct itself, by these rules:
 *  Column indices of csr are relative to col_begin. Ranks of a process row (the same p) have the same rows,
 *  ranks of a process column (the same q) the same columns. Blocks follow one another without gaps. The rows
 *  of X that correspond to a block's columns are owned by the ranks of its process column, in consecutive
 *  ranges in the order of p. spmm_plan_create() checks all of this. */
typedef struct spmm_block {
    spmm_csr csr;                 /**< the block's entries */
    int64_t rows, cols;           /**< size of the whole matrix, m x n */
    int64_t row_begin, col_begin; /**< global indices of the block's first row and column */
    int64_t x_begin, x_rows; /**< the rows of X that this rank owns: [x_begin, x_begin + x_rows), global */
    int p, q;                /**< size of the process grid, p x q */
    int borrowed;            /**< 1: csr.ja and csr.as belong to another matrix and are not freed with the
                                  block */
    int any_order; /**< 1: the columns of a row are distinct (not checked) and may be in any order; products
                        sum the entries in that order. Only on P x 1 grids, and not with SPMM_EXCHANGE_JOINT;
                        the same on every rank. spmm_cut_scatter() sets it */
} spmm_block;

/** How rows are cut into one consecutive range per rank. */
typedef enum spmm_cut_by {
    SPMM_CUT_AUTO = 0,    /**< the library chooses: by entries, but renumbered if products then move clearly
                            fewer rows of X, and the expected number of products repays the renumbering */
    SPMM_CUT_ENTRIES = 1, /**< not renumbered; about the same number of entries per rank, as in
                               spmm_csr_scatter() */
    SPMM_CUT_ROWS = 2,    /**< not renumbered; the same number of rows per rank */
    SPMM_CUT_LAYOUT = 3,  /**< renumbered by a layout of the graph in space; takes about 3 us per row on one
                               core, or a tenth of that on the GPU of root, which is used if
                               spmm_device_open() has opened it and A has 100,000 rows or more */
    SPMM_CUT_GRAPH = 4    /**< renumbered by METIS, if the build includes it; takes about 1 us per entry */
} spmm_cut_by;

/** A cut of a square matrix, from spmm_cut_create(): which rows of A, and of X and Y, each rank has. The rows
 *  and columns of A get new numbers, such that each rank has a consecutive range of them. */
typedef struct spmm_cut {
    int64_t rows;                 /**< number of rows of A */
    int64_t row_begin, row_count; /**< this rank's range of new numbers */
    int64_t *row;    /**< [row_count] row[i] is the caller's number of row i of this rank's block, X and Y */
    int64_t *begin;  /**< [ranks + 1] first new number of each rank; begin[ranks] is rows */
    int64_t *number; /**< on root, if the rows are renumbered: [rows] new number of each row; else NULL */
    int ranks;       /**< number of ranks of the communicator */
    spmm_cut_by by;  /**< the cut that was made; never SPMM_CUT_AUTO */
    int64_t moved, moved_by_entries; /**< numbers of rows of X that a halo exchange moves between ranks: with
                                          this cut, and with SPMM_CUT_ENTRIES. With SPMM_CUT_AUTO, if ranks of
                                          a node share X in memory (SPMM_TRANSPORT_SHARED) and all nodes have
                                          equally many ranks, only rows moved between nodes count */
    double seconds;                  /**< time on root to make the cut */
    char why[256];                   /**< with SPMM_CUT_AUTO one line that gives the reason for the choice;
                                          else "" */
} spmm_cut;

/** Reads a matrix from a file with all OpenMP threads of the process. The file's first bytes tell its format:
 *  Matrix Market (plain, or compressed by gzip, and by bzip2, xz or zstd where the library was built with
 *  their libraries), SciPy's save_npz() (CSR, CSC, COO or BSR), the AIJ matrix of a binary file of PETSc, or
 *  a Harwell-Boeing or Rutherford-Boeing file. Entries of pattern files are 1.0. Duplicate entries are summed
 *  in increasing order of value (-0 before +0), and so in an order that does not depend on the file. Local.
 *
 *  \param [in]  path       file name
 *  \param [in]  precision  element type of *a
 *  \param [out] a          the whole matrix, symmetric parts expanded; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (also: an environment variable SPMM_* has an invalid value), _OPEN,
 *          _SYNTAX, _UNSUPPORTED (complex values for a real precision, or 2^31 or more rows or columns; the
 *          message names file and place), _MEMORY */
spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a);

/** Reads an edge list, such as those of SNAP, with all OpenMP threads of the process: a text, plain or in a
 *  compression that spmm_csr_read() accepts, with a line `u v` or `u v weight` for each edge. u and v are the
 *  ids of vertices, integers from base to base + 2^31 - 2. Blanks or tabs separate numbers; empty lines and
 *  lines that begin with # or % are skipped. Either all edges have a weight or none has one.
 *
 *  Local. Edge u v is the entry (u - base, v - base) with its weight, or 1.0. The other direction is not
 *  added. *a is square; its size is the largest id + 1 - base. Duplicate edges are summed as in
 *  spmm_csr_read().
 *  \param [in]  path       file name
 *  \param [in]  base       the id of the first vertex: 0 (SNAP) or 1
 *  \param [in]  precision  element type of *a
 *  \param [out] a          the matrix; the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (base is neither 0 nor 1; an environment variable SPMM_* has an invalid
 *          value), _OPEN, _SYNTAX (also: a file without edges, or of another format), _UNSUPPORTED (not a
 *          text), _MEMORY */
spmm_status spmm_csr_read_edges(const char *path, int base, spmm_precision precision, spmm_csr *a);

/** Generates a matrix from a generator's specification.
 *
 *  Local. The result is the same on every machine and for any number of ranks.
 *  \param [in]  spec       e.g. "lap3d27:32"; spmm_mpi --help lists the generators
 *  \param [in]  precision  element type of *a
 *  \param [out] a          the whole matrix; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (bad specification), _MEMORY, _LIMIT
 */
spmm_status spmm_csr_generate(const char *spec, spmm_precision precision, spmm_csr *a);

/** Makes a CSR matrix from triplets in any order. Duplicate entries are summed in increasing order of value,
 *  as in spmm_csr_read().
 *
 *  Local. The three input arrays are copied; the caller keeps them.
 *  \param [in]  rows, cols            size of the matrix
 *  \param [in]  nnz                   number of triplets, duplicates included
 *  \param [in]  row_index, col_index  0-based indices, [nnz]
 *  \param [in]  val                   values, [nnz]; NULL: all values are 1.0
 *  \param [in]  precision             element type of *a
 *  \param [out] a                     the matrix; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE (an index out of range, a negative size), _MEMORY, _LIMIT */
spmm_status spmm_csr_from_triplets(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                   const int64_t *col_index, const double *val, spmm_precision precision,
                                   spmm_csr *a);

/** As spmm_csr_from_triplets(), with complex values; precision is SPMM_C128 or SPMM_C64. */
spmm_status spmm_csr_from_triplets_complex(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                           const int64_t *col_index, const spmm_complex *val,
                                           spmm_precision precision, spmm_csr *a);

/** Frees the arrays and zeroes *a; accepts NULL and zeroed objects. A plan whose block has these arrays stays
 *  valid. Local. */
void spmm_csr_destroy(spmm_csr *a);

/** Closes the GPU that spmm_device_open() opened; does nothing if none is open. Plans and multivectors on
 *  the GPU must be destroyed first. Local. */
void spmm_device_close(void);

/** Allocates a multivector of zeros without ghost rows. The leading dimension is padded so that no row
 *  occupies more 32-byte sectors than necessary: the size of a row is a multiple of 32 bytes or, below 32
 *  bytes, a power of two. Without columns (k = 0) it has no memory. Local. The caller destroys the
 *  multivector.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT (the size overflows), _NO_DEVICE (space is SPMM_CUDA and
 *          no GPU is open), _DEVICE */
spmm_status spmm_multivector_create(int64_t rows, int64_t k, spmm_precision precision, spmm_device space,
                                    spmm_multivector *v);

/** Frees the memory, ghost rows included, and zeroes *v; accepts NULL and zeroed objects. Local. */
void spmm_multivector_destroy(spmm_multivector *v);

/** Copies the elements of src to dst. Both must have the same rows, k and precision; their leading dimensions
 *  may differ. Their spaces or their layouts may also differ, but not both. Ghost rows are not copied. Local;
 *  complete on return. The memory of src and that of dst, ghost rows and padding included, must not overlap.
 *  If the leading dimensions are equal and a GPU is involved, the padding columns of dst are overwritten.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_copy(const spmm_multivector *src, spmm_multivector *dst);

/** Computes Y := alpha X R + beta Y with a small dense matrix R. Local; complete on return. x [rows x K] and
 *  y [rows x L] have the same rows, precision and space. The computation uses their precision; alpha, beta
 *  and R are rounded to it. With alpha = 0, Y is exactly beta Y, even if X or R has NaNs or infinities. The
 *  bits of a row of y do not depend on the number of rows, threads or ranks, but a GPU's may differ from a
 *  CPU's. Neither ghost rows nor padding columns are read or written.
 *
 *  The memory from the first to the last element of x must not overlap that of y, unless y is x itself, or
 *  other columns of the same memory and leading dimension, at least K elements after x->data or at least L
 *  before it. On a GPU, an in-place call with more than 64 columns allocates memory of the size of y.
 *  \param [in]     r    in host memory, [K x L], row-major: element (i, j) is r[i * ldr + j]; all ranks pass
 *                       the same R if X is a distributed multivector. Must not overlap y
 *  \param [in]     ldr  leading dimension of r, >= L
 *  \param [in,out] y    not read if beta is 0
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_times(double alpha, const spmm_multivector *x, const double *r, int64_t ldr,
                                   double beta, spmm_multivector *y);

/** Computes Y := alpha X + beta Y. Local; complete on return. x and y have the same rows, columns, precision
 *  and space, and overlap only as in spmm_multivector_times(). Neither ghost rows nor padding columns are
 *  read or written. To copy columns into other columns of the same memory, alpha is 1 and beta 0. With alpha
 *  = 0, Y is exactly beta Y, even if X has NaNs or infinities.
 *  \param [in,out] y  not read if beta is 0
 *  \return SPMM_OK, SPMM_ERR_USAGE, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y);

/** Multiplies column j of x by factor[j], after rounding factor[j] to the precision of x. Local; complete on
 *  return. Neither ghost rows nor padding columns are read or written. A factor of 0 also multiplies: NaNs
 *  stay NaNs.
 *  \param [in]     factor  in host memory, [k]. Must not overlap x
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_scale(const double *factor, spmm_multivector *x);

/** As spmm_multivector_times(), for complex multivectors and complex factors.
 *  \param [in]     r    in host memory, [K x L], as for spmm_multivector_times()
 *  \param [in,out] y    not x itself if beta has an imaginary part
 *  \return as spmm_multivector_times(); SPMM_ERR_USAGE also if x is real */
spmm_status spmm_multivector_times_complex(spmm_complex alpha, const spmm_multivector *x,
                                           const spmm_complex *r, int64_t ldr, spmm_complex beta,
                                           spmm_multivector *y);

/** As spmm_multivector_axpby(), with complex factors, for complex multivectors. For real factors,
 *  spmm_multivector_axpby() is enough: it accepts complex multivectors.
 *  \return as spmm_multivector_axpby(); SPMM_ERR_USAGE also if x is real */
spmm_status spmm_multivector_axpby_complex(spmm_complex alpha, const spmm_multivector *x, spmm_complex beta,
                                           spmm_multivector *y);

/** As spmm_multivector_scale(), with complex factors, for complex multivectors.
 *  \param [in]     factor  in host memory, [k]
 *  \return as spmm_multivector_scale(); SPMM_ERR_USAGE also if x is real */
spmm_status spmm_multivector_scale_complex(const spmm_complex *factor, spmm_multivector *x);

/** Multiplies row i of x by element i of d: with d the inverse of a matrix's diagonal (spmm_plan_diagonal())
 *  this is the diagonal preconditioner. Local; complete on return. Neither ghost rows nor padding are read or
 *  written. A factor of 0 also multiplies: NaNs stay NaNs.
 *  \param [in]     d  [rows x 1], with the rows, precision and space of x. Must not overlap x, ghost rows and
 *                     padding included
 *  \param [in,out] x  [rows x k], row-major or column-major, as d may be
 *  \return SPMM_OK, SPMM_ERR_USAGE, _NO_DEVICE, _DEVICE */
spmm_status spmm_multivector_scale_rows(const spmm_multivector *d, spmm_multivector *x);

/** Which rows of X are sent to which rank. */
typedef enum spmm_exchange {
    SPMM_EXCHANGE_AUTO = 0,  /**< SPMM_EXCHANGE_HALO if it moves clearly fewer rows, else
                                  SPMM_EXCHANGE_BCAST */
    SPMM_EXCHANGE_HALO = 1,  /**< each rank gets only the rows of X that its block needs */
    SPMM_EXCHANGE_BCAST = 2, /**< each rank of a process column gets all rows of X that correspond to its
                                  columns */
    SPMM_EXCHANGE_JOINT = 3  /**< a rank sends another rank rows of X, or partial sums of rows of Y that it
                                 computes with its rows of X, or both: as few rows as possible. The
                                 order of the sums, and so the last bits of Y, depend on the number of ranks
                                 and on their nodes, but are the same in each run */
} spmm_exchange;

/** The transport of rows of X between ranks. */
typedef enum spmm_transport {
    SPMM_TRANSPORT_AUTO = 0,
    SPMM_TRANSPORT_MPI = 1,        /**< MPI from host memory, each rank sends its own messages; rows in GPU
                                        memory are copied through host memory */
    SPMM_TRANSPORT_STAGED = 2,     /**< like SPMM_TRANSPORT_MPI, but in chunks, so that copies and messages
                                        overlap */
    SPMM_TRANSPORT_CUDA_AWARE = 3, /**< MPI from GPU memory, if the MPI library reports that it can do that */
    SPMM_TRANSPORT_NCCL = 4,       /**< NCCL, if the build includes it */
    SPMM_TRANSPORT_PEER = 5,       /**< GPUs of one node write into each other's memory (CUDA IPC) */
    SPMM_TRANSPORT_SHARED = 6      /**< CPU ranks of one node read each other's rows in common memory; rows of
                                        other nodes arrive by MPI, once for each node. Partial rows of the
                                        joint exchange are sent by MPI */
} spmm_transport;

/** How the ranks of a process row add their partial sums of Y (Q > 1). Every method adds in a fixed order. */
typedef enum spmm_reduce {
    SPMM_REDUCE_AUTO = 0,
    SPMM_REDUCE_LINEAR = 1, /**< every rank sends its partial sum to the first rank, one rank after another */
    SPMM_REDUCE_TREE = 2,   /**< ranks add pairwise in log2(Q) steps; the first rank gets the result */
    SPMM_REDUCE_BUTTERFLY = 3, /**< pairs exchange sums in log2(Q) steps; every rank gets the result */
    SPMM_REDUCE_MPI = 4,       /**< MPI_Reduce */
    SPMM_REDUCE_NCCL = 5       /**< ncclReduce, for GPUs */
} spmm_reduce;

#ifdef __cplusplus
}
#endif
#endif
