/** Plans with options of all kinds, the same matrix on one rank alone, and plans that have to be refused. */
#ifndef SP_DIFFERENTIAL_PLANS_H
#define SP_DIFFERENTIAL_PLANS_H

#include "differential_matrix.h"
#include "kernels/kernel.h"

/** A plan that is tested, and a plan for the same matrix on this rank alone. */
typedef struct planned {
    whole matrix;
    spmm_precision precision;
    int64_t k, most; /* columns of products; columns for which the plans were made */
    int p, q, own;   /* own: the tester cut the block */
    spmm_plan_options options;
    spmm_plan_study study;
    spmm_block block, alone_block;
    spmm_plan *plan, *alone; /* alone: NULL if no bits are promised */
} planned;

/** Returns what a kernel of the registry promises about its bits. */
static inline sp_exactness exact_of(const char *kernel) { return sp_kernel_find(kernel)->exact; }

/** Returns whether a kernel promises the bits of the serial product in all rows. */
static inline int keeps_bits(const char *kernel, spmm_precision precision)
{
    return sp_kernel_is_exact(sp_kernel_find(kernel), precision, INT64_MAX);
}

/** Draws a kernel of the registry for the device, less often one that sums in another order. */
static inline const sp_kernel *draw_named(spmm_device device)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    for (;;) {
        const sp_kernel *const k = &kernels[draw_below(count)];
        if (k->device == device && (keeps_bits(k->id, SPMM_F64) || draw_percent(40))) return k;
    }
}

/** Draws format and kernel: the library's choice, a format alone, or a kernel with or without its format. */
static inline void draw_kernel(spmm_plan_options *o, spmm_plan_study *s)
{
    const sp_kernel *const named = draw_named(o->device);
    const int kind = (int)draw_below(5);
    o->format = kind == 0 ? SPMM_CSR : kind == 1 ? SPMM_FORMAT_AUTO : named->format;
    if (kind > 2) o->kernel = named->id;
    if (kind == 3 && draw_percent(30)) o->format = SPMM_FORMAT_AUTO;
    if (draw_percent(80)) s->ell_limit = 1e9;
}

/** Draws the options of a plan. */
static inline spmm_plan_options draw_options(spmm_plan_study *s)
{
    static const spmm_exchange exchanges[] = {SPMM_EXCHANGE_AUTO, SPMM_EXCHANGE_HALO, SPMM_EXCHANGE_BCAST,
                                              SPMM_EXCHANGE_JOINT};
    static const spmm_transport on_cpus[] = {SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_MPI,
                                             SPMM_TRANSPORT_SHARED};
    static const spmm_transport on_gpus[] = {SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_MPI, SPMM_TRANSPORT_STAGED,
                                             SPMM_TRANSPORT_PEER};
    static const spmm_reduce reductions[] = {SPMM_REDUCE_AUTO, SPMM_REDUCE_LINEAR, SPMM_REDUCE_TREE,
                                             SPMM_REDUCE_BUTTERFLY, SPMM_REDUCE_MPI};
    static const int blocks[] = {0, 0, 0, 1, 1, 2, 4};
    static const int64_t products[] = {0, 1, 50, 100, 1000000};
    spmm_plan_options o = {.device = diff_.device};
    draw_kernel(&o, s);
    o.exchange = DRAW_FROM(exchanges);
    o.transport = o.device == SPMM_CUDA ? DRAW_FROM(on_gpus) : DRAW_FROM(on_cpus);
    o.reduce = DRAW_FROM(reductions);
    o.column_blocks = DRAW_FROM(blocks);
    o.threads = (int)draw_below(4);
    o.no_overlap = draw_percent(50);
    o.any_order = draw_percent(30);
    s->quick_plan = draw_percent(70);
    s->all_kernels = draw_percent(10);
    o.products = DRAW_FROM(products);
    o.exact = draw_percent(20);
    if (o.exact && draw_percent(80)) o.any_order = 0;
    if (draw_percent(20)) o.exchange_precision = SPMM_F32;
    return o;
}

/** Draws K, most often one that can be cut into the column blocks. */
static inline int64_t draw_k(const spmm_plan_options *o, spmm_precision precision)
{
    static const int64_t columns[] = {1,  1,  2,  3,  4,  5,  6,  7,  8,   9,   12, 16,
                                      17, 24, 31, 32, 33, 48, 64, 65, 100, 128, 300};
    const int64_t k = DRAW_FROM(columns), step = 32 / (int64_t)diff_size(precision) * o->column_blocks;
    return o->column_blocks > 1 && draw_percent(90) ? (k + step - 1) / step * step : k;
}

/** Whether options other than `exact` rule out the bits of the serial product. */
static inline int plan_is_not_exact(const planned *t)
{
    const spmm_plan_options *const o = &t->options;
    const int f64_only = !o->kernel && (o->format == SPMM_PANEL || o->format == SPMM_STAGED);
    return t->q > 1 || o->any_order || o->exchange == SPMM_EXCHANGE_JOINT ||
           (o->kernel && !keeps_bits(o->kernel, t->precision)) || (f64_only && t->precision == SPMM_F32);
}

/** Whether rows of X travel as f32. */
static inline int plan_rounds(const planned *t)
{
    return t->options.exchange_precision == SPMM_F32 && !diff_single(t->precision);
}

/** Whether a plan must be refused according to spmm.h: 1 yes, 0 no, -1 it may be. */
static inline int plan_is_refused(const planned *t)
{
    const spmm_plan_options *const o = &t->options;
    const int64_t value = (int64_t)diff_size(t->precision), n = o->column_blocks;
    if (n > 1 && (t->k % n != 0 || t->k / n * value % 32 != 0)) return 1;
    if (o->exact && plan_is_not_exact(t)) return 1;
    if (o->kernel && !sp_kernel_takes(sp_kernel_find(o->kernel), t->precision)) return 1;
    if (plan_rounds(t) && (o->exact || o->transport == SPMM_TRANSPORT_SHARED)) return 1;
    if (n > 1 && o->transport == SPMM_TRANSPORT_SHARED)
        return -1; /* refused only if ranks read rows of X in place, which needs whole rows */
    if (t->study.ell_limit < 1e9) return -1; /* only the library knows the size of the padded matrix */
    return o->device == SPMM_CUDA ? -1 : 0;
}

static inline void describe_plan(const planned *t)
{
    const spmm_plan_options *const o = &t->options;
    snprintf(
        diff_.plan, sizeof diff_.plan,
        "%lld x %lld, %lld entries, %s, K %lld, grid %d x %d, %s%s, format %d, kernel %s, exchange %d, "
        "transport %d, reduction %d, column blocks %d, no overlap %d, any order %d, exact %d, quick plan %d, "
        "threads %d, products %lld, rows travel as f%d",
        (long long)t->matrix.a.rows, (long long)t->matrix.a.cols, (long long)t->matrix.a.nnz,
        diff_precisions[t->precision], (long long)t->k, t->p, t->q, t->own ? "own block" : "scattered",
        diff_.rank == diff_.world_rank ? "" : ", ranks reversed", (int)o->format,
        o->kernel ? o->kernel : "any", (int)o->exchange, (int)o->transport, (int)o->reduce, o->column_blocks,
        o->no_overlap, o->any_order, o->exact, t->study.quick_plan, o->threads, (long long)o->products,
        o->exchange_precision == SPMM_F32 ? 32 : 64);
}

/** Makes this rank's block, by the library or with the tester's own cuts. Returns 0 after a difference. */
static inline int make_block(planned *t)
{
    if (t->own) {
        draw_own_block(&t->matrix, t->p, t->q, &t->block);
        return 1;
    }
    const int root = (int)draw_below(diff_.ranks);
    const spmm_status status = spmm_csr_scatter(diff_.comm, root, diff_.rank == root ? &t->matrix.a : NULL,
                                                t->p, t->q, &t->block);
    went_well(status, "spmm_csr_scatter()");
    if (same_status(status, "spmm_csr_scatter()") != SPMM_OK) return 0;
    block_take_values(&t->matrix, &t->block); /* reports missing entries */
    return 1;
}

/** If the plan promises bits, makes a plan on this rank alone that must give the same bits. */
static inline void make_alone(planned *t)
{
    const char *const kernel = spmm_plan_kernel(t->plan);
    const spmm_plan_options *const o = &t->options;
    spmm_plan_options alone = {.format = SPMM_CSR, .threads = 1};
    spmm_plan_study study = {.quick_plan = 1};
    const int kept = keeps_bits(kernel, t->precision), chain = exact_of(kernel) == SP_EXACT_UNSPLIT;
    if (o->exact && !kept) differs("the plan's kernel %s does not keep the serial product's bits", kernel);
    if (t->q > 1 || plan_rounds(t) || o->exchange == SPMM_EXCHANGE_JOINT ||
        (o->any_order && o->exchange == SPMM_EXCHANGE_AUTO) || !(kept || chain) ||
        (chain && o->device == SPMM_CUDA))
        return;
    if (chain) { /* the kernel's own order, the same for any number of ranks */
        alone.format = SPMM_FORMAT_AUTO;
        alone.kernel = kernel;
        study.ell_limit = 1e18;
    }
    if (!went_well(spmm_csr_scatter(MPI_COMM_SELF, 0, &t->matrix.a, 1, 1, &t->alone_block), "scatter alone"))
        return;
    went_well(spmm_plan_create_extended(MPI_COMM_SELF, &t->alone_block, t->k, &alone, &study, &t->alone),
              "a plan alone");
}

/** Draws a plan. Returns 0 if the plan was refused or failed. The caller calls planned_destroy() either
 *  way. */
static inline int draw_plan(planned *t)
{
    int divisor[DIFF_RANKS], divisors = 0;
    memset(t, 0, sizeof *t);
    t->precision = draw_precision();
    if (!draw_whole(t->precision, &t->matrix)) return 0;
    for (int p = 1; p <= diff_.ranks; p++)
        if (diff_.ranks % p == 0) divisor[divisors++] = p;
    const int any = divisor[draw_below(divisors)];
    t->p = draw_percent(45) ? diff_.ranks : any;
    t->q = diff_.ranks / t->p;
    t->own = draw_percent(50);
    t->options = draw_options(&t->study);
    /* in these cases only the library knows which rows the multiplying rank received, rounded to f32 */
    if (t->q > 1 || t->options.any_order || t->options.exchange == SPMM_EXCHANGE_JOINT)
        t->options.exchange_precision = SPMM_F64;
    t->k = t->most = draw_k(&t->options, t->precision);
    describe_plan(t);
    diff_step("making the plan");
    if (!make_block(t)) return 0;
    diff_.counts.plans++;
    const spmm_status status = spmm_plan_create_extended(diff_.comm, &t->block, t->k, &t->options, &t->study,
                                                         &t->plan);
    const int refused = plan_is_refused(t);
    if (same_status(status, "spmm_plan_create()") != SPMM_OK) {
        diff_.counts.refused++;
        if (t->plan) differs("a plan that was refused is not NULL");
        if (refused == 0 || (status != SPMM_ERR_USAGE && status != SPMM_ERR_LIMIT &&
                             !(status == SPMM_ERR_NO_DEVICE && diff_.device == SPMM_CUDA)))
            went_well(status, "spmm_plan_create()");
        return 0;
    }
    if (refused == 1) differs("spmm_plan_create() took options that do not go together");
    make_alone(t);
    return 1;
}

static inline void planned_destroy(planned *t)
{
    spmm_plan_destroy(t->plan);
    spmm_plan_destroy(t->alone);
    spmm_block_destroy(&t->alone_block);
    if (t->own)
        own_block_destroy(&t->block);
    else
        spmm_block_destroy(&t->block);
    whole_destroy(&t->matrix);
    memset(t, 0, sizeof *t);
}

/** Asks for a plan with a mistake on one rank; every rank must be refused. */
static inline void refused_plan(const planned *t)
{
    enum { BLOCK_IS_NULL, K_IS_LESS, OTHER_K, SHIFTED, MORE_X, OTHER_EXCHANGE, MISTAKES };
    static const char *const names[] = {"no block",        "K of -1",         "another K",
                                        "a shifted block", "a row of X more", "another exchange"};
    const int mistake = (int)draw_below(MISTAKES), bad = (int)draw_below(diff_.ranks);
    spmm_block block = t->block;
    spmm_plan_options o = t->options;
    int64_t k = t->most;
    spmm_plan *plan = NULL;
    if ((mistake == OTHER_K || mistake == OTHER_EXCHANGE) && diff_.ranks == 1) return; /* not a mistake */
    diff_step("a plan with %s on rank %d", names[mistake], bad);
    if (diff_.rank == bad) {
        if (mistake == K_IS_LESS) k = -1;
        if (mistake == OTHER_K) k++;
        if (mistake == SHIFTED) block.row_begin++;
        if (mistake == MORE_X) block.x_rows++;
        if (mistake == OTHER_EXCHANGE)
            o.exchange = o.exchange == SPMM_EXCHANGE_HALO ? SPMM_EXCHANGE_BCAST : SPMM_EXCHANGE_HALO;
    }
    was_refused(spmm_plan_create_extended(diff_.comm,
                                          diff_.rank == bad && mistake == BLOCK_IS_NULL ? NULL : &block, k,
                                          &o, &t->study, &plan),
                "spmm_plan_create()");
    if (plan) differs("a plan that was refused is not NULL");
    spmm_plan_destroy(plan);
}

#endif
