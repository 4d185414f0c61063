/** Creates plans for the product Y := alpha A X + beta Y distributed over all ranks, and computes the
 *  product. */
#include "plan/plan.h"

#include <omp.h>
#include <string.h>

#include "base/arguments.h"
#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "plan/column_blocks.h"
#include "plan/exchange.h"
#include "plan/plan_check.h"
#include "plan/reduce.h"
#include "plan/row_blocks.h"

struct spmm_plan {
    const sp_grid *grid;
    const sp_halo *halo;
    /* if spmm_plan_create() made the plan, grid and halo point to own_grid and own_halo; else these are
     * zeroed */
    sp_grid own_grid;
    sp_halo own_halo;
    int64_t k, y_rows;
    spmm_precision precision;
    sp_row_blocks parts;
    sp_shape shape;
    int threads;
    sp_exchange *exchange;
    sp_reduction *reduction;
    sp_column_blocks column_blocks;
    int local; /* 1: products exchange no rows of X, and use its ghost rows as they are */
    /* copy of the caller's X, if the caller's X cannot receive ghost rows; allocated when first needed */
    spmm_multivector x;
    /* this rank's A X, if kernels cannot write it to the caller's Y; allocated when first needed */
    spmm_multivector y;
    /* on a GPU: timer[0] for interior rows and timer[1] for boundary rows, or timer[s] for column block s */
    sp_timer *timer[SP_MOST_COLUMN_BLOCKS];
    sp_timer *both; /* on a GPU: for interior and boundary rows together, if concurrent; else NULL */
};

static int threads_of(int asked) { return asked > 0 ? asked : sp_threads_default(); }

static spmm_device space_of(const spmm_plan *p) { return p->parts.kernel->device; }

spmm_status sp_plan_features(MPI_Comm comm, const spmm_csr *block, int threads, sp_features *f)
{
    sp_features_of(block, threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    return sp_slowest(comm, &f->longest, 1);
}

/** Returns 1 if boundary rows run concurrently with interior rows, in a stream of their own. */
static int runs_aside(const spmm_plan *p)
{
    return space_of(p) == SPMM_CUDA && p->parts.interior > 0 && p->parts.interior < p->parts.count;
}

/* ---- set-up ---- */

static spmm_status named_kernel(const spmm_plan_options *o, const sp_kernel **kernel)
{
    *kernel = sp_kernel_find(o->kernel);
    if (!*kernel) return sp_fail(SPMM_ERR_USAGE, "no kernel %s: see --list-kernels", o->kernel);
    if ((*kernel)->device != o->device || (o->format != SPMM_FORMAT_AUTO && (*kernel)->format != o->format))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s is for another device or format: see --list-kernels",
                       (*kernel)->id);
    return SPMM_OK;
}

/** Does the local part of sp_plan_create(): chooses the kernel and converts the block to its format.
 *  \param [in] f  features of the matrix; NULL if o->kernel names the kernel */
static spmm_status build(const spmm_plan_options *o, const sp_features *f, spmm_plan *p)
{
    const sp_kernel *kernel;
    TRY(sp_shape_check(p->shape));
    const int blocks = p->column_blocks.count;
    const int64_t k = p->k / blocks; /* number of columns that one kernel launch computes */
    TRY(f ? sp_choose(f, k, p->precision, o->device, o->format, &kernel, NULL, 0) : named_kernel(o, &kernel));
    TRY(sp_row_blocks_create(p->halo, kernel, k, o->ell_limit, p->threads, p->shape, &p->parts));
    for (int i = 0; kernel->device == SPMM_CUDA && i < (blocks > 1 ? blocks : 2); i++)
        TRY(sp_timer_create(&p->timer[i]));
    if (runs_aside(p)) TRY(sp_timer_create(&p->both));
    return SPMM_OK;
}

/** Determines the row blocks and the number of column blocks, which is the same on all ranks. Collective over
 *  the grid. If o->column_blocks is not 0, X is split into that many column blocks. If it is 0, X is not
 *  split on CPUs. On GPUs X is split into sp_column_blocks_best() column blocks if rows of X are exchanged,
 *  overlap is not disabled, and fewer than half of the rows of all ranks' blocks are interior. */
static spmm_status find_parts(const spmm_plan_options *o, spmm_plan *p)
{
    spmm_status status = SPMM_OK;
    double rows[2];
    p->column_blocks.count = 1;
    if (o->column_blocks != 0 && !sp_column_blocks_fit(p->k, p->precision, o->column_blocks))
        status = sp_fail(
            SPMM_ERR_USAGE,
            "%d column blocks of K = %lld: expected a divisor up to %d that leaves multiples of 32 bytes",
            o->column_blocks, (long long)p->k, SP_MOST_COLUMN_BLOCKS);
    TRY(sp_agree(p->grid->comm, "plan", status));
    if (o->column_blocks > 0) p->column_blocks.count = o->column_blocks;
    sp_row_blocks_find(p->halo, !o->no_overlap && o->column_blocks < 2, &p->parts);
    if (o->column_blocks > 0 || o->no_overlap || o->device == SPMM_CPU || p->halo->all_moved == 0)
        return SPMM_OK;
    rows[0] = (double)sp_row_blocks_interior_rows(&p->parts);
    rows[1] = (double)p->halo->local.rows;
    TRY(sp_sum(p->grid->comm, rows, 2));
    if (2 * rows[0] >= rows[1]) return SPMM_OK;
    p->column_blocks.count = sp_column_blocks_best(p->k, p->precision);
    if (p->column_blocks.count > 1) sp_row_blocks_find(p->halo, 0, &p->parts);
    return SPMM_OK;
}

/** Does the collective part of sp_plan_create(): creates the exchange, the reduction and the column
 *  blocks. */
static spmm_status connect(const spmm_plan_options *o, spmm_plan *p)
{
    const int64_t ld = sp_multivector_ld(p->k, p->precision), rows = p->halo->local.rows;
    const int64_t row_bytes = sp_multivector_ld(p->k / p->column_blocks.count, p->precision) *
                              (int64_t)sp_value_size(p->precision);
    const int moves = p->halo->all_moved > 0;
    /* even if no row is exchanged, it is an error to request a transport that is not available */
    if (moves || o->transport != SPMM_TRANSPORT_AUTO)
        TRY(sp_exchange_create(p->grid, p->halo, row_bytes, space_of(p), o->transport, p->threads,
                               &p->exchange));
    if (!moves) {
        sp_exchange_destroy(p->exchange);
        p->exchange = NULL;
    }
    TRY(sp_reduction_create(p->grid, rows * ld, p->precision, space_of(p), o->reduce, p->threads,
                            &p->reduction));
    p->y_rows = p->grid->coords[1] == 0 || sp_reduce_everywhere(sp_reduction_method(p->reduction)) ? rows : 0;
    spmm_status status = sp_column_blocks_create(p->halo, p->k, p->precision, space_of(p), p->exchange,
                                                 p->column_blocks.count, &p->column_blocks);
    if (status == SPMM_OK && p->y_rows != rows)
        status = spmm_multivector_create(rows, p->k, p->precision, space_of(p), &p->y);
    return sp_agree(p->grid->comm, "convert", status);
}

static spmm_status create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                          const spmm_plan_options *o, spmm_plan *p)
{
    sp_features f;
    p->grid = grid;
    p->halo = halo;
    p->k = k;
    p->precision = block->csr.precision;
    p->shape = (sp_shape){o->block_size, o->subwarp};
    p->threads = threads_of(o->threads);
    if (!o->kernel) TRY(sp_plan_features(grid->comm, &block->csr, o->threads, &f));
    TRY(find_parts(o, p));
    TRY(sp_agree(grid->comm, "convert", build(o, o->kernel ? NULL : &f, p)));
    return connect(o, p);
}

spmm_status sp_plan_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                           const spmm_plan_options *options, spmm_plan **plan)
{
    spmm_plan *p = NULL;
    *plan = NULL;
    spmm_status status = sp_agree(grid->comm, "plan", sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan"));
    if (status == SPMM_OK) status = create(grid, block, halo, k, options, p);
    if (status != SPMM_OK) {
        spmm_plan_destroy(p);
        return status;
    }
    *plan = p;
    return SPMM_OK;
}

spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan)
{
    static const spmm_plan_options defaults;
    const spmm_plan_options *o = options ? options : &defaults;
    spmm_plan *p = NULL;
    spmm_status status;
    if (plan) *plan = NULL;
    TRY(sp_comm_check(comm, __func__));
    TRY(sp_plan_check(comm, block, k, o, plan));
    TRY(sp_agree(comm, "plan", sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan")));
    TRY_GOTO(sp_grid_create(comm, block->p, block->q, &p->own_grid), failed);
    TRY_GOTO(sp_halo_create(&p->own_grid, block, o->exchange, threads_of(o->threads), &p->own_halo), failed);
    TRY_GOTO(create(&p->own_grid, block, &p->own_halo, k, o, p), failed);
    *plan = p;
    return SPMM_OK;
failed:
    spmm_plan_destroy(p);
    return status == SPMM_ERR_USAGE ? sp_fail(status, "%s: %s", __func__, spmm_error_message()) : status;
}

void spmm_plan_destroy(spmm_plan *p)
{
    if (!p) return;
    sp_exchange_destroy(p->exchange);
    sp_reduction_destroy(p->reduction);
    sp_row_blocks_destroy(&p->parts);
    for (int i = 0; i < SP_MOST_COLUMN_BLOCKS; i++) sp_timer_destroy(p->timer[i]);
    sp_timer_destroy(p->both);
    sp_column_blocks_destroy(&p->column_blocks);
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
    sp_halo_destroy(&p->own_halo);
    sp_grid_destroy(&p->own_grid);
    sp_free(p);
}

const char *spmm_plan_kernel(const spmm_plan *plan) { return plan ? plan->parts.kernel->id : ""; }

void sp_plan_facts_of(const spmm_plan *p, sp_plan_facts *facts)
{
    *facts = (sp_plan_facts){
        p->parts.kernel, p->exchange ? sp_exchange_transport(p->exchange) : SPMM_TRANSPORT_AUTO,
        sp_reduction_method(p->reduction), sp_row_blocks_interior_rows(&p->parts), p->column_blocks.count};
}

spmm_status spmm_plan_x_create(const spmm_plan *p, spmm_multivector *x)
{
    TRY(sp_given(__func__, "x", x, "a place for the multivector"));
    memset(x, 0, sizeof *x);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    const sp_halo *const h = p->halo;
    if (!p->exchange || p->column_blocks.count > 1 || space_of(p) == SPMM_CPU)
        return sp_multivector_create(h->ghost_low, h->own, h->ghost_high, p->k, p->precision, space_of(p), x);
    void *memory = NULL;
    int64_t bytes = 0;
    TRY(sp_multivector_size(sp_halo_rows(h), p->k, p->precision, &bytes));
    TRY(sp_exchange_alloc(p->exchange, bytes, &memory));
    *x = sp_multivector_in(memory, h->ghost_low, h->own, h->ghost_high, p->k, p->precision, SPMM_CUDA);
    return SPMM_OK;
}

spmm_status spmm_plan_y_create(const spmm_plan *p, spmm_multivector *y)
{
    TRY(sp_given(__func__, "y", y, "a place for the multivector"));
    memset(y, 0, sizeof *y);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    return spmm_multivector_create(p->y_rows, p->k, p->precision, space_of(p), y);
}

/* ---- products ---- */

static const char *space_word(spmm_device space) { return space == SPMM_CPU ? "host" : "GPU"; }

/** Checks the shape, precision and memory of operand v. Error messages name spmm_apply() as the function,
 *  whichever function calls this one.
 *  \param [in] name  name of the operand in error messages */
static spmm_status check_operand(const spmm_plan *p, const spmm_multivector *v, int64_t rows,
                                 const char *name)
{
    TRY(sp_multivector_check(v, "spmm_apply", name));
    if (v->rows == rows && v->k == p->k && v->precision == p->precision && v->space == space_of(p))
        return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE, "spmm_apply: %s is %lld x %lld %s in %s memory, expected %lld x %lld %s in %s memory",
        name, (long long)v->rows, (long long)v->k, sp_precision_word(v->precision), space_word(v->space),
        (long long)rows, (long long)p->k, sp_precision_word(p->precision), space_word(space_of(p)));
}

static spmm_status check_operands(const spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(check_operand(p, x, p->halo->own, "x"));
    TRY(check_operand(p, y, p->y_rows, "y"));
    return sp_multivector_apart(x, y, "spmm_apply", "x", "y");
}

/** Determines an X that can receive the ghost rows: the caller's x, or a copy in p->x.
 *  \param [out] whole  view of that X in which ghost rows count as rows: row 0 is the first ghost row */
static spmm_status find_x(spmm_plan *p, const spmm_multivector *x, spmm_multivector *whole)
{
    const sp_halo *const h = p->halo;
    const int64_t ld = sp_multivector_ld(p->k, p->precision);
    const int moves = p->column_blocks.count == 1 && (h->ghost_low + h->ghost_high > 0 || p->exchange);
    const void *const row_0 = (const char *)x->data -
                              h->ghost_low * x->ld * (int64_t)sp_value_size(p->precision);
    if (moves && (x->ld != ld || x->ghost_low < h->ghost_low || x->ghost_high < h->ghost_high ||
                  (p->exchange && !sp_exchange_takes(p->exchange, row_0)))) {
        if (!p->x.data) TRY(spmm_plan_x_create(p, &p->x));
        TRY(spmm_multivector_copy(x, &p->x));
        x = &p->x;
    }
    *whole = *x;
    whole->rows = sp_halo_rows(h);
    whole->data = (char *)x->data - h->ghost_low * x->ld * (int64_t)sp_value_size(p->precision);
    return SPMM_OK;
}

/** Determines where the kernels write A X: to the caller's y if possible, else to p->y.
 *  \param [out] product  y or p->y */
static spmm_status find_y(spmm_plan *p, double beta, const spmm_multivector *y, spmm_multivector *product)
{
    const int64_t rows = p->halo->local.rows;
    const int direct = p->y_rows == rows && beta == 0 &&
                       (!p->reduction || y->ld == sp_multivector_ld(p->k, p->precision));
    if (!direct && !p->y.data) TRY(spmm_multivector_create(rows, p->k, p->precision, space_of(p), &p->y));
    *product = direct ? *y : p->y;
    return SPMM_OK;
}

/** Runs the kernel on row blocks [begin, end). If `seconds` is not NULL, also measures the time. On a CPU,
 *  *seconds is the time on return; on a GPU, `timer` measures it, and read_timers() reads it later. */
static spmm_status run(const spmm_plan *p, int begin, int end, sp_timer *timer, const spmm_multivector *x,
                       const spmm_multivector *y, double *seconds)
{
    const double start = omp_get_wtime();
    if (timer && seconds) TRY(sp_timer_start(timer));
    TRY(sp_row_blocks_run(&p->parts, begin, end, p->shape, x, y));
    if (timer && seconds) return sp_timer_stop(timer);
    if (seconds) *seconds = omp_get_wtime() - start;
    return SPMM_OK;
}

static spmm_status run_interior(const spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y,
                                sp_apply_seconds *s)
{
    return run(p, 0, p->parts.interior, p->timer[0], x, y, s ? &s->interior : NULL);
}

static spmm_status run_boundary(const spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y,
                                sp_apply_seconds *s)
{
    return run(p, p->parts.interior, p->parts.count, p->timer[1], x, y, s ? &s->boundary : NULL);
}

/** Runs the boundary rows concurrently with interior rows: queues them in SP_STREAM_MOVE, the stream of the
 *  exchange, and makes SP_STREAM_MAIN wait for it. */
static spmm_status run_boundary_aside(const spmm_plan *p, const spmm_multivector *x,
                                      const spmm_multivector *y, sp_apply_seconds *s)
{
    sp_device_use(SP_STREAM_MOVE);
    const spmm_status status = run_boundary(p, x, y, s);
    sp_device_use(SP_STREAM_MAIN);
    TRY(sp_stream_wait(SP_STREAM_MAIN, SP_STREAM_MOVE));
    return status;
}

/** Returns 1 if the kernels for interior rows are queued before the exchange begins. This keeps the GPU busy
 *  while the host starts the exchange. With CUDA-aware MPI the exchange comes first, because it
 *  begins by synchronizing SP_STREAM_MAIN, and so would wait for these kernels. */
static int kernels_first(const spmm_plan *p)
{
    return space_of(p) == SPMM_CUDA && sp_exchange_transport(p->exchange) != SPMM_TRANSPORT_CUDA_AWARE;
}

static spmm_status exchange_and_run_interior(const spmm_plan *p, const spmm_multivector *x,
                                             const spmm_multivector *y, sp_apply_seconds *s)
{
    void *const own = (char *)x->data + p->halo->ghost_low * x->ld * (int64_t)sp_value_size(p->precision);
    spmm_status interior;
    if (kernels_first(p)) {
        interior = sp_stream_wait(SP_STREAM_MOVE, SP_STREAM_MAIN);
        if (interior == SPMM_OK) interior = run_interior(p, x, y, s);
        TRY(sp_exchange_begin_now(p->exchange, own));
    } else {
        TRY(sp_exchange_begin(p->exchange, own));
        interior = run_interior(p, x, y, s);
    }
    TRY(sp_exchange_end(p->exchange)); /* even if `interior` is a failure: other ranks wait for this rank */
    return interior;
}

/** Computes A X on this rank's block: begins the exchange, computes interior rows, ends the exchange, and
 *  computes boundary rows. */
static spmm_status multiply(spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y,
                            sp_apply_seconds *s)
{
    const int aside = runs_aside(p);
    if (aside && s) (void)sp_timer_start(p->both); /* if it fails, later calls report a GPU error, too */
    if (p->exchange && !p->local) {
        TRY(exchange_and_run_interior(p, x, y, s));
    } else {
        if (aside) TRY(sp_stream_wait(SP_STREAM_MOVE, SP_STREAM_MAIN));
        TRY(run_interior(p, x, y, s));
    }
    if (!aside) return run_boundary(p, x, y, s);
    TRY(run_boundary_aside(p, x, y, s));
    return s ? sp_timer_stop(p->both) : SPMM_OK;
}

/** Copies the owned rows of x into the column blocks. On a GPU, queues the copies in the stream that needs
 *  them first: SP_STREAM_MOVE if the exchange reads the column blocks, SP_STREAM_MAIN if only the kernels
 *  read them.
 *  \param [out] direct  1: the exchange reads owned rows from x, not from the column blocks */
static spmm_status fill_column_blocks(spmm_plan *p, const spmm_multivector *x, int *direct)
{
    const int moves = p->exchange && !p->local;
    *direct = moves && sp_exchange_reads(p->exchange, x->data, x->ld * (int64_t)sp_value_size(p->precision));
    /* wait for the previous product's kernels, which read the column blocks */
    if (moves && space_of(p) == SPMM_CUDA) TRY(sp_stream_wait(SP_STREAM_MOVE, SP_STREAM_MAIN));
    return sp_column_blocks_fill(&p->column_blocks, x, p->threads,
                                 moves && !*direct ? SP_STREAM_MOVE : SP_STREAM_MAIN);
}

/** Exchanges column block s of X. On a GPU, this overlaps with the kernels on earlier column blocks. */
static spmm_status move_column_block(spmm_plan *p, int s, const spmm_multivector *x, int direct)
{
    const int64_t size = (int64_t)sp_value_size(p->precision);
    if (!p->exchange || p->local) return SPMM_OK;
    if (direct)
        TRY(sp_exchange_begin_from(p->exchange, p->column_blocks.x[s].data,
                                   (const char *)x->data + s * p->column_blocks.width * size, x->ld * size));
    else
        TRY(sp_exchange_begin_now(p->exchange, p->column_blocks.x[s].data));
    return sp_exchange_end(p->exchange);
}

/** Computes A X one column block after another. After a failure, this rank still takes part in the exchange
 *  of the remaining column blocks, because other ranks wait for it.
 *  \param [in] x  the owned rows of X */
static spmm_status multiply_column_blocks(spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y,
                                          sp_apply_seconds *seconds)
{
    int direct;
    spmm_status status = fill_column_blocks(p, x, &direct);
    for (int s = 0; s < p->column_blocks.count; s++) {
        double took = 0;
        if (status != SPMM_OK) {
            if (p->exchange && !p->local) sp_exchange_skip(p->exchange);
            continue;
        }
        status = move_column_block(p, s, x, direct);
        const spmm_multivector xs = sp_column_blocks_x(&p->column_blocks, s),
                               ys = sp_column_blocks_y(&p->column_blocks, s, y);
        if (status == SPMM_OK)
            status = run(p, 0, p->parts.count, p->timer[s], &xs, &ys, seconds ? &took : NULL);
        if (seconds) seconds->boundary += took;
    }
    return status;
}

/** Fills this rank's partial product with NaNs after a failure, so that nobody mistakes the sum for a
 *  result. */
static void poison(const spmm_multivector *product)
{
    const int64_t bytes = sp_multivector_bytes(product);
    if (product->space == SPMM_CPU)
        memset(product->data, 0xff, (size_t)bytes);
    else
        (void)sp_device_nan(product->data, bytes);
}

static spmm_status sum_partials(spmm_plan *p, const spmm_multivector *product, sp_apply_seconds *s)
{
    if (!p->reduction) return SPMM_OK;
    const int queued = s && space_of(p) == SPMM_CUDA;
    if (queued)
        (void)sp_device_sync(); /* keeps the kernels out of the measured time; later calls report errors */
    const double start = omp_get_wtime();
    spmm_status status = sp_reduction_run(p->reduction, product->data);
    if (status == SPMM_OK && queued) status = sp_device_sync();
    if (s) s->reduce = omp_get_wtime() - start;
    return status;
}

static spmm_status read_timers(const spmm_plan *p, sp_apply_seconds *s)
{
    if (s && p->timer[0] && p->column_blocks.count == 1) {
        TRY(sp_timer_seconds(p->timer[0], &s->interior));
        TRY(sp_timer_seconds(p->timer[1], &s->boundary));
    } else if (s && p->timer[0]) {
        s->boundary = 0;
        for (int i = 0; i < p->column_blocks.count; i++) {
            double took;
            TRY(sp_timer_seconds(p->timer[i], &took));
            s->boundary += took;
        }
    }
    if (s) s->kernel = s->interior + s->boundary;
    return s && p->both ? sp_timer_seconds(p->both, &s->kernel) : SPMM_OK;
}

spmm_status sp_plan_apply(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y, sp_apply_seconds *s)
{
    spmm_multivector whole, product;
    spmm_status status = check_operands(p, x, y);
    if (status == SPMM_OK) status = find_x(p, x, &whole);
    if (status == SPMM_OK) status = find_y(p, beta, y, &product);
    if (s) *s = (sp_apply_seconds){0};
    if (status != SPMM_OK) {
        sp_plan_skip(p);
        return status;
    }
    const spmm_status multiplied = p->column_blocks.count > 1 ? multiply_column_blocks(p, x, &product, s)
                                                              : multiply(p, &whole, &product, s);
    if (multiplied != SPMM_OK && p->reduction) poison(&product);
    const spmm_status summed = sum_partials(p, &product, s); /* even after a failure: other ranks wait */
    /* after a failure, kernels queued before it may still read X */
    if (multiplied != SPMM_OK && space_of(p) == SPMM_CUDA) (void)sp_device_sync();
    TRY(multiplied);
    TRY(summed);
    if (p->y_rows > 0 && (alpha != 1 || product.data != y->data))
        TRY(sp_multivector_axpby(alpha, &product, beta, y, p->threads));
    if (space_of(p) == SPMM_CUDA) TRY(sp_device_sync());
    return read_timers(p, s);
}

spmm_status sp_plan_apply_local(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y)
{
    plan->local = 1;
    const spmm_status status = sp_plan_apply(plan, 1, x, 0, y, NULL);
    plan->local = 0;
    return status;
}

spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y)
{
    TRY(sp_given(__func__, "plan", plan, "a plan of spmm_plan_create()"));
    TRY(sp_comm_check(plan->grid->comm, __func__));
    return sp_plan_apply(plan, alpha, x, beta, y, NULL);
}

static spmm_status exchange_column_blocks(spmm_plan *p, const spmm_multivector *x)
{
    int direct;
    spmm_status status = fill_column_blocks(p, x, &direct);
    for (int s = 0; s < p->column_blocks.count; s++)
        if (status == SPMM_OK)
            status = move_column_block(p, s, x, direct);
        else
            sp_exchange_skip(p->exchange);
    return status;
}

static spmm_status exchange_whole(spmm_plan *p, const spmm_multivector *whole)
{
    const int64_t row_bytes = whole->ld * (int64_t)sp_value_size(p->precision);
    TRY(sp_exchange_begin(p->exchange, (char *)whole->data + p->halo->ghost_low * row_bytes));
    return sp_exchange_end(p->exchange);
}

spmm_status sp_plan_exchange(spmm_plan *p, const spmm_multivector *x)
{
    spmm_multivector whole;
    if (!p->exchange) return SPMM_OK;
    spmm_status status = check_operand(p, x, p->halo->own, "x");
    if (status == SPMM_OK) status = find_x(p, x, &whole);
    if (status != SPMM_OK) {
        sp_plan_skip_exchange(p);
        return status;
    }
    TRY(p->column_blocks.count > 1 ? exchange_column_blocks(p, x) : exchange_whole(p, &whole));
    return space_of(p) == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

void sp_plan_skip_exchange(spmm_plan *p)
{
    for (int s = 0; p->exchange && !p->local && s < p->column_blocks.count; s++)
        sp_exchange_skip(p->exchange);
}

void sp_plan_skip(spmm_plan *p)
{
    char text[SP_MESSAGE_BYTES];
    const char *const why = spmm_error_message();
    memcpy(text, why, strlen(why) + 1); /* the calls below may overwrite the message of the first error */
    sp_plan_skip_exchange(p);
    if (p->reduction) sp_reduction_skip(p->reduction);
    sp_set_message(text);
}
