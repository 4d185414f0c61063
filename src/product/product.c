/** Takes the decisions of a product on columns, kernel, transport and reduction, and frees products. */
#include "product/deciders.h"

#include <math.h>
#include <stdio.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"

/** Kernels are not compared if a rank has fewer multiply-adds than this. */
static const double LITTLE_WORK = 8192;

static spmm_status named_kernel(const spmm_plan_options *o, spmm_precision precision,
                                const sp_kernel **kernel)
{
    *kernel = sp_kernel_find(o->kernel);
    if (!*kernel) return sp_fail(SPMM_ERR_USAGE, "there is no kernel %s: see --list-kernels", o->kernel);
    if ((*kernel)->device != o->device || (o->format != SPMM_FORMAT_AUTO && (*kernel)->format != o->format))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s is for another device or format: see --list-kernels",
                       (*kernel)->id);
    if (!sp_kernel_takes(*kernel, precision))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s does not multiply %s values: choose another kernel",
                       (*kernel)->id, sp_precision_word(precision));
    if (o->exact && !sp_kernel_is_exact(*kernel, precision, INT64_MAX))
        return sp_fail(
            SPMM_ERR_USAGE,
            "kernel %s does not keep the serial product's bits in %s: choose another kernel, or do not "
            "require exact bits",
            (*kernel)->id, sp_precision_word(precision));
    return SPMM_OK;
}

/** Lists the candidate kernels: the named kernel, or the kernels that are expected to be fast.
 *  \param [in]  f    features of the matrix; not read if the options name the kernel
 *  \param [out] why  [SP_WHY_BYTES] the reason why the first one is expected to be the fastest */
static spmm_status list_kernels(const sp_product *p, const sp_features *f, int64_t k,
                                const sp_kernel *list[SP_MAX_CANDIDATES], int *count, char *why)
{
    const spmm_plan_options *const o = &p->options;
    *count = 1;
    snprintf(why, SP_WHY_BYTES, "named");
    if (o->kernel) return named_kernel(o, p->precision, &list[0]);
    *count = sp_order_kernels(f, k, o->products, p->precision, o->device, o->format, p->study.all_kernels,
                              list, why, SP_WHY_BYTES);
    if (*count == 0) return sp_no_kernel(p->precision);
    if (o->exact) *count = sp_keep_exact(p->precision, list, *count);
    if (*count == 0)
        return sp_fail(
            SPMM_ERR_USAGE,
            "no kernel for format %s keeps the serial product's bits in %s: choose another format, or do "
            "not require exact bits",
            sp_format_word(o->format), sp_precision_word(p->precision));
    /* with so few multiply-adds all kernels take the same time */
    const int little = f->sum.nnz * (double)k < LITTLE_WORK * fmax(f->sum.blocks, 1);
    if (!p->study.all_kernels && (little || !sp_plan_tries(o, &p->study))) *count = 1;
    return SPMM_OK;
}

spmm_status sp_decide_kernel(sp_product *p, sp_decision *row)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    sp_kernel_trial t = sp_product_trial(p, p->k / p->column_blocks.count);
    sp_features f;
    t.list = list;
    if (!p->options.kernel)
        TRY(sp_features_of_blocks(p->grid->comm, p->block, p->given->on_gpu, p->options.threads, &f));
    spmm_status status = sp_shape_check(p->shape);
    if (status == SPMM_OK) status = list_kernels(p, &f, t.k, list, &t.count, row->why);
    TRY(sp_agree(p->grid->comm, "plan", status));
    TRY(sp_kernel_trial_run(&t, &p->parts, &row->trial));
    const sp_kernel *const kernel = p->parts.kernel;
    sp_decided(row, row->why, "%s on %s", kernel->id, sp_format_word(kernel->format));
    p->space = kernel->device;
    /* Kernels for boundary rows run in the stream of the exchange, after the exchange and concurrently with
     * the kernels for interior rows. In the joint exchange that stream then exchanges partial rows, so the
     * kernels for boundary rows run in the main stream. */
    if (p->space == SPMM_CUDA && sp_row_blocks_both_kinds(&p->parts) && !p->given->joint)
        p->boundary_stream = SP_STREAM_MOVE;
    return SPMM_OK;
}

/* ---- columns ---- */

/** Returns the reason for the number of column blocks if it does not depend on the interior rows; else NULL.
 *  */
static const char *why_columns(const sp_product *p)
{
    const spmm_plan_options *const o = &p->options;
    if (o->column_blocks > 0) return "named";
    if (o->no_overlap) return "nothing is overlapped";
    if (o->device == SPMM_CPU) return "X is not cut on CPUs";
    if (p->moves->all_moved == 0) return "no rows of X are exchanged";
    return p->given->joint ? "X is not cut with the joint exchange" : NULL;
}

/** Cuts X if fewer than half of the rows of all ranks' blocks are interior. */
static spmm_status count_interior(sp_product *p, sp_decision *row)
{
    double rows[2] = {(double)sp_row_blocks_interior_rows(&p->parts), (double)p->local->csr.rows};
    double ghosts = (double)(p->moves->ghost_low + p->moves->ghost_high);
    TRY(sp_sum(p->grid->comm, rows, 2));
    snprintf(row->why, sizeof row->why, "%.0f %% of the rows are interior",
             rows[1] > 0 ? 100 * rows[0] / rows[1] : 0);
    if (2 * rows[0] >= rows[1]) return SPMM_OK;
    TRY(sp_slowest(p->grid->comm, &ghosts, 1));
    p->column_blocks.count = sp_column_blocks_best(p->k, p->precision, (int64_t)ghosts);
    /* few interior rows hide little of the exchange, and cost another kernel launch */
    sp_row_blocks_find(p->local, 0, &p->parts);
    return SPMM_OK;
}

spmm_status sp_decide_columns(sp_product *p, sp_decision *row)
{
    const int asked = p->options.column_blocks;
    const char *const why = why_columns(p);
    spmm_status status = SPMM_OK;
    if (asked != 0 && !sp_column_blocks_fit(p->k, p->precision, asked))
        status = sp_fail(
            SPMM_ERR_USAGE,
            "column_blocks is %d: expected a divisor of K = %lld, at most %d, such that a row of a block "
            "has a "
            "multiple of 32 bytes",
            asked, (long long)p->k, SP_MOST_COLUMN_BLOCKS);
    TRY(sp_agree(p->grid->comm, "plan", status));
    p->column_blocks.count = asked > 0 ? asked : 1;
    sp_row_blocks_find(p->local, !p->options.no_overlap && asked < 2, &p->parts);
    if (!why) TRY(count_interior(p, row));
    sp_decided(row, why ? why : row->why, "%d", p->column_blocks.count);
    return SPMM_OK;
}

/* ---- exchanges and the reduction ---- */

static spmm_status create_exchange(sp_product *p, int moves, sp_trial *trial)
{
    const spmm_plan_options *const o = &p->options;
    const int64_t size = sp_value_size(p->precision);
    const sp_exchange_options move = {
        .row_bytes = sp_multivector_ld(p->k / p->column_blocks.count, p->precision) * size,
        .pitch = sp_multivector_ld(p->k, p->precision) * size,
        .most_row_bytes = sp_multivector_ld(p->k, p->precision) * size,
        .space = p->space,
        .transport = o->transport,
        .queued = o->stream != NULL,
        .untimed = !sp_plan_tries(o, &p->study),
        /* no kernel that was queued before the end of the exchange runs concurrently with it */
        .alone = p->parts.interior == 0 && p->column_blocks.count == 1 && !p->given->joint,
        .threads = p->threads,
        .rounded = sp_plan_rounds(o, p->precision),
        .trial = trial};
    /* even if no row is exchanged, requesting a transport that is not available is an error */
    const int named = o->transport != SPMM_TRANSPORT_AUTO &&
                      (!sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE) || p->space != SPMM_CPU);
    if (!p->exchange && (moves || named)) TRY(sp_exchange_create(p->grid, p->moves, &move, &p->exchange));
    if (moves || sp_exchange_shares(p->exchange)) return SPMM_OK;
    sp_exchange_destroy(p->exchange);
    p->exchange = NULL;
    return SPMM_OK;
}

spmm_status sp_decide_transport(sp_product *p, sp_decision *row)
{
    const sp_joint *const joint = p->given->joint;
    TRY(create_exchange(p, p->moves->all_moved > 0, &row->trial));
    if (joint && joint->moves.all_moved > 0)
        TRY(sp_partial_rows_create(p->grid, joint, &p->options, &p->study,
                                   p->options.kernel ? p->parts.kernel : NULL, p->k, p->threads,
                                   &p->partial));
    const spmm_transport transport = sp_product_transport(p);
    if (transport == SPMM_TRANSPORT_AUTO)
        sp_decided(row, "no rows are exchanged", "none");
    else
        sp_decided(row,
                   p->options.transport != SPMM_TRANSPORT_AUTO ? "named"
                   : sp_exchange_shares(p->exchange)           ? "X is in common memory"
                                                               : "the first one that works",
                   "%s%s%s", sp_transport_word(transport), p->exchange && p->space == SPMM_CUDA ? " by " : "",
                   p->exchange && p->space == SPMM_CUDA ? sp_exchange_backend(p->exchange) : "");
    return SPMM_OK;
}

spmm_status sp_decide_reduce(sp_product *p, sp_decision *row)
{
    const spmm_plan_options *const o = &p->options;
    const int64_t elements = p->local->csr.rows * sp_multivector_ld(p->k, p->precision);
    /* The choice by a trial may change the bits of Y. Reductions are timed only if the options allow that, or
     * if there are two addends, whose sum has the same bits with every method. With a caller's stream nothing
     * is timed, because only NCCL can sum in that stream. */
    const int any = o->any_order || p->grid->dims[1] == 2, timed = sp_plan_tries(o, &p->study) && !o->stream;
    TRY(sp_reduction_create(p->grid, elements, p->precision, p->space, o->reduce, p->threads,
                            timed && any ? &row->trial : NULL, &p->reduction));
    if (!p->reduction)
        sp_decided(row, "the grid has one column", "none");
    else
        sp_decided(row,
                   o->reduce != SPMM_REDUCE_AUTO ? "named"
                   : any                         ? "nothing is timed"
                                                 : "the order of the additions is fixed",
                   "%s over %d ranks", sp_reduce_word(sp_reduction_method(p->reduction)), p->grid->dims[1]);
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
