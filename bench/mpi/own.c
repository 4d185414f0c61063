/* Ours: spmm_apply of a plan whose format and exchange the library chooses. */
#include <stdlib.h>

#include "bench.h"

typedef struct product {
    spmm_plan *plan;
    spmm_multivector x, y;
} product;

static const char *failed(spmm_status status) { return status == SPMM_OK ? NULL : spmm_error_message(); }

static const char *own_begin(const spmm_block *block, int64_t k, int threads, void **state)
{
    const spmm_plan_options options = {.format = SPMM_FORMAT_AUTO, .threads = threads};
    product *const p = calloc(1, sizeof *p);
    *state = p;
    if (agree(p ? NULL : "no memory")) return "no memory";
    const char *problem = failed(spmm_plan_create(MPI_COMM_WORLD, block, k, &options, &p->plan));
    if (!problem) problem = failed(spmm_plan_x_create(p->plan, &p->x));
    if (!problem) problem = failed(spmm_plan_y_create(p->plan, &p->y));
    return problem;
}

static void own_end(void *state)
{
    product *const p = state;
    if (!p) return;
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
    spmm_plan_destroy(p->plan);
    free(p);
}

static const char *own_run(void *state)
{
    product *const p = state;
    return failed(spmm_apply(p->plan, 1, &p->x, 0, &p->y));
}

static const char *own_view(void *state, side which, view *v)
{
    product *const p = state;
    const spmm_multivector *const m = which == SIDE_X ? &p->x : &p->y;
    *v = (view){m->data, m->ld, 1};
    return NULL;
}

static const char *own_release(void *state, side which, view *v)
{
    (void)state, (void)which, (void)v;
    return NULL;
}

static const char *own_kernel(const void *state) { return spmm_plan_kernel(((const product *)state)->plan); }

const contender own = {.name = "spmm",
                       .begin = own_begin,
                       .run = own_run,
                       .view = own_view,
                       .release = own_release,
                       .kernel = own_kernel,
                       .end = own_end};
