/** \file spmm_extended.h
 *  Functions for studies and tests: spmm_plan_create() with more options, and an update of a plan from arrays
 *  that may have changed. Programs that only compute products do not need them. The conventions of spmm.h
 *  hold. */
#ifndef SPMM_EXTENDED_H
#define SPMM_EXTENDED_H

#include "spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options for studies, in addition to those of a plan. Zero-initialize the struct, then set the members that
 *  should differ from their defaults. All members must be the same on every rank. */
typedef struct spmm_plan_study {
    double ell_limit; /**< maximum ratio of the size of the matrix in padded ELLPACK to its size in CSR; if it
                           is exceeded, SPMM_ELL is refused. 0: 3.0 */
    int block_size;   /**< threads per CUDA block, a multiple of 32 up to 1024; 0: the kernel's default */
    int subwarp; /**< GPU lanes per element of Y, for kernels with this parameter; 0: the kernel's default */
    int quick_plan;  /**< 0: kernels and exchanges that may be the fastest are timed for a few products (if
                          100 or more products are expected). 1: nothing is timed; features of the matrix and
                          row counts decide */
    int all_kernels; /**< 1: if the library chooses the kernel, all kernels that suit the matrix are timed,
                          not only those that are expected to be fast */
} spmm_plan_study;

/** Creates a plan as spmm_plan_create() does, with the options of a study.
 *
 *  Collective over comm.
 *  \param [in]  block, k, options  as for spmm_plan_create()
 *  \param [in]  study  NULL for the defaults
 *  \param [out] plan   the caller destroys it
 *  \return the same status on every rank, as for spmm_plan_create() */
spmm_status spmm_plan_create_extended(MPI_Comm comm, const spmm_block *block, int64_t k,
                                      const spmm_plan_options *options, const spmm_plan_study *study,
                                      spmm_plan **plan);

/** Copies a CSR matrix to the memory of the GPU that is open, for the block of a plan on that GPU: a plan of
 *  one rank for 1 to 100 products, in f64, then uses the copy as it is. Local; complete on return.
 *  \param [in]  a    in host memory; columns increase strictly within a row
 *  \param [out] gpu  zeroed on failure. The caller frees it with spmm_csr_destroy(), after the plans of it
 *  \return SPMM_OK, SPMM_ERR_USAGE (also for row starts and columns that are wrong), _MEMORY, _NO_DEVICE,
 *          _DEVICE */
spmm_status spmm_csr_upload(const spmm_csr *a, spmm_csr *gpu);

/** Takes over the values of a matrix whose values, and even pattern, may have changed since the plan was made
 *  or last updated: compares *a with the plan's block. If the pattern is the same and a bit of the values
 *  differs, the values are copied to csr.as of the block, and taken over as by spmm_plan_update_values().
 *
 *  Collective over the plan's communicator. Not while a product is computed.
 *  \param [in,out] plan  reusable
 *  \param [in]  a     this rank's rows, as many as the block has, in host or GPU memory as the block's CSR
 *                     is, but in other arrays. irp: row starts, [rows + 1], or NULL: the pattern is not
 *                     compared. ja: column indices as in csr.ja of the block. as: values of the block's
 *                     precision, as many as the block has entries, or NULL: only the pattern is compared.
 *                     first_column must be 0 and map NULL. Arrays in GPU memory must be complete, or queued
 *                     in the plan's stream, before the call
 *  \param [out] same  1: the plan has the pattern of *a on every rank, and now computes with the values of
 *                     *a. 0: on some rank the pattern differs, and nothing has changed
 *  \return the same status on every rank, as for spmm_plan_update_values(). On error, *same is undefined, as
 *          are the values that the plan computes with */
spmm_status spmm_plan_update_rows(spmm_plan *plan, const spmm_rows *a, int *same);

/** Computes y := A x with the values of *a, as spmm_plan_update_rows() followed by spmm_apply(). If a plan of
 *  one rank has a stream, the comparison and the product are queued there together, and the host waits for
 *  the comparison alone.
 *
 *  Collective over the plan's communicator.
 *  \param [in,out] plan  reusable
 *  \param [in]  a     as for spmm_plan_update_rows()
 *  \param [in]  x, y  as for spmm_apply(). If *same is 0, or on error, y is undefined
 *  \param [out] same  as for spmm_plan_update_rows()
 *  \return the same status on every rank, as for spmm_plan_update_rows() and spmm_apply() */
spmm_status spmm_apply_rows(spmm_plan *plan, const spmm_rows *a, const spmm_multivector *x,
                            spmm_multivector *y, int *same);

/** Computes the gradient of a function of Y = A X with respect to the values of A (SDDMM): with G the
 *  gradient with respect to Y, the result for entry (i, j) of A is the sum of G(i, c) X(j, c) over the
 *  columns c. The values of A are not read. The order of a sum depends only on k: CPUs and GPUs, any threads
 *  and ranks give the same bits.
 *
 *  Collective over the plan's communicator. Not while a product is computed. The first call, and the first
 *  with more columns than before, allocates buffers. Rows of X are exchanged in full precision. If a plan of
 *  one rank has a stream, the gradient is queued there, and an equal later call can be captured in a CUDA
 *  graph. Otherwise the gradient is complete on return; with a stream and several ranks, only the
 *  exchange is.
 *  \param [in,out] plan  reusable; of f64 or f32, on a grid P x 1
 *  \param [in]  g       this rank's rows of G, distributed as Y is, [rows of Y x k]
 *  \param [in]  x       this rank's rows of X, [rows of X x k]; its ghost rows are not used. k is the same on
 *                       all ranks, and may differ from the plan's and from call to call
 *  \param [out] values  [csr.nnz of this rank's block x 1], in the order of csr.as of the block; undefined on
 *                       error; must not overlap g or x. All three are in the plan's precision, in the memory
 *                       of its device, and in either layout
 *  \return SPMM_OK, SPMM_ERR_USAGE (also for complex values, and on a grid P x Q with Q > 1), _MEMORY,
 *          _LIMIT, _NO_DEVICE, _DEVICE, _MPI. After a wrong argument or a failed set-up the same status on
 *          every rank. If a rank fails later, the ranks that wait for its rows of X get SPMM_ERR_MPI */
spmm_status spmm_plan_values_gradient(spmm_plan *plan, const spmm_multivector *g, const spmm_multivector *x,
                                      spmm_multivector *values);

/** Makes later products of a plan of one rank on a GPU use a stream, as spmm_plan_options.stream does. Waits
 *  for products that are queued in the former stream, which must still exist. Local.
 *  \param [in,out] plan    reusable
 *  \param [in]     stream  a cudaStream_t of the open GPU; NULL: the library's own stream
 *  \return SPMM_OK, SPMM_ERR_USAGE (also for several ranks or a plan on CPUs, and while the stream is being
 *          captured in a CUDA graph), SPMM_ERR_DEVICE */
spmm_status spmm_plan_set_stream(spmm_plan *plan, void *stream);

#ifdef __cplusplus
}
#endif
#endif
