/** A plan's members. Private to src/plan. */
#ifndef SP_PLAN_STRUCT_H
#define SP_PLAN_STRUCT_H

#include <stdatomic.h>

#include "plan/plan.h"
#include "plan/transposed_product.h"

/** What a plan owns if spmm_plan_create() made it; in memory of its own, because products point into it. */
typedef struct sp_plan_own {
    sp_grid grid;
    sp_halo halo, joint;
    /* The caller's block, if its CSR is in GPU memory, which planning copies to host memory; else NULL.
     * Values there may be newer. */
    const spmm_block *on_gpu;
    spmm_block host;
    int stale;
} sp_plan_own;

/** Copies values from the caller's CSR in GPU memory to the host, if those there are older. Local.
 *  \param [in] own  NULL: there is nothing to copy
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_plan_refresh(sp_plan_own *own);

/** Who has a plan: nobody; a thread that is in one of its functions; nobody, and a product has begun. */
enum { SP_PLAN_FREE = 0, SP_PLAN_TAKEN, SP_PLAN_BEGUN };

struct spmm_plan {
    atomic_int taken; /* one of SP_PLAN_* */
    int64_t k_max;    /* that spmm_plan_create() was told */
    sp_product *forward;
    sp_transposed *transposed; /* NULL before the first product with the transpose */
    sp_variants variants;      /* what `forward` was chosen from */
    sp_plan_own *own; /* what grid and halo point to, if spmm_plan_create() made the plan; else NULL */
};

/** Takes the plan for this thread. Local. \return 1; 0: another thread is in one of its functions */
int sp_plan_try(const spmm_plan *plan);

/** Takes the plan for a call of a public function; after SPMM_OK, sp_plan_give() ends that. Local.
 *  \param [in] function  public function, for the message
 *  \param [in] idle      1: it is to be refused between spmm_apply_begin() and spmm_apply_end()
 *  \return SPMM_OK, SPMM_ERR_USAGE (plan is NULL, another thread uses it, a product has begun, MPI is not
 *          running), _MPI */
spmm_status sp_plan_take(const spmm_plan *plan, const char *function, int idle);

/** Refuses a call because another thread uses the plan. Local. \return SPMM_ERR_USAGE */
spmm_status sp_plan_refuse(const char *function);

/** Ends the use of a plan that this thread has taken. Local. \return status */
spmm_status sp_plan_give(const spmm_plan *plan, spmm_status status);

#endif
