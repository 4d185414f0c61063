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

/** Opens a GPU. Returns 0 if there is none, and reports the tests of that sentence as not run. */
static inline int gpu_opened(const char *sentence)
{
    if (spmm_device_open(MPI_COMM_WORLD) == SPMM_OK) return 1;
    SKIP(sentence, spmm_error_message());
    return 0;
}

/** Scatters the matrix of a generator over p x q ranks, or, if both are 0, over all ranks x 1. */
static inline void scattered(const char *spec, spmm_precision precision, int p, int q, spmm_block *block)
{
    spmm_csr a = {0};
    if (test_.rank == 0) CHECK_INT(spmm_csr_generate(spec, precision, &a), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, p, q, block), SPMM_OK);
    spmm_csr_destroy(&a);
}

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
