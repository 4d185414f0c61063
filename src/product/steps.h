/** The list of steps of a product, which is created with the product. One loop runs the list, with one rule
 *  for failures. */
#ifndef SP_STEPS_H
#define SP_STEPS_H

#include "product/product.h"

/** Lists the steps of a product after its exchanges, row blocks and reduction have been created. Local. */
void sp_steps_list(sp_product *product);

/** Runs the steps from number `from` to number `to` - 1 whose kinds are in product->pending.kinds. After a
 *  failure, steps that compute are skipped. Steps that move data or sum still take part, and notify the other
 *  ranks of the failure.
 *
 *  Collective over the grid with SP_STEP_MOVES or SP_STEP_SUMS, if all steps are run; on a GPU, kernels are
 *  queued.
 *  \param [in] status  this rank's status so far
 *  \return the first failure, whose message is kept: `status`, or the status of a step: SPMM_ERR_MPI (also:
 *          another rank has failed), _DEVICE, _MEMORY, or of the kernel's run() */
spmm_status sp_steps_run(sp_product *product, int from, int to, spmm_status status);

/** Waits on the host until all exchanged rows have arrived, as sp_exchange_settle() does. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI, _DEVICE */
spmm_status sp_steps_settle(sp_product *product);

#endif
