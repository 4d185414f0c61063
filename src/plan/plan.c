/** Creates plans for the product Y := alpha A X + beta Y distributed over all ranks; apply.c computes the
 *  products. */
#include <string.h>

#include "base/arguments.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "plan/plan_check.h"
#include "plan/plan_struct.h"

static int threads_of(int asked) { return asked > 0 ? asked : sp_threads_default(); }

spmm_status sp_plan_features(MPI_Comm comm, const spmm_block *block, int threads, sp_features *f)
{
    sp_features_of(&block->csr, block->row_begin - block->col_begin, threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    /* of the members after the sums, all double, the greatest counts */
    return sp_slowest(comm, &f->longest, (sizeof *f - sizeof f->sum) / sizeof(double));
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
    TRY(f ? sp_choose(f, k, o->products, p->precision, o->device, o->format, &kernel, NULL, 0)
          : named_kernel(o, &kernel));
    TRY(sp_row_blocks_create(p->halo, kernel, k, o->ell_limit, p->threads, p->shape, &p->parts));
    p->space = kernel->device;
    /* boundary rows run concurrently with interior rows: in the stream of the exchange, which precedes
     * them */
    if (p->space == SPMM_CUDA && p->parts.interior > 0 && p->parts.interior < p->parts.count)
        p->boundary_stream = SP_STREAM_MOVE;
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
                              sp_value_size(p->precision);
    const int moves = p->halo->all_moved > 0;
    /* even if no row is exchanged, it is an error to request a transport that is not available */
    if (moves || o->transport != SPMM_TRANSPORT_AUTO)
        TRY(sp_exchange_create(p->grid, p->halo, row_bytes, p->space, o->transport, p->threads,
                               &p->exchange));
    if (!moves) {
        sp_exchange_destroy(p->exchange);
        p->exchange = NULL;
    }
    TRY(sp_reduction_create(p->grid, rows * ld, p->precision, p->space, o->reduce, p->threads,
                            &p->reduction));
    p->y_rows = p->grid->coords[1] == 0 || sp_reduce_everywhere(sp_reduction_method(p->reduction)) ? rows : 0;
    spmm_status status = sp_column_blocks_create(p->halo, p->k, p->precision, p->space, p->exchange,
                                                 p->column_blocks.count, &p->column_blocks);
    if (status == SPMM_OK && p->y_rows != rows)
        status = spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y);
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
    if (!o->kernel) TRY(sp_plan_features(grid->comm, block, o->threads, &f));
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
    sp_phases_destroy(&p->phases);
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
    if (!p->exchange || p->column_blocks.count > 1 || p->space == SPMM_CPU)
        return sp_multivector_create(h->ghost_low, h->own, h->ghost_high, p->k, p->precision, p->space, x);
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
    return spmm_multivector_create(p->y_rows, p->k, p->precision, p->space, y);
}
