/** Derives the setting of a cut from the ranks and the options of a plan, for spmm_cut_create() and the
 *  program. */
#ifndef SP_PLAN_CUT_H
#define SP_PLAN_CUT_H

#include "comm/grid.h"
#include "order/renumbering.h"

/** Describes the products for which rows are cut into the row blocks of a grid.
 *
 *  Collective over grid->comm.
 *  \param [in]  o        options of the plans; options.threads is not read
 *  \param [in]  k        columns of X, >= 0
 *  \param [in]  chooses  1: the cut will be chosen: rows that ranks of a node share are counted once per
 *                        node, if all nodes have equally many ranks; 0: rows are counted for each rank
 *  \param [out] s        the same on every rank, except s->threads
 *  \param [out] why      why renumbering rows is of no use, in static storage; NULL: it may be of use. The
 *                        same on every rank
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_cut_setting_of(const sp_grid *grid, const spmm_plan_options *o, int threads, int64_t k,
                              spmm_precision precision, int chooses, sp_cut_setting *s, const char **why);

#endif
