/** xz through liblzma. */
#include <lzma.h>
#include <stdlib.h>

#include "codec/codec.h"

typedef struct xz_state {
    lzma_stream stream;
    uint64_t memory;
} xz_state;

/** liblzma reuses the memory of the previous stream. */
static int xz_found_restart(void *state)
{
    xz_state *const s = state;
    return lzma_stream_decoder(&s->stream, s->memory, 0) == LZMA_OK;
}

static void xz_found_destroy(void *state)
{
    xz_state *const s = state;
    lzma_end(&s->stream);
    free(s);
}

static void *xz_found_create(int64_t memory)
{
    xz_state *const s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (xz_state){LZMA_STREAM_INIT, (uint64_t)memory};
    if (xz_found_restart(s)) return s;
    xz_found_destroy(s);
    return NULL;
}

static sp_codec_result xz_found_step(void *state, sp_codec_buffers *b, const char **why)
{
    lzma_stream *const z = &((xz_state *)state)->stream;
    z->next_in = b->in;
    z->avail_in = (size_t)b->in_bytes;
    z->next_out = b->out;
    z->avail_out = (size_t)b->out_bytes;
    const lzma_ret code = lzma_code(z, LZMA_RUN);
    *b = (sp_codec_buffers){z->next_in, (int64_t)z->avail_in, z->next_out, (int64_t)z->avail_out};
    switch (code) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: return SP_CODEC_GOES_ON;
    case LZMA_STREAM_END: return SP_CODEC_ENDS;
    case LZMA_MEM_ERROR:
    case LZMA_MEMLIMIT_ERROR: return SP_CODEC_MEMORY;
    case LZMA_OPTIONS_ERROR: *why = "options that liblzma does not support"; break;
    case LZMA_FORMAT_ERROR: *why = "incorrect header"; break;
    default: *why = "incorrect data or checksum"; break;
    }
    return SP_CODEC_DAMAGED;
}

const sp_codec_ops sp_xz_ops = {xz_found_create, xz_found_restart, xz_found_step, xz_found_destroy};
