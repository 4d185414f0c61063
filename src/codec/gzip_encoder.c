/** gzip compression through zlib, which every build has. ISA-L would be faster, but its output is larger. */
#include <stdlib.h>
#include <zlib.h>

#include "codec/codec.h"

/* The digits of values hardly compress better at higher levels, which take several times as long. */
enum { GZIP = 16, WINDOW_BITS = 15, MEMORY_LEVEL = 8, LEVEL = 1 };

static void *create(void)
{
    z_stream *const z = calloc(1, sizeof *z);
    if (z && deflateInit2(z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static sp_codec_result step(void *state, sp_codec_buffers *b, int last)
{
    z_stream *const z = state;
    z->next_in = (Bytef *)(uintptr_t)b->in;
    z->avail_in = (uInt)b->in_bytes;
    z->next_out = b->out;
    z->avail_out = (uInt)b->out_bytes;
    const int code = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
    *b = (sp_codec_buffers){z->next_in, z->avail_in, z->next_out, z->avail_out};
    if (code == Z_STREAM_END) return SP_CODEC_ENDS;
    return code == Z_OK || code == Z_BUF_ERROR ? SP_CODEC_GOES_ON : SP_CODEC_DAMAGED;
}

static void destroy(void *state)
{
    deflateEnd(state);
    free(state);
}

const sp_encoder_ops sp_gzip_encoder = {create, step, destroy};
