/** A plan with its multivectors. */
#ifndef SP_PLANNED_H
#define SP_PLANNED_H

#include "distributed.h"

/** A plan for d, its X, filled with x_of(), and its Y. */
typedef struct planned {
    spmm_plan *plan;
    spmm_multivector x, y;
} planned;

static void planned_create(const distributed *d, int64_t k, const spmm_plan_options *options, planned *p)
{
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d->block, k, options, &p->plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(p->plan, &p->x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(p->plan, &p->y), SPMM_OK);
    fill(&p->x, d->block.x_begin);
}

static void planned_destroy(planned *p)
{
    spmm_plan_destroy(p->plan);
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
}

#endif
