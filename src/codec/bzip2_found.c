/** bzip2 through libbz2. */
#include <bzlib.h>
#include <stdlib.h>

#include "codec/codec.h"

/** libbz2 has no call that resets a stream, so the stream is ended and initialized again. */
static int bzip2_found_restart(void *state)
{
    bz_stream *const z = state;
    BZ2_bzDecompressEnd(z);
    *z = (bz_stream){0};
    return BZ2_bzDecompressInit(z, 0, 0) == BZ_OK;
}

static void *bzip2_found_create(int64_t memory)
{
    (void)memory; /* a block has at most 900 kB, and its decoder takes 3.7 MB */
    bz_stream *const z = calloc(1, sizeof *z);
    if (z && bzip2_found_restart(z)) return z;
    free(z);
    return NULL;
}

/** Copies the stream's positions in its buffers to *b. */
static void take_buffers(const bz_stream *z, sp_codec_buffers *b)
{
    *b = (sp_codec_buffers){(const unsigned char *)z->next_in, z->avail_in, (unsigned char *)z->next_out,
                            z->avail_out};
}

static void give_buffers(bz_stream *z, const sp_codec_buffers *b)
{
    z->next_in = (char *)(uintptr_t)b->in;
    z->avail_in = (unsigned)b->in_bytes;
    z->next_out = (char *)b->out;
    z->avail_out = (unsigned)b->out_bytes;
}

static sp_codec_result bzip2_found_step(void *state, sp_codec_buffers *b, const char **why)
{
    bz_stream *const z = state;
    give_buffers(z, b);
    const int code = BZ2_bzDecompress(z);
    take_buffers(z, b);
    switch (code) {
    case BZ_OK: return SP_CODEC_GOES_ON;
    case BZ_STREAM_END: return SP_CODEC_ENDS;
    case BZ_MEM_ERROR: return SP_CODEC_MEMORY;
    case BZ_DATA_ERROR_MAGIC: *why = "incorrect header"; break;
    default: *why = "incorrect data or checksum"; break;
    }
    return SP_CODEC_DAMAGED;
}

static void bzip2_found_destroy(void *state)
{
    BZ2_bzDecompressEnd(state);
    free(state);
}

const sp_codec_ops sp_bzip2_ops = {bzip2_found_create, bzip2_found_restart, bzip2_found_step,
                                   bzip2_found_destroy};
