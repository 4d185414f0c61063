/** Decides how products are computed, and creates them. */
#include "plan/decide.h"

#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "product/deciders.h"
#include "product/steps.h"

/** The joint exchange is used only if it moves less than this share of the rows of a halo exchange: it costs
 *  a second kernel and the addition of partial rows. */
static const double WORTH = 0.8;

/* ---- one product ---- */

/** The decisions of a product in their order of dependence. Ranks that share X exchange other rows, and have
 *  other interior rows. Column blocks depend on these rows, the kernel on the columns of a launch, the
 *  exchange on the memory of the kernel, the reduction on the memory of Y. Afterwards a plan compares
 *  variants of products and, when few columns are asked for, other kernels for these (product/widths.h). */
static const struct {
    int row;
    sp_decider *decide;
} deciders[] = {{SP_DECIDES_MEMORY, sp_decide_memory},
                {SP_DECIDES_COLUMNS, sp_decide_columns},
                {SP_DECIDES_KERNEL, sp_decide_kernel},
                {SP_DECIDES_TRANSPORT, sp_decide_transport},
                {SP_DECIDES_REDUCE, sp_decide_reduce}};

/** Creates the members of the product that depend on several decisions, and lists its steps. */
static spmm_status product_finish(sp_product *p)
{
    const int64_t rows = p->local->csr.rows;
    spmm_status status = sp_column_blocks_create(p->moves, p->k, p->precision, p->space, p->exchange,
                                                 p->column_blocks.count, &p->column_blocks);
    p->y_rows = p->grid->coords[1] == 0 || sp_reduce_everywhere(sp_reduction_method(p->reduction)) ? rows : 0;
    p->widths.column_blocks = p->column_blocks.count;
    if (status == SPMM_OK && p->y_rows != rows)
        status = spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y);
    sp_steps_list(p);
    return sp_agree(p->grid->comm, "convert", status);
}

static spmm_status product_create(const sp_ghosted_block *a, const sp_matrix *slice, int64_t k,
                                  const spmm_plan_options *o, const spmm_plan_study *study, sp_product *p)
{
    p->grid = a->grid;
    p->given = a;
    p->block = a->block;
    p->moves = &a->moves;
    p->local = &a->local;
    p->options = *o;
    p->function = "spmm_apply";
    p->formula = "Y := A X";
    p->k = p->widths.most = p->widths.k = k;
    p->precision = p->block->csr.precision;
    p->shape = (sp_shape){study->block_size, study->subwarp};
    p->threads = sp_threads_of(o->threads);
    p->study = *study;
    /* in the joint exchange, other ranks multiply some entries of the slice, so the slice cannot be used */
    p->conversion = (sp_conversion){.limit = study->ell_limit,
                                    .on_gpu = a->on_gpu,
                                    .longest = a->longest,
                                    .slice = a->joint ? NULL : slice};
    for (size_t i = 0; i < sizeof deciders / sizeof *deciders; i++)
        TRY(deciders[i].decide(p, &p->decisions.row[deciders[i].row]));
    return product_finish(p);
}

spmm_status sp_product_create(const sp_ghosted_block *a, const sp_matrix *slice, int64_t k,
                              const spmm_plan_options *options, const spmm_plan_study *study,
                              sp_product **product)
{
    sp_product *p = NULL;
    *product = NULL;
    spmm_status status = sp_agree(a->grid->comm, "plan",
                                  sp_alloc_zero((void **)&p, 1, sizeof *p, "a product"));
    if (status == SPMM_OK) status = product_create(a, slice, k, options, study, p);
    if (status != SPMM_OK) {
        sp_product_destroy(p);
        return status;
    }
    *product = p;
    return SPMM_OK;
}

/* ---- variants of a product ---- */

/** A variant: one way in which a product can exchange rows between ranks. */
typedef struct variant {
    spmm_exchange exchange; /* never SPMM_EXCHANGE_AUTO */
    int column_blocks;
    int overlap; /* 1: interior rows are computed during the exchange */
} variant;

typedef struct trials {
    const sp_ghosted_block *a, *joint;
    const sp_matrix *slice;
    int64_t k;
    const spmm_plan_options *options;
    const spmm_plan_study *study;
    sp_product *first;      /* product of variant 0, until it is tried */
    sp_decisions decisions; /* the decisions of variant 0 */
    const char *kernel;     /* the kernel, transport and reduction of variant 0 */
    spmm_transport transport;
    spmm_reduce reduce;
    variant variant[SP_MOST_VARIANTS];
    sp_trial trial; /* of the variants */
} trials;

/** Stores variant 0 and its decisions. */
static void note_first(trials *t, sp_product *first)
{
    t->first = first;
    t->decisions = first->decisions;
    t->kernel = first->parts.kernel->id;
    t->transport = t->options->transport;
    t->reduce = t->options->reduce;
    if (t->transport == SPMM_TRANSPORT_AUTO && first->space == SPMM_CUDA && first->exchange)
        t->transport = sp_exchange_transport(first->exchange);
    if (first->reduction) t->reduce = sp_reduction_method(first->reduction);
}

static void add_variant(trials *t, spmm_exchange exchange, int column_blocks, int overlap)
{
    char name[SP_TRIED_NAME_BYTES];
    for (int i = 0; i < t->trial.count; i++) {
        const variant *const v = &t->variant[i];
        if (v->exchange == exchange && v->column_blocks == column_blocks && v->overlap == overlap) return;
    }
    if (t->trial.count == SP_MOST_VARIANTS) return;
    t->variant[t->trial.count] = (variant){exchange, column_blocks, overlap};
    snprintf(name, sizeof name, "%s:%d:%s", sp_exchange_word(exchange), column_blocks,
             overlap ? "overlap" : "wait");
    sp_trial_add(&t->trial, name);
}

/** Lists up to SP_MOST_VARIANTS variants. The first is p, which exists already; the others follow in the
 *  order of how often they were the fastest (bench/records/FACTS.md). The same on all ranks.
 *  \param [in] apart     1: p computes interior rows separately on at least one rank
 *  \param [in] interior  1: a variant could compute interior rows separately on at least one rank */
static void list_variants(trials *t, const sp_product *p, int apart, int interior)
{
    const spmm_plan_options *const o = t->options;
    const int best = sp_column_blocks_best(t->k, p->precision, INT64_MAX), blocks = p->column_blocks.count,
              overlap = !o->no_overlap, gpu = p->space == SPMM_CUDA;
    add_variant(t, t->a->kind, blocks, gpu ? apart || blocks > 1 : overlap);
    if (sp_ghosted_block_moved(t->a) == 0) return;
    /* on a GPU a second launch can cost more than the overlap hides; on a CPU a second call costs nothing */
    const int choice = gpu && overlap && o->column_blocks <= 1;
    const int cuts = choice && o->column_blocks == 0 && t->a->moves.all_moved > 0 && !t->a->joint;
    if (choice) add_variant(t, t->a->kind, 1, 0);
    /* column blocks were never faster with the joint exchange (bench/records/HISTORY.md) */
    if (t->joint) add_variant(t, SPMM_EXCHANGE_JOINT, o->column_blocks > 1 ? o->column_blocks : 1, overlap);
    if (cuts && best > 1 && sp_column_blocks_fit(t->k, p->precision, 2)) add_variant(t, t->a->kind, 2, 1);
    if (choice && interior) add_variant(t, t->a->kind, 1, 1);
    if (cuts && best > 1) add_variant(t, t->a->kind, best, 1);
    /* with more blocks, a column block of X may fit in the cache of a GPU, if its rows stay long enough */
    if (cuts && best > 1 && blocks == best &&
        sp_column_blocks_best(t->k / 2, p->precision, INT64_MAX) == best &&
        sp_column_blocks_fit(t->k, p->precision, 2 * best))
        add_variant(t, t->a->kind, 2 * best, 1);
}

static spmm_status create_variant(const trials *t, const variant *v, sp_product **product)
{
    const int joint = v->exchange == SPMM_EXCHANGE_JOINT;
    /* The kernel of variant 0 serves variants with the same number of column blocks and, on a GPU, the same
     * row blocks: a persistent kernel may be the fastest for all rows, and slow while an exchange runs. It
     * does not serve the joint exchange, with which this rank multiplies other entries. */
    const int split = t->options->device == SPMM_CUDA && v->overlap != t->variant[0].overlap;
    const int same = !joint && !split && v->column_blocks == t->variant[0].column_blocks;
    spmm_plan_options o = *t->options;
    o.column_blocks = v->column_blocks;
    o.no_overlap = !v->overlap;
    o.transport = t->transport;
    o.reduce = t->reduce;
    if (same) o.kernel = t->kernel;
    TRY(sp_product_create(joint && t->joint ? t->joint : t->a, t->slice, t->k, &o, t->study, product));
    sp_product *const p = *product;
    p->options.kernel = t->options->kernel;
    if (same) p->decisions.row[SP_DECIDES_KERNEL] = t->decisions.row[SP_DECIDES_KERNEL];
    if (o.transport != t->options->transport)
        p->decisions.row[SP_DECIDES_TRANSPORT] = t->decisions.row[SP_DECIDES_TRANSPORT];
    p->decisions.row[SP_DECIDES_REDUCE] = t->decisions.row[SP_DECIDES_REDUCE];
    return SPMM_OK;
}

/* ---- the fastest variant ---- */

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

static spmm_status variants_make(void *of, int i, void **made)
{
    trials *const t = of;
    timed_product *p = NULL;
    spmm_status status = sp_agree(t->a->grid->comm, "plan",
                                  sp_alloc_zero((void **)&p, 1, sizeof *p, "a product that is tried"));
    *made = p;
    TRY(status);
    if (i > 0) {
        TRY(create_variant(t, &t->variant[i], &p->product));
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
    MPI_Comm comm = t->a->grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    void *best = NULL;
    const spmm_status status = sp_trial_run(&all, &ops, t, 0, &t->trial, &best);
    *product = NULL;
    if (status != SPMM_OK) {
        sp_product_destroy(t->first);
        return status;
    }
    timed_product *const p = best;
    *product = p->product;
    p->product = NULL;
    variants_destroy(NULL, p);
    return SPMM_OK;
}

/** Selects the joint exchange because it moves fewer rows, without timing. Collective. */
static spmm_status take_joint(trials *t, sp_product **product)
{
    sp_product *other = NULL;
    int i = 1;
    while (i < t->trial.count && t->variant[i].exchange != SPMM_EXCHANGE_JOINT) i++;
    if (i == t->trial.count) return SPMM_OK;
    const spmm_status status = create_variant(t, &t->variant[i], &other);
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT) return SPMM_OK;
    TRY(status);
    sp_product_destroy(*product);
    *product = other;
    t->trial.chosen = i;
    return SPMM_OK;
}

/** If the bits of the serial product are required, refuses options that cannot give them. The same on all
 *  ranks. */
static spmm_status check_exact(const sp_ghosted_block *a, const spmm_plan_options *o)
{
    const int *const dims = a->grid->dims;
    if (!o->exact) return SPMM_OK;
    if (a->joint || o->exchange == SPMM_EXCHANGE_JOINT)
        return sp_fail(
            SPMM_ERR_USAGE,
            "the joint exchange adds partial sums, which does not keep the serial product's bits: choose "
            "another exchange, or do not require exact bits");
    if (dims[1] > 1)
        return sp_fail(
            SPMM_ERR_USAGE,
            "the grid is %d x %d, and partial sums of %d ranks are added, which does not keep the serial "
            "product's bits: choose a P x 1 grid, or do not require exact bits",
            dims[0], dims[1], dims[1]);
    return SPMM_OK;
}

/** Stores the choice of the variant in the decisions of its product. */
static void note_variant(const trials *t, sp_product *p)
{
    const variant *const v = &t->variant[t->trial.chosen];
    sp_decision *const row = &p->decisions.row[SP_DECIDES_VARIANT];
    p->overlap = v->overlap;
    row->trial = t->trial;
    if (sp_ghosted_block_moved(t->a) == 0) {
        sp_decided(row, "no rows are exchanged", "none");
        return;
    }
    sp_decided(row,
               t->trial.count == 1                  ? "the only one that the options leave"
               : v->exchange == SPMM_EXCHANGE_JOINT ? "it moves fewer rows"
                                                    : "nothing is timed",
               "%s", t->trial.tried[t->trial.chosen].name);
}

spmm_status sp_product_create_fastest(const sp_ghosted_block *a, const sp_ghosted_block *joint,
                                      const sp_matrix *slice, int64_t k, const spmm_plan_options *options,
                                      const spmm_plan_study *study, sp_product **product)
{
    trials t = {.a = a,
                .joint = joint && joint->joint ? joint : NULL,
                .slice = slice,
                .k = k,
                .options = options,
                .study = study};
    TRY(check_exact(a, options));
    TRY(sp_product_create(a, slice, k, options, study, product));
    sp_product *const p = *product;
    note_first(&t, p);
    const sp_row_blocks *const has = &p->parts;
    sp_row_blocks overlapped = {.count = 0};
    /* on CPUs interior rows are computed separately wherever the options allow it */
    const sp_row_blocks *const could = p->space == SPMM_CUDA ? &overlapped : has;
    if (could != has) sp_row_blocks_find(&a->local, 1, &overlapped);
    double any[2] = {sp_row_blocks_both_kinds(has), sp_row_blocks_both_kinds(could)};
    spmm_status status = sp_slowest(a->grid->comm, any, 2);
    list_variants(&t, p, any[0] > 0, any[1] > 0);
    if (status == SPMM_OK && t.trial.count > 1)
        status = sp_plan_tries(options, study) ? try_all(&t, product) : take_joint(&t, product);
    if (status != SPMM_OK) {
        sp_product_destroy(*product);
        *product = NULL;
        return status;
    }
    note_variant(&t, *product);
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
