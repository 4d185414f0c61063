/** A plan with its multivectors. */
#ifndef SP_PLANNED_H
#define SP_PLANNED_H

#include "spmm.h"
#include "test_mpi.h"

/** A plan, its X and its Y. */
typedef struct planned {
    spmm_plan *plan;
    spmm_multivector x, y;
} planned;

/** Makes a plan of this rank's block; X and Y are zero. */
static inline void planned_of(const spmm_block *block, int64_t k, const spmm_plan_options *options,
                              planned *p)
{
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, k, options, &p->plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(p->plan, &p->x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(p->plan, &p->y), SPMM_OK);
}

static inline void planned_destroy(planned *p)
{
    spmm_plan_destroy(p->plan);
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
}

#endif
