/** \file spmm.h
 *  libspmm: distributed sparse matrix x multivector products, Y := A X.
 *
 *  A is sparse [m x n]; X [n x K] and Y [m x K] are dense multivectors, row-major. The processes form a P x Q
 *  grid: rank p*Q + q holds the entries of A in one range of rows and one range of columns, some rows of X,
 *  and, if q is 0, the rows of Y in its range of rows. Values are f64, f32, c128 or c64 (two f64 or
 *  f32, complex), chosen at run time.
 *
 *  Conventions of all functions in this header
 *  - Functions return an spmm_status; SPMM_OK is 0. spmm_error_message() gives the text of the calling
 *    thread's last failure.
 *  - On failure an output object is NULL or zeroed; the destroy functions accept both.
 *  - "Collective" functions are called by every rank of the communicator, between MPI_Init and MPI_Finalize,
 *    and return the same status on every rank: no rank is left waiting for another rank that failed or was
 *    given wrong arguments. The exception is an unusable communicator (MPI_COMM_NULL, an inter-communicator):
 *    then the other ranks cannot be notified.
 *  - Arguments are checked first. A function returns SPMM_ERR_USAGE for NULL in place of a required object, a
 *    value outside its enumeration, an impossible size or leading dimension, or data in another kind of
 *    memory than `space` says (checked only while a GPU is open). The message names the function, the
 *    argument and what was expected. The lengths of arrays and the values in them are not checked; NaNs and
 *    infinities are computed with.
 *  - Communicators that the library creates inherit the error handler of the caller's communicator. Under
 *    MPI's default, MPI_ERRORS_ARE_FATAL, a failing MPI call ends the program; under MPI_ERRORS_RETURN the
 *    function returns SPMM_ERR_MPI, and other ranks may then wait for the failed rank.
 *  - Threads: MPI_THREAD_FUNNELED is enough if one thread makes all calls (the library's OpenMP threads call
 *    no MPI). MPI_THREAD_SERIALIZED is enough if threads call one at a time. MPI_THREAD_MULTIPLE is needed if
 *    they call at the same time. A plan is used by one thread at a time. A call with a plan that another
 *    thread is using returns SPMM_ERR_USAGE and has no effect: it communicates nothing, and the other ranks
 *    do not learn of it. (spmm_plan_y_create() and spmm_plan_kernel() are never refused. spmm_plan_x_create()
 *    is refused only if the plan exchanges rows of X. spmm_plan_destroy() waits until the other call has
 *    returned.) This check does not order the threads. On several ranks, two threads must not use one plan
 *    without a lock of the program, because all ranks must compute the products of a plan in the same order.
 *    A thread that uses several plans must compute the products of all of them in the same order on all
 *    ranks. Different plans and multivectors can be used by different threads at the same time if the
 *    collective functions that these threads call (spmm_plan_create(), spmm_multivector_dot(), ..) get
 *    different communicators. The first calls of several threads may coincide. (Open MPI 4 may crash if the
 *    program itself calls MPI_Cart_create() for the first time meanwhile.) On a GPU only one thread at a time
 *    may call the library, because all calls use the same streams of the process.
 *  - Fork: a child that was forked after the first call of the library has neither the parent's threads nor
 *    its MPI. In such a child, functions that return a status return SPMM_ERR_USAGE, because a product would
 *    hang; the destroy functions still free memory. A child that was forked before the first call, or that
 *    calls exec, can use the library.
 *  - Floating-point environment: functions compute, read and write numbers in the default environment
 *    (rounding to nearest, subnormal numbers kept, no traps), as GPUs do. On return the calling thread and
 *    the OpenMP threads that took part have their own environment again. No flag has been raised, except
 *    perhaps "inexact". So the caller may trap exceptions, round otherwise or flush subnormal numbers:
 *    results stay the same, and calls trap nothing. A thread that OpenMP starts during a call keeps the
 *    default environment.
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
 * name of the missing symbol is the message. A program that opens libspmm by dlopen(), or uses only its
 * types, defines SPMM_NO_MPI_CHECK. */
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

/** Makes this rank's block of a matrix whose rows are distributed already, from arrays such as those of
 *  PETSc, hypre and Trilinos. The grid is (number of ranks) x 1: a rank has all entries of its rows. The
 *  ranks' rows of A follow one another in the order of the ranks, and so do their rows of X. So the number of
 *  rows of A is the sum of `rows` over all ranks, and the number of columns is the sum of `x_rows`.
 *
 *  The entries are in one or more parts, and each part has all of the rank's rows. For example, part[0] has
 *  the entries in the columns that the rank owns, and part[1] has the others. Rows are sorted by column, and
 *  duplicates, also those in different parts, are summed in increasing order of value, as in spmm_csr_read().
 *  All arrays are copied; the caller keeps them. For new values on the same pattern, make a second block,
 *  copy its csr.as to the csr.as of the first block, and call spmm_plan_update_values().
 *
 *  - PETSc, MATMPIAIJ: MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, &garray) gives the two parts; MatGetRowIJ() and
 *    MatSeqAIJGetArrayRead() give the arrays of each part. Ad: first_column is the start of
 *    MatGetOwnershipRangeColumn(); Ao: map is garray, map_size the number of columns of Ao. All integers are
 *    PetscInt, of sizeof(PetscInt) bytes. MATSEQAIJ: one part.
 *  - hypre, ParCSR: hypre_ParCSRMatrixDiag() and _Offd() give the two parts; hypre_CSRMatrixI(), _J() and
 *    _Data() give the arrays of each part, with integers of sizeof(HYPRE_Int). Diag: first_column is
 *    hypre_ParCSRMatrixFirstColDiag(); Offd: map is hypre_ParCSRMatrixColMapOffd(), with
 *    sizeof(HYPRE_BigInt), map_size hypre_CSRMatrixNumCols().
 *  - Trilinos, Tpetra: one part, from getLocalMatrixHost(): graph.row_map, graph.entries and values; map is
 *    getColMap()->getMyGlobalIndices(). Epetra: ExtractCrsDataPointers() and ColMap().MyGlobalElements(). The
 *    row map has to be contiguous.
 *
 *  Collective over comm.
 *  \param [in]  rows       number of this rank's rows of A, and of Y
 *  \param [in]  x_rows     number of this rank's rows of X; of a square matrix usually `rows`, so that X is
 *                          distributed like Y
 *  \param [in]  precision  type of the values in the parts and in the block; the same on every rank
 *  \param [in]  part       [parts]; the number `parts` may differ from rank to rank, and may be 0
 *  \param [out] block      this rank's block; the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a wrong argument; row starts that
 *          decrease; a column or an index of map that is out of range: the message says which), _MEMORY,
 *          _LIMIT (2^31 columns or more), _MPI */
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
    int threads; /**< number of OpenMP threads of this rank, with SPMM_CPU. 0: OMP_NUM_THREADS or, if the
                      program has called omp_set_num_threads(), that number. If neither was set: the number of
                      cores that this rank is bound to, divided by the number of ranks of the node that share
                      them (according to the launcher's environment variables). The default is reduced to the
                      maximum. The maximum is 4 per core or 256, whichever is more, but never more than
                      OMP_THREAD_LIMIT. A greater number gives SPMM_ERR_USAGE */
    spmm_exchange exchange;   /**< which rows of X each rank sends to which other ranks */
    spmm_transport transport; /**< the means by which rows of X move between ranks */
    spmm_reduce reduce;       /**< how partial sums of Y are added (Q > 1) */
    int no_overlap;           /**< 1: kernels start only after the halo exchange has finished; has no effect
                                   if column_blocks > 1 */
    int column_blocks; /**< number of column blocks that X is cut into; each is exchanged while the previous
                            one is multiplied. Must be a divisor of K, at most 16, such that a row of a column
                            block occupies a multiple of 32 bytes. 1: X is not cut. 0: the library chooses; it
                            cuts X only on GPUs, and only if too few rows of Y can be computed without ghost
                            rows */
    int any_order; /**< 0: on P x 1 grids each element of Y is summed in an order that does not depend on the
                        number of ranks. Its bits are the same on any number of ranks if the kernel is the
                        same. In f32 on a GPU some kernels sum in f64, and the library chooses the kernel by
                        time; set `exact` or `kernel` for reproducible bits. 1: SPMM_EXCHANGE_AUTO may select
                        the joint exchange where it is faster */
    int exact; /**< 1: Y := A X has the bits of the serial product, on any number of ranks, threads and GPUs
                    (except, in f64 on a GPU, the sign of a zero after an underflow). The library chooses only
                    among kernels and exchanges that sum in the order of the serial product. A named kernel or
                    exchange that sums in another order gives SPMM_ERR_USAGE, as do Q > 1 and any_order. Has
                    no effect on spmm_apply_transposed() */
    int64_t products; /**< expected number of products: a kernel whose set-up would not be repaid by so many
                           is not chosen; 0: 1000 */
    void *stream; /**< with SPMM_CUDA, a cudaStream_t of the open GPU in which products are queued (spmm(3));
                       it must outlive the plan. It may differ from rank to rank, but it is NULL on all ranks
                       or on none. CUDA's default stream is cudaStreamLegacy. NULL: the library's own stream;
                       products are complete on return */
    spmm_precision exchange_precision; /**< SPMM_F32: the rows of an f64 or c128 X that a rank receives
                       from other ranks travel as f32 or c64, which halves the bytes. They are rounded (beyond
                       the range of f32 to infinity) and widened on arrival; the rows that the rank owns are
                       not rounded, and all sums stay f64 or c128. So an element of Y has an additional error
                       of at most sum |a| max(2^-24 |x|, 2^-150) over the entries in columns of other ranks. Y
                       is the same in each run, but depends on how rows are distributed over ranks. With
                       `exact` or SPMM_TRANSPORT_SHARED, SPMM_F32 gives SPMM_ERR_USAGE. SPMM_F32 has no effect
                       on f32 and c64 matrices, on spmm_apply_transposed(), or on partial sums of Y, which are
                       not rounded. With SPMM_F32, ranks of a node send messages instead of reading rows in
                       common memory; on CPUs, messages take longer. With SPMM_F32 and any_order, the joint
                       exchange is not tried. SPMM_F64 (0): rows travel as they are; the library never chooses
                       f32 */
} spmm_plan_options;

/** Cuts the square matrix of rank `root` into one range of rows per rank, such that products move few rows of
 *  X. If neighbors are far apart in the order of the rows, e.g. in a mesh numbered at random, the rows are
 *  renumbered. spmm_csr_scatter() never renumbers.
 *
 *  Blocks, X and Y use the new numbers: spmm_cut_scatter() makes the blocks, and each rank owns the rows
 *  cut.row[] of X and Y. The rank fills row i of its X with row cut.row[i] of the caller's X, and row i of
 *  its Y is row cut.row[i] of the caller's Y. The entries of a row keep their order. So if Y has the same
 *  bits on any number of ranks (options.any_order, options.exact), it has the same bits with every cut.
 *
 *  Collective over comm. Memory on root, for a cut that renumbers rows: about 110 bytes per row and 4 to 8
 *  per entry; with METIS 12 or more per entry. SPMM_CUT_AUTO cuts by entries if memory is too short for such
 *  a cut, or for the copy that spmm_cut_scatter() makes. With SPMM_EXCHANGE_JOINT, SPMM_CUT_AUTO always cuts
 *  by entries.
 *  \param [in]  root     the rank of comm that passes the matrix
 *  \param [in]  a        the whole matrix on rank root; ignored on other ranks (may be NULL). Not changed
 *  \param [in]  by       the cut. With SPMM_CUT_GRAPH, a build without METIS returns SPMM_ERR_USAGE; on one
 *                        rank, the cut is by entries
 *  \param [in]  k        columns of X, >= 0
 *  \param [in]  options  the options of the plan that will be made; NULL for the defaults. The cut depends on
 *                        device, exchange, exchange_precision, transport, column_blocks and products;
 *                        `threads` on root is the number of threads that compute the cut
 *  \param [out] cut      the caller destroys it. root, by, k and these options except `threads` must be the
 *                        same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (also: A is not square, or violates the
 *          rules of spmm_csr; SPMM_EXCHANGE_JOINT with a cut that renumbers), _MEMORY, _LIMIT (too large for
 *          METIS), _INTERNAL (METIS failed), _MPI */
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
 *  owner, chooses the kernel (the same on all ranks, for the matrix as a whole), converts the block to the
 *  kernel's format, and moves the result to the device. spmm_mpi --list-kernels shows which kernels reproduce
 *  the serial product bit by bit (on P x 1 grids, with alpha = 1 and beta = 0); the library may choose
 *  another kernel, unless options.exact is set.
 *
 *  Collective over comm; the plan keeps a duplicate of comm. Checked on each rank: sizes and ranges lie
 *  within the whole matrix; row starts begin at 0, do not decrease and end at nnz; column indices increase
 *  strictly within a row (unless block.any_order is set) and lie within the block. Checked across the ranks:
 *  rows, cols, precision, p, q, any_order, k and all options except threads and stream are the same; blocks
 *  agree along process rows and process columns; and the ranges of rows, of columns and of rows of X follow
 *  one another without gap or overlap.
 *  \param [in]  block    this rank's block of A; may have 0 rows or columns; not changed. The plan reads its
 *                        arrays in place. Arrays that the library allocated may be freed before the plan, by
 *                        spmm_block_destroy() or spmm_csr_destroy(): their memory is freed with the last plan
 *                        that reads them. Arrays that the program allocated itself must outlive the plan. The
 *                        struct need not. With SPMM_CUDA the arrays of its CSR may be in memory of the open
 *                        GPU. They must have been written in the plan's stream, or be complete, before the
 *                        call. The plan then keeps a copy in host memory; on one rank, only from the first
 *                        diagonal on
 *  \param [in]  k        columns of X, >= 0, such that the bytes of all rows of X, and of Y, fit an int64_t.
 *                        Products have k columns until spmm_plan_set_k() sets a smaller number. A product
 *                        with 0 columns does nothing
 *  \param [in]  options  NULL for the defaults
 *  \param [out] plan     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (one of these checks failed, a rank asked
 *          for more threads than the maximum, or an environment variable SPMM_* has an invalid value;
 *          the message says what was found and expected, and on which rank unless it is rank 0), _MEMORY,
 *          _LIMIT (also: k is too large), _NO_DEVICE, _DEVICE, _MPI */
spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan);

/** Sets the number of columns of X and Y of the products that follow, also of those with the transpose.
 *  Initially it is the k of spmm_plan_create(). The plan keeps its kernel, exchange and reduction; with the
 *  same choices, the bits of Y are those of a plan that was created for this number of columns. The plan also
 *  keeps its buffers and its matrix, with one exception. The first call with few columns (at most 8, and at
 *  most half of the k of spmm_plan_create()) may convert the matrix a second time, for a second kernel that
 *  takes less than 0.9 of the first kernel's time with one column. This call, and later calls for other
 *  ranges of columns, time both kernels. spmm_plan_view() prints the bytes of both matrices. There are never
 *  more than two matrices, and only one if options.kernel names the kernel. (cpu_sell copies it for the first
 *  products of one column. A kernel of another library, or a baseline kernel, which exists for comparison, is
 *  prepared anew by each call of spmm_plan_set_k().) X is
 *  cut into the greatest number of column blocks that fits k, up to the number that spmm_plan_create()
 *  chose.
 *
 *  Multivectors that were created for another number of columns stay valid. A CUDA graph of a product keeps
 *  the number of columns that it was captured with. It can be launched whatever the plan's current number of
 *  columns is, unless the kernel has been prepared anew.
 *
 *  Collective over the plan's communicator. Not while a product is computed, and not while the plan's stream
 *  is captured. The call waits for queued products. If the plan's number of columns is k already, the ranks
 *  only agree on this.
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

/** Computes Y := alpha A X + beta Y; complete on return, unless the plan has a stream.
 *
 *  With spmm_plan_options.stream the product is queued if possible: spmm(3), "STREAMS AND GRAPHS", says when,
 *  and what a CUDA graph can capture.
 *
 *  Collective over the plan's communicator: every rank calls it, but waits only for its neighbors. A call
 *  allocates memory only if it is the first that needs a certain buffer, e.g. for a copy of x; later calls
 *  reuse the buffer.
 *  \param [in,out] plan  reusable
 *  \param [in]     alpha, beta  may differ from rank to rank: they apply to the rank's rows of Y. With alpha
 *                               = 0, y is exactly beta y (beta = 1: unchanged; beta = 0: zeros), even if A or
 *                               X has NaNs or infinities; x is still checked and exchanged, because other
 *                               ranks need it
 *  \param [in]     x     this rank's rows of X, [x_rows x k], with the k of spmm_plan_set_k(), in the memory
 *                        of the plan's device; the ghost rows of x are overwritten. Each call copies a
 *                        column-major x of several columns. If x has fewer ghost rows than the plan needs,
 *                        or another leading dimension than spmm_plan_x_create() gives, each call copies x.
 *                        With SPMM_TRANSPORT_PEER and
 *                        _SHARED, each call also copies an x that spmm_plan_x_create() did not create for
 *                        this plan
 *  \param [in,out] y     this rank's rows of Y, shaped as by spmm_plan_y_create(); not read if beta is 0;
 *                        padding columns are overwritten; must not overlap x, ghost rows and padding
 *                        included. A column-major y is converted from a row-major buffer of the plan. It gets
 *                        the same bits as a row-major y, and memory between its columns is not changed
 *  \return this rank's status: SPMM_OK, SPMM_ERR_USAGE (a shape, precision or space differs from the plan's,
 *          a leading dimension is below k, x and y overlap, or an argument is NULL; the other ranks are
 *          notified, unless plan is NULL, another thread uses it or MPI has been finalized), _MEMORY,
 *          _DEVICE, _MPI (also: a neighbor failed and sent nothing). On error y is undefined, but the rank
 *          has taken part in the exchange and in the sum, so that no other rank waits forever. Ranks that
 *          cannot be notified (those of the same process row and, with NCCL, the neighbors) get NaNs. All
 *          ranks of a program should agree on the outcome. A program should end after SPMM_ERR_DEVICE,
 *          because data that a GPU had begun to send may never arrive */
spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y);

/** Begins to compute Y := alpha A X + beta Y, and returns without waiting for other ranks or a GPU, so that
 *  the program can work while the product runs. spmm_apply() is equal to this call followed by
 *  spmm_apply_end(). On CPUs the exchange begins, and spmm_apply_end() multiplies. On a GPU the whole product
 *  is queued, or its part before the first step that needs the host: the messages of a transport, or a sum
 *  over the process row.
 *
 *  Collective as spmm_apply() is. spmm_apply_end() must follow on every rank, also after a failure, because
 *  the other ranks learn of the failure there. Until then the memory of X and Y, with ghost rows and padding,
 *  must not be changed, moved or freed (the structs may be). With this plan only spmm_plan_x_create(),
 *  spmm_plan_y_create(), spmm_plan_kernel() and spmm_plan_view() may be called. Products of other plans may
 *  be computed, in the same order on all ranks. spmm_plan_destroy() ends the product.
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
 *  X is distributed like the Y of spmm_apply(), and Y like its X: partial sums are sent to the ranks from
 *  which spmm_apply() receives rows of X, and are added there in the order of the ranks; on CPUs, the sums of
 *  each node are added first. The result is the same in every run on the same grid; its last bits depend on
 *  the number of ranks, on the cut (spmm_cut_create()) and, on CPUs, on the ranks' placement on nodes. The
 *  first call transposes the block and chooses a kernel for it; this takes about as much time as
 *  spmm_plan_create() and as much memory as the plan.
 *
 *  Collective over the plan's communicator, as spmm_apply() is. The first call waits for all ranks. On a grid
 *  with Q > 1, each call waits for the ranks of the process row.
 *  \param [in,out] plan  reusable
 *  \param [in]     alpha, beta  as for spmm_apply()
 *  \param [in]     x     [m x k]: this rank's rows, shaped as by spmm_plan_y_create(), in the memory of the
 *                        plan's device. On ranks where that function gives 0 rows, a multivector with 0 rows
 *                        must be passed
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
 *  (After spmm_block_destroy() the program has no such array; spmm_plan_update_rows() takes another one.)
 *  The pattern, that is csr.irp and csr.ja, must be unchanged. Some kernels read the block in place; others
 *  have copies of the values in another order. The first call determines that order, which takes about as
 *  long as the conversion in spmm_plan_create() and then occupies 4 bytes per copied value. Later calls only
 *  copy the values. (A kernel of another library is prepared anew by each call.) If the CSR is in GPU memory,
 *  values are copied within the GPU, also for the transpose, unless the exchange is SPMM_EXCHANGE_JOINT: then
 *  they are copied through the host. The new values must be complete, or queued in the plan's stream, before
 *  the call.
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
 *  reason for its choice; the exchange, its transport, the number of rows moved, and the alternatives that
 *  were compared; the time of the set-up; and the number of products so far with their times (of the slowest
 *  rank for each product; the median is that of the last 64). On one rank nothing about ranks is printed. If
 *  by the measured times fewer ranks would be faster, also how many, and an estimate of their time. If the
 *  plan has computed products with the transpose, the same is printed for those products. The text may change
 *  from version to version.
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

/** Computes Y := alpha A X + beta Y without a plan, for a matrix that is multiplied only a few times; this
 *  process has it as a whole. A plan is faster from about the tenth product on. Y has the bits of a plan's
 *  product. On a GPU in f32 that is a plan with the kernel csr_rows.
 *
 *  Local; works without MPI. The arrays of A are read in place during the call, and nothing is kept. Only row
 *  starts of 4 bytes and column indices of 8 bytes are copied for the time of the call. On a GPU, work that
 *  was queued for the arrays must be complete, and Y is complete on return.
 *  \param [in]     a     the rows of A, in the memory of x: irp [y->rows + 1] begins with 0, ja has columns
 *                        below x->rows, which increase strictly within a row, and `as` has the precision of
 *                        x; map is NULL and first_column 0. Row starts and columns are checked, also if k
 *                        is 0
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
 *  Collective over comm: each rank passes its rows (maybe 0), e.g. those in a multivector from
 *  spmm_plan_x_create(). Neither ghost rows nor padding columns are read. Products and sums are computed in
 *  f64, also for f32 operands, whose products are exact in f64. The order of summation is fixed: a rank
 *  divides its rows into sections that depend only on the number of rows, and the sums of the ranks are added
 *  in the order of the ranks. So every rank gets the same bits. They are the same in each run with the same
 *  rows on each rank, for any number of threads and any MPI library. With another distribution of the rows,
 *  or on GPUs, they may differ by rounding errors.
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
