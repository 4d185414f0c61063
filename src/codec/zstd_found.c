/** zstd through libzstd. */
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/codec.h"

/** Returns log2 of the largest window that fits into `memory` bytes, within the bounds of libzstd. */
static int window_log(int64_t memory)
{
    const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    int log = bounds.lowerBound;
    while (log < bounds.upperBound && INT64_C(1) << (log + 1) <= memory) log++;
    return log;
}

static void *zstd_found_create(int64_t memory)
{
    ZSTD_DCtx *const z = ZSTD_createDCtx();
    if (z) ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, window_log(memory));
    return z;
}

static int zstd_found_restart(void *state)
{
    return !ZSTD_isError(ZSTD_DCtx_reset(state, ZSTD_reset_session_only));
}

static sp_codec_result zstd_found_step(void *state, sp_codec_buffers *b, const char **why)
{
    ZSTD_inBuffer in = {b->in, (size_t)b->in_bytes, 0};
    ZSTD_outBuffer out = {b->out, (size_t)b->out_bytes, 0};
    const size_t code = ZSTD_decompressStream(state, &out, &in);
    b->in += in.pos;
    b->in_bytes -= (int64_t)in.pos;
    b->out += out.pos;
    b->out_bytes -= (int64_t)out.pos;
    if (!ZSTD_isError(code)) return code == 0 ? SP_CODEC_ENDS : SP_CODEC_GOES_ON;
    const ZSTD_ErrorCode error = ZSTD_getErrorCode(code);
    if (error == ZSTD_error_frameParameter_windowTooLarge || error == ZSTD_error_memory_allocation)
        return SP_CODEC_MEMORY;
    *why = ZSTD_getErrorString(error);
    return SP_CODEC_DAMAGED;
}

static void zstd_found_destroy(void *state) { ZSTD_freeDCtx(state); }

const sp_codec_ops sp_zstd_ops = {zstd_found_create, zstd_found_restart, zstd_found_step, zstd_found_destroy};
