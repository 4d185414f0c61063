/** What a plan is made of, for spmm_mpi: phases timed apart. Embedders use spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "../kernels/kernel.h"

/** spmm_apply() that also tells how long the kernel itself ran: by events on a GPU, else by the
 *  clock. Local; complete on return. \param [out] seconds  may be NULL */
spmm_status sp_plan_apply(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y, double *seconds);

#endif
