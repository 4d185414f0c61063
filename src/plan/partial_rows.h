/** The partial rows of Y that the joint exchange moves (distribute/joint.h): this rank computes those of other ranks from its
 *  own rows of X, and adds what other ranks have computed to its rows of Y. */
#ifndef SP_PARTIAL_ROWS_H
#define SP_PARTIAL_ROWS_H

#include "plan/phases.h"
#include "plan/row_blocks.h"

typedef struct sp_partial_rows sp_partial_rows;

/* Where ranks of a node compute rows for the same rows of Y of another node, they are added there first (distribute/node_sums.h): in
 * host memory unless options.transport is SPMM_TRANSPORT_MPI, on GPUs if that takes less time. Then there are two exchanges, one
 * within nodes, one between them. That within nodes ends before the exchange of X does, which is the order in which ranks that fail
 * have to skip them: with some transports, each exchange waits for the neighbours. */

/** Converts the matrix of the partial rows to the format of a kernel, and creates their exchanges.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo    its member joint is not NULL; must outlive *rows
 *  \param [in]  kernel  the kernel; NULL: one is chosen for that matrix
 *  \param [in]  k       number of columns of X
 *  \param [in]  threads OpenMP threads of this rank
 *  \param [out] rows    the caller destroys it; NULL on failure
 *  \return the same status on every rank: those of sp_choose(), sp_row_blocks_create(), sp_exchange_create() */
spmm_status sp_partial_rows_create(const sp_grid *grid, const sp_halo *halo, const spmm_plan_options *options,
                                   const sp_kernel *kernel, int64_t k, int threads, sp_partial_rows **rows);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the grid. */
void sp_partial_rows_destroy(sp_partial_rows *rows);

/** Computes the rows for other ranks and starts to send them. This function and the next five accept NULL: then they
 *  do nothing.
 *
 *  Collective over the process column if `moves` is 1, else local. On a GPU, kernels are queued in SP_STREAM_MAIN.
 *  \param [in]     x       X; only its owned rows are read
 *  \param [in]     moves   0: nothing is sent, and the rows that the last exchange has brought will be added
 *  \param [in,out] phases  gets the times
 *  \return SPMM_OK, the status of the kernel's run(), SPMM_ERR_DEVICE, _MPI. After a failure
 *          nothing has begun, and the neighbours have been told or will be by sp_partial_rows_pass_on() and _end() */
spmm_status sp_partial_rows_begin(sp_partial_rows *rows, const spmm_multivector *x, int moves,
                                  sp_phases *phases);

/** Adds the rows of ranks of this node to the own ones that are for another node, after waiting for them, and starts to send
 *  the sums; does nothing if no rows are added inside nodes. To be called after sp_partial_rows_begin(), also after a failure,
 *  and before the exchange of X is ended, so that the sums travel meanwhile.
 *  \param [in,out] phases  gets the time of adding
 *  \return SPMM_OK, SPMM_ERR_MPI (also: a rank of the node has failed), SPMM_ERR_DEVICE. After a failure the ranks that wait for
 *          sums have been told or will be by sp_partial_rows_end() */
spmm_status sp_partial_rows_pass_on(sp_partial_rows *rows, sp_phases *phases);

/** Waits for the rows of other ranks, as sp_exchange_end() does, or tells the neighbours of a failure; does nothing if no exchange
 *  has begun, or if it has been ended. On GPUs every rank ends the exchanges of X before. */
spmm_status sp_partial_rows_end(sp_partial_rows *rows);

/** Does what sp_exchange_settle() does. Local; accepts NULL. */
spmm_status sp_partial_rows_settle(sp_partial_rows *rows);

/** Adds the rows of other ranks to rows of y, in the order of the ranks. Local; on a GPU queued in SP_STREAM_MAIN. */
spmm_status sp_partial_rows_add(const sp_partial_rows *rows, spmm_multivector *y, sp_phases *phases);

/** Only sends the rows, as the last product left them, without adding any; sp_partial_rows_end() has to follow. Collective over the
 *  process column; status as of sp_exchange_begin() and sp_exchange_end(). */
spmm_status sp_partial_rows_resend(sp_partial_rows *rows);

/** Returns 1 if partial rows move in the GPU's streams alone (sp_exchange_queues()); also if `rows` is NULL. Local. */
int sp_partial_rows_queue(const sp_partial_rows *rows);

/** Returns the transport of the rows. Local. */
spmm_transport sp_partial_rows_transport(const sp_partial_rows *rows);

/** Returns how many partial rows all ranks receive by messages, of those that are added inside nodes the sums that cross
 *  between nodes alone (sp_node_sums_create()); 0 if `rows` is NULL. Local. */
int64_t sp_partial_rows_messages(const sp_partial_rows *rows);

/** Takes the place of sp_partial_rows_begin() and _pass_on() on a rank that failed before, like sp_exchange_skip();
 *  sp_partial_rows_end() has to follow. Accepts NULL. */
void sp_partial_rows_skip(sp_partial_rows *rows);

/** As sp_row_blocks_map(), of the matrix of the rows for other ranks. Local; accepts NULL. */
spmm_status sp_partial_rows_map(sp_partial_rows *rows, int *all);

/** Takes over the values that the matrix of the rows for other ranks has now. Local; accepts NULL.
 *  \param [in] on_gpu  as of sp_row_blocks_update()
 *  \return as sp_row_blocks_update() */
spmm_status sp_partial_rows_update(sp_partial_rows *rows, const void *on_gpu);

#endif
