/** Compressed inputs of each kind, packed by the usual commands: the data that are read, and how damage,
 *  trailing data and too large windows are refused. A build without a kind's library must refuse the kind;
 *  without the command the kind's tests are skipped.
 *  limit: 120 */
#include <malloc.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "codec/codec.h"
#include "files.h"
#include "io/mtx_read.h"
#include "test.h"

enum { ENTRIES = 3000, TEXT_ROOM = 80000, HEAD_LINES = 2 };

typedef struct kind {
    const char *name, *pack; /**< the command; it packs the standard input */
    const char *more;        /**< arguments that make data of several independent pieces */
    const sp_codec *codec;
} kind;

static kind kinds[] = {{.name = "gzip", .pack = "gzip -n", .more = "-1"},
                       {.name = "xz", .pack = "xz", .more = "-T2 --block-size=4096"},
                       {.name = "zstd", .pack = "zstd -q", .more = "-19 --long=24"},
                       {.name = "bzip2", .pack = "bzip2", .more = "-1"}};

static char text[TEXT_ROOM], plain[280];
static size_t text_bytes;

static void make_text(void)
{
    int n = sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", ENTRIES, ENTRIES,
                    ENTRIES);
    for (int k = 1; k <= ENTRIES; k++)
        n += sprintf(text + n, "%d %d %.6g\n", k, 1 + k * 7 % ENTRIES, (double)(k * k % 997) / 31);
    text_bytes = (size_t)n;
}

/** Appends text[from, to) to the file at `path`, packed. Returns 1; 0: the command failed. */
static int add_packed(const kind *k, const char *arguments, size_t from, size_t to)
{
    char command[800];
    write_file(plain, text + from, to - from);
    snprintf(command, sizeof command, "%s %s -c <'%s' >>'%s' 2>/dev/null", k->pack, arguments, plain, path);
    return system(command) == 0;
}

static void add_bytes(const char *bytes, size_t n)
{
    FILE *const f = fopen(path, "ab");
    CHECK(f && fwrite(bytes, 1, n, f) == n);
    if (f) fclose(f);
}

/** Makes the packed file of the whole text, as `pieces` members. */
static void pack(const kind *k, const char *arguments, size_t pieces)
{
    unlink(path);
    for (size_t p = 0; p < pieces; p++)
        CHECK(add_packed(k, arguments, text_bytes * p / pieces, text_bytes * (p + 1) / pieces));
}

static spmm_status read_coo(int threads, sp_coo *coo)
{
    const sp_read_options options = {.threads = threads};
    sp_set_message("");
    return sp_read_coo(path, &options, coo, NULL);
}

/** Checks that the file at `path`, read in chunks of several sizes, is the matrix of the text. */
static void check_whole(const sp_coo *expected)
{
    static const int sizes[] = {1000, 65536, 0};
    sp_coo coo;
    for (int k = 0; k < 3; k++) {
        chunk_bytes(sizes[k]);
        CHECK_INT(read_coo(1 + k, &coo), SPMM_OK);
        CHECK_INT(coo.nnz, ENTRIES);
        CHECK(coo.nnz == ENTRIES && memcmp(coo.I, expected->I, ENTRIES * sizeof *coo.I) == 0 &&
              memcmp(coo.J, expected->J, ENTRIES * sizeof *coo.J) == 0 &&
              memcmp(coo.val, expected->val, ENTRIES * sizeof(double)) == 0);
        sp_coo_destroy(&coo);
    }
    chunk_bytes(0);
}

/** Checks that the file is refused with a message that contains `part` and is the same for chunks of any
 *  size. */
static void check_refused(spmm_status status, const char *part)
{
    static const int sizes[] = {60, 5000, 200000};
    char first[SP_MESSAGE_BYTES];
    sp_coo coo;
    for (int k = 0; k < 3; k++) {
        chunk_bytes(sizes[k]);
        CHECK_ERROR(read_coo(1 + k % 2, &coo), status, part);
        if (k == 0) snprintf(first, sizeof first, "%s", spmm_error_message());
        CHECK_TEXT(first, spmm_error_message());
    }
    chunk_bytes(0);
}

static void test_whole(const kind *k, const sp_coo *expected)
{
    char part[80];
    TEST(test_name("%s: one piece or many, padded with zeros or not, give what the text gives", k->name)) {
        for (size_t pieces = 1; pieces <= 9; pieces += 4) {
            pack(k, pieces == 5 ? k->more : "", pieces);
            check_whole(expected);
            add_bytes(text + TEXT_ROOM - 512, 512); /* zeros */
            check_whole(expected);
        }
        if (strcmp(k->name, "zstd") == 0) { /* skippable frames: first, as pzstd writes one, and between */
            write_bytes("\x50\x2A\x4D\x18\4\0\0\0abcd", 12);
            CHECK(add_packed(k, "", 0, 100));
            add_bytes("\x5F\x2A\x4D\x18\0\0\0\0", 8);
            CHECK(add_packed(k, "", 100, text_bytes));
            check_whole(expected);
        }
    }
    TEST(test_name("%s: an empty text is an empty file, an error in the text has its line", k->name)) {
        unlink(path);
        CHECK(add_packed(k, "", 0, 0));
        check_refused(SPMM_ERR_SYNTAX, ": found an empty file");
        char *const digit = strstr(text, "\n9 ") + 1;
        *digit = 'x';
        pack(k, "", 2);
        *digit = '9';
        snprintf(part, sizeof part, ":%d: found \"x\"", HEAD_LINES + 9);
        check_refused(SPMM_ERR_SYNTAX, part);
    }
}

static void test_cut(const kind *k)
{
    char part[80];
    size_t bytes;
    pack(k, "", 2);
    char *const packed = read_file(path, &bytes);
    TEST(test_name("%s: a file cut short anywhere is refused", k->name)) {
        unlink(path);
        CHECK(add_packed(k, "", 0, text_bytes / 2));
        free(read_file(path, &bytes));
        const size_t first = bytes; /* a file cut between its members is not damaged */
        pack(k, "", 2);
        free(read_file(path, &bytes));
        snprintf(part, sizeof part, "found the end of the file inside the %s data", k->name);
        for (size_t cut = SP_CODEC_HEAD; cut < bytes; cut += 1 + bytes / 20) {
            write_bytes(packed, cut);
            if (cut != first) check_refused(SPMM_ERR_OPEN, part);
        }
    }
    TEST(test_name("%s: a bit that is wrong anywhere is found, or changes nothing", k->name)) {
        sp_coo coo;
        const size_t step = 1 + bytes / 120;
        int found = 0, tried = 0;
        for (size_t at = SP_CODEC_HEAD; at < bytes; at += step, tried++) {
            packed[at] ^= (char)(1 << at % 8);
            write_bytes(packed, bytes);
            packed[at] ^= (char)(1 << at % 8);
            if (read_coo(2, &coo) != SPMM_OK)
                found++;
            else
                CHECK(coo.nnz == ENTRIES && coo.I[ENTRIES - 1] == ENTRIES - 1 &&
                      coo.I[ENTRIES / 2] == ENTRIES / 2);
            sp_coo_destroy(&coo);
        }
        CHECK(found > tried - 9); /* gzip's header has bits without a meaning here, and no checksum */
    }
    free(packed);
}

static void test_rest(const kind *k)
{
    char part[200];
    size_t bytes;
    TEST(test_name("%s: other bytes behind the data, and data inside of data, are refused", k->name)) {
        pack(k, "", 1);
        add_bytes("rest", 4);
        snprintf(part, sizeof part, ":%d: found other bytes after the %s data", ENTRIES + HEAD_LINES + 1,
                 k->name);
        check_refused(SPMM_ERR_OPEN, part);
        pack(k, "", 1);
        char *const packed = read_file(path, &bytes);
        write_file(plain, packed, bytes);
        free(packed);
        char command[800];
        snprintf(command, sizeof command, "%s -c <'%s' >'%s'", k->pack, plain, path);
        CHECK_INT(system(command), 0);
        snprintf(part, sizeof part,
                 "found %s data inside %s data, expected text in it: unpack it first (%s FILE)", k->name,
                 k->name, k->codec->unpack);
        check_refused(SPMM_ERR_UNSUPPORTED, part);
    }
}

/** Appends the CRC32 of bytes[0, n) behind them, lowest byte first. Returns n + 4. */
static size_t add_crc(unsigned char *bytes, size_t n)
{
    const uLong crc = crc32(0, bytes, (uInt)n);
    for (size_t k = 0; k < 4; k++) bytes[n + k] = (unsigned char)(crc >> 8 * k);
    return n + 4;
}

/** Writes a number in the encoding of xz's index: seven bits per byte, the lowest first. Returns the number
 *  of bytes. */
static size_t put_number(unsigned char *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 128; value >>= 7) to[n++] = (unsigned char)(value | 128);
    to[n++] = (unsigned char)value;
    return n;
}

/** Appends the text as uncompressed LZMA2 chunks, and the end marker. Returns the number of bytes. */
static size_t add_plain_chunks(void)
{
    size_t bytes = 1;
    for (size_t at = 0; at < text_bytes;) {
        const size_t n = text_bytes - at < 65536 ? text_bytes - at : 65536;
        const unsigned char head[] = {at == 0 ? 1 : 2, (unsigned char)((n - 1) >> 8), (unsigned char)(n - 1)};
        add_bytes((const char *)head, sizeof head); /* 1 resets the dictionary */
        add_bytes(text + at, n);
        at += n;
        bytes += sizeof head + n;
    }
    add_bytes("", 1);
    return bytes;
}

/** Writes a stream of xz whose one block is the uncompressed text, without a checksum, and requires a
 *  dictionary of 256 MiB. The bytes are written here because versions of the command write headers of
 *  different lengths. */
static void make_wide_stream(void)
{
    enum { MIB_256 = 32, BLOCK_HEADER = 12 };
    const unsigned char zeros[4] = {0};
    unsigned char head[12] = {0xFD, '7', 'z', 'X', 'Z', 0}; /* then two bytes of flags: no checksum */
    /* the header's length in words less one; no sizes; LZMA2, one byte of properties; zeros up to the
     * checksum */
    unsigned char block[BLOCK_HEADER] = {BLOCK_HEADER / 4 - 1, 0, 0x21, 1, MIB_256};
    unsigned char index[40] = {0, 1}; /* of one block */
    unsigned char foot[6 + 4] = {0};  /* the index's length in words less one, the flags; their checksum */
    add_crc(head + 6, 2);
    add_crc(block, BLOCK_HEADER - 4);
    write_bytes((const char *)head, sizeof head);
    add_bytes((const char *)block, sizeof block);
    const size_t chunks = add_plain_chunks();
    add_bytes((const char *)zeros, -chunks % 4);

    size_t n = 2;
    n += put_number(index + n, BLOCK_HEADER + chunks);
    n += put_number(index + n, text_bytes);
    n = add_crc(index, n + -n % 4);
    add_bytes((const char *)index, n);
    foot[0] = (unsigned char)(n / 4 - 1);
    add_crc(foot, 6);
    add_bytes((const char *)foot + 6, 4); /* in the file the checksum comes first */
    add_bytes((const char *)foot, 6);
    add_bytes("YZ", 2);
}

/** Writes a frame of zstd with a window of 256 MiB and one uncompressed block: the text. */
static void make_wide_frame(void)
{
    const unsigned block = (unsigned)text_bytes << 3 | 1; /* the last block, uncompressed */
    const unsigned char head[] = {0x28,
                                  0xB5,
                                  0x2F,
                                  0xFD,
                                  0,
                                  (28 - 10) << 3,
                                  (unsigned char)block,
                                  (unsigned char)(block >> 8),
                                  (unsigned char)(block >> 16)};
    write_bytes((const char *)head, sizeof head);
    add_bytes(text, text_bytes);
}

static void test_memory(const kind *k, const sp_coo *expected)
{
    struct rlimit before, small;
    char part[200];
    const char *const name = test_name(
        "%s: a window that takes too much of the memory that is left is refused", k->name);
    if (TEST_SANITIZED) {
        SKIP(name, "sanitizers take memory of their own");
        return;
    }
    TEST(name) {
        if (strcmp(k->name, "xz") == 0)
            make_wide_stream();
        else
            make_wide_frame();
        check_whole(expected);
        CHECK_INT(getrlimit(RLIMIT_AS, &before), 0);
        small = before;
        small.rlim_cur = (rlim_t)(status_bytes("VmSize") +
                                  (INT64_C(800) << 20)); /* windows may take a quarter of these */
        CHECK_INT(setrlimit(RLIMIT_AS, &small), 0);
        snprintf(part, sizeof part, ":1: found %s data that take more than ", k->name);
        sp_coo coo;
        CHECK_ERROR(read_coo(1, &coo), SPMM_ERR_MEMORY, part);
        CHECK_TEXT(spmm_error_message(), "unpack the file first");
        CHECK_INT(setrlimit(RLIMIT_AS, &before), 0);
    }
}

/** Checks the message of a build without the library. */
static void test_missing(const kind *k)
{
    char part[200];
    TEST(test_name("%s: a build that cannot read it says what to do", k->name)) {
        write_bytes(k->codec->magic, (size_t)k->codec->magic_bytes);
        snprintf(part, sizeof part,
                 "found %s data, which this build cannot read, expected text, plain or compressed by gzip",
                 k->name);
        check_refused(SPMM_ERR_UNSUPPORTED, part);
        snprintf(part, sizeof part, ": unpack it first (%s FILE), or build with %s", k->codec->unpack,
                 k->codec->library);
        check_refused(SPMM_ERR_UNSUPPORTED, part);
    }
}

/** Decompresses damaged data by a decoder whose memory malloc() fills with a byte that `fill` determines.
 *  Returns the length of the text. */
static int64_t unpack_damaged(const sp_codec_ops *ops, int fill, unsigned char *out, int64_t room)
{
    /* a gzip member of 84 bytes of text; one bit is flipped, so that a match begins before the text */
    static const unsigned char damaged[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                            0x03, 0x4b, 0xce, 0x3c, 0x4b, 0x8d, 0x4f, 0x73, 0x50,
                                            0x55, 0x51, 0xf1, 0x4d, 0x2c, 0x89, 0xa4, 0x0e, 0x00,
                                            0x00, 0xf2, 0x21, 0x3c, 0xdc, 0x54, 0x00, 0x00, 0x00};
    const char *why = "";
    mallopt(M_PERTURB, fill);
    void *const state = ops->create(1 << 20);
    sp_codec_buffers b = {damaged, sizeof damaged, out, room};
    sp_codec_result result = SP_CODEC_GOES_ON;
    while (result == SP_CODEC_GOES_ON && b.in_bytes > 0) result = ops->step(state, &b, &why);
    CHECK_INT(result, SP_CODEC_DAMAGED);
    ops->destroy(state);
    mallopt(M_PERTURB, 0);
    return room - b.out_bytes;
}

static void test_damaged_distance(const kind *k)
{
    TEST("gzip: what precedes damage does not depend on what the memory held before") {
        static unsigned char first[65536], second[65536]; /* as the library's buffers */
        const int64_t n = unpack_damaged(k->codec->ops, 0x11, first, sizeof first);
        CHECK_INT(unpack_damaged(k->codec->ops, 0xEE, second, sizeof second), n);
        CHECK(memcmp(first, second, (size_t)n) == 0);
    }
}

static void test_kind(kind *k, const sp_coo *expected)
{
    char command[200];
    k->codec = sp_codec_of((const unsigned char *)(k == &kinds[0]   ? "\x1F\x8B\x08\0\0\0"
                                                   : k == &kinds[1] ? "\3757zXZ\0"
                                                   : k == &kinds[3] ? "BZh91A"
                                                                    : "\x28\xB5\x2F\xFD\0\0"),
                           SP_CODEC_HEAD);
    snprintf(command, sizeof command, "%s -c </dev/null >/dev/null 2>&1", k->pack);
    if (!k->codec->ops->create) {
        test_missing(k);
    } else if (system(command) != 0) {
        snprintf(command, sizeof command, "%s files are read", k->name);
        SKIP(command, "the command that packs them is missing");
    } else {
        test_whole(k, expected);
        test_cut(k);
        test_rest(k);
        if (k == &kinds[1] || k == &kinds[2]) /* the others have small windows */
            test_memory(k, expected);
        else
            test_damaged_distance(k);
    }
}

int main(void)
{
    sp_coo expected;
    files_begin("matrix.any");
    snprintf(plain, sizeof plain, "%.200s/plain", folder);
    make_text();
    TEST("the text itself is read") {
        write_bytes(text, text_bytes);
        CHECK_INT(read_coo(1, &expected), SPMM_OK);
        CHECK_INT(expected.nnz, ENTRIES);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) test_kind(&kinds[k], &expected);
    sp_coo_destroy(&expected);
    files_end();
    return test_end();
}
