/** Checks the arguments of spmm_plan_create(), except the contents of the block, which sp_halo_create() checks. */
#ifndef SP_PLAN_CHECK_H
#define SP_PLAN_CHECK_H

#include "comm/comm.h"

/** Checks that the arguments are present and have valid values, and that they agree over the ranks; only
 *  options->threads, and whether the caller passed options at all, may differ.
 *
 *  Collective over comm, which sp_comm_check() must have accepted.
 *  \param [in] options  not NULL
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MPI */
spmm_status sp_plan_check(MPI_Comm comm, const spmm_block *block, int64_t k, const spmm_plan_options *options,
                          spmm_plan *const *plan);

#endif
