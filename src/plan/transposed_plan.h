/** Products with the transpose of a plan's matrix. */
#ifndef SP_TRANSPOSED_PLAN_H
#define SP_TRANSPOSED_PLAN_H

#include "plan/plan.h"

/** What products with the transpose need: a plan of their own, by which X is distributed like the Y of the plan, and Y
 *  like its X. */
typedef struct sp_transposed_plan sp_transposed_plan;

/** Transposes the plan's block on every rank, chooses a kernel for it, and converts it.
 *
 *  Collective over the plan's grid.
 *  \param [in]  plan        must outlive the result
 *  \param [out] transposed  the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (a block has 2^31 rows or more), _DEVICE,
 *          _MPI */
spmm_status sp_transposed_plan_create(const spmm_plan *plan, sp_transposed_plan **transposed);

/** Computes Y := alpha A^T X + beta Y; status and operands as for spmm_apply_transposed(). Collective as spmm_apply() is,
 *  and over the process row. */
spmm_status sp_transposed_plan_apply(sp_transposed_plan *transposed, double alpha, const spmm_multivector *x,
                                     double beta, spmm_multivector *y);

/** Returns the plan of the transposed block. Local. */
const spmm_plan *sp_transposed_plan_of(const sp_transposed_plan *transposed);

/** As sp_row_blocks_map(), of all values of the transpose, for a plan on a GPU. Local. */
spmm_status sp_transposed_plan_map(sp_transposed_plan *transposed, int *all);

/** Takes over the values that the plan's block has now. Local.
 *  \param [in] on_gpu  if sp_transposed_plan_map() says that all are copied, those values in GPU memory, in the order of the plan's
 *                      block; NULL: the plan's block has them in host memory
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _DEVICE */
spmm_status sp_transposed_plan_update(sp_transposed_plan *transposed, const void *on_gpu);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the plan's grid; after MPI_Finalize it
 *  only frees memory. */
void sp_transposed_plan_destroy(sp_transposed_plan *transposed);

#endif
