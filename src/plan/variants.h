/** Variants of a plan: the ways of moving rows between ranks that it could take, ranked by a model and timed for a moment. */
#ifndef SP_VARIANTS_H
#define SP_VARIANTS_H

#include "plan/plan.h"

/** Creates a plan of each variant that may be the fastest, times a few products, and keeps the fastest. Variants differ in
 *  what is not given by the options: the exchange and, on GPUs, the number of column blocks, and whether interior
 *  rows are computed during the exchange. The model's times are made of the parts that the first variant, the one of
 *  sp_plan_create(), was measured to take: its kernels, and its exchange; see docs/SCALING.md. Only variants with a
 *  modelled time near the least are created. Nothing is timed if there is only one variant, or if the options have
 *  quick_plan set: then the plan is of the joint exchange where `joint` moves clearly fewer rows.
 *
 *  Collective over grid->comm. Parameters and status as for sp_plan_create(), with one more:
 *  \param [in] joint  the halo of the joint exchange; NULL: no variant has it. Must outlive the plan, as `halo` must */
spmm_status sp_plan_create_fastest(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                   const sp_halo *joint, int64_t k, const spmm_plan_options *options,
                                   int all_kernels, spmm_plan **plan);

/** Creates the halo of the joint exchange beside another one, if it is worth a plan: if options->exchange leaves the
 *  choice, options->any_order allows it, and it moves clearly fewer rows.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo   the halo without partial rows
 *  \param [out] joint  the caller destroys it; zeroed if it is not worth it, or on failure
 *  \return status as for sp_halo_create() */
spmm_status sp_joint_halo_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                 const spmm_plan_options *options, sp_halo *joint);

#endif
