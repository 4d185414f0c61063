/** What spmm_plan_create() is given, but for the block itself, which sp_halo_create() looks at. */
#ifndef SP_PLAN_CHECK_H
#define SP_PLAN_CHECK_H

#include "comm/comm.h"

/** Are the arguments there and known values, and those the same on every rank that must be?
 *
 *  Collective over comm, which sp_comm_check() has passed. Local are options->threads, and whether options were NULL.
 *  \param [in] options  not NULL
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _MPI */
spmm_status sp_plan_check(MPI_Comm comm, const spmm_block *block, int64_t k, const spmm_plan_options *options,
                          spmm_plan *const *plan);

#endif
