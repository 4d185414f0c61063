/** A plan's members. Private to plan.c, which creates plans, and to apply.c, which computes products. */
#ifndef SP_PLAN_STRUCT_H
#define SP_PLAN_STRUCT_H

#include "plan/column_blocks.h"
#include "plan/exchange.h"
#include "plan/phases.h"
#include "plan/plan.h"
#include "plan/reduce.h"
#include "plan/row_blocks.h"

struct spmm_plan {
    const sp_grid *grid;
    const sp_halo *halo;
    /* if spmm_plan_create() made the plan, grid and halo point to own_grid and own_halo; else these are
     * zeroed */
    sp_grid own_grid;
    sp_halo own_halo;
    int64_t k, y_rows;
    spmm_precision precision;
    spmm_device space; /* memory of X and Y */
    sp_shape shape;
    int threads;
    sp_row_blocks parts;
    sp_stream boundary_stream; /* on a GPU: the stream in which the kernels for boundary rows run */
    sp_column_blocks column_blocks;
    sp_exchange *exchange;   /* NULL: no rows of X are exchanged */
    sp_reduction *reduction; /* NULL: Q is 1, nothing is summed */
    sp_phases phases;
    /* copy of the caller's X, if the caller's X cannot receive ghost rows; allocated when first needed */
    spmm_multivector x;
    /* this rank's A X, if kernels cannot write it to the caller's Y; allocated when first needed */
    spmm_multivector y;
};

#endif
