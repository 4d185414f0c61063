/** Compressed Matrix Market files: the outcome is that of the text, or a refusal because of damage.
 *
 *  Bit 3 of extra clear: the input is the text, followed by 4 bytes that set how it is compressed, and how
 *  the compressed file is damaged. Bit 3 set: the input is the compressed file itself. The other bits are
 *  those of ways_check(). */
#include <string.h>
#include <zlib.h>

#include "codec/codec.h"
#include "io/input_kind.h"
#include "ways.h"

enum { MOST_PACKED = 1 << 16, TAIL = 4 };

/** Appends one gzip member. */
static size_t pack_member(uint8_t *to, size_t room, const uint8_t *text, size_t bytes, int level)
{
    z_stream z = {0};
    FUZZ_CHECK(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)bytes;
    z.next_out = to;
    z.avail_out = (uInt)room;
    FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    const size_t n = room - z.avail_out;
    deflateEnd(&z);
    return n;
}

/** Compresses a text. how[0]: level and number of members; how[1]: number of zeros after each member; how[2],
 *  how[3]: damage. Sets *intact to whether the file still contains the text. Returns the size of the file. */
static size_t pack(uint8_t *to, const uint8_t *text, size_t bytes, const uint8_t how[TAIL], int *intact)
{
    const int members = 1 + how[0] / 10 % 4, level = how[0] % 10;
    const size_t zeros = how[1] % 16 < 8 ? 0 : how[1];
    size_t n = 0;
    for (int m = 0; m < members; m++) {
        const size_t from = bytes * (size_t)m / (size_t)members,
                     end = bytes * (size_t)(m + 1) / (size_t)members;
        n += pack_member(to + n, MOST_PACKED - n, text + from, end - from, level);
        memset(to + n, 0, zeros);
        n += zeros;
    }
    *intact = 0;
    switch (how[2] % 8) {
    case 0: return n > how[3] ? n - how[3] - 1 : 0; /* truncated */
    case 1: to[how[3] % n] ^= 0x10; return n;       /* a wrong bit */
    case 2: to[n++] = how[3] ? how[3] : 1; return n;
    case 3: to[n - 1 - how[3] % (n < 9 ? n : 9)] ^= 1; return n; /* the last member's checksum, or length */
    default: *intact = 1; return n;
    }
}

/** Checks that a text yields the same matrix as the compressed text, or the same refusal. */
static void check_same_packed(const fuzz_input *in, const char *path, const ways_outcome *packed)
{
    const sp_read_options plain = {
        .precision = in->read.precision, .threads = 1, .allow_nonfinite = in->read.allow_nonfinite};
    ways_outcome text = {0};
    fuzz_chunk(FUZZ_WHOLE);
    FUZZ_CHECK(strcmp(fuzz_file(in->data, in->size), path) == 0);
    ways_by_triplets(path, &plain, &text);
    if (text.status != SPMM_OK || packed->status != SPMM_OK)
        ways_same_refusal(&text, packed);
    else if (text.a.rows >= 0)
        ways_same(&text, packed, 1);
    ways_destroy(&text);
}

int fuzz_gzip(const uint8_t *data, size_t size)
{
    static uint8_t packed[MOST_PACKED];
    fuzz_input in;
    ways_outcome o = {0};
    int intact = 0;
    if (!fuzz_begin(&in, "gzip", data, size)) return 0;
    if (in.extra & 8) {
        ways_check(&in, fuzz_file(in.data, in.size), &o);
    } else {
        if (in.size < TAIL || in.size > MOST_PACKED / 8) return 0;
        in.size -= TAIL;
        const size_t n = pack(packed, in.data, in.size, in.data + in.size, &intact);
        const char *const path = fuzz_file(packed, n);
        ways_check(&in, path, &o);
        /* (not for a text that looks like a compressed file, which would be unpacked, nor for other files
         * that are no text: their message says in what kind of file they were found) */
        if (intact && !sp_foreign_kind(in.data, (int64_t)in.size, NULL)) check_same_packed(&in, path, &o);
    }
    ways_destroy(&o);
    return fuzz_end();
}
