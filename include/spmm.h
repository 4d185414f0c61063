/** \file spmm.h
 *  libspmm: distributed sparse matrix x multivector products, Y := A X.
 *
 *  A is sparse [m x n]; X [n x K] and Y [m x K] are dense multivectors, row-major. The processes form a P x Q
 *  grid: rank p*Q + q holds the entries of A in one range of rows and one range of columns, some rows of X, and,
 *  if q is 0, that range's rows of Y. Values are f64 or f32, chosen at run time.
 *
 *  Conventions of every function here
 *  - It returns an spmm_status; SPMM_OK is 0. spmm_error_message() gives the text of the calling thread's last
 *    failure.
 *  - On failure *out is NULL or zeroed; destroy functions accept that.
 *  - "Collective" functions are called by every rank of the communicator, between MPI_Init and MPI_Finalize, and
 *    return the same status on every rank: no rank is left waiting for one that failed or whose arguments alone
 *    were wrong. The exception is a communicator that cannot be used (MPI_COMM_NULL, an inter-communicator):
 *    there the other ranks cannot be told.
 *  - Arguments are checked before anything is done with them. NULL where an object is required, a value that its
 *    enumeration does not have, an impossible size or leading dimension, and data in another kind of memory than
 *    `space` says (where an open GPU can tell) are SPMM_ERR_USAGE; the message names the function, the argument
 *    and what was expected. Not checked: whether arrays are as long as they should be, and the values in them;
 *    NaNs and infinities are computed with.
 *  - Communicators that the library creates inherit the error handler of the caller's. Under MPI's default,
 *    MPI_ERRORS_ARE_FATAL, a failing MPI call ends the program; under MPI_ERRORS_RETURN it becomes SPMM_ERR_MPI,
 *    and other ranks may then wait for this one.
 *  - Indices are 0-based; counts of rows, columns, entries and bytes are int64_t.
 */
#ifndef SPMM_H
#define SPMM_H

#include <mpi.h>

#include "spmm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Distributes root's matrix over a P x Q grid of the ranks, with rows and columns each cut so that the numbers of
 *  entries are balanced.
 *
 *  Collective over comm. Rank p*Q + q gets block (p, q). If Q is 1 and the matrix is square, X is distributed
 *  like the rows of A, so that the Y of one product can be the X of the next; otherwise each column range's rows
 *  of X are divided evenly among the ranks of its process column.
 *  \param [in]  root   a rank of comm, the same on every rank, as p and q are
 *  \param [in]  a      on rank root: the whole matrix, which stays the caller's; ignored elsewhere (may be NULL)
 *  \param [in]  p, q   p*q must be the number of ranks; 0 x 0 stands for (number of ranks) x 1
 *  \param [out] block  this rank's block; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also: row starts or column indices of a that
 *          are not as spmm_csr requires), _MEMORY, _MPI */
spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block);

/** Frees what the block owns and zeroes it; accepts NULL and zeroed objects. Local. */
void spmm_block_destroy(spmm_block *block);

/** Opens a GPU for this rank: GPU number (rank within its node) modulo (number of visible GPUs), so that ranks
 *  share GPUs where there are more ranks than GPUs. CUDA_VISIBLE_DEVICES and the batch system's binding decide
 *  what is visible. Must be called once, before anything with SPMM_CUDA; spmm_device_close() undoes it.
 *
 *  Collective over comm.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_NO_DEVICE (some rank sees no usable GPU; the message
 *          says why), SPMM_ERR_USAGE, _DEVICE, _MPI
 */
spmm_status spmm_device_open(MPI_Comm comm);

/** How a plan computes. Zero-initialize, then set what differs from the defaults. All members but `threads` must
 *  be the same on every rank. */
typedef struct spmm_plan_options {
    spmm_device device; /**< default SPMM_CPU; SPMM_CUDA only after spmm_device_open() */
    spmm_format
        format; /**< default SPMM_CSR; SPMM_FORMAT_AUTO: the named kernel's, else chosen for the matrix */
    const char
        *kernel; /**< a name that spmm_mpi --list-kernels gives for that device and format; NULL: chosen
                             among the format's kernels for the matrix, K and the precision */
    int threads; /**< OpenMP threads of this rank (SPMM_CPU); 0: omp_get_max_threads(), within the bound: 4
                             per core or 256, whichever is more, and OMP_THREAD_LIMIT. More: SPMM_ERR_USAGE */
    double ell_limit; /**< padded ELLPACK larger than this many times the CSR's bytes is refused; 0: 3.0 */
    int block_size;   /**< threads per CUDA block, a multiple of 32 up to 1024; 0: the kernel's choice */
    int subwarp; /**< lanes that share an element, in kernels with that parameter; 0: the kernel's choice */
    spmm_exchange exchange;   /**< which rows of X are sent to which rank */
    spmm_transport transport; /**< what carries them */
    spmm_reduce reduce;       /**< how partial sums of Y are added (Q > 1) */
    int no_overlap;           /**< 1: kernels start only after the halo exchange has finished; no effect with
                            column_blocks > 1 */
    int column_blocks; /**< number of column blocks that X is cut into, each one exchanged while the previous one
                            is multiplied: a divisor of K up to 16 that leaves multiples of 32 bytes; 1: none;
                            0: chosen, more than 1 only on GPUs with too few rows that need no ghost rows */
} spmm_plan_options;

/** Everything that repeated products with one matrix and one K need; opaque. */
typedef struct spmm_plan spmm_plan;

/** Prepares repeated products Y := alpha A X + beta Y: determines which rows of X each rank needs from which owner,
 *  chooses the kernel (the same one on every rank, by the entries of all blocks), converts the block to the
 *  kernel's format, and moves it to the device. spmm_mpi --list-kernels tells which kernels reproduce the serial
 *  product bit by bit (on P x 1 grids, with alpha = 1 and beta = 0); SPMM_FORMAT_AUTO may choose one that does
 *  not.
 *
 *  Collective over comm, of which the plan keeps a duplicate. Checked on each rank: sizes and ranges lie within
 *  the whole matrix; row starts begin at 0, do not decrease and end at nnz; column indices increase strictly
 *  within a row and lie within the block. Checked across the ranks: rows, cols, precision, p, q, k and all options
 *  but threads are the same; blocks agree along process rows and process columns; and the ranges of rows, of
 *  columns and of rows of X follow one another without gap or overlap.
 *  \param [in]  block    this rank's part of A; may have 0 rows or columns; stays the caller's, unchanged, and must
 *                        outlive the plan (a CSR plan on the CPU reads it in place)
 *  \param [in]  k        columns of X, >= 1
 *  \param [in]  options  NULL for the defaults
 *  \param [out] plan     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (one of these checks failed, a rank asked for
 *          more threads than the bound allows, or an environment variable SPMM_* has a value that it does not
 *          take; the message names the rank unless it is 0, and what was found and expected), _MEMORY, _LIMIT,
 *          _NO_DEVICE, _DEVICE, _MPI */
spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan);

/** Allocates this rank's rows of X, zeroed, in the plan's device memory, with space for the ghost rows that
 *  spmm_apply() receives. Where X and Y are distributed alike, such a multivector can also serve as Y, so that the
 *  two can be swapped from product to product. Local. The caller destroys it, before or after the plan; with
 *  SPMM_TRANSPORT_PEER its memory then stays with the plan for reuse until the plan is destroyed.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_x_create(const spmm_plan *plan, spmm_multivector *x);

/** Allocates this rank's rows of Y, zeroed, in the plan's device memory: the block's rows if q is 0 or the plan
 *  sums by SPMM_REDUCE_BUTTERFLY, else 0 rows. Local. The caller destroys it.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_y_create(const spmm_plan *plan, spmm_multivector *y);

/** Computes Y := alpha A X + beta Y; complete on return.
 *
 *  Collective over the plan's communicator: every rank calls it, but waits only for its neighbors. After the first
 *  call with a kind of arguments, further calls of that kind allocate nothing.
 *  \param [in,out] plan  reusable
 *  \param [in]     x     this rank's rows of X, [x_rows x k], in the plan's device memory; its ghost rows are
 *                        overwritten. An X with fewer ghost rows than the plan needs or, with SPMM_TRANSPORT_PEER,
 *                        one that did not come from this plan's spmm_plan_x_create(), is copied on every call
 *  \param [in,out] y     this rank's rows of Y, shaped as by spmm_plan_y_create(); not read if beta is 0; padding
 *                        columns are overwritten; must not overlap x, ghost rows and padding included
 *  \return this rank's status: SPMM_OK, SPMM_ERR_USAGE (a shape, precision or space differs from the plan's, a
 *          leading dimension is below k, x and y overlap, or an argument is NULL; the other ranks are told, except
 *          where plan is NULL or MPI has been finalized), _MEMORY, _DEVICE, _MPI (also: a neighbor failed and sent
 *          nothing). On error y is undefined, but the rank has taken part in the exchange and in the sum, so that
 *          no other rank waits forever; ranks that cannot be told (those of its process row, and over NCCL its
 *          neighbors) get NaNs. A program should agree on the outcome, and should end after SPMM_ERR_DEVICE: what
 *          a GPU had begun to send may never arrive */
spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y);

/** Name of the kernel that the plan runs, in static storage; "" for NULL. Local. */
const char *spmm_plan_kernel(const spmm_plan *plan);

/** Frees the plan; accepts NULL (then on every rank). Collective over the plan's communicator; after MPI_Finalize
 *  it only frees memory. */
void spmm_plan_destroy(spmm_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
