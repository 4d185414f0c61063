/** gzip through zlib, in builds without ISA-L. */
#include <stdlib.h>
#include <zlib.h>

#include "codec/codec.h"

enum { GZIP_ONLY = 16, WINDOW_BITS = 15 };

static void *gzip_zlib_create(int64_t memory)
{
    (void)memory; /* the window of deflate is at most 32 KiB */
    z_stream *const z = calloc(1, sizeof *z);
    if (z && inflateInit2(z, WINDOW_BITS + GZIP_ONLY) == Z_OK) return z;
    free(z);
    return NULL;
}

static int gzip_zlib_restart(void *state) { return inflateReset(state) == Z_OK; }

static sp_codec_result gzip_zlib_step(void *state, sp_codec_buffers *b, const char **why)
{
    z_stream *const z = state;
    z->next_in = (Bytef *)(uintptr_t)b->in;
    z->avail_in = (uInt)b->in_bytes;
    z->next_out = b->out;
    z->avail_out = (uInt)b->out_bytes;
    const int code = inflate(z, Z_NO_FLUSH);
    *b = (sp_codec_buffers){z->next_in, z->avail_in, z->next_out, z->avail_out};
    if (code == Z_STREAM_END) return SP_CODEC_ENDS;
    if (code == Z_OK || code == Z_BUF_ERROR) return SP_CODEC_GOES_ON;
    *why = z->msg ? z->msg : "zlib error";
    return SP_CODEC_DAMAGED;
}

static void gzip_zlib_destroy(void *state)
{
    inflateEnd(state);
    free(state);
}

const sp_codec_ops sp_gzip_ops = {gzip_zlib_create, gzip_zlib_restart, gzip_zlib_step, gzip_zlib_destroy};
