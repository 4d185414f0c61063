/** Checks the arguments of spmm_plan_create() and spmm_plan_create_extended() on each rank, and checks that
 *  all ranks agree. */
#include "plan/plan_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/status.h"
#include "base/environment.h"
#include "base/threads.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "product/product.h"

spmm_status sp_plan_check_moves(const char *function, const spmm_plan_options *o)
{
    char threads[64];
    TRY(sp_among(function, "options.device", (int)o->device, "spmm_device", SPMM_CPU, SPMM_CUDA));
    TRY(sp_among(function, "options.exchange", (int)o->exchange, "spmm_exchange", SPMM_EXCHANGE_AUTO,
                 SPMM_EXCHANGE_JOINT));
    TRY(sp_among(function, "options.transport", (int)o->transport, "spmm_transport", SPMM_TRANSPORT_AUTO,
                 SPMM_TRANSPORT_SHARED));
    TRY(sp_among(function, "options.exchange_precision", (int)o->exchange_precision, "spmm_precision",
                 SPMM_F64, SPMM_F32));
    snprintf(threads, sizeof threads, "%s: options.threads = %d", function, o->threads);
    return o->threads == 0 ? SPMM_OK : sp_threads_check(threads, o->threads);
}

static spmm_status check_options(const char *function, const spmm_plan_options *o)
{
    TRY(sp_plan_check_moves(function, o));
    TRY(sp_among(function, "options.format", (int)o->format, "spmm_format", SPMM_FORMAT_AUTO,
                 SP_FORMATS - 1));
    TRY(sp_among(function, "options.reduce", (int)o->reduce, "spmm_reduce", SPMM_REDUCE_AUTO,
                 SPMM_REDUCE_NCCL));
    if (o->exact && o->any_order)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: options.exact and options.any_order are both set, expected at most one",
                       function);
    if (o->stream && o->device == SPMM_CPU)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: options.stream is given, expected NULL with options.device SPMM_CPU", function);
    if (o->stream) {
        const spmm_status status = sp_device_check_stream(o->stream);
        if (status != SPMM_OK)
            return sp_fail(status, "%s: options.stream: %s", function, spmm_error_message());
    }
    return SPMM_OK;
}

/** If rows are exchanged as f32, refuses options that exclude it. */
static spmm_status check_rounding(const char *function, spmm_precision precision, const spmm_plan_options *o)
{
    if (!sp_plan_rounds(o, precision)) return SPMM_OK;
    if (o->exact)
        return sp_fail(
            SPMM_ERR_USAGE,
            "%s: options.exchange_precision is SPMM_F32, which rounds rows of X, but options.exact is set: "
            "expected only one of them",
            function);
    if (sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE))
        return sp_fail(SPMM_ERR_USAGE, "%s: transport shared: %s", function, SP_NOT_ROUNDED);
    return SPMM_OK;
}

/** Checks that k columns of all rows of X or of Y have a size in bytes that fits an int64_t. The sizes of the
 *  rows of any rank, and sums of these sizes, then fit as well. */
static spmm_status check_size(const char *function, const spmm_block *block, int64_t k)
{
    const int64_t rows = block->rows > block->cols ? block->rows : block->cols;
    int64_t bytes;
    if (sp_multivector_size(rows > 0 ? rows : 1, k, block->csr.precision, &bytes) == SPMM_OK) return SPMM_OK;
    return sp_fail(SPMM_ERR_LIMIT, "%s: k is %lld: %s", function, (long long)k, spmm_error_message());
}

static spmm_status check_here(const char *function, const spmm_block *block, int64_t k,
                              const spmm_plan_options *o, const spmm_plan_study *s, spmm_plan *const *plan)
{
    TRY(sp_given(function, "plan", plan, "a place for the plan"));
    TRY(sp_given(function, "block", block, "this rank's part of A"));
    if (block->p < 1 || block->q < 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: block.p x block.q is %d x %d, expected the shape of the process grid", function,
                       block->p, block->q);
    if (k < 0) return sp_fail(SPMM_ERR_USAGE, "%s: k is %lld, expected at least 0", function, (long long)k);
    TRY(sp_precision_check(function, block->csr.precision));
    TRY(check_size(function, block, k));
    TRY(sp_environment_check());
    if (!(s->ell_limit >= 0)) /* unlike ell_limit < 0, this also refuses NaN */
        return sp_fail(SPMM_ERR_USAGE, "%s: study.ell_limit is %g, expected 0 or more", function,
                       s->ell_limit);
    if (block->any_order && o->exchange == SPMM_EXCHANGE_JOINT)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: options.exchange is SPMM_EXCHANGE_JOINT and block.any_order is set: the joint "
                       "exchange needs increasing columns",
                       function);
    TRY(check_options(function, o));
    return check_rounding(function, block->csr.precision, o);
}

/** Returns a hash of a text, at least 0, to detect that ranks have different texts; `none` if text is
 *  NULL. */
static int64_t text_number(const char *text, int64_t none)
{
    return text ? (int64_t)crc32_z(0, (const Bytef *)text, strlen(text)) : none;
}

static spmm_status check_common(const char *function, MPI_Comm comm, const spmm_block *block, int64_t k,
                                const spmm_plan_options *o, const spmm_plan_study *s)
{
    int64_t ell_limit;
    memcpy(&ell_limit, &s->ell_limit, sizeof ell_limit);
    const sp_common all[] = {
        {"block.p", block->p, 1},
        {"block.q", block->q, 1},
        {"block.any_order", block->any_order != 0, 1},
        {"k", k, 1},
        {"options.device", o->device, 1},
        {"options.format", o->format, 1},
        {"options.kernel", text_number(o->kernel, -1), 0},
        {"study.ell_limit", ell_limit, 0},
        {"study.block_size", s->block_size, 1},
        {"study.subwarp", s->subwarp, 1},
        {"study.quick_plan", s->quick_plan != 0, 1},
        {"study.all_kernels", s->all_kernels != 0, 1},
        {"options.exchange", o->exchange, 1},
        {"options.transport", o->transport, 1},
        {"options.reduce", o->reduce, 1},
        {"options.no_overlap", o->no_overlap != 0, 1},
        {"options.column_blocks", o->column_blocks, 1},
        {"options.products", o->products, 1},
        {"options.any_order", o->any_order != 0, 1},
        {"options.exact", o->exact != 0, 1},
        {"options.stream", o->stream != NULL, 1},
        {"options.exchange_precision", o->exchange_precision, 1},
        {"the environment variable SPMM_CHUNK_BYTES", sp_chunk_bytes(), 1},
        {"the environment variable SPMM_EXCHANGE_BACKEND", text_number(getenv("SPMM_EXCHANGE_BACKEND"), 0),
         0},
    };
    return sp_check_common(comm, function, all, sizeof all / sizeof *all);
}

spmm_status sp_plan_check(const char *function, MPI_Comm comm, const spmm_block *block, int64_t k,
                          const spmm_plan_options *options, const spmm_plan_study *study,
                          spmm_plan *const *plan)
{
    TRY(sp_agree(comm, "plan", check_here(function, block, k, options, study, plan)));
    return check_common(function, comm, block, k, options, study);
}
