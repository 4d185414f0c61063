#include "plan.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "device.h"
#include "matrix.h"
#include "memory.h"
#include "work.h"

struct spmm_plan {
    const sp_kernel *kernel;
    sp_matrix a;
    int64_t k;
    sp_work work; /* on the CPU */
    void *state;  /* the kernel's */
    sp_shape shape;
    sp_timer *timer; /* NULL on the CPU */
};

static int threads_of(int asked) { return asked > 0 ? asked : omp_get_max_threads(); }

spmm_status sp_plan_features(MPI_Comm comm, const spmm_csr *block, int threads, sp_features *f)
{
    sp_features_of(block, threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    return sp_slowest(comm, &f->longest, 1);
}

static spmm_status named_kernel(const spmm_plan_options *o, const sp_kernel **kernel)
{
    *kernel = sp_kernel_find(o->kernel);
    if (!*kernel) return sp_fail(SPMM_ERR_USAGE, "no kernel %s: see --list-kernels", o->kernel);
    if ((*kernel)->device != o->device || (o->format != SPMM_FORMAT_AUTO && (*kernel)->format != o->format))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s is for another device or format: see --list-kernels",
                       (*kernel)->id);
    return SPMM_OK;
}

/** The part of spmm_plan_create() that is this rank's own. f: NULL where the kernel is named. */
static spmm_status build(const spmm_csr *block, int64_t k, const spmm_plan_options *o, const sp_features *f,
                         spmm_plan *plan)
{
    const int threads = threads_of(o->threads);
    if (k < 1) return sp_fail(SPMM_ERR_USAGE, "K = %lld: X must have at least one column", (long long)k);
    plan->k = k;
    plan->shape = (sp_shape){o->block_size, o->subwarp};
    TRY(sp_shape_check(plan->shape));
    TRY(f ? sp_choose(f, k, block->precision, o->device, o->format, &plan->kernel, NULL, 0)
          : named_kernel(o, &plan->kernel));
    TRY(sp_matrix_create(block, plan->kernel->format, o->device, o->ell_limit, threads, &plan->a));
    if (o->device == SPMM_CUDA)
        TRY(sp_timer_create(&plan->timer));
    else
        TRY(sp_work_create(block->irp, block->rows, threads, &plan->work));
    const sp_setup setup = {&plan->a, block, k, threads, plan->shape};
    return plan->kernel->ops->prepare ? plan->kernel->ops->prepare(&setup, &plan->state) : SPMM_OK;
}

spmm_status spmm_plan_create(MPI_Comm comm, const spmm_csr *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan)
{
    static const spmm_plan_options defaults;
    const spmm_plan_options *o = options ? options : &defaults;
    sp_features f;
    spmm_plan *p = NULL;
    *plan = NULL;
    if (!o->kernel) TRY(sp_plan_features(comm, block, o->threads, &f));
    spmm_status status = sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan");
    if (status == SPMM_OK) status = build(block, k, o, o->kernel ? NULL : &f, p);
    status = sp_agree(comm, "convert", status);
    if (status != SPMM_OK) {
        spmm_plan_destroy(p);
        return status;
    }
    *plan = p;
    return SPMM_OK;
}

void spmm_plan_destroy(spmm_plan *plan)
{
    if (!plan) return;
    if (plan->kernel && plan->kernel->ops->release) plan->kernel->ops->release(plan->state);
    sp_matrix_destroy(&plan->a);
    sp_work_destroy(&plan->work);
    sp_timer_destroy(plan->timer);
    sp_free(plan);
}

const char *spmm_plan_kernel(const spmm_plan *plan) { return plan->kernel->id; }

static spmm_status check_shape(const spmm_plan *plan, const spmm_multivector *v, int64_t rows,
                               const char *name)
{
    if (v->rows == rows && v->k == plan->k && v->ld >= v->k && v->precision == plan->a.precision &&
        v->space == plan->kernel->device)
        return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE, "%s is %lld x %lld %s in %s memory; the plan needs %lld x %lld %s in %s memory", name,
        (long long)v->rows, (long long)v->k, v->precision == SPMM_F64 ? "f64" : "f32",
        v->space == SPMM_CPU ? "host" : "GPU", (long long)rows, (long long)plan->k,
        plan->a.precision == SPMM_F64 ? "f64" : "f32", plan->kernel->device == SPMM_CPU ? "host" : "GPU");
}

spmm_status sp_plan_apply(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y, double *seconds)
{
    const sp_launch launch = {&plan->a, plan->timer ? NULL : &plan->work, plan->state, plan->shape, x, y};
    TRY(check_shape(plan, x, plan->a.cols, "X"));
    TRY(check_shape(plan, y, plan->a.rows, "Y"));
    const double start = omp_get_wtime();
    if (plan->timer && seconds) TRY(sp_timer_start(plan->timer));
    TRY(plan->kernel->ops->run(&launch));
    if (plan->timer && seconds) TRY(sp_timer_stop(plan->timer));
    if (plan->timer) TRY(sp_device_sync());
    if (!seconds) return SPMM_OK;
    if (plan->timer) return sp_timer_seconds(plan->timer, seconds);
    *seconds = omp_get_wtime() - start;
    return SPMM_OK;
}

spmm_status spmm_apply(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y)
{
    return sp_plan_apply(plan, x, y, NULL);
}
