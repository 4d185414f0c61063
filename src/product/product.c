/** Sets up products: chooses kernel, exchange and reduction, and converts this rank's block. */
#include "product/product.h"

#include <math.h>
#include <stdio.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "product/share_x.h"
#include "product/steps.h"

/** Number of multiply-adds of a rank below which kernels are not compared. */
static const double LITTLE_WORK = 8192;

static spmm_status named_kernel(const spmm_plan_options *o, spmm_precision precision,
                                const sp_kernel **kernel)
{
    *kernel = sp_kernel_find(o->kernel);
    if (!*kernel) return sp_fail(SPMM_ERR_USAGE, "no kernel %s: see --list-kernels", o->kernel);
    if ((*kernel)->device != o->device || (o->format != SPMM_FORMAT_AUTO && (*kernel)->format != o->format))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s is for another device or format: see --list-kernels",
                       (*kernel)->id);
    if (!sp_kernel_takes(*kernel, precision))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s does not multiply %s values: expected another one",
                       (*kernel)->id, sp_precision_word(precision));
    if (o->exact && !sp_kernel_is_exact(*kernel, precision, INT64_MAX))
        return sp_fail(
            SPMM_ERR_USAGE,
            "kernel %s does not keep the serial product's bits in %s: expected another one, or no requirement of exact bits",
            (*kernel)->id, sp_precision_word(precision));
    return SPMM_OK;
}

/** Lists the candidate kernels: the named kernel, or the kernels that are expected to be fast.
 *  \param [in] f  features of the matrix; NULL if o->kernel names the kernel */
static spmm_status list_kernels(const spmm_plan_options *o, const sp_features *f, int64_t k, sp_product *p,
                                const sp_kernel *list[SP_MAX_CANDIDATES], int *count)
{
    *count = 1;
    snprintf(p->why, sizeof p->why, "named");
    if (!f) return named_kernel(o, p->precision, &list[0]);
    *count = sp_order_kernels(f, k, o->products, p->precision, o->device, o->format, p->study.all_kernels,
                              list, p->why, sizeof p->why);
    if (*count == 0)
        return sp_fail(SPMM_ERR_USAGE, "no kernel supports that format on that device: see --list-kernels");
    if (o->exact) *count = sp_keep_exact(p->precision, list, *count);
    if (*count == 0)
        return sp_fail(
            SPMM_ERR_USAGE,
            "no kernel for format %s keeps the serial product's bits in %s: expected another format, or no requirement of exact bits",
            sp_format_word(o->format), sp_precision_word(p->precision));
    /* with so few multiply-adds all kernels take the same time */
    const int little = f->sum.nnz * (double)k < LITTLE_WORK * fmax(f->sum.blocks, 1);
    if (!p->study.all_kernels && (little || !sp_plan_tries(o, &p->study))) *count = 1;
    return SPMM_OK;
}

/** Chooses the kernel and converts the block to its format. Collective over the grid.
 *  \param [in] f  as for list_kernels() */
static spmm_status product_build(const spmm_plan_options *o, const sp_features *f, sp_product *p)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    sp_kernel_trial t = sp_product_trial(p, p->k / p->column_blocks.count);
    t.list = list;
    spmm_status status = sp_shape_check(p->shape);
    if (status == SPMM_OK) status = list_kernels(o, f, t.k, p, list, &t.count);
    TRY(sp_agree(p->grid->comm, "plan", status));
    TRY(sp_kernel_trial_run(&t, &p->parts, &p->kernel_trial));
    sp_trial_words(&p->kernel_trial, p->why, sizeof p->why);
    p->space = p->parts.kernel->device;
    /* Kernels for boundary rows run in the stream of the exchange, after the exchange and concurrently with
     * the kernels for interior rows. In the joint exchange that stream then exchanges partial rows, so the
     * kernels for boundary rows run in the main stream. */
    if (p->space == SPMM_CUDA && sp_row_blocks_both_kinds(&p->parts) && !p->given->joint)
        p->boundary_stream = SP_STREAM_MOVE;
    return SPMM_OK;
}

/** Determines the row blocks, and the number of column blocks. The latter is the same on all ranks.
 *  Collective over the grid. If o->column_blocks is not 0, X is split into that many column blocks. If it is
 *  0, X is not split on CPUs. On GPUs, if rows of X are exchanged (but not by the joint exchange), overlap is
 *  not disabled, and fewer than half of the rows of all ranks' blocks are interior, X is split into
 *  sp_column_blocks_best() column blocks, and interior rows are not computed separately. */
static spmm_status find_parts(const spmm_plan_options *o, sp_product *p)
{
    spmm_status status = SPMM_OK;
    double rows[2];
    p->column_blocks.count = 1;
    if (o->column_blocks != 0 && !sp_column_blocks_fit(p->k, p->precision, o->column_blocks))
        status = sp_fail(
            SPMM_ERR_USAGE,
            "column_blocks is %d: expected a divisor of K = %lld, at most %d, such that a row of a block has a "
            "multiple of 32 bytes",
            o->column_blocks, (long long)p->k, SP_MOST_COLUMN_BLOCKS);
    TRY(sp_agree(p->grid->comm, "plan", status));
    if (o->column_blocks > 0) p->column_blocks.count = o->column_blocks;
    sp_row_blocks_find(p->local, !o->no_overlap && o->column_blocks < 2, &p->parts);
    if (o->column_blocks > 0 || o->no_overlap || o->device == SPMM_CPU || p->moves->all_moved == 0 ||
        p->given->joint)
        return SPMM_OK;
    rows[0] = (double)sp_row_blocks_interior_rows(&p->parts);
    rows[1] = (double)p->local->csr.rows;
    TRY(sp_sum(p->grid->comm, rows, 2));
    if (2 * rows[0] >= rows[1]) return SPMM_OK;
    double ghosts = (double)(p->moves->ghost_low + p->moves->ghost_high);
    TRY(sp_slowest(p->grid->comm, &ghosts, 1));
    p->column_blocks.count = sp_column_blocks_best(p->k, p->precision, (int64_t)ghosts);
    /* few interior rows hide little of the exchange, and cost another kernel launch */
    sp_row_blocks_find(p->local, 0, &p->parts);
    return SPMM_OK;
}

/** Does the collective part of sp_product_create(): creates the exchanges of X and of partial rows, the
 *  reduction, the column blocks and the list of steps. */
static spmm_status product_connect(const spmm_plan_options *o, sp_product *p)
{
    const int64_t ld = sp_multivector_ld(p->k, p->precision), rows = p->local->csr.rows;
    const int64_t size = sp_value_size(p->precision);
    const sp_exchange_options move = {
        .row_bytes = sp_multivector_ld(p->k / p->column_blocks.count, p->precision) * size,
        .pitch = ld * size,
        .most_row_bytes = ld * size,
        .space = p->space,
        .transport = o->transport,
        .queued = o->stream != NULL,
        .untimed = !sp_plan_tries(o, &p->study),
        /* no kernel that was queued before the end of the exchange runs concurrently with it */
        .alone = p->parts.interior == 0 && p->column_blocks.count == 1 && !p->given->joint,
        .threads = p->threads,
        .rounded = sp_plan_rounds(o, p->precision)};
    const int moves = p->moves->all_moved > 0;
    /* even if no row is exchanged, requesting a transport that is not available is an error */
    const int named = o->transport != SPMM_TRANSPORT_AUTO &&
                      (!sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE) || p->space != SPMM_CPU);
    if (!p->exchange && (moves || named)) TRY(sp_exchange_create(p->grid, p->moves, &move, &p->exchange));
    if (!moves && !sp_exchange_shares(p->exchange)) {
        sp_exchange_destroy(p->exchange);
        p->exchange = NULL;
    }
    if (p->given->joint && p->given->joint->moves.all_moved > 0)
        TRY(sp_partial_rows_create(p->grid, p->given->joint, o, &p->study, o->kernel ? p->parts.kernel : NULL,
                                   p->k, p->threads, &p->partial));
    /* The choice by a trial may change the bits of Y. Reductions are timed only if the options allow that, or
     * if there are two addends, whose sum has the same bits with every method. With a caller's stream nothing
     * is timed, because only NCCL can sum in that stream. */
    const int timed = sp_plan_tries(o, &p->study) && !o->stream && (o->any_order || p->grid->dims[1] == 2);
    TRY(sp_reduction_create(p->grid, rows * ld, p->precision, p->space, o->reduce, p->threads,
                            timed ? &p->reduce_trial : NULL, &p->reduction));
    p->y_rows = p->grid->coords[1] == 0 || sp_reduce_everywhere(sp_reduction_method(p->reduction)) ? rows : 0;
    spmm_status status = sp_column_blocks_create(p->moves, p->k, p->precision, p->space, p->exchange,
                                                 p->column_blocks.count, &p->column_blocks);
    p->widths.column_blocks = p->column_blocks.count;
    if (status == SPMM_OK && p->y_rows != rows)
        status = spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y);
    sp_steps_list(p);
    return sp_agree(p->grid->comm, "convert", status);
}

static spmm_status product_create(const sp_ghosted_block *a, const sp_matrix *slice, int64_t k,
                                  const spmm_plan_options *o, const spmm_plan_study *study, sp_product *p)
{
    sp_features f;
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
    p->padding = (sp_padding){study->ell_limit, a->joint ? NULL : slice};
    if (!o->kernel) TRY(sp_features_of_blocks(p->grid->comm, p->block, o->threads, &f));
    TRY(sp_share_x(o, p));
    TRY(find_parts(o, p));
    TRY(product_build(o, o->kernel ? NULL : &f, p));
    return product_connect(o, p);
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

void sp_product_destroy(sp_product *p)
{
    if (!p) return;
    if (p->pending.open && sp_mpi_runs()) (void)sp_product_end(p);
    if (sp_mpi_runs()) (void)sp_product_wait(p);
    sp_exchange_destroy(p->exchange);
    sp_partial_rows_destroy(p->partial);
    sp_reduction_destroy(p->reduction);
    sp_row_blocks_destroy(&p->parts);
    sp_row_blocks_destroy(&p->widths.other);
    sp_phases_destroy(&p->phases);
    sp_column_blocks_destroy(&p->column_blocks);
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
    sp_node_rows_destroy(&p->node);
    sp_free(p);
}

void sp_product_use_stream(sp_product *p, void *stream)
{
    if (stream) (void)sp_device_sync(); /* later products report errors */
    p->stream = stream;
}
