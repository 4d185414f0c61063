/** Ensures that only one thread at a time uses a plan. */
#include "base/status.h"
#include "base/threads.h"
#include "plan/plan_struct.h"

/** Returns the flag of the plan; it may be changed although the plan is const for its readers. */
static atomic_int *flag_of(const spmm_plan *p) { return &((spmm_plan *)(uintptr_t)p)->taken; }

/** Takes the plan if its flag is `from`. \return 1 on success, else 0 */
static int take_from(const spmm_plan *p, int from)
{
    return atomic_compare_exchange_strong_explicit(flag_of(p), &from, SP_PLAN_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

int sp_plan_try(const spmm_plan *p) { return take_from(p, SP_PLAN_FREE) || take_from(p, SP_PLAN_BEGUN); }

spmm_status sp_plan_give(const spmm_plan *p, spmm_status status)
{
    atomic_store_explicit(flag_of(p), p->forward->pending.open ? SP_PLAN_BEGUN : SP_PLAN_FREE,
                          memory_order_release);
    return status;
}

spmm_status sp_plan_refuse(const char *function)
{
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: another thread uses the plan, expected one at a time: this call had no effect",
                   function);
}

spmm_status sp_plan_take(const spmm_plan *p, const char *function, int idle)
{
    TRY(sp_given(function, "plan", p, "a plan of spmm_plan_create()"));
    /* comes first: after a fork, a thread that exists only in the parent may hold the flag */
    TRY(sp_fork_check(function));
    /* Takes the plan before calling MPI, because two threads may not be allowed to call MPI. With `idle`, a
     * plan whose product has begun is never taken, so that no other thread can interfere before
     * spmm_apply_end(). */
    if (!(idle ? take_from(p, SP_PLAN_FREE) : sp_plan_try(p))) {
        if (atomic_load_explicit(flag_of(p), memory_order_relaxed) != SP_PLAN_BEGUN)
            return sp_plan_refuse(function);
        return sp_fail(SPMM_ERR_USAGE, "%s: a product of the plan has begun: call spmm_apply_end() first",
                       function);
    }
    const spmm_status status = sp_comm_check(p->forward->grid->comm, function);
    return status == SPMM_OK ? SPMM_OK : sp_plan_give(p, status);
}
