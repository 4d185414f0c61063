/** What a plan is made of, for spmm_mpi: phases timed apart. Embedders use spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "choose.h"

/** spmm_apply() that also tells how long the kernel itself ran: by events on a GPU, else by the
 *  clock. Local; complete on return. \param [out] seconds  may be NULL */
spmm_status sp_plan_apply(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y, double *seconds);

/** The facts that a kernel is chosen by, of all ranks' blocks together.
 *
 *  Collective over comm; the same on every rank.
 *  \param [in] threads  OpenMP threads of this rank; 0: omp_get_max_threads() */
spmm_status sp_plan_features(MPI_Comm comm, const spmm_csr *block, int threads, sp_features *f);

#endif
