/** gzip through ISA-L, which inflates two to three times as fast as zlib. The header of a member is parsed
 *  here, because ISA-L 2.30 rejects a header with a checksum if the header is not in a single buffer. */
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <zlib.h>

#include "codec/codec.h"

/** The fields of a member's header, in order. Each field from EXTRA_LENGTH to CHECKSUM exists only if its
 *  flag is set. DATA: the header is complete. */
typedef enum header_field { FIXED, EXTRA_LENGTH, EXTRA, NAME, COMMENT, CHECKSUM, DATA } header_field;

enum { FIXED_BYTES = 10, FLAGS_AT = 3, UNKNOWN_FLAGS = 0xE0 };
static const unsigned flag_of[] = {0, 4, 4, 8, 16, 2, 0};

typedef struct gzip_state {
    struct inflate_state inflate;
    header_field field; /* the field that is being read */
    uint32_t at;        /* number of bytes of the field read so far */
    uint32_t number;    /* the first two bytes of the field as a number, as far as they have been read */
    uint32_t extra;     /* length of the field EXTRA */
    unsigned flags;
    uLong crc; /* CRC-32 of the header so far */
} gzip_state;

static int gzip_isal_restart(void *state)
{
    gzip_state *const g = state;
    isal_inflate_init(&g->inflate);
    g->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER; /* verifies checksum and length of the text */
    g->field = FIXED;
    g->at = g->number = g->extra = 0;
    g->flags = 0;
    g->crc = crc32(0, NULL, 0);
    return 1;
}

static void *gzip_isal_create(int64_t memory)
{
    (void)memory; /* the window of deflate is at most 32 KiB */
    /* zeroed, because a damaged distance makes ISA-L copy bytes that it has not written before */
    gzip_state *const g = calloc(1, sizeof *g);
    if (g) gzip_isal_restart(g);
    return g;
}

static void gzip_isal_destroy(void *state) { free(state); }

/** Advances to the next field that the header contains. */
static void next_field(gzip_state *g)
{
    g->at = g->number = 0;
    do g->field++;
    while (g->field != DATA && (!(g->flags & flag_of[g->field]) || (g->field == EXTRA && g->extra == 0)));
}

/** Reads one of the first ten bytes. Returns an error message in zlib's words; NULL: no error. */
static const char *fixed_byte(gzip_state *g, unsigned char byte)
{
    static const unsigned char begin[FLAGS_AT] = {0x1F, 0x8B, 8};
    if (g->at < FLAGS_AT && byte != begin[g->at])
        return g->at < 2 ? "incorrect header check" : "unknown compression method";
    if (g->at == FLAGS_AT) g->flags = byte;
    return g->flags & UNKNOWN_FLAGS ? "unknown header flags set" : NULL;
}

/** Reads a byte of the header. Returns an error message; NULL: no error. */
static const char *header_byte(gzip_state *g, unsigned char byte)
{
    const char *why = NULL;
    const uint32_t at = g->at;
    uint32_t bytes = 2;
    if (g->field == FIXED) why = fixed_byte(g, byte);
    if (why) return why;
    if (g->field != CHECKSUM) g->crc = crc32(g->crc, &byte, 1);
    if (at < 2) g->number |= (uint32_t)byte << 8 * at;
    g->at++;
    if (g->field == EXTRA_LENGTH) g->extra = g->number;
    if (g->field == FIXED) bytes = FIXED_BYTES;
    if (g->field == EXTRA) bytes = g->extra;
    if (g->field == CHECKSUM && g->at == bytes && g->number != (g->crc & 0xFFFF))
        return "header crc mismatch";
    if (g->field == NAME || g->field == COMMENT ? byte == 0 : g->at == bytes) next_field(g);
    return NULL;
}

/** Returns the error message for a code of ISA-L, in zlib's words where zlib has the same error. */
static const char *damage(int code)
{
    switch (code) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid code";
    case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
    default: return "ISA-L error";
    }
}

static sp_codec_result gzip_isal_step(void *state, sp_codec_buffers *b, const char **why)
{
    gzip_state *const g = state;
    struct inflate_state *const s = &g->inflate;
    for (; g->field != DATA && b->in_bytes > 0; b->in++, b->in_bytes--)
        if ((*why = header_byte(g, *b->in))) return SP_CODEC_DAMAGED;
    if (g->field != DATA) return SP_CODEC_GOES_ON;
    s->next_in = (uint8_t *)(uintptr_t)b->in;
    s->avail_in = (uint32_t)b->in_bytes;
    s->next_out = b->out;
    s->avail_out = (uint32_t)b->out_bytes;
    const int code = isal_inflate(s);
    if (code != ISAL_DECOMP_OK) { /* next_in and avail_in may be wrong, so b->in is not set */
        *why = damage(code);
        if (code == ISAL_INVALID_LOOKBACK) return SP_CODEC_DAMAGED; /* the output may contain garbage */
        b->out = s->next_out;
        b->out_bytes = s->avail_out;
        return SP_CODEC_DAMAGED;
    }
    *b = (sp_codec_buffers){s->next_in, s->avail_in, s->next_out, s->avail_out};
    return s->block_state == ISAL_BLOCK_FINISH ? SP_CODEC_ENDS : SP_CODEC_GOES_ON;
}

const sp_codec_ops sp_gzip_ops = {gzip_isal_create, gzip_isal_restart, gzip_isal_step, gzip_isal_destroy};
