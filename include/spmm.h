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

#include "spmm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    int column_blocks; /**< cut X into so many blocks of columns, each exchanged while the one before is multiplied; 1:
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
