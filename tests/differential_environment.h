/** Calls of the library in a floating-point environment that is drawn for each case and rank, and again for
 *  each OpenMP thread. Results must not depend on it, and calls must leave it as it was. The tester itself
 *  computes in the default environment. */
#ifndef SP_DIFFERENTIAL_ENVIRONMENT_H
#define SP_DIFFERENTIAL_ENVIRONMENT_H

#include <omp.h>

#include "differential.h"
#include "fp_environments.h"

static fp_environment diff_environment;

/** Draws the environments of the case: half of them the default. */
static inline void diff_draw_environments(void)
{
    const uint64_t key = diff_hash(diff_.seed, (int64_t)diff_.number, diff_.world_rank);
    diff_environment = (fp_environment)(key % 2 ? key / 2 % FP_ENVIRONMENTS : FP_DEFAULT);
#pragma omp parallel
    if (omp_get_thread_num() > 0)
        fp_set((fp_environment)(diff_hash(key, omp_get_thread_num(), 0) % FP_ENVIRONMENTS));
}

/** Ends a call that returned `status`. */
static inline spmm_status diff_called(spmm_status status)
{
    const int kept = fp_kept(diff_environment);
    fp_set(FP_DEFAULT);
    if (!kept) differs("a call changed the caller's floating-point environment %d", (int)diff_environment);
    return status;
}

#define IN_ENVIRONMENT(call) (fp_set(diff_environment), diff_called(call))
#define spmm_csr_from_triplets(...) IN_ENVIRONMENT(spmm_csr_from_triplets(__VA_ARGS__))
#define spmm_csr_from_triplets_complex(...) IN_ENVIRONMENT(spmm_csr_from_triplets_complex(__VA_ARGS__))
#define spmm_csr_scatter(...) IN_ENVIRONMENT(spmm_csr_scatter(__VA_ARGS__))
#define spmm_plan_create(...) IN_ENVIRONMENT(spmm_plan_create(__VA_ARGS__))
#define spmm_plan_create_extended(...) IN_ENVIRONMENT(spmm_plan_create_extended(__VA_ARGS__))
#define spmm_plan_set_k(...) IN_ENVIRONMENT(spmm_plan_set_k(__VA_ARGS__))
#define spmm_plan_update_values(...) IN_ENVIRONMENT(spmm_plan_update_values(__VA_ARGS__))
#define spmm_apply(...) IN_ENVIRONMENT(spmm_apply(__VA_ARGS__))
#define spmm_apply_begin(...) IN_ENVIRONMENT(spmm_apply_begin(__VA_ARGS__))
#define spmm_apply_end(...) IN_ENVIRONMENT(spmm_apply_end(__VA_ARGS__))
#define spmm_apply_transposed(...) IN_ENVIRONMENT(spmm_apply_transposed(__VA_ARGS__))
#define spmm_apply_complex(...) IN_ENVIRONMENT(spmm_apply_complex(__VA_ARGS__))
#define spmm_multivector_copy(...) IN_ENVIRONMENT(spmm_multivector_copy(__VA_ARGS__))
#define spmm_multivector_dot(...) IN_ENVIRONMENT(spmm_multivector_dot(__VA_ARGS__))
#define spmm_multivector_dot_complex(...) IN_ENVIRONMENT(spmm_multivector_dot_complex(__VA_ARGS__))
#define spmm_multivector_norms(...) IN_ENVIRONMENT(spmm_multivector_norms(__VA_ARGS__))
#define spmm_multivector_times(...) IN_ENVIRONMENT(spmm_multivector_times(__VA_ARGS__))
#define spmm_multivector_times_complex(...) IN_ENVIRONMENT(spmm_multivector_times_complex(__VA_ARGS__))
#define spmm_multivector_axpby(...) IN_ENVIRONMENT(spmm_multivector_axpby(__VA_ARGS__))
#define spmm_multivector_axpby_complex(...) IN_ENVIRONMENT(spmm_multivector_axpby_complex(__VA_ARGS__))
#define spmm_multivector_scale(...) IN_ENVIRONMENT(spmm_multivector_scale(__VA_ARGS__))
#define spmm_multivector_scale_complex(...) IN_ENVIRONMENT(spmm_multivector_scale_complex(__VA_ARGS__))

#endif
