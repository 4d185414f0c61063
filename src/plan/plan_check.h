/** Checks the arguments of spmm_plan_create(). The contents of the block are checked by
 *  sp_ghosted_block_create(). */
#ifndef SP_PLAN_CHECK_H
#define SP_PLAN_CHECK_H

#include "comm/comm.h"
#include "spmm_extended.h"

/** Checks the values of the options that determine which rows of X move and how (device, exchange, transport,
 *  exchange_precision), and of threads. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names `function` and the option */
spmm_status sp_plan_check_moves(const char *function, const spmm_plan_options *options);

/** Checks that the arguments of spmm_plan_create() are present, have valid values, and agree over the ranks.
 *  options->threads may differ between ranks. options->stream must be NULL on all ranks or on none. NULL
 *  options on some ranks agree with explicit defaults on others.
 *
 *  Collective over comm, which sp_comm_check() must have accepted.
 *  \param [in] function  public function, for the messages
 *  \param [in] options, study  not NULL
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE, _LIMIT (X or Y is too large), _NO_DEVICE,
 *          _DEVICE, _MPI */
spmm_status sp_plan_check(const char *function, MPI_Comm comm, const spmm_block *block, int64_t k,
                          const spmm_plan_options *options, const spmm_plan_study *study,
                          spmm_plan *const *plan);

#endif
