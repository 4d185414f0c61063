/** The partial rows of Y that the joint exchange moves (halo/joint.h). This rank computes partial rows for
 *  other ranks from its owned rows of X, and adds the partial rows that other ranks have computed to its rows
 *  of Y. */
#ifndef SP_PARTIAL_ROWS_H
#define SP_PARTIAL_ROWS_H

#include "halo/joint.h"
#include "product/phases.h"
#include "product/row_blocks.h"
#include "spmm_extended.h"

typedef struct sp_partial_rows sp_partial_rows;

/** Converts the matrix of the partial rows to the format of a kernel, and creates their exchange.
 *
 *  Collective over grid->comm.
 *  \param [in]  joint   must outlive *rows
 *  \param [in]  kernel  the kernel; NULL: one is chosen for the matrix of the partial rows
 *  \param [in]  k       number of columns of X
 *  \param [in]  threads OpenMP threads of this rank
 *  \param [out] rows    the caller destroys it; NULL on failure
 *  \return the same status on every rank: those of sp_choose(), sp_row_blocks_create(),
 *          sp_exchange_create() */
spmm_status sp_partial_rows_create(const sp_grid *grid, const sp_joint *joint,
                                   const spmm_plan_options *options, const spmm_plan_study *study,
                                   const sp_kernel *kernel, int64_t k, int threads, sp_partial_rows **rows);

/** Adapts the object to products of k columns, with k at least 1 and at most the number for which the object
 *  was created.
 *
 *  Collective over grid->comm; accepts NULL.
 *  \return the same status on every rank, as for sp_row_blocks_set_k(), sp_exchange_set_rows() */
spmm_status sp_partial_rows_set_k(sp_partial_rows *rows, int64_t k);

/** As sp_row_blocks_made_anew(). Local; accepts NULL. */
int sp_partial_rows_made_anew(const sp_partial_rows *rows, int64_t k);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the grid. */
void sp_partial_rows_destroy(sp_partial_rows *rows);

/* A product calls sp_partial_rows_compute(), _begin(), _end() and _add(), in this order. A rank that has
 * failed must still call sp_partial_rows_begin() with its status, which begins nothing, and
 * sp_partial_rows_end(), which notifies the neighbors of the failure. */

/** Computes the partial rows for other ranks. Local; on a GPU queued in SP_STREAM_MAIN.
 *  \param [in]     conjugate  1: with the conjugate of the matrix
 *  \param [in]     x          X; only its owned rows are read
 *  \param [in,out] phases     receives the times
 *  \return SPMM_OK, the status of the kernel's run(), SPMM_ERR_DEVICE */
spmm_status sp_partial_rows_compute(sp_partial_rows *rows, int conjugate, const spmm_multivector *x,
                                    sp_phases *phases);

/** Starts to send the rows. Collective over the process column, as is sp_partial_rows_end().
 *  \param [in] status  this rank's status so far
 *  \return SPMM_OK (also if `status` is not), SPMM_ERR_MEMORY, _DEVICE, _MPI */
spmm_status sp_partial_rows_begin(sp_partial_rows *rows, spmm_status status);

/** Waits for the rows of other ranks. On GPUs every rank must have ended the exchanges of X before.
 *  \return SPMM_OK, SPMM_ERR_MPI (also: another rank has failed), _DEVICE */
spmm_status sp_partial_rows_end(sp_partial_rows *rows);

/** As sp_exchange_settle(). Local; accepts NULL. */
spmm_status sp_partial_rows_settle(sp_partial_rows *rows);

/** Adds the rows of other ranks to rows of y, in the order of the ranks. Local; on a GPU queued in
 *  SP_STREAM_MAIN. */
spmm_status sp_partial_rows_add(const sp_partial_rows *rows, spmm_multivector *y, sp_phases *phases);

/** Returns 1 if the exchange of partial rows needs no host (sp_exchange_queues()), or if `rows` is NULL.
 *  Local. */
int sp_partial_rows_queue(const sp_partial_rows *rows);

/** As sp_exchange_skip_waits(). Local; accepts NULL. */
int sp_partial_rows_skip_waits(const sp_partial_rows *rows);

/** Returns the transport of the rows. Local. */
spmm_transport sp_partial_rows_transport(const sp_partial_rows *rows);

/** Returns the number of partial rows that all ranks receive; 0 if `rows` is NULL. Local. */
int64_t sp_partial_rows_messages(const sp_partial_rows *rows);

/** As sp_row_blocks_map(), for the matrix of the partial rows for other ranks. Local; accepts NULL. */
spmm_status sp_partial_rows_map(sp_partial_rows *rows, int *all);

/** Updates the kernel's copies with the current values of the matrix of the partial rows for other ranks.
 *  Local; accepts NULL.
 *  \param [in] on_gpu  as for sp_row_blocks_update()
 *  \return as sp_row_blocks_update() */
spmm_status sp_partial_rows_update(sp_partial_rows *rows, const void *on_gpu);

#endif
