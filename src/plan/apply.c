/** The public functions that compute products. */
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "plan/plan_struct.h"

static sp_value factor(const spmm_plan *plan, spmm_complex value)
{
    return sp_value_of(value, plan->forward->precision);
}

spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(plan, __func__, 1));
    plan->forward->function = __func__;
    return sp_plan_give(plan, sp_product_apply(plan->forward, factor(plan, alpha), x, factor(plan, beta), y));
}

/** Refuses the capture of spmm_apply_begin() alone, because spmm_apply_end() waits on the host. */
static spmm_status check_not_captured(const sp_product *p)
{
    int captured;
    TRY(sp_device_captures(p->stream, &captured));
    if (!captured) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: the stream is being captured in a CUDA graph: call spmm_apply() instead",
                   p->function);
}

spmm_status spmm_apply_begin(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                             spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(plan, __func__, 1));
    plan->forward->function = __func__;
    const spmm_status status = plan->forward->stream ? check_not_captured(plan->forward) : SPMM_OK;
    return sp_plan_give(plan, status == SPMM_OK ? sp_product_begin(plan->forward, factor(plan, alpha), x,
                                                                   factor(plan, beta), y)
                                                : status);
}

spmm_status spmm_apply_end(spmm_plan *plan)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(plan, __func__, 0));
    if (plan->forward->pending.open) return sp_plan_give(plan, sp_product_end(plan->forward));
    return sp_plan_give(plan, sp_fail(SPMM_ERR_USAGE,
                                      "%s: no product of the plan has begun: call spmm_apply_begin() first",
                                      __func__));
}

/* ---- with the transpose ---- */

/** Refuses to capture products with the transpose in a CUDA graph if they need the host. */
static spmm_status check_transposed_capture(const spmm_plan *p)
{
    int captured;
    TRY(sp_device_captures(p->forward->stream, &captured));
    if (!captured || (p->transposed && !sp_transposed_shares_x(p->transposed))) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE, "%s: the stream is being captured in a CUDA graph, %s", p->forward->function,
        p->transposed ? "expected a call outside of the capture: the hosts broadcast X over the process row"
                      : "expected a product with the transpose before the capture");
}

static spmm_status apply_transposed(spmm_plan *p, int conjugate, spmm_complex alpha,
                                    const spmm_multivector *x, spmm_complex beta, spmm_multivector *y)
{
    if (p->forward->stream) TRY(check_transposed_capture(p));
    if (!p->transposed) { /* create it from the current values of the matrix */
        const int there = sp_product_is_there(p->forward);
        TRY(sp_agree(p->forward->grid->comm, "plan", there ? SPMM_OK : sp_plan_refresh(p->own)));
        TRY(sp_transposed_create(p->forward, &p->transposed));
    }
    return sp_transposed_apply(p->transposed, conjugate, factor(p, alpha), x, factor(p, beta), y);
}

spmm_status spmm_apply_transposed(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                                  spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(plan, __func__, 1));
    plan->forward->function = __func__;
    return sp_plan_give(plan, apply_transposed(plan, 0, alpha, x, beta, y));
}

/* ---- with complex factors ---- */

/** Checks that a plan for real values is given real factors. */
static spmm_status check_factors(const spmm_plan *p, spmm_complex alpha, spmm_complex beta)
{
    const spmm_precision precision = p->forward->precision;
    if (sp_is_complex(precision) || (__imag__ alpha == 0 && __imag__ beta == 0)) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "spmm_apply_complex: %s has an imaginary part, expected a real number: the "
                   "matrix is %s",
                   __imag__ alpha == 0 ? "beta" : "alpha", sp_precision_word(precision));
}

spmm_status spmm_apply_complex(spmm_plan *plan, spmm_operation op, spmm_complex alpha,
                               const spmm_multivector *x, spmm_complex beta, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_among(__func__, "op", (int)op, "spmm_operation", SPMM_NO_TRANSPOSE, SPMM_CONJUGATE_TRANSPOSE));
    TRY(sp_plan_take(plan, __func__, 1));
    plan->forward->function = __func__;
    /* even after a failure this rank takes part in the product, with the real parts of the factors */
    const spmm_status given = check_factors(plan, alpha, beta);
    const spmm_status status = op == SPMM_NO_TRANSPOSE
                                   ? sp_product_apply(plan->forward, factor(plan, alpha), x,
                                                      factor(plan, beta), y)
                                   : apply_transposed(plan, op == SPMM_CONJUGATE_TRANSPOSE, alpha, x, beta,
                                                      y);
    return sp_plan_give(plan, given == SPMM_OK ? status : check_factors(plan, alpha, beta));
}
