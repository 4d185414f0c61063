/* Adaptor to libspmm. It calls spmm_apply() of a plan, and uses only spmm.h, as a program of a user would. */
#include "own.h"

#include <spmm.h>

static const char *failed(spmm_status status) { return status == SPMM_OK ? NULL : spmm_error_message(); }

/* X and Y of a case on one rank, which all products share; on several ranks each product has its own */
static struct {
    spmm_multivector x, y;
    int users;
} shared;

static spmm_multivector host(const own_product *q, int64_t rows, void *data)
{
    return (spmm_multivector){rows, q->p.k, q->p.k, q->x.precision, SPMM_CPU, data, 0, 0, SPMM_ROW_MAJOR};
}

static const char *own_begin(void *product)
{
    own_product *const q = product;
    const own_form *const form = (const own_form *)q->p.form;
    const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, q->p.a->block, q->p.k, &form->options,
                                                &q->plan);
    /* a format may refuse a matrix, as ELLPACK refuses one with long rows, and a transport may not be
       available */
    q->p.left_out = status != SPMM_OK && form->may_refuse;
    if (status != SPMM_OK) return spmm_error_message();
    const int alone = ((const spmm_block *)q->p.a->block)->p == 1, is_there = alone && shared.users > 0;
    const char *problem = is_there ? NULL : failed(spmm_plan_x_create(q->plan, &q->x));
    if (!is_there && !problem) problem = failed(spmm_plan_y_create(q->plan, &q->y));
    if (problem) return problem;
    if (alone && !is_there) shared.x = q->x, shared.y = q->y;
    if (alone) q->x = shared.x, q->y = shared.y, q->shares = 1, shared.users++;
    const spmm_multivector x = host(q, q->x.rows, (void *)q->p.x);
    return failed(spmm_multivector_copy(&x, &q->x));
}

static void own_end(void *product)
{
    own_product *const q = product;
    if (!q->shares || --shared.users == 0) {
        spmm_multivector_destroy(&q->x);
        spmm_multivector_destroy(&q->y);
    }
    spmm_plan_destroy(q->plan);
}

static const char *own_run(void *product)
{
    own_product *const q = product;
    return failed(spmm_apply(q->plan, 1, &q->x, 0, &q->y));
}

static const char *own_move(void *product, int in)
{
    own_product *const q = product;
    spmm_multivector y = host(q, q->y.rows, q->p.y);
    return failed(in ? spmm_multivector_copy(&y, &q->y) : spmm_multivector_copy(&q->y, &y));
}

static const char *own_way(const void *product)
{
    return spmm_plan_kernel(((const own_product *)product)->plan);
}

const peer_adaptor own_peer = {.package = "spmm",
                               .product_bytes = sizeof(own_product),
                               .begin = own_begin,
                               .end = own_end,
                               .run = own_run,
                               .move = own_move,
                               .complex_values = 1,
                               .way = own_way};
