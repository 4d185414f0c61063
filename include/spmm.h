/** \file spmm.h
 *  libspmm: distributed sparse matrix x multivector products, Y := A X. Most programs need four calls: read a
 *  matrix, make a plan, apply it as often as wanted, destroy the plan.
 *
 *  \code
 *  #include <spmm.h>
 *
 *  int main(int argc, char **argv)
 *  {
 *      int rank;
 *      spmm_csr a = {0};
 *      spmm_block block;
 *      spmm_plan *plan;
 *      spmm_multivector x, y;
 *      MPI_Init(&argc, &argv);
 *      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
 *      if (rank == 0) spmm_csr_read("A.mtx", SPMM_F64, &a);
 *      spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block);     // this rank's rows of A
 *      spmm_plan_create(MPI_COMM_WORLD, &block, 64, NULL, &plan); // K = 64 columns, on CPUs
 *      spmm_plan_x_create(plan, &x);                              // this rank's rows of X, zeros
 *      spmm_plan_y_create(plan, &y);
 *      spmm_status status = spmm_apply(plan, 1, &x, 0, &y);       // Y := 1 A X + 0 Y
 *      if (status != SPMM_OK) fprintf(stderr, "%s\n", spmm_error_message());
 *      spmm_plan_destroy(plan);
 *      spmm_multivector_destroy(&x), spmm_multivector_destroy(&y);
 *      spmm_block_destroy(&block), spmm_csr_destroy(&a);
 *      MPI_Finalize();
 *      return status != SPMM_OK;
 *  }
 *  \endcode
 *
 *  A is sparse [m x n]; X [n x K] and Y [m x K] are dense multivectors, row-major. The processes form a P x Q
 *  grid: rank p*Q + q holds the entries of A in one range of rows and one range of columns, some rows of X,
 *  and, if q is 0, the rows of Y in its range of rows. Values are f64, f32, c128 or c64 (two f64 or
 *  f32, complex), chosen at run time.
 *
 *  Conventions of all functions in this header
 *  - Functions return an spmm_status; SPMM_OK is 0. spmm_error_message() gives the text of the calling
 *    thread's last failure. On failure an output object is NULL or zeroed; the destroy functions accept both.
 *  - "Collective" functions are called by every rank of the communicator, between MPI_Init and MPI_Finalize,
 *    and return the same status on every rank. With an unusable communicator (MPI_COMM_NULL, an
 *    inter-communicator) the other ranks cannot be notified.
 *  - Arguments are checked first. SPMM_ERR_USAGE is returned for NULL in place of a required object, a value
 *    outside its enumeration, an impossible size or leading dimension, and data in another kind of memory
 *    than `space` says (checked only while a GPU is open). The lengths of arrays and the values in them are
 *    not checked; NaNs and infinities are computed with.
 *  - Communicators that the library creates inherit the error handler of the caller's communicator. With
 *    MPI_ERRORS_ARE_FATAL, MPI's default, a failing MPI call ends the program. With MPI_ERRORS_RETURN the
 *    function returns SPMM_ERR_MPI, and other ranks may then wait for the failed rank.
 *  - Threads: MPI_THREAD_FUNNELED is enough if one thread makes all calls, MPI_THREAD_SERIALIZED if threads
 *    call one at a time; calls at the same time need MPI_THREAD_MULTIPLE. One thread at a time may use a
 *    plan; a second gets SPMM_ERR_USAGE. All ranks compute the products of their plans in the same order. On
 *    a GPU one thread at a time may call the library. spmm(3), THREADS, has more rules.
 *  - Fork: in a child that was forked after the first call of the library, functions that return a status
 *    return SPMM_ERR_USAGE. The child may destroy objects and call exec.
 *  - Floating-point environment: functions compute, read and write numbers in the default environment
 *    (rounding to nearest, subnormal numbers kept, no traps) and restore the caller's environment on return.
 *    Of the flags, at most "inexact" is raised. A thread that OpenMP starts in a call keeps the default.
 *  - Indices are 0-based; counts of rows, columns, entries and bytes are int64_t.
 */
#ifndef SPMM_H
#define SPMM_H

#include <mpi.h>
#include <stdio.h>

#include "spmm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program and libspmm must be compiled with the same mpi.h. A library built with make MPI=0 lacks this
 * symbol; it has another one, which its own mpi.h names. So a mismatch fails at link or load time, and the
 * name of the missing symbol is the message. A program that opens libspmm by dlopen(), or uses only the types
 * of this header, must define SPMM_NO_MPI_CHECK. */
#ifndef SPMM_MPI_CHECK
#define SPMM_MPI_CHECK spmm_ERROR_program_compiled_with_MPI_but_libspmm_is_of_make_MPI_0__link_one_of_its_MPI
#endif
extern const int SPMM_MPI_CHECK;
#ifndef SPMM_NO_MPI_CHECK
static const int *const spmm_mpi_check __attribute__((used)) = &SPMM_MPI_CHECK;
#endif

/** Distributes the matrix of rank `root` over a P x Q grid of the ranks. Rows and columns are each cut into
 *  ranges with balanced numbers of entries.
 *
 *  Collective over comm. Rank p*Q + q gets block (p, q). If Q is 1 and the matrix is square, X is
 *  distributed like the rows of A, so that the Y of one product can be the X of the next. Otherwise the rows
 *  of X that correspond to a column range are divided evenly among the ranks of the process column.
 *  \param [in]  root   the rank of comm that passes the matrix; root, p and q are the same on every rank
 *  \param [in]  a      the whole matrix on rank root; the caller keeps it. Ignored on other ranks (may be
 *                      NULL)
 *  \param [in]  p, q   p*q must be the number of ranks; 0 x 0 stands for (number of ranks) x 1
 *  \param [out] block  this rank's block; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also if the row starts or column indices
 *          of the matrix a violate the rules of spmm_csr), _MEMORY, _MPI */
spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block);

/** Makes this rank's block of a matrix whose rows are distributed already, from arrays of the program or of
 *  another library; spmm(3) has recipes for PETSc, hypre and Trilinos. The grid is (number of ranks) x 1: a
 *  rank has all entries of its rows. The ranks' rows of A, and their rows of X, follow one another in the
 *  order of the ranks: A has the sum of `rows` over all ranks as rows, and the sum of `x_rows` as columns.
 *
 *  Each part has entries of all of the rank's rows. Rows are sorted by column, and duplicates, also between
 *  parts, are summed in increasing order of value. All arrays are copied; the caller keeps them.
 *
 *  Collective over comm.
 *  \param [in]  rows       number of this rank's rows of A, and of Y
 *  \param [in]  x_rows     number of this rank's rows of X; of a square matrix usually `rows`, so that X is
 *                          distributed like Y
 *  \param [in]  precision  type of the values in the parts and in the block; the same on every rank
 *  \param [in]  part       [parts]; the number `parts` may differ from rank to rank, and may be 0
 *  \param [out] block      this rank's block; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a wrong argument; row starts that
 *          decrease; a column or an index of map that is out of range), _MEMORY, _LIMIT (2^31 columns or
 *          more), _MPI */
spmm_status spmm_block_from_rows(MPI_Comm comm, int64_t rows, int64_t x_rows, spmm_precision precision,
                                 const spmm_rows *part, int parts, spmm_block *block);

/** Frees the arrays that the block owns and zeroes the block; accepts NULL and zeroed objects. Plans of the
 *  block stay valid: the last of them frees the arrays. Local. */
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

/** Options of a plan; spmm_extended.h has options for studies and tests. Zero-initialize the struct, then set
 *  the members that should differ from their defaults. Zeros let the library choose what is fast. All members
 *  except `threads` and `stream` must be the same on every rank. */
typedef struct spmm_plan_options {
    spmm_device device; /**< default SPMM_CPU; SPMM_CUDA only after spmm_device_open() */
    spmm_format format; /**< storage format of A. SPMM_FORMAT_AUTO (0): the format of the named
                             kernel or, without a name, one chosen for the matrix */
    const char *kernel; /**< name of a kernel, as spmm_mpi --list-kernels prints it for the device and the
                             format; NULL: the library chooses one for the matrix, K and the precision. The
                             text need not outlive the call */
    int threads; /**< OpenMP threads of this rank, with SPMM_CPU: at most 4 per core or 256, whichever is
                      more, and at most OMP_THREAD_LIMIT. 0: OMP_NUM_THREADS, or the number that the program
                      set by omp_set_num_threads(), else this rank's share of the cores that it is bound to */
    spmm_exchange exchange;   /**< which rows of X each rank sends to which other ranks */
    spmm_transport transport; /**< the means by which rows of X move between ranks */
    spmm_reduce reduce;       /**< how partial sums of Y are added (Q > 1) */
    int no_overlap;           /**< 1: kernels start only after the halo exchange has finished; has no effect
                                   if column_blocks > 1 */
    int column_blocks;        /**< number of column blocks of X; each is exchanged while the previous one is
                            multiplied. A divisor of K, at most 16, such that a row of a column block occupies
                            a multiple of 32 bytes. 1: X is not cut. 0: the library chooses; on CPUs it
                            chooses 1 */
    int any_order; /**< 0: on P x 1 grids the order of each sum does not depend on the number of ranks, and
                        with the same kernel the bits of Y do not. (The kernel is chosen by time, and in f32
                        on a GPU some sum in f64: set `exact` or `kernel` for reproducible bits.) 1:
                        SPMM_EXCHANGE_AUTO may select the joint exchange */
    int exact; /**< 1: Y := A X has the bits of the serial product, on any number of ranks, threads and GPUs
                    (except, in f64 on a GPU, the sign of a zero after an underflow). A kernel or an exchange
                    that sums in another order gives SPMM_ERR_USAGE, as do Q > 1 and any_order. Has no effect
                    on spmm_apply_transposed() */
    int64_t products; /**< expected number of products: a kernel whose set-up would not be repaid by so many
                           is not chosen; 0: 1000 */
    void *stream; /**< with SPMM_CUDA, a cudaStream_t of the open GPU in which products are queued (spmm(3));
                       it must outlive the plan. It may differ from rank to rank, but it is NULL on all ranks
                       or on none. CUDA's default stream is cudaStreamLegacy. NULL: the library's own stream;
                       products are complete on return */
    spmm_precision exchange_precision; /**< SPMM_F32: rows of an f64 or c128 X travel between ranks rounded to
                       f32 or c64, in half the bytes. An element of Y gets an additional error of at most
                       sum |a| max(2^-24 |x|, 2^-150) over the entries in columns of other ranks (infinite
                       beyond the range of f32). SPMM_ERR_USAGE with `exact` or SPMM_TRANSPORT_SHARED; no
                       effect on f32 and c64, spmm_apply_transposed() and partial sums. SPMM_F64 (0): rows
                       travel as they are. spmm(3), ROUNDED EXCHANGE */
} spmm_plan_options;

/** Cuts the square matrix of rank `root` into one range of rows per rank, such that products move few rows of
 *  X. The rows are renumbered if that helps, e.g. for a mesh numbered at random; spmm_csr_scatter() never
 *  renumbers. Blocks, X and Y use the new numbers: row i of a rank's X and Y is row cut.row[i] of the
 *  caller's. The entries of a row keep their order, and so the bits of Y do not depend on the cut if they do
 *  not depend on the number of ranks (options.any_order, options.exact).
 *
 *  Collective over comm. Memory on root to renumber: about 110 bytes per row and 4 to 8 per entry; with METIS
 *  12 or more per entry. SPMM_CUT_AUTO cuts by entries if memory is too short or with SPMM_EXCHANGE_JOINT.
 *  \param [in]  root     the rank of comm that passes the matrix
 *  \param [in]  a        the whole matrix on rank root; ignored on other ranks (may be NULL). Not changed
 *  \param [in]  by       the cut; on one rank, the cut is by entries
 *  \param [in]  k        columns of X, >= 0
 *  \param [in]  options  of the plan that will be made; NULL for the defaults. The cut depends on device,
 *                        exchange, exchange_precision, transport, column_blocks and products; `threads` on
 *                        root is the number of threads that compute the cut
 *  \param [out] cut      the caller destroys it. root, by, k and these options except `threads` must be the
 *                        same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also: A is not square, or violates the
 *          rules of spmm_csr; SPMM_EXCHANGE_JOINT with a cut that renumbers; SPMM_CUT_GRAPH in a build
 *          without METIS), _MEMORY, _LIMIT (too large for METIS), _INTERNAL (METIS failed), _MPI */
spmm_status spmm_cut_create(MPI_Comm comm, int root, const spmm_csr *a, spmm_cut_by by, int64_t k,
                            const spmm_plan_options *options, spmm_cut *cut);

/** Distributes a matrix by a cut. The grid is (number of ranks) x 1. If the cut renumbers, block.any_order is
 *  set, and the renumbered copy of the matrix needs as much memory on root as the matrix.
 *
 *  Collective over comm.
 *  \param [in]  root   the rank of comm that was `root` in spmm_cut_create()
 *  \param [in]  a      on rank root the matrix of the cut, or another one with as many rows; ignored on other
 *                      ranks (may be NULL). Not changed
 *  \param [in]  cut    from spmm_cut_create(), with as many ranks as comm; may be destroyed afterwards
 *  \param [out] block  this rank's block of the renumbered matrix; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _MPI */
spmm_status spmm_cut_scatter(MPI_Comm comm, int root, const spmm_csr *a, const spmm_cut *cut,
                             spmm_block *block);

/** Frees the arrays of a cut and zeroes it; accepts NULL and zeroed objects. Local. */
void spmm_cut_destroy(spmm_cut *cut);

/** A plan: all data that repeated products with one matrix and up to K columns need; opaque. Only one thread
 *  at a time may use it. */
typedef struct spmm_plan spmm_plan;

/** Prepares repeated products Y := alpha A X + beta Y: determines which rows of X each rank needs from which
 *  owner, chooses the kernel (the same on all ranks), converts the block to the kernel's format, and moves
 *  the result to the device.
 *
 *  Collective over comm; the plan keeps a duplicate of comm. Checked on each rank: sizes and ranges lie
 *  within the whole matrix; row starts begin at 0, do not decrease and end at nnz; column indices lie within
 *  the block and increase strictly within a row (unless block.any_order is set). Checked across the ranks:
 *  the matrix, the grid, k and all options except threads and stream are the same; blocks agree along process
 *  rows and process columns; the ranges of rows, of columns and of rows of X have no gap or overlap.
 *  \param [in]  block    this rank's block of A; may have 0 rows or columns. Its arrays are read in place and
 *                        not changed. Arrays of the library may be freed before the plan, by
 *                        spmm_block_destroy() or spmm_csr_destroy(); arrays of the program must outlive the
 *                        plan. The struct need not. With SPMM_CUDA the arrays may be in memory of the open
 *                        GPU, complete or queued in the plan's stream; the plan then keeps a copy in host
 *                        memory (on one rank, only from the first diagonal on)
 *  \param [in]  k        columns of X, >= 0; fewer after spmm_plan_set_k(). A product with 0 columns does
 *                        nothing
 *  \param [in]  options  NULL for the defaults
 *  \param [out] plan     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a check failed, too many threads, or an
 *          environment variable SPMM_* has an invalid value; the message names a rank other than 0), _MEMORY,
 *          _LIMIT (also: the bytes of X or Y exceed an int64_t), _NO_DEVICE, _DEVICE, _MPI */
spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan);

/** Sets the number of columns of X and Y of the products that follow, also of those with the transpose.
 *  Multivectors that were created for another number of columns stay valid. The plan keeps its choices, and
 *  with them the bits of Y; for at most 8 columns it may convert the matrix a second time, for a kernel that
 *  is faster there. spmm(3), FEWER COLUMNS, describes this.
 *
 *  Collective over the plan's communicator. Not while a product is computed, and not while the plan's stream
 *  is captured. The call waits for queued products.
 *  \param [in] k  0 to the k of spmm_plan_create(), the same on every rank
 *  \return the same status on every rank: SPMM_OK; SPMM_ERR_USAGE: nothing has changed; SPMM_ERR_MEMORY,
 *          _LIMIT, _DEVICE, _MPI: products have 0 columns, and the call may be repeated */
spmm_status spmm_plan_set_k(spmm_plan *plan, int64_t k);

/** Allocates this rank's rows of X, zeroed, in the memory of the plan's device, with the current number of
 *  columns (spmm_plan_set_k()) and with space for the ghost rows that spmm_apply() receives. If X and Y are
 *  distributed alike, this multivector can also serve as Y, so that X and Y can be swapped from product to
 *  product. Local. The caller destroys the multivector, before or after the plan. With SPMM_TRANSPORT_SHARED,
 *  which SPMM_TRANSPORT_AUTO may select on CPUs if ranks share a node, other ranks read these rows in place
 *  during spmm_apply(). With SPMM_TRANSPORT_PEER the plan keeps the multivector's memory for reuse until the
 *  plan is destroyed.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_x_create(const spmm_plan *plan, spmm_multivector *x);

/** As spmm_plan_x_create(), with k columns, for products with k columns. The numbers of rows and of ghost
 *  rows are the same for every k, except that k = 0 has no ghost rows and no memory. The leading dimension is
 *  that of spmm_multivector_create() for k columns. The first k columns of a wider multivector can also serve
 *  as X, but their leading dimension differs, so each product copies them if ghost rows are received. Local.
 *  \param [in]  k  0 to the k of spmm_plan_create()
 *  \param [out] x  the caller destroys it, before or after the plan
 *  \return as spmm_plan_x_create() */
spmm_status spmm_plan_x_create_k(const spmm_plan *plan, int64_t k, spmm_multivector *x);

/** Allocates this rank's rows of Y, zeroed, in the memory of the plan's device, with the current number of
 *  columns (spmm_plan_set_k()): the rows of its block if q is 0 or the plan sums by SPMM_REDUCE_BUTTERFLY,
 *  else 0 rows. Local. The caller destroys the multivector.
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status spmm_plan_y_create(const spmm_plan *plan, spmm_multivector *y);

/** As spmm_plan_y_create(), but y has k columns, whatever the plan's current number of columns is. Local.
 *  \param [in] k  0 to the k of spmm_plan_create() */
spmm_status spmm_plan_y_create_k(const spmm_plan *plan, int64_t k, spmm_multivector *y);

/** Computes Y := alpha A X + beta Y; complete on return, unless the plan has a stream: spmm(3), STREAMS AND
 *  GRAPHS.
 *
 *  Collective over the plan's communicator: every rank calls it, but waits only for its neighbors. Only the
 *  first call that needs a certain buffer allocates it.
 *  \param [in,out] plan  reusable
 *  \param [in]     alpha, beta  for this rank's rows of Y; may differ from rank to rank. With alpha = 0, y is
 *                               exactly beta y, even if A or X has NaNs or infinities; x is still exchanged
 *  \param [in]     x     this rank's rows of X, [x_rows x k], with the k of spmm_plan_set_k(), in the memory
 *                        of the plan's device. An x from spmm_plan_x_create() is read in place; its ghost
 *                        rows are overwritten. Each call copies a column-major x of several columns, and an x
 *                        with other ghost rows or another leading dimension; with SPMM_TRANSPORT_PEER and
 *                        _SHARED any x that spmm_plan_x_create() did not create for this plan
 *  \param [in,out] y     this rank's rows of Y, shaped as by spmm_plan_y_create(); not read if beta is 0;
 *                        padding columns of a row-major y are overwritten; must not overlap x, ghost rows
 *                        and padding included. A column-major y is copied, and gets the same bits
 *  \return this rank's status: SPMM_OK, SPMM_ERR_USAGE (a shape, precision or space differs from the plan's,
 *          a leading dimension is below k, x and y overlap, or an argument is NULL; the other ranks are
 *          notified, unless plan is NULL, another thread uses it or MPI has been finalized), _MEMORY,
 *          _DEVICE, _MPI (also: a neighbor failed and sent nothing). On error y is undefined; no other rank
 *          waits forever, but ranks that cannot be notified (of the same process row and, with NCCL, the
 *          neighbors) get NaNs. All ranks should agree on the outcome. A program should end after
 *          SPMM_ERR_DEVICE, because data that a GPU had begun to send may never arrive */
spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y);

/** Begins to compute Y := alpha A X + beta Y, and returns without waiting for other ranks or a GPU. On CPUs
 *  the exchange begins, and spmm_apply_end() multiplies. On a GPU the product is queued up to the first step
 *  that needs the host: the messages of a transport, or a sum over the process row.
 *
 *  Collective as spmm_apply() is. spmm_apply_end() must follow on every rank, also after a failure. Until
 *  then the memory of X and Y, with ghost rows and padding, must not be changed, moved or freed (the structs
 *  may be). With this plan only spmm_plan_x_create(), spmm_plan_y_create(), spmm_plan_kernel(),
 *  spmm_plan_view() and spmm_plan_destroy(), which ends the product, may be called. Products of other plans
 *  may be computed, in the same order on all ranks.
 *  \param [in,out] plan  and all other parameters: as for spmm_apply()
 *  \return this rank's status so far: as spmm_apply(). If plan is NULL, another thread uses it, or a product
 *          of the plan has begun already: SPMM_ERR_USAGE; nothing has begun, so do not call
 *          spmm_apply_end() */
spmm_status spmm_apply_begin(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                             spmm_multivector *y);

/** Ends the product that spmm_apply_begin() began; Y is complete on return, even if the plan has a stream.
 *  Collective as spmm_apply() is.
 *  \return the product's status, as for spmm_apply(); SPMM_ERR_USAGE if no product of the plan has begun */
spmm_status spmm_apply_end(spmm_plan *plan);

/** Computes Y := alpha A^T X + beta Y with the plan's matrix; complete on return.
 *
 *  X is distributed like the Y of spmm_apply(), and Y like its X: partial sums are sent to the ranks that own
 *  the rows of Y and are added in the order of the ranks; on CPUs, first within each node. The result is the
 *  same in every run; its last bits depend on the number of ranks, the cut and, on CPUs, the ranks' placement
 *  on nodes. The first call transposes the block and chooses a kernel for it, in about the time of
 *  spmm_plan_create() and the memory of the plan.
 *
 *  Collective as spmm_apply() is. The first call waits for all ranks; with Q > 1, each call waits for the
 *  ranks of the process row.
 *  \param [in,out] plan  reusable
 *  \param [in]     alpha, beta  as for spmm_apply()
 *  \param [in]     x     [m x k]: this rank's rows, shaped as by spmm_plan_y_create() (on some ranks 0 rows),
 *                        in the memory of the plan's device
 *  \param [in,out] y     [n x k]: this rank's rows, shaped as by spmm_plan_x_create(), whose ghost rows are
 *                        neither read nor written; not read if beta is 0; must not overlap x
 *  \return as spmm_apply(), with two differences. If only the first rank of a process row has rows of X, a
 *          wrong x or y gives SPMM_ERR_USAGE on all ranks of that process row. The first call may also give
 *          SPMM_ERR_MEMORY or _LIMIT (a block has 2^31 rows or more) on all ranks */
spmm_status spmm_apply_transposed(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                                  spmm_multivector *y);

/** The matrix with which spmm_apply_complex() multiplies. */
typedef enum spmm_operation {
    SPMM_NO_TRANSPOSE = 0,       /**< A */
    SPMM_TRANSPOSE = 1,          /**< A^T */
    SPMM_CONJUGATE_TRANSPOSE = 2 /**< A^H, the complex conjugate of A^T; of a real matrix, A^T */
} spmm_operation;

/** Computes Y := alpha op(A) X + beta Y with complex factors, as spmm_apply() does with A, and
 *  spmm_apply_transposed() with A^T and A^H. For real factors, spmm_apply() and spmm_apply_transposed() are
 *  enough: they accept complex matrices. Collective as they are; op is the same on every rank.
 *  \param [in,out] plan  reusable
 *  \param [in]     alpha, beta  as for spmm_apply(); real if the matrix is
 *  \param [in]     x, y  as for spmm_apply() or spmm_apply_transposed(), of the type of the matrix
 *  \return as for these functions, and SPMM_ERR_USAGE if a factor has an imaginary part and the matrix is
 *          real; the other ranks then compute their rows */
spmm_status spmm_apply_complex(spmm_plan *plan, spmm_operation op, spmm_complex alpha,
                               const spmm_multivector *x, spmm_complex beta, spmm_multivector *y);

/** Takes over new values of A: the plan computes with the current values in the array csr.as of its block.
 *  The pattern, that is csr.irp and csr.ja, must be unchanged. (After spmm_block_destroy() the program has no
 *  such array; spmm_plan_update_rows() takes another one.) The first call takes about the time of the
 *  conversion in spmm_plan_create() and then 4 bytes per entry; later calls only copy values. (A kernel of
 *  another library is prepared anew by each call.) If the CSR is in GPU memory, values are copied within the
 *  GPU, except with SPMM_EXCHANGE_JOINT; they must be complete, or queued in the plan's stream, before.
 *
 *  Collective over the plan's communicator. Not while a product is computed.
 *  \param [in,out] plan  reusable
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _DEVICE, _MPI. On error,
 *          the values that the plan computes with are undefined, and the call may be repeated */
spmm_status spmm_plan_update_values(spmm_plan *plan);

/** Copies the diagonal of the square matrix A to d: element i of d is the diagonal entry in row i of this
 *  rank's rows of Y, or 0 if A has no such entry. With the inverses of these elements,
 *  spmm_multivector_scale_rows() is a diagonal preconditioner. The values are those that the plan computes
 *  with: csr.as of the blocks must not have changed since spmm_plan_create() or the last
 *  spmm_plan_update_values().
 *
 *  Collective over the plan's communicator. Not while a product is computed.
 *  \param [in,out] plan  reusable
 *  \param [in,out] d     [rows x 1], with as many rows as spmm_plan_y_create() gives and the plan's
 *                        precision, in host or GPU memory, whichever device the plan has; complete on return
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (A is not square; a wrong d), _MEMORY,
 *          _NO_DEVICE, _DEVICE, _MPI. On error d is undefined */
spmm_status spmm_plan_diagonal(spmm_plan *plan, spmm_multivector *d);

/** Returns the name of the kernel that the plan runs with its current number of columns, in static storage;
 *  "" if plan is NULL. Local. */
const char *spmm_plan_kernel(const spmm_plan *plan);

/** Prints a human-readable description of the plan: the matrix and its distribution; the kernel and the
 *  exchange, with the reasons for their choice and the alternatives that were compared; the time of the
 *  set-up; the number of products so far and their times, of the slowest rank for each product; if fewer
 *  ranks would be faster, how many; and the same for products with the transpose, if there were any. The text
 *  may change from version to version.
 *
 *  Collective over the plan's communicator; rank 0 writes.
 *  \param [in] f  open for writing on rank 0; ignored on other ranks (may be NULL)
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _OUTPUT (f reports an error), _MPI */
spmm_status spmm_plan_view(const spmm_plan *plan, FILE *f);

/** Returns the text of spmm_plan_view() as a string.
 *
 *  Collective over the plan's communicator; rank 0 gets the text.
 *  \param [out] text  on rank 0 the text, which ends with a newline; the caller frees it with free(). On
 *                     other ranks NULL, and the argument may be NULL. NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _MPI */
spmm_status spmm_plan_view_text(const spmm_plan *plan, char **text);

/** Frees the plan; accepts NULL if all ranks pass NULL. If a product has begun, it is ended first. If another
 *  thread is in a call with the plan, this function waits for that call to return. The plan must not be used
 *  afterwards. Collective over the plan's communicator; after MPI_Finalize it only frees memory. */
void spmm_plan_destroy(spmm_plan *plan);

/** Computes Y := alpha A X + beta Y without a plan, for a matrix that this process has as a whole and that is
 *  multiplied only a few times; a plan is faster from about the tenth product on. Y has the bits of a plan's
 *  product, on a GPU in f32 those with the kernel csr_rows.
 *
 *  Local; works without MPI; complete on return. The arrays of A are read in place; only row starts of 4
 *  bytes and column indices of 8 bytes are copied for the time of the call. On a GPU, work that was queued
 *  for the arrays must be complete.
 *  \param [in]     a     the rows of A, in the memory of x: irp [y->rows + 1] begins with 0, ja has columns
 *                        below x->rows, which increase strictly within a row, and `as` has the precision of
 *                        x; map is NULL and first_column 0
 *  \param [in]     alpha, beta  as for spmm_apply()
 *  \param [in]     x     [columns of A x k], in host memory or in the memory of the GPU that is open; if
 *                        column-major, it is copied
 *  \param [in,out] y     [rows of A x k], in the memory of x; not read if beta is 0; padding columns are
 *                        overwritten; must not overlap x. If y is column-major, alpha is not 1 or beta is not
 *                        0, the product takes memory of the size of y
 *  \param [in]     threads  OpenMP threads; 0: as for plans; ignored on a GPU
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _NO_DEVICE, _DEVICE. On error y is undefined */
spmm_status spmm_rows_apply(const spmm_rows *a, double alpha, const spmm_multivector *x, double beta,
                            spmm_multivector *y, int threads);

/** Computes the inner products of all columns of X with all columns of Y, G := X^T Y, on every rank.
 *
 *  Collective over comm: each rank passes its rows (maybe 0). Ghost rows and padding columns are not read.
 *  Products and sums are computed in f64, also for f32 operands. The order of summation is fixed: every rank
 *  gets the same bits, which depend on the distribution of rows and on CPU or GPU, but not on the number of
 *  threads or the MPI library.
 *  \param [in]  x, y  [rows x kx] and [rows x ky]: the same number of rows, precision and space on a rank,
 *                     the same columns and precision on all ranks. They may overlap in any way. If they are
 *                     the same multivector, the call takes half the time and G is exactly symmetric
 *  \param [out] g     in host memory, [kx x ky], row-major: element (i, j) is g[i * ldg + j]. Must not
 *                     overlap x or y, each taken from the first to the last element of this rank's rows
 *  \param [in]  ldg   leading dimension of g, >= ky; memory between the rows of g is not changed
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT (kx * ky > 2^30),
 *          _NO_DEVICE, _DEVICE, _MPI. On failure g is undefined */
spmm_status spmm_multivector_dot(MPI_Comm comm, const spmm_multivector *x, const spmm_multivector *y,
                                 double *g, int64_t ldg);

/** As spmm_multivector_dot(), of complex multivectors: G := X^H Y. The real parts of a product are added,
 *  and the imaginary parts, each in the order of spmm_multivector_dot(); kx * ky is at most 2^28. */
spmm_status spmm_multivector_dot_complex(MPI_Comm comm, const spmm_multivector *x, const spmm_multivector *y,
                                         spmm_complex *g, int64_t ldg);

/** Computes the Euclidean norms of the columns of X on every rank, in f64: the square roots of the diagonal
 *  of X^T X, up to rounding. Squares beyond the range of f64 become infinite or 0.
 *
 *  Collective over comm, with the same fixed order of summation as spmm_multivector_dot().
 *  \param [in]  x     [rows x k]; the same number of columns and precision on all ranks
 *  \param [out] norm  in host memory, [k]. Must not overlap x
 *  \return the same status on every rank: as spmm_multivector_dot() */
spmm_status spmm_multivector_norms(MPI_Comm comm, const spmm_multivector *x, double *norm);

#ifdef __cplusplus
}
#endif
#endif
