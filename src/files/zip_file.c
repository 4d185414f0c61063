/** Reads the directory of a zip archive, and its members. */
#include "files/zip_file.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/memory.h"
#include "codec/codec.h"
#include "files/csr_file.h"

enum { END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20, ENTRY_BYTES = 46, LOCAL_BYTES = 30 };
enum { COMMENT_MOST = 65535, DIRECTORY_MOST = 1 << 20, RATIO_MOST = 1032 };

static uint64_t number_at(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int b = bytes; b > 0; b--) value = value << 8 | p[b - 1];
    return value;
}

/** Returns the number at p, at most INT64_MAX. */
static int64_t length_at(const unsigned char *p, int bytes)
{
    const uint64_t value = number_at(p, bytes);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static spmm_status damaged(const sp_zip *z, const char *what)
{
    return sp_fail(SPMM_ERR_SYNTAX, "%s: found a zip archive %s: it is damaged or cut short", z->path, what);
}

static spmm_status read_at(const sp_zip *z, void *to, int64_t bytes, int64_t offset)
{
    if (sp_file_peek(z->fd, to, bytes, offset) == bytes) return SPMM_OK;
    return damaged(z, "that ends early or cannot be read");
}

/** Where the directory is. `end` is the position of the archive's end record or, in a zip64 archive, of its
 *  zip64 end record. */
typedef struct directory {
    int64_t offset, bytes, members, end; /* the directory ends at or before `end` */
} directory;

/** If a zip64 locator precedes the end record, which is at byte `at`, sets *d from the zip64 record to which
 *  the locator points. */
static spmm_status find_directory_64(const sp_zip *z, int64_t at, directory *d)
{
    unsigned char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (at < LOCATOR_BYTES) return SPMM_OK;
    TRY(read_at(z, locator, sizeof locator, at - LOCATOR_BYTES));
    if (memcmp(locator, "PK\6\7", 4) != 0) return SPMM_OK;
    const uint64_t offset = number_at(locator + 8, 8);
    if (offset > (uint64_t)at) return damaged(z, "whose zip64 locator points past it");
    TRY(read_at(z, end, sizeof end, (int64_t)offset));
    if (memcmp(end, "PK\6\6", 4) != 0) return damaged(z, "whose zip64 locator points to no record");
    *d = (directory){length_at(end + 48, 8), length_at(end + 40, 8), length_at(end + 32, 8), (int64_t)offset};
    return SPMM_OK;
}

/** Finds the end record, which only a comment may follow, and sets *d from it. */
static spmm_status find_directory(const sp_zip *z, int64_t file_bytes, directory *d)
{
    const int64_t most = END_BYTES + COMMENT_MOST, n = file_bytes < most ? file_bytes : most;
    unsigned char *tail;
    TRY(sp_alloc((void **)&tail, n, 1, "the end of a zip archive"));
    spmm_status status = read_at(z, tail, n, file_bytes - n);
    int64_t at = n - END_BYTES;
    while (at >= 0 && memcmp(tail + at, "PK\5\6", 4) != 0) at--;
    if (status == SPMM_OK && at < 0) status = damaged(z, "without an end record");
    if (status == SPMM_OK) {
        const unsigned char *const end = tail + at;
        *d = (directory){length_at(end + 16, 4), length_at(end + 12, 4), length_at(end + 10, 2),
                         file_bytes - n + at};
        status = find_directory_64(z, d->end, d);
    }
    sp_free(tail);
    if (status != SPMM_OK) return status;
    if (d->bytes > DIRECTORY_MOST || d->members > SP_ZIP_MEMBERS)
        return sp_fail(
            SPMM_ERR_UNSUPPORTED,
            "%s: found a zip archive of %lld members in a directory of %lld bytes, expected at most "
            "%d and %d",
            z->path, (long long)d->members, (long long)d->bytes, SP_ZIP_MEMBERS, DIRECTORY_MOST);
    return d->offset > d->end || d->bytes > d->end - d->offset
               ? damaged(z, "whose directory is past its end record")
               : SPMM_OK;
}

/** Corrects the three numbers of a directory entry that may be too large for 32 bits. The entry stores such a
 *  number as 0xFFFFFFFF. The true numbers are in the entry's zip64 field, in the order of the parameters; the
 *  field omits numbers that fit in 32 bits.
 *  \param [in] extra  [n bytes] the extra fields of the entry; the field with id 1 is the zip64 field */
static void take_large(const unsigned char *extra, int64_t n, uint64_t *bytes, uint64_t *packed,
                       uint64_t *offset)
{
    uint64_t *const large[] = {bytes, packed, offset};
    for (int64_t at = 0; at + 4 <= n;) {
        const int64_t id = (int64_t)number_at(extra + at, 2),
                      end = at + 4 + (int64_t)number_at(extra + at + 2, 2);
        if (id == 1 && end <= n)
            for (int k = 0, from = (int)at + 4; k < 3; k++)
                if (*large[k] == UINT32_MAX && from + 8 <= end) {
                    *large[k] = number_at(extra + from, 8);
                    from += 8;
                }
        at = end;
    }
}

/** Reads the directory entry at p and the local header of the member that it describes. Checks both, and sets
 *  *m from them.
 *  \param [in]  left   number of bytes from p to the end of the directory
 *  \param [out] bytes  length of the entry */
static spmm_status read_entry(const sp_zip *z, const directory *d, const unsigned char *p, int64_t left,
                              sp_zip_member *m, int64_t *bytes)
{
    unsigned char local[LOCAL_BYTES + SP_ZIP_NAME];
    if (left < ENTRY_BYTES || memcmp(p, "PK\1\2", 4) != 0)
        return damaged(z, "whose directory has an invalid entry");
    const int64_t name = (int64_t)number_at(p + 28, 2), extra = (int64_t)number_at(p + 30, 2);
    *bytes = ENTRY_BYTES + name + extra + (int64_t)number_at(p + 32, 2);
    if (*bytes > left) return damaged(z, "whose directory ends early");
    const int method = (int)number_at(p + 10, 2), kept = name < SP_ZIP_NAME ? (int)name : SP_ZIP_NAME - 1;
    *m = (sp_zip_member){.deflated = method == 8, .crc = (uint32_t)number_at(p + 16, 4)};
    memcpy(m->name, p + ENTRY_BYTES, (size_t)kept);
    if (number_at(p + 8, 2) & 1)
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: a member of the zip archive is encrypted, expected unencrypted members", z->path);
    if (method != 0 && method != 8)
        return sp_fail(
            SPMM_ERR_UNSUPPORTED,
            "%s: a member of the zip archive is compressed by method %d, expected 0 (stored) or 8 (deflated)",
            z->path, method);
    uint64_t packed = number_at(p + 20, 4), unpacked = number_at(p + 24, 4), offset = number_at(p + 42, 4);
    take_large(p + ENTRY_BYTES + name, extra, &unpacked, &packed, &offset);
    if (offset > (uint64_t)d->offset || packed > (uint64_t)d->offset - offset)
        return damaged(z, "with a member past its directory");
    TRY(read_at(z, local, LOCAL_BYTES + kept, (int64_t)offset));
    if (memcmp(local, "PK\3\4", 4) != 0) return damaged(z, "with a member that has no header");
    if ((int)number_at(local + 8, 2) != method || (int64_t)number_at(local + 26, 2) != name ||
        memcmp(local + LOCAL_BYTES, m->name, (size_t)kept) != 0)
        return damaged(z, "with a member that its directory describes differently");
    m->offset = (int64_t)offset + LOCAL_BYTES + (int64_t)number_at(local + 26, 2) +
                (int64_t)number_at(local + 28, 2);
    m->packed = (int64_t)packed;
    if (m->offset > d->offset || m->packed > d->offset - m->offset)
        return damaged(z, "with a member past its directory");
    if (m->deflated ? unpacked / RATIO_MOST > packed + 1 : unpacked != packed)
        return damaged(z, "with a member of an impossible size");
    m->bytes = (int64_t)unpacked;
    return SPMM_OK;
}

static spmm_status read_directory(sp_zip *z, const directory *d)
{
    unsigned char *entries;
    int64_t at = 0, bytes = 0;
    TRY(sp_alloc((void **)&entries, d->bytes, 1, "the directory of a zip archive"));
    spmm_status status = read_at(z, entries, d->bytes, d->offset);
    for (; z->members < d->members && status == SPMM_OK; at += bytes)
        status = read_entry(z, d, entries + at, d->bytes - at, &z->member[z->members++], &bytes);
    if (status == SPMM_OK && at < d->bytes)
        status = damaged(z, "whose directory is longer than its end record says");
    sp_free(entries);
    return status;
}

spmm_status sp_zip_open(const char *path, int fd, sp_zip *z)
{
    struct stat info;
    directory d;
    *z = (sp_zip){.path = path, .fd = fd};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return sp_fail(SPMM_ERR_OPEN, "%s: is not a regular file", path);
    TRY(find_directory(z, info.st_size, &d));
    return read_directory(z, &d);
}

const sp_zip_member *sp_zip_find(const sp_zip *z, const char *name)
{
    for (int m = z->members - 1; m >= 0; m--)
        if (strcmp(z->member[m].name, name) == 0) return &z->member[m];
    return NULL;
}

/* ---- contents ---- */

static const char checksum[] = "checksum";

static spmm_status member_damaged(const sp_zip *z, const sp_zip_member *m, const char *why)
{
    return sp_fail(SPMM_ERR_SYNTAX, "%s: its member %s is damaged (%s)", z->path, m->name, why);
}

/** Input for the gzip decoder of the build, zlib's or ISA-L's, which inflates and checks members. gzip data
 *  consist of a header, deflated data, their CRC and their length; the feed adds all but the deflated
 *  data. */
typedef struct feed {
    const sp_zip *zip;
    const sp_zip_member *member;
    int64_t at; /* position in the member; < 0: the header comes next */
    int tail;   /* 1: the CRC and the length have been added */
    unsigned char *buffer;
} feed;

enum { FEED_BYTES = 1 << 18 };

static spmm_status more(feed *f, sp_codec_buffers *b)
{
    static const unsigned char head[10] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF};
    const sp_zip_member *const m = f->member;
    const int64_t left = m->packed - f->at;
    b->in = f->buffer;
    if (f->at < 0) {
        memcpy(f->buffer, head, sizeof head);
        b->in_bytes = sizeof head;
        f->at = 0;
    } else if (left > 0) {
        b->in_bytes = left < FEED_BYTES ? left : FEED_BYTES;
        TRY(read_at(f->zip, f->buffer, b->in_bytes, m->offset + f->at));
        f->at += b->in_bytes;
    } else if (!f->tail) {
        for (int k = 0; k < 4; k++) {
            f->buffer[k] = (unsigned char)(m->crc >> 8 * k);
            f->buffer[4 + k] = (unsigned char)((uint64_t)m->bytes >> 8 * k);
        }
        b->in_bytes = 8;
        f->tail = 1;
    } else {
        return member_damaged(f->zip, m, "it ends early");
    }
    return SPMM_OK;
}

/** Inflates the first `bytes` bytes of a member. If these are all, checks the CRC and the end of the member,
 *  too. */
static spmm_status unpack_with(feed *f, void *state, void *to, int64_t bytes)
{
    unsigned char beyond;
    const char *why = "it cannot be decompressed";
    sp_codec_buffers b = {.out = to, .out_bytes = bytes};
    for (int last = 0;;) {
        if (b.out_bytes == 0) {
            if (bytes < f->member->bytes) return SPMM_OK;
            if (last) return member_damaged(f->zip, f->member, "it is longer than the directory says");
            last = 1;
            b.out = &beyond;
            b.out_bytes = 1;
        }
        if (b.in_bytes == 0) TRY(more(f, &b));
        const sp_codec_result result = sp_gzip_ops.step(state, &b, &why);
        if (result == SP_CODEC_GOES_ON) continue;
        if (result == SP_CODEC_MEMORY)
            return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate memory to decompress it", f->zip->path);
        if (result == SP_CODEC_DAMAGED) return member_damaged(f->zip, f->member, why);
        const int64_t missing = last ? 1 - b.out_bytes : b.out_bytes;
        return missing == 0 && f->tail
                   ? SPMM_OK
                   : member_damaged(f->zip, f->member, "its length differs from that in the directory");
    }
}

static spmm_status unpack_member(const sp_zip *z, const sp_zip_member *m, void *to, int64_t bytes)
{
    feed f = {z, m, -1, 0, NULL};
    void *const state = sp_gzip_ops.create(INT64_C(1) << 24);
    spmm_status status = state ? sp_alloc((void **)&f.buffer, FEED_BYTES, 1, "a part of a zip archive")
                               : sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate memory to decompress it",
                                         z->path);
    if (status == SPMM_OK) status = unpack_with(&f, state, to, bytes);
    if (state) sp_gzip_ops.destroy(state);
    sp_free(f.buffer);
    return status;
}

spmm_status sp_zip_begin(const sp_zip *z, const sp_zip_member *m, void *to, int64_t bytes)
{
    if (m->deflated) return unpack_member(z, m, to, bytes);
    TRY(read_at(z, to, bytes, m->offset));
    return bytes < m->bytes || crc32_z(0, to, (size_t)bytes) == m->crc ? SPMM_OK
                                                                       : member_damaged(z, m, checksum);
}

spmm_status sp_zip_unpack(const sp_zip *z, const sp_zip_member *m, void **to)
{
    TRY(sp_alloc(to, m->bytes, 1, "a member of a zip archive"));
    const spmm_status status = unpack_member(z, m, *to, m->bytes);
    if (status == SPMM_OK) return SPMM_OK;
    sp_free(*to);
    *to = NULL;
    return status;
}

spmm_status sp_zip_check(const sp_zip *z, const sp_zip_member *m, int threads)
{
    enum { PART = 1 << 20, PARTS = 64 };
    uint32_t crc[PARTS], all = (uint32_t)crc32(0, NULL, 0);
    int64_t length[PARTS];
    int bad = 0;
    for (int64_t begin = 0; begin < m->bytes && !bad; begin += (int64_t)PART * PARTS) {
        const int64_t left = m->bytes - begin,
                      parts = left < (int64_t)PART * PARTS ? (left + PART - 1) / PART : PARTS;
#pragma omp parallel num_threads(threads < parts ? threads : (int)parts) reduction(| : bad)
        {
            void *part = NULL;
            bad |= sp_alloc(&part, PART, 1, "a part of a zip archive") != SPMM_OK;
#pragma omp for schedule(static)
            for (int64_t k = 0; k < parts; k++) {
                length[k] = left - k * PART < PART ? left - k * PART : PART;
                bad |= !part ||
                       sp_file_peek(z->fd, part, length[k], m->offset + begin + k * PART) != length[k];
                if (!bad) crc[k] = (uint32_t)crc32_z(0, part, (size_t)length[k]);
            }
            sp_free(part);
        }
        for (int64_t k = 0; k < parts && !bad; k++)
            all = (uint32_t)crc32_combine(all, crc[k], (z_off_t)length[k]);
    }
    if (bad) return sp_fail(SPMM_ERR_OPEN, "%s: cannot be read", z->path);
    return all == m->crc ? SPMM_OK : member_damaged(z, m, checksum);
}
