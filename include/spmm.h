/** \file spmm.h
 *  libspmm: distributed sparse matrix x multivector products, Y := A X.
 *
 *  A is sparse [m x n]; X [n x K] and Y [m x K] are dense multivectors, row-major. The processes form a P x Q
 *  grid: rank p*Q + q holds the entries of A in one range of rows and one range of columns, some rows of X,
 *  and, if q is 0, the rows of Y in its range of rows. Values are f64 or f32, chosen at run time.
 *
 *  Conventions of all functions in this header
 *  - Functions return an spmm_status; SPMM_OK is 0. spmm_error_message() gives the text of the calling
 *    thread's last failure.
 *  - On failure an output object is NULL or zeroed; the destroy functions accept both.
 *  - "Collective" functions are called by every rank of the communicator, between MPI_Init and MPI_Finalize,
 *    and return the same status on every rank: no rank is left waiting for another rank that failed or was
 *    given wrong arguments. The exception is an unusable communicator (MPI_COMM_NULL, an inter-communicator):
 *    then the other ranks cannot be told.
 *  - Arguments are checked first. A function returns SPMM_ERR_USAGE for NULL in place of a required object, a
 *    value outside its enumeration, an impossible size or leading dimension, or data in another kind of
 *    memory than `space` says (checked only while a GPU is open). The message names the function, the
 *    argument and what was expected. The lengths of arrays and the values in them are not checked; NaNs and
 *    infinities are computed with.
 *  - Communicators that the library creates inherit the error handler of the caller's communicator. Under
 *    MPI's default, MPI_ERRORS_ARE_FATAL, a failing MPI call ends the program; under MPI_ERRORS_RETURN the
 *    function returns SPMM_ERR_MPI, and other ranks may then wait for the failed rank.
 *  - Indices are 0-based; counts of rows, columns, entries and bytes are int64_t.
 */
#ifndef SPMM_H
#define SPMM_H

#include <mpi.h>

#include "spmm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Distributes the matrix of rank `root` over a P x Q grid of the ranks. Rows and columns are each cut into
 *  ranges with balanced numbers of entries.
 *
 *  Collective over comm. Rank p*Q + q gets block (p, q). If Q is 1 and the matrix is square, X is
 *  distributed like the rows of A, so that the Y of one product can be the X of the next. Otherwise the rows
 *  of X that correspond to a column range are divided evenly among the ranks of the process column.
 *  \param [in]  root   the rank of comm that passes the matrix; root, p and q are the same on every rank
 *  \param [in]  a      the whole matrix on rank root, where the caller keeps it; ignored on other ranks (may
 *                      be NULL)
 *  \param [in]  p, q   p*q must be the number of ranks; 0 x 0 stands for (number of ranks) x 1
 *  \param [out] block  this rank's block; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also if the row starts or column indices
 *          of the matrix a violate the rules of spmm_csr), _MEMORY, _MPI */
spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block);

/** Frees the arrays that the block owns and zeroes the block; accepts NULL and zeroed objects. Local. */
void spmm_block_destroy(spmm_block *block);

/** Opens a GPU for this rank: GPU number (rank within its node) modulo (number of visible GPUs), so that
 *  ranks share GPUs if there are more ranks than GPUs. CUDA_VISIBLE_DEVICES and the batch system's binding
 *  decide which GPUs are visible. Must be called once, before any other call with SPMM_CUDA;
 *  spmm_device_close() closes the GPU.
 *
 *  Collective over comm.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_NO_DEVICE (some rank sees no usable GPU; the
 *          message says why), SPMM_ERR_USAGE, _DEVICE, _MPI */
spmm_status spmm_device_open(MPI_Comm comm);

/** Options of a plan. Zero-initialize the struct, then set the members that shall differ from their
 *  defaults. All members except `threads` must be the same on every rank. */
typedef struct spmm_plan_options {
    spmm_device device; /**< default SPMM_CPU; SPMM_CUDA only after spmm_device_open() */
    spmm_format format; /**< storage format of A; default SPMM_CSR. SPMM_FORMAT_AUTO: the format of the named
                             kernel or, without a name, one chosen for the matrix */
    const char *kernel; /**< name of a kernel, as spmm_mpi --list-kernels prints it for the device and the
                             format; NULL: the library chooses one for the matrix, K and the precision */
    int threads; /**< number of OpenMP threads of this rank, with SPMM_CPU; 0: omp_get_max_threads(), reduced
                      to the maximum if that is less. The maximum is 4 per core or 256, whichever is more, but
                      never more than OMP_THREAD_LIMIT. A greater number gives SPMM_ERR_USAGE */
    double ell_limit; /**< maximum ratio of the size of the matrix in padded ELLPACK to its size in CSR; if it
                           is exceeded, SPMM_ELL is refused. 0: 3.0 */
    int block_size;   /**< threads per CUDA block, a multiple of 32 up to 1024; 0: the kernel's default */
    int subwarp; /**< GPU lanes per element of Y, for kernels with this parameter; 0: the kernel's default */
    spmm_exchange exchange;   /**< which rows of X each rank sends to which other ranks */
    spmm_transport transport; /**< what carries the rows of X between ranks */
    spmm_reduce reduce;       /**< how partial sums of Y are added (Q > 1) */
    int no_overlap;           /**< 1: kernels start only after the halo exchange has finished; has no effect
                                   if column_blocks > 1 */
    int column_blocks; /**< number of column blocks that X is cut into; each is exchanged while the previous
                            one is multiplied. Must be a divisor of K, at most 16, such that a row of a
                            column block takes a multiple of 32 bytes. 1: X is not cut. 0: the library
                            chooses; it cuts X only on GPUs, and only if too few rows of Y can be computed
                            without ghost rows */
    int64_t products;  /**< number of products to come, by which the set-up of a kernel is divided where the
                           library chooses one; 0: 1000 */
} spmm_plan_options;

/** A plan: all data that repeated products with one matrix and one K need; opaque. */
typedef struct spmm_plan spmm_plan;

/** Prepares repeated products Y := alpha A X + beta Y: determines which rows of X each rank needs from which
 *  owner, chooses the kernel (the same on all ranks, for the matrix as a whole), converts the block
 *  to the kernel's format, and moves the result to the device. spmm_mpi --list-kernels tells which kernels
 *  reproduce the serial product bit by bit (on P x 1 grids, with alpha = 1 and beta = 0); with
 *  SPMM_FORMAT_AUTO the library may choose another kernel.
 *
 *  Collective over comm; the plan keeps a duplicate of comm. Checked on each rank: sizes and ranges lie
 *  within the whole matrix; row starts begin at 0, do not decrease and end at nnz; column indices increase
 *  strictly within a row and lie within the block. Checked across the ranks: rows, cols, precision, p, q, k
 *  and all options except threads are the same; blocks agree along process rows and process columns; and the
 *  ranges of rows, of columns and of rows of X follow one another without gap or overlap.
 *  \param [in]  block    this rank's block of A; may have 0 rows or columns. The caller keeps it, and it
 *                        must outlive the plan (a CSR plan on the CPU reads it in place); it is not changed
 *  \param [in]  k        columns of X, >= 1
 *  \param [in]  options  NULL for the defaults
 *  \param [out] plan     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (one of these checks failed, a rank asked
 *          for more threads than the maximum, or an environment variable SPMM_* has an invalid value;
 *          the message says what was found and expected, and on which rank unless it is rank 0), _MEMORY,
 *          _LIMIT, _NO_DEVICE, _DEVICE, _MPI */
spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan);

/** Allocates this rank's rows of X, zeroed, in the memory of the plan's device, with space for the ghost
 *  rows that spmm_apply() receives. If X and Y are distributed alike, this multivector can also serve as Y,
 *  so that X and Y can be swapped from product to product. Local. The caller destroys the multivector,
 *  before or after the plan; with SPMM_TRANSPORT_PEER the plan keeps the multivector's memory for reuse
 *  until the plan is destroyed.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_x_create(const spmm_plan *plan, spmm_multivector *x);

/** Allocates this rank's rows of Y, zeroed, in the memory of the plan's device: the rows of its block if q
 *  is 0 or the plan sums by SPMM_REDUCE_BUTTERFLY, else 0 rows. Local. The caller destroys the multivector.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_y_create(const spmm_plan *plan, spmm_multivector *y);

/** Computes Y := alpha A X + beta Y; complete on return.
 *
 *  Collective over the plan's communicator: every rank calls it, but waits only for its neighbors. A call
 *  allocates memory only if it is the first that needs a certain buffer, e.g. for a copy of x; later calls
 *  reuse the buffer.
 *  \param [in,out] plan  reusable
 *  \param [in]     x     this rank's rows of X, [x_rows x k], in the memory of the plan's device; the ghost
 *                        rows of x are overwritten. If x has fewer ghost rows than the plan needs, or
 *                        another leading dimension than spmm_plan_x_create() gives, each call
 *                        copies x. With SPMM_TRANSPORT_PEER, each call also copies an x that
 *                        spmm_plan_x_create() did not create for this plan
 *  \param [in,out] y     this rank's rows of Y, shaped as by spmm_plan_y_create(); not read if beta is 0;
 *                        padding columns are overwritten; must not overlap x, ghost rows and padding
 *                        included
 *  \return this rank's status: SPMM_OK, SPMM_ERR_USAGE (a shape, precision or space differs from the plan's,
 *          a leading dimension is below k, x and y overlap, or an argument is NULL; the other ranks are
 *          told, unless plan is NULL or MPI has been finalized), _MEMORY, _DEVICE, _MPI (also: a neighbor
 *          failed and sent nothing). On error y is undefined, but the rank has taken part in the exchange
 *          and in the sum, so that no other rank waits forever. Ranks that cannot be told (those of the same
 *          process row and, over NCCL, the neighbors) get NaNs. A program should agree on the outcome, and
 *          should end after SPMM_ERR_DEVICE: what a GPU had begun to send may never arrive */
spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y);

/** Returns the name of the kernel that the plan runs, in static storage; "" if plan is NULL. Local. */
const char *spmm_plan_kernel(const spmm_plan *plan);

/** Frees the plan; accepts NULL if all ranks pass NULL. Collective over the plan's communicator; after
 *  MPI_Finalize it only frees memory. */
void spmm_plan_destroy(spmm_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
