/** Chooses how a plan moves rows, by a model and by timing. */
#include "plan/variants.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "comm/timing.h"
#include "distribute/joint.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

/** The joint exchange is worth its second kernel and the adding if it moves less than this share of the halo's rows. */
static const double WORTH = 0.8;
/** Variants are timed if their modelled time is at most NEAR times the least and SLACK seconds: of a product that takes little more
 *  than its launches the model is wrong by as much. */
static const double NEAR = 1.3, SLACK = 15e-6;
/** A time that is more than DOUBTED times the modelled one is measured once more: an interruption of a few milliseconds covers all of a
 *  trial. */
static const double DOUBTED = 1.4;
/** An exchange that takes less than this share of a product's kernels is not worth any trials. */
static const double LITTLE = 0.02;

/** On GPUs: seconds of an exchange whatever its rows, and of a launch with its tail (docs/PERFORMANCE.md, small halos). */
static const double EMPTY_EXCHANGE = 12e-6, LAUNCH = 4e-6;

/** Number of variants that are timed at most. */
enum { MOST_TIMED = 4 };

/** A product takes so many seconds at least to be timed only once. */
static const double LONG = 0.5;

/** What the first variant takes. */
typedef struct product_parts {
    double kernels;       /* seconds of a product without its exchange and without column blocks */
    double rows;          /* seconds of the exchange alone beyond `empty`, without column blocks */
    double empty, launch; /* EMPTY_EXCHANGE and LAUNCH; on CPUs 0 */
    double interior;      /* share of the rows that are computed during the exchange, without column blocks */
    double a_share;       /* share of A in the bytes that the kernel reads and writes at least */
} product_parts;

typedef struct trials {
    const sp_grid *grid;
    const spmm_block *block;
    const sp_halo *halo, *joint;
    int64_t k;
    spmm_plan_options options;
    int64_t interior; /* rows of this rank that a plan could compute during the exchange */
    product_parts model;
} trials;

/* ---- timing ---- */

/** What is timed: whole products, products without their exchange, or exchanges. */
typedef enum step { PRODUCT, KERNELS, EXCHANGE } step;

/** A plan that is timed, and its operands. */
typedef struct timed_plan {
    spmm_plan *plan;
    step what;
    const spmm_multivector *x;
    spmm_multivector *y;
} timed_plan;

static spmm_status once(void *of)
{
    const timed_plan *const t = of;
    if (t->what == EXCHANGE) return sp_plan_exchange(t->plan, t->x);
    return t->what == PRODUCT ? sp_plan_apply(t->plan, 1, t->x, 0, t->y)
                              : sp_plan_apply_local(t->plan, t->x, t->y);
}

static spmm_status time_some(spmm_plan *p, step what, const spmm_multivector *x, spmm_multivector *y,
                             double *seconds)
{
    timed_plan timed = {p, what, x, y};
    return sp_time_least(p->grid->comm, "plan", once, &timed, LONG, seconds);
}

static spmm_status create_x_and_y(spmm_plan *p, spmm_multivector *x, spmm_multivector *y)
{
    TRY(spmm_plan_x_create(p, x));
    TRY(spmm_plan_y_create(p, y));
    return SPMM_OK;
}

/** Times products by a plan, with an X of zeros.
 *  \param [out] kernels, exchange  may be NULL */
static spmm_status time_plan(spmm_plan *p, double *product, double *kernels, double *exchange)
{
    spmm_multivector x = {0}, y = {0};
    spmm_status status = sp_agree(p->grid->comm, "plan", create_x_and_y(p, &x, &y));
    if (status == SPMM_OK) status = time_some(p, PRODUCT, &x, &y, product);
    if (status == SPMM_OK && kernels) status = time_some(p, KERNELS, &x, &y, kernels);
    if (status == SPMM_OK && exchange) status = time_some(p, EXCHANGE, &x, &y, exchange);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

/* ---- the model ---- */

static double kernels_in_blocks(const product_parts *m, int n)
{
    return m->kernels * (1 + (n - 1) * m->a_share) + (n - 1) * m->launch;
}

/** Returns the modelled time of a product with n column blocks: each but the first is exchanged while the one before is
 *  multiplied, and each reads all of A. */
static double in_blocks(const product_parts *m, int n)
{
    const double kernels = kernels_in_blocks(m, n), each = m->empty + m->rows / n;
    const double wait = each > kernels / n ? each - kernels / n : 0;
    return each + kernels + (n - 1) * wait;
}

static double modelled(const trials *t, const sp_variant *v)
{
    product_parts scaled = t->model;
    const product_parts *const m = &scaled;
    if (v->exchange == SPMM_EXCHANGE_JOINT && t->joint) {
        scaled.rows *= (double)sp_halo_all_moved(t->joint) / (double)sp_halo_all_moved(t->halo);
        return in_blocks(m, v->column_blocks);
    }
    const double exchange = m->empty + m->rows;
    if (v->column_blocks > 1) return in_blocks(m, v->column_blocks);
    if (!v->overlap) return m->kernels + exchange;
    const double beside = m->interior * m->kernels;
    return m->kernels - beside + (beside > exchange ? beside : exchange) + m->launch;
}

/** Measures the parts of the first variant. Collective. */
static spmm_status measure(trials *t, spmm_plan *p, sp_variant *first)
{
    const spmm_csr *const a = &t->halo->local;
    const double rows = (double)(sp_halo_rows(t->halo) + a->rows),
                 row_bytes = (double)(sp_multivector_ld(t->k, a->precision) * sp_value_size(a->precision));
    const int blocks = p->column_blocks.count;
    double exchange = 0;
    double sums[4] = {(double)t->interior, (double)a->rows,
                      (double)a->nnz * (double)(4 + sp_value_size(a->precision)), rows * row_bytes};
    if (p->space == SPMM_CUDA) {
        t->model.empty = EMPTY_EXCHANGE;
        t->model.launch = LAUNCH;
    }
    TRY(time_plan(p, &first->measured, &t->model.kernels, &exchange));
    TRY(sp_sum(t->grid->comm, sums, 4));
    t->model.interior = sums[1] > 0 ? sums[0] / sums[1] : 0;
    t->model.a_share = sums[2] > 0 ? sums[2] / (sums[2] + sums[3]) : 0;
    t->model.rows = fmax(0, exchange - blocks * t->model.empty);
    t->model.kernels = fmax(0, t->model.kernels - (blocks - 1) * t->model.launch) /
                       (1 + (blocks - 1) * t->model.a_share);
    return SPMM_OK;
}

/* ---- variants ---- */

static void add(sp_variants *all, spmm_exchange exchange, int column_blocks, int overlap)
{
    for (int i = 0; i < all->count; i++) {
        const sp_variant *const v = &all->variant[i];
        if (v->exchange == exchange && v->column_blocks == column_blocks && v->overlap == overlap) return;
    }
    if (all->count < SP_MOST_VARIANTS)
        all->variant[all->count++] = (sp_variant){exchange, column_blocks, overlap, NAN, NAN};
}

/** Lists the variants; the first is the plan p, which there is. The same on all ranks.
 *  \param [in] apart     1: p computes interior rows apart from the others, on a rank at least
 *  \param [in] interior  1: a plan could */
static void list(const trials *t, const spmm_plan *p, int apart, int interior, sp_variants *all)
{
    const spmm_plan_options *const o = &t->options;
    const int best = sp_column_blocks_best(t->k, p->precision, INT64_MAX), overlap = !o->no_overlap,
              gpu = p->space == SPMM_CUDA, blocks = p->column_blocks.count;
    add(all, t->halo->kind, blocks, gpu ? apart || blocks > 1 : overlap);
    if (sp_halo_all_moved(t->halo) == 0) return;
    /* a second launch and its tail can cost more than is hidden; on a CPU a second call costs nothing */
    if (gpu && overlap && o->column_blocks <= 1) {
        add(all, t->halo->kind, 1, 0);
        if (interior) add(all, t->halo->kind, 1, 1);
    }
    const int cuts = gpu && overlap && o->column_blocks == 0 && t->halo->all_moved > 0 && !t->halo->joint;
    for (int n = best; n > 1 && cuts; n /= 2)
        if (sp_column_blocks_fit(t->k, p->precision, n)) add(all, t->halo->kind, n, 1);
    /* blocks of rows that are long enough for more of them can each stay in a GPU's cache */
    if (cuts && best > 1 && blocks == best &&
        sp_column_blocks_best(t->k / 2, p->precision, INT64_MAX) == best &&
        sp_column_blocks_fit(t->k, p->precision, 2 * best))
        add(all, t->halo->kind, 2 * best, 1);
    /* cutting X was never faster with the joint exchange (docs/PERFORMANCE.md) */
    if (t->joint) add(all, SPMM_EXCHANGE_JOINT, o->column_blocks > 1 ? o->column_blocks : 1, overlap);
}

static spmm_status create_variant(const trials *t, const sp_variant *v, spmm_plan **plan)
{
    spmm_plan_options o = t->options;
    o.column_blocks = v->column_blocks;
    o.no_overlap = !v->overlap;
    return sp_plan_create(t->grid, t->block,
                          v->exchange == SPMM_EXCHANGE_JOINT && t->joint ? t->joint : t->halo, t->k, &o,
                          plan);
}

/** Returns the variant of least modelled time that has not been timed and is worth it; -1: none. */
static int next(const sp_variants *all, int timed)
{
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < all->count; i++) {
        const sp_variant *const v = &all->variant[i];
        const double seconds = isnan(v->measured) ? v->modelled : v->measured;
        if (seconds < least) least = seconds;
        if (isnan(v->measured) && (best < 0 || v->modelled < all->variant[best].modelled)) best = i;
    }
    return best >= 0 && timed < MOST_TIMED && all->variant[best].modelled <= NEAR * least + SLACK ? best : -1;
}

/** Creates and times variant i, and makes it the plan if it is faster. A variant that memory or a limit forbids is left
 *  out. Collective. */
static spmm_status try_variant(const trials *t, sp_variants *all, int i, spmm_plan **plan)
{
    spmm_plan *other = NULL;
    sp_variant *const v = &all->variant[i];
    spmm_status status = create_variant(t, v, &other);
    if (status == SPMM_OK) status = time_plan(other, &v->measured, NULL, NULL);
    if (status == SPMM_OK && v->measured > DOUBTED * v->modelled) {
        double again;
        status = time_plan(other, &again, NULL, NULL);
        if (status == SPMM_OK) v->measured = fmin(v->measured, again);
    }
    const int faster = status == SPMM_OK && sp_clearly_less(v->measured, all->variant[all->chosen].measured);
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT) {
        v->measured = INFINITY;
        status = SPMM_OK;
    }
    spmm_plan_destroy(faster ? *plan : other);
    if (faster) {
        *plan = other;
        all->chosen = i;
    }
    return status;
}

/** Times the variants that may be faster than the plan. Collective. */
static spmm_status try_all(trials *t, spmm_plan **plan, sp_variants *all)
{
    int i, timed = 1;
    TRY(measure(t, *plan, &all->variant[0]));
    if (t->options.transport == SPMM_TRANSPORT_AUTO && (*plan)->space == SPMM_CUDA && (*plan)->exchange)
        t->options.transport = sp_exchange_transport((*plan)->exchange);
    if ((*plan)->reduction) t->options.reduce = sp_reduction_method((*plan)->reduction); /* timed already */
    for (i = 0; i < all->count; i++) all->variant[i].modelled = modelled(t, &all->variant[i]);
    if (t->model.empty + t->model.rows < LITTLE * t->model.kernels) return SPMM_OK;
    for (; (i = next(all, timed)) >= 0; timed++) TRY(try_variant(t, all, i, plan));
    return SPMM_OK;
}

/** Takes the joint exchange for its fewer rows, without timing. */
static spmm_status take_joint(const trials *t, spmm_plan **plan, sp_variants *all)
{
    spmm_plan *other = NULL;
    int i = 1;
    while (i < all->count && all->variant[i].exchange != SPMM_EXCHANGE_JOINT) i++;
    if (i == all->count) return SPMM_OK;
    const spmm_status status = create_variant(t, &all->variant[i], &other);
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT) return SPMM_OK;
    TRY(status);
    spmm_plan_destroy(*plan);
    *plan = other;
    all->chosen = i;
    return SPMM_OK;
}

spmm_status sp_plan_create_fastest(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                   const sp_halo *joint, int64_t k, const spmm_plan_options *options,
                                   spmm_plan **plan)
{
    trials t = {.grid = grid, .block = block, .halo = halo, .joint = joint, .k = k, .options = *options};
    sp_variants all = {0};
    TRY(sp_plan_create(grid, block, halo, k, options, plan));
    const sp_reduce_trials reduce_trials = (*plan)->reduce_trials;
    const sp_row_blocks *const has = &(*plan)->parts;
    sp_row_blocks overlapped = {.count = 0};
    /* on CPUs interior rows are apart wherever the options allow it */
    const sp_row_blocks *const could = (*plan)->space == SPMM_CUDA ? &overlapped : has;
    if (could != has) sp_row_blocks_find(halo, 1, &overlapped);
    t.interior = sp_row_blocks_interior_rows(could);
    double any[2] = {sp_row_blocks_both_kinds(has), sp_row_blocks_both_kinds(could)};
    spmm_status status = sp_slowest(grid->comm, any, 2);
    list(&t, *plan, any[0] > 0, any[1] > 0, &all);
    if (status == SPMM_OK && all.count > 1)
        status = options->quick_plan || sp_products_of(options->products) < SP_PRODUCTS_TIMED
                     ? take_joint(&t, plan, &all)
                     : try_all(&t, plan, &all);
    if (status != SPMM_OK) {
        spmm_plan_destroy(*plan);
        *plan = NULL;
        return status;
    }
    (*plan)->variants = all;
    (*plan)->reduce_trials = reduce_trials;
    return SPMM_OK;
}

spmm_status sp_joint_halo_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                 const spmm_plan_options *o, sp_halo *joint)
{
    memset(joint, 0, sizeof *joint);
    if (o->exchange != SPMM_EXCHANGE_AUTO || !o->any_order || sp_halo_all_moved(halo) == 0) return SPMM_OK;
    TRY(sp_halo_create(grid, block, SPMM_EXCHANGE_JOINT, o->threads > 0 ? o->threads : sp_threads_default(),
                       joint));
    if ((double)sp_halo_all_moved(joint) > WORTH * (double)sp_halo_all_moved(halo)) sp_halo_destroy(joint);
    return SPMM_OK;
}
