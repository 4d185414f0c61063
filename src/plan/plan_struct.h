/** A plan's members. Private to src/plan. */
#ifndef SP_PLAN_STRUCT_H
#define SP_PLAN_STRUCT_H

#include <stdatomic.h>

#include "base/memory.h"
#include "plan/plan.h"
#include "plan/transposed_product.h"

/** The objects that a plan owns if spmm_plan_create() made it. They are allocated separately, because
 *  products point to them. */
typedef struct sp_plan_own {
    sp_grid grid;
    sp_ghosted_block ghosted, joint;
    /* given: the caller's block, which the caller may destroy. kept: claims on its arrays. */
    spmm_block given;
    sp_kept kept[3];
    /* on_gpu: &given, if its CSR is in GPU memory; else NULL. host: the copy of *on_gpu in host memory, which
     * planning reads; its arrays are NULL as long as nothing but kernels for few products has read the
     * matrix. stale: 1: *on_gpu has newer values than `host`, or arrays that `host` lacks. */
    const spmm_block *on_gpu;
    spmm_block host;
    int64_t longest; /* number of entries of the longest row of a matrix that is read in place */
    int stale;
    uint32_t *found;   /* results of comparisons on the GPU, in pinned memory; NULL before the first one */
    uint32_t compared; /* number of the last comparison */
    sp_event *compared_event; /* recorded after a comparison that no product waits for; or NULL */
} sp_plan_own;

/** Data of gradients of the values, in addition to the product (values_gradient.c). Zeroed until needed. */
typedef struct sp_values_gradient {
    sp_ghosted_block halo; /* the block without the joint exchange, if the product has it */
    /* The places of the entries in GPU memory; NULL before the first gradient. */
    int32_t *entry_rows;
    const int32_t *entry_columns;
    sp_exchange *exchange; /* NULL: no rows of X are exchanged, or none have been so far */
    int64_t k;             /* the number of columns for which `exchange` is set; 0: none */
    /* Row-major copies of the operands, for the most columns so far. The copy of X has ghost rows if there is
     * an exchange. */
    spmm_multivector x, g;
} sp_values_gradient;

/** Frees the members. Waits for gradients that are queued. Collective over the plan's communicator. */
void sp_values_gradient_destroy(spmm_plan *plan);

/** Updates the copy on the host of the caller's CSR in GPU memory: its values, or all its arrays. Local.
 *  \param [in] own  NULL: there is nothing to copy
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE */
spmm_status sp_plan_refresh(sp_plan_own *own);

/** spmm_plan_update_values() for a plan that this thread has taken. Collective over the plan's
 *  communicator. */
spmm_status sp_plan_update_values(spmm_plan *plan);

/** The use of a plan. FREE: no thread uses it. TAKEN: a thread is in one of its functions. BEGUN: no thread
 *  is in a function, but a product has begun. */
enum { SP_PLAN_FREE = 0, SP_PLAN_TAKEN, SP_PLAN_BEGUN };

struct spmm_plan {
    atomic_int taken; /* one of SP_PLAN_* */
    int64_t k_max;    /* the k of spmm_plan_create() */
    sp_product *forward;
    sp_transposed *transposed; /* NULL before the first product with the transpose */
    sp_values_gradient gradient;
    sp_plan_own *own; /* what the plan owns, e.g. the grid and the blocks to which its products point; NULL if
                         spmm_plan_create() did not make the plan */
};

/** Takes the plan for this thread. Local. \return 1 on success; 0: another thread is in one of its
 *  functions */
int sp_plan_try(const spmm_plan *plan);

/** Takes the plan for a call of a public function. After SPMM_OK the caller must call sp_plan_give(). Local.
 *  \param [in] function  public function, for the message
 *  \param [in] idle      1: refuse the call between spmm_apply_begin() and spmm_apply_end()
 *  \return SPMM_OK, SPMM_ERR_USAGE (plan is NULL, another thread uses it, a product has begun, MPI is not
 *          running), _MPI */
spmm_status sp_plan_take(const spmm_plan *plan, const char *function, int idle);

/** Sets the message for a call that is refused because another thread uses the plan. Local. \return
 *  SPMM_ERR_USAGE */
spmm_status sp_plan_refuse(const char *function);

/** Ends the use of a plan that this thread has taken. Local. \return status */
spmm_status sp_plan_give(const spmm_plan *plan, spmm_status status);

#endif
