/** Chooses how a product exchanges rows, by timing. */
#include "plan/variants.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"

/** The joint exchange is used only if it moves less than this share of the rows of a halo exchange: it costs
 *  a second kernel and the addition of partial rows. */
static const double WORTH = 0.8;
typedef struct trials {
    const sp_ghosted_block *a, *joint;
    const sp_matrix *slice;
    int64_t k;
    spmm_plan_options options;
    const spmm_plan_study *study;
    const char *kernel; /* kernel of the first variant */
    sp_product *first;  /* product of variant 0, until it is tried */
    sp_variants *all;
} trials;

/* ---- timing ---- */

/** A product that is timed, and its operands. */
typedef struct timed_product {
    sp_product *product;
    spmm_multivector x, y;
} timed_product;

static spmm_status create_x_and_y(timed_product *t)
{
    const sp_product *const p = t->product;
    TRY(sp_product_x_create(p, p->k, 0, &t->x));
    return spmm_multivector_create(p->y_rows, p->k, p->precision, p->space, &t->y);
}

static spmm_status variants_run(void *of, void *made)
{
    timed_product *const t = made;
    (void)of;
    return sp_product_run(t->product, SP_STEP_ALL, &t->x, &t->y);
}

/* ---- variants ---- */

static void variants_add(sp_variants *all, spmm_exchange exchange, int column_blocks, int overlap)
{
    for (int i = 0; i < all->count; i++) {
        const sp_variant *const v = &all->variant[i];
        if (v->exchange == exchange && v->column_blocks == column_blocks && v->overlap == overlap) return;
    }
    if (all->count < SP_MOST_VARIANTS)
        all->variant[all->count++] = (sp_variant){exchange, column_blocks, overlap, NAN};
}

/** Lists up to SP_MOST_VARIANTS variants. The first is p, which exists already; the others follow in the
 *  order of how often they were the fastest (bench/records/FACTS.md). The same on all ranks.
 *  \param [in] apart     1: p computes interior rows separately on at least one rank
 *  \param [in] interior  1: a variant could compute interior rows separately on at least one rank */
static void list(const trials *t, const sp_product *p, int apart, int interior, sp_variants *all)
{
    const spmm_plan_options *const o = &t->options;
    const int best = sp_column_blocks_best(t->k, p->precision, INT64_MAX), blocks = p->column_blocks.count,
              overlap = !o->no_overlap, gpu = p->space == SPMM_CUDA;
    variants_add(all, t->a->kind, blocks, gpu ? apart || blocks > 1 : overlap);
    if (sp_ghosted_block_moved(t->a) == 0) return;
    /* on a GPU a second launch can cost more than the overlap hides; on a CPU a second call costs nothing */
    const int choice = gpu && overlap && o->column_blocks <= 1;
    const int cuts = choice && o->column_blocks == 0 && t->a->moves.all_moved > 0 && !t->a->joint;
    if (choice) variants_add(all, t->a->kind, 1, 0);
    /* column blocks were never faster with the joint exchange (bench/records/TABLES.md) */
    if (t->joint)
        variants_add(all, SPMM_EXCHANGE_JOINT, o->column_blocks > 1 ? o->column_blocks : 1, overlap);
    if (cuts && best > 1 && sp_column_blocks_fit(t->k, p->precision, 2)) variants_add(all, t->a->kind, 2, 1);
    if (choice && interior) variants_add(all, t->a->kind, 1, 1);
    if (cuts && best > 1) variants_add(all, t->a->kind, best, 1);
    /* with more blocks, a column block of X may fit in the cache of a GPU, if its rows stay long enough */
    if (cuts && best > 1 && blocks == best &&
        sp_column_blocks_best(t->k / 2, p->precision, INT64_MAX) == best &&
        sp_column_blocks_fit(t->k, p->precision, 2 * best))
        variants_add(all, t->a->kind, 2 * best, 1);
}

static spmm_status create_variant(const trials *t, const sp_variant *v, sp_product **product)
{
    spmm_plan_options o = t->options;
    o.column_blocks = v->column_blocks;
    o.no_overlap = !v->overlap;
    /* Reuse the kernel that the trial for variant 0 has chosen, if this variant has as many column blocks.
     * Not for the joint exchange, because it multiplies other entries on this rank. */
    if (v->exchange != SPMM_EXCHANGE_JOINT && v->column_blocks == t->all->variant[0].column_blocks)
        o.kernel = t->kernel;
    return sp_product_create(v->exchange == SPMM_EXCHANGE_JOINT && t->joint ? t->joint : t->a, t->slice, t->k,
                             &o, t->study, product);
}

static spmm_status variants_make(void *of, int i, void **made)
{
    trials *const t = of;
    timed_product *p = NULL;
    spmm_status status = sp_agree(t->a->grid->comm, "plan",
                                  sp_alloc_zero((void **)&p, 1, sizeof *p, "a product that is tried"));
    *made = p;
    TRY(status);
    if (i > 0) {
        TRY(create_variant(t, &t->all->variant[i], &p->product));
    } else {
        p->product = t->first;
        t->first = NULL;
    }
    return sp_agree(t->a->grid->comm, "plan", create_x_and_y(p));
}

static void variants_destroy(void *of, void *made)
{
    timed_product *const p = made;
    (void)of;
    if (!p) return;
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
    sp_product_destroy(p->product);
    sp_free(p);
}

/** Times the variants, and selects the fastest. Collective. */
static spmm_status try_all(trials *t, sp_product **product)
{
    static const sp_trial_ops ops = {"plan", variants_make, variants_run, NULL, variants_destroy, 0};
    sp_trial trial = {.count = 0};
    MPI_Comm comm = t->a->grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    void *best = NULL;
    if (t->options.transport == SPMM_TRANSPORT_AUTO && t->first->space == SPMM_CUDA && t->first->exchange)
        t->options.transport = sp_exchange_transport(t->first->exchange);
    if (t->first->reduction)
        t->options.reduce = sp_reduction_method(t->first->reduction); /* the reduction
                                                                         has been timed
                                                                         already */
    for (int i = 0; i < t->all->count; i++) sp_trial_add(&trial, "");
    *product = NULL;
    const spmm_status status = sp_trial_run(&all, &ops, t, 0, &trial, &best);
    if (status != SPMM_OK) {
        sp_product_destroy(t->first);
        return status;
    }
    for (int i = 0; i < trial.count; i++) t->all->variant[i].measured = trial.tried[i].seconds;
    t->all->chosen = trial.chosen;
    timed_product *const p = best;
    *product = p->product;
    p->product = NULL;
    variants_destroy(NULL, p);
    return SPMM_OK;
}

/** Selects the joint exchange because it moves fewer rows, without timing. Collective. */
static spmm_status take_joint(const trials *t, sp_product **product)
{
    sp_variants *const all = t->all;
    sp_product *other = NULL;
    int i = 1;
    while (i < all->count && all->variant[i].exchange != SPMM_EXCHANGE_JOINT) i++;
    if (i == all->count) return SPMM_OK;
    const spmm_status status = create_variant(t, &all->variant[i], &other);
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT) return SPMM_OK;
    TRY(status);
    sp_product_destroy(*product);
    *product = other;
    all->chosen = i;
    return SPMM_OK;
}

/** Choices made for the first product, which later products reuse. */
typedef struct first_choices {
    sp_trial kernel_trial, reduce_trial;
    char why[SP_WHY_BYTES];
} first_choices;

/** If the bits of the serial product are required, refuses options that cannot give them. The same on all
 *  ranks. */
static spmm_status check_exact(const sp_ghosted_block *a, const spmm_plan_options *o)
{
    const int *const dims = a->grid->dims;
    if (!o->exact) return SPMM_OK;
    if (a->joint || o->exchange == SPMM_EXCHANGE_JOINT)
        return sp_fail(SPMM_ERR_USAGE,
                       "the joint exchange adds partial sums, which does not keep the serial product's bits: "
                       "expected another exchange, or no requirement of exact bits");
    if (dims[1] > 1)
        return sp_fail(
            SPMM_ERR_USAGE,
            "the grid is %d x %d, and partial sums of %d ranks are added, which does not keep the serial "
            "product's bits: expected a P x 1 grid, or no requirement of exact bits",
            dims[0], dims[1], dims[1]);
    return SPMM_OK;
}

spmm_status sp_product_create_fastest(const sp_ghosted_block *a, const sp_ghosted_block *joint,
                                      const sp_matrix *slice, int64_t k, const spmm_plan_options *options,
                                      const spmm_plan_study *study, sp_variants *all, sp_product **product)
{
    memset(all, 0, sizeof *all);
    trials t = {.a = a,
                .joint = joint && joint->joint ? joint : NULL,
                .slice = slice,
                .k = k,
                .options = *options,
                .study = study,
                .all = all};
    TRY(check_exact(a, options));
    TRY(sp_product_create(a, slice, k, options, study, product));
    sp_product *const p = t.first = *product;
    first_choices first = {p->kernel_trial, p->reduce_trial, ""};
    memcpy(first.why, p->why, sizeof first.why);
    const sp_row_blocks *const has = &p->parts;
    sp_row_blocks overlapped = {.count = 0};
    /* on CPUs interior rows are computed separately wherever the options allow it */
    const sp_row_blocks *const could = p->space == SPMM_CUDA ? &overlapped : has;
    if (could != has) sp_row_blocks_find(&a->local, 1, &overlapped);
    t.kernel = p->parts.kernel->id;
    double any[2] = {sp_row_blocks_both_kinds(has), sp_row_blocks_both_kinds(could)};
    spmm_status status = sp_slowest(a->grid->comm, any, 2);
    list(&t, p, any[0] > 0, any[1] > 0, all);
    if (status == SPMM_OK && all->count > 1)
        status = sp_plan_tries(options, study) ? try_all(&t, product) : take_joint(&t, product);
    if (status != SPMM_OK) {
        sp_product_destroy(*product);
        *product = NULL;
        return status;
    }
    (*product)->reduce_trial = first.reduce_trial;
    if (t.options.kernel || (*product)->options.kernel == t.kernel) {
        (*product)->kernel_trial = first.kernel_trial;
        memcpy((*product)->why, first.why, sizeof first.why);
    }
    return SPMM_OK;
}

spmm_status sp_ghosted_block_create_joint(const sp_ghosted_block *a, const spmm_plan_options *o,
                                          sp_ghosted_block *joint)
{
    const spmm_block *const block = a->block;
    memset(joint, 0, sizeof *joint);
    /* if rows of X travel as f32, the bits of Y depend on which rows travel, and a choice by timing would
     * change them from run to run */
    if (o->exchange != SPMM_EXCHANGE_AUTO || !o->any_order || block->any_order ||
        sp_plan_rounds(o, block->csr.precision) || sp_ghosted_block_moved(a) == 0)
        return SPMM_OK;
    TRY(sp_ghosted_block_create(a->grid, block, SPMM_EXCHANGE_JOINT, sp_threads_of(o->threads), joint));
    if ((double)sp_ghosted_block_moved(joint) > WORTH * (double)sp_ghosted_block_moved(a))
        sp_ghosted_block_destroy(joint);
    return SPMM_OK;
}
