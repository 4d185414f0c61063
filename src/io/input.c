/** Reads plain files with pread() and compressed files through a codec, as one stream of text. */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/words.h"
#include "codec/tar.h"
#include "io/input_kind.h"

enum {
    PACKED_BYTES = 64 << 10, /* compressed bytes that are read from the file at a time */
    TEXT_BYTES = 64 << 10,   /* text that is decompressed at a time */
    MEMORY_SHARE = 4         /* a decoder's window may use 1 / MEMORY_SHARE of the available memory */
};

/** The state of decompressing a file. The decoder receives the same sequence of buffers whatever sizes the
 *  caller reads, because the amount of text returned before damage must not depend on these sizes. */
typedef struct unpacking {
    const sp_codec *codec;
    void *state;
    int inside;                /* 1: inside a member of the compressed data */
    const unsigned char *next; /* the compressed bytes that were read but not used yet, [left], in packed */
    int64_t left;
    int64_t text_begin, text_end;
    unsigned char packed[PACKED_BYTES];
    unsigned char text[TEXT_BYTES]; /* [text_begin, text_end) was decompressed but not handed out yet */
} unpacking;

struct sp_input {
    const char *path;
    int fd;
    int64_t file_bytes; /* length of the file when it was opened */
    int64_t position;   /* offset of the next byte to read from the file */
    int64_t limit;      /* the file is read only up to this offset */
    unpacking *unpack;  /* NULL: the file is plain */
    sp_tar *tar;        /* the archive, whose matrix is the text; its `left` is -1 at the end. Or NULL */
    int finished;       /* 1: at the end of the file, or reading has failed */
    spmm_status failed;
    char error[256];
};

static spmm_status source_fail(sp_input *s, spmm_status status, const char *format, ...) SP_PRINTF(3, 4);
static spmm_status source_fail(sp_input *s, spmm_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->error, sizeof s->error, format, args);
    va_end(args);
    s->finished = 1;
    s->failed = status;
    return status;
}

/** Calls pread() until `bytes` bytes have been read, or until the end of the file or s->limit is reached. */
static spmm_status read_fully(sp_input *s, void *buffer, int64_t bytes, int64_t *got)
{
    *got = 0;
    if (bytes > s->limit - s->position) bytes = s->limit - s->position;
    while (*got < bytes) {
        const ssize_t n = pread(s->fd, (char *)buffer + *got, (size_t)(bytes - *got), (off_t)s->position);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return source_fail(s, SPMM_ERR_OPEN, "found a read error: %s, expected the rest of the file",
                               strerror(errno));
        if (n == 0) break;
        *got += n;
        s->position += n;
    }
    return SPMM_OK;
}

static spmm_status refuse_pipe(const char *path)
{
    return sp_fail(
        SPMM_ERR_OPEN,
        "%s: found a pipe or a device, expected a regular file, which threads read at several places at once:"
        " write the text to a file first (... > FILE)",
        path);
}

/** Returns a hint for the message about a file that does not exist, if a file with a longer name exists, or
 *  if the name is a URL or has the form GROUP/NAME of the SuiteSparse Matrix Collection; else "". */
static const char *hint_of(const char *path)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst", ".mtx", ".mtx.gz", ".npz"};
    static _Thread_local char there[512];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[512], shown[400];
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, endings[i]) >= sizeof name ||
            access(name, R_OK) != 0)
            continue;
        snprintf(there, sizeof there, " (there is %s)", sp_shown(shown, sizeof shown, name));
        return there;
    }
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const size_t group = strspn(path, word), name = path[group] == '/' ? strspn(path + group + 1, word) : 0;
    if (strstr(path, "://"))
        return " (it is an address: matrices/get GROUP/NAME downloads a matrix of the SuiteSparse "
               "collection; "
               "download another file first)";
    if (group > 0 && name > 0 && !path[group + 1 + name])
        return " (a matrix of the SuiteSparse collection? matrices/get GROUP/NAME downloads it)";
    return "";
}

static spmm_status cannot_open(const char *path, int reason)
{
    char name[512];
    if (strcmp(path, "-") == 0)
        return sp_fail(SPMM_ERR_OPEN,
                       "-: no such file, and the standard input is not read: write the text to a file first"
                       " (... > FILE)");
    /* a shell passes <(...) as the path /dev/fd/N, but mpirun does not pass descriptor N on to the ranks */
    if (reason == ENOENT && strncmp(path, "/dev/fd/", 8) == 0) return refuse_pipe(path);
    return sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened: %s%s", sp_shown(name, sizeof name, path),
                   strerror(reason), reason == ENOENT ? hint_of(path) : "");
}

static spmm_status check_file(sp_input *s)
{
    struct stat info;
    if (fstat(s->fd, &info) != 0)
        return sp_fail(SPMM_ERR_OPEN, "%s: cannot be examined: %s", s->path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return sp_fail(SPMM_ERR_OPEN, "%s: found a folder, expected a file", s->path);
    if (!S_ISREG(info.st_mode)) return refuse_pipe(s->path);
    s->file_bytes = (int64_t)info.st_size;
    return SPMM_OK;
}

/* ---- compressed files ---- */

static spmm_status start_decoder(sp_input *s, const sp_codec *codec)
{
    unpacking *const u = malloc(sizeof *u);
    if (!u) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate a reader", s->path);
    u->codec = codec;
    u->state = codec->ops->create(sp_available_bytes() / MEMORY_SHARE);
    if (!u->state) {
        free(u);
        return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate the decompressor of %s data", s->path,
                       codec->name);
    }
    u->inside = 1;
    u->left = u->text_begin = u->text_end = 0;
    s->unpack = u;
    return SPMM_OK;
}

/** Finds out whether the file is compressed. */
static spmm_status detect_codec(sp_input *s)
{
    unsigned char head[SP_CODEC_HEAD];
    int64_t got;
    if (read_fully(s, head, SP_CODEC_HEAD, &got) != SPMM_OK)
        return sp_fail(SPMM_ERR_OPEN, "%s: %s", s->path, s->error);
    s->position = 0;
    const sp_codec *const codec = sp_codec_of(head, got);
    return codec && codec->ops->create ? start_decoder(s, codec) : SPMM_OK;
}

/** Reads compressed bytes from the file until at least `wanted` are buffered or the file ends. */
static spmm_status refill(sp_input *s, int64_t wanted)
{
    unpacking *const u = s->unpack;
    int64_t got;
    if (u->left >= wanted) return SPMM_OK;
    if (u->left > 0) memmove(u->packed, u->next, (size_t)u->left);
    u->next = u->packed;
    TRY(read_fully(s, u->packed + u->left, PACKED_BYTES - u->left, &got));
    u->left += got;
    return SPMM_OK;
}

/** Begins the next member, if there is one. First skips zero bytes: files from tapes or disks may be padded
 *  with zeros to a whole block. */
static spmm_status next_member(sp_input *s)
{
    unpacking *const u = s->unpack;
    for (;; u->next++, u->left--) {
        TRY(refill(s, 1));
        if (u->left == 0) {
            s->finished = 1;
            return SPMM_OK;
        }
        if (*u->next != 0) break;
    }
    TRY(refill(s, SP_CODEC_HEAD));
    if (!sp_codec_may_begin(u->codec, u->next, u->left))
        return source_fail(s, SPMM_ERR_OPEN,
                           "found other bytes after the %s data, expected the end of the file",
                           u->codec->name);
    if (!u->codec->ops->restart(u->state))
        return source_fail(s, SPMM_ERR_MEMORY, "cannot allocate the decompressor of %s data", u->codec->name);
    u->inside = 1;
    return SPMM_OK;
}

static spmm_status fail_for_memory(sp_input *s)
{
    const sp_codec *const codec = s->unpack->codec;
    char text[32];
    return source_fail(
        s, SPMM_ERR_MEMORY,
        "found %s data that take more than %s of memory to unpack, a quarter of the available memory: "
        "unpack the file first (%s FILE)",
        codec->name, sp_bytes_text(text, sizeof text, (double)sp_available_bytes() / MEMORY_SHARE),
        codec->unpack);
}

/** Runs one step of the decoder, on the buffered compressed bytes. */
static spmm_status unpack_some(sp_input *s, sp_codec_buffers *b)
{
    unpacking *const u = s->unpack;
    const char *const name = u->codec->name, *why = "";
    const int64_t room = b->out_bytes;
    TRY(refill(s, 1));
    const int at_end = u->left == 0;
    b->in = u->next;
    b->in_bytes = u->left;
    const sp_codec_result result = u->codec->ops->step(u->state, b, &why);
    u->next = b->in;
    u->left = b->in_bytes;
    switch (result) {
    case SP_CODEC_GOES_ON: break;
    case SP_CODEC_ENDS: u->inside = 0; return SPMM_OK;
    case SP_CODEC_MEMORY: return fail_for_memory(s);
    case SP_CODEC_DAMAGED:
        return source_fail(s, SPMM_ERR_OPEN, "found damaged %s data (%s), expected an intact file", name,
                           why);
    }
    if (at_end && b->out_bytes == room)
        return source_fail(s, SPMM_ERR_OPEN,
                           "found the end of the file inside the %s data, expected more: it is cut short",
                           name);
    return SPMM_OK;
}

/** Decompresses TEXT_BYTES bytes of text, or fewer at the end of the text or if reading fails (s->failed).
 *  Returns their number. */
static int64_t unpack_text(sp_input *s, void *text)
{
    sp_codec_buffers b = {.out = text, .out_bytes = TEXT_BYTES};
    spmm_status status = SPMM_OK;
    while (status == SPMM_OK && b.out_bytes > 0 && !s->finished)
        status = s->unpack->inside ? unpack_some(s, &b) : next_member(s);
    return TEXT_BYTES - b.out_bytes;
}

static void read_packed(sp_input *s, char *buffer, int64_t bytes, int64_t *got)
{
    unpacking *const u = s->unpack;
    while (*got < bytes && (u->text_begin < u->text_end || !s->finished)) {
        const int64_t room = bytes - *got;
        if (u->text_begin == u->text_end && room >= TEXT_BYTES) {
            *got += unpack_text(s, buffer + *got);
            continue;
        }
        if (u->text_begin == u->text_end) {
            u->text_begin = 0;
            u->text_end = unpack_text(s, u->text);
        }
        const int64_t there = u->text_end - u->text_begin, n = there < room ? there : room;
        memcpy(buffer + *got, u->text + u->text_begin, (size_t)n);
        u->text_begin += n;
        *got += n;
    }
}

/** Reads the next bytes of the file, decompressed. */
static spmm_status read_stream(sp_input *s, char *buffer, int64_t bytes, int64_t *got)
{
    *got = 0;
    if (bytes <= 0) return s->failed;
    if (s->unpack)
        read_packed(s, buffer, bytes, got);
    else if (!s->finished)
        read_fully(s, buffer, bytes, got);
    return *got > 0 ? SPMM_OK : s->failed;
}

static void rewind_stream(sp_input *s, int64_t position)
{
    s->position = position;
    s->finished = 0;
    s->failed = SPMM_OK;
    s->error[0] = '\0';
    unpacking *const u = s->unpack;
    if (!u) return;
    u->left = u->text_begin = u->text_end = 0;
    u->inside = 1;
    if (!u->codec->ops->restart(u->state))
        source_fail(s, SPMM_ERR_MEMORY, "cannot allocate the decompressor of %s data", u->codec->name);
}

/* ---- tar archives ---- */

#define UNPACK_TAR "unpack it first (tar -xf FILE) and give one of its matrices"

/** sp_tar.read */
static int64_t read_archive(void *source, char *to, int64_t bytes)
{
    int64_t got;
    (void)read_stream(source, to, bytes, &got);
    return got;
}

static spmm_status archive_damaged(sp_input *s)
{
    if (s->failed) return s->failed;
    return source_fail(s, SPMM_ERR_OPEN,
                       "found a tar archive that is damaged or cut short, expected it intact");
}

/** Moves to the beginning of the matrix NAME/NAME.mtx. */
static spmm_status find_matrix(sp_input *s)
{
    rewind_stream(s, 0);
    s->tar->left = s->tar->gap = 0;
    const int found = sp_tar_next(s->tar);
    if (found < 0) return archive_damaged(s);
    return found ? SPMM_OK
                 : source_fail(s, SPMM_ERR_UNSUPPORTED,
                               "found a tar archive, expected a matrix NAME/NAME.mtx in it: " UNPACK_TAR);
}

/** Reads the rest of the archive, after the matrix. Fails if it contains another matrix. */
static spmm_status end_archive(sp_input *s)
{
    const sp_tar matrix = *s->tar;
    char one[SP_TAR_NAME], other[SP_TAR_NAME];
    const int found = matrix.left > 0 ? -1 : sp_tar_next(s->tar);
    s->tar->left = -1;
    if (found < 0) return archive_damaged(s);
    if (found == 0) return SPMM_OK;
    return source_fail(s, SPMM_ERR_UNSUPPORTED,
                       "found a tar archive with %.60s and %.60s, expected one matrix: " UNPACK_TAR,
                       sp_shown(one, sizeof one, matrix.name), sp_shown(other, sizeof other, s->tar->name));
}

/* ---- any file ---- */

spmm_status sp_input_read(sp_input *s, char *buffer, int64_t bytes, int64_t *got)
{
    if (!s->tar) return read_stream(s, buffer, bytes, got);
    *got = bytes > 0 && !s->failed ? sp_tar_read(s->tar, buffer, bytes) : 0;
    if (*got > 0 || bytes <= 0 || s->failed || s->tar->left < 0) return s->failed;
    return end_archive(s);
}

/** Reads the first bytes of the text, and goes back. Returns their number. Ignores read errors: they will
 *  occur again, and be reported, when the file is read. */
static int64_t read_head(sp_input *s, unsigned char *head)
{
    int64_t n = 0;
    for (int64_t got = 1; got > 0 && n < SP_KIND_BYTES; n += got)
        if (sp_input_read(s, (char *)head + n, SP_KIND_BYTES - n, &got) != SPMM_OK) break;
    sp_input_go_back(s, 0);
    return n;
}

static spmm_status open_archive(sp_input *s)
{
    s->tar = calloc(1, sizeof *s->tar);
    if (!s->tar) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate a reader", s->path);
    *s->tar = (sp_tar){.read = read_archive, .source = s};
    const spmm_status status = find_matrix(s);
    return status == SPMM_OK ? SPMM_OK : sp_fail(status, "%s: %s", s->path, s->error);
}

/** Makes the matrix of an archive the text. Refuses a file whose first bytes show that it is not text. */
static spmm_status check_kind(sp_input *s)
{
    unsigned char head[SP_KIND_BYTES];
    int64_t n = read_head(s, head);
    if (n >= SP_TAR_BLOCK && sp_tar_begins(head)) {
        TRY(open_archive(s));
        n = read_head(s, head);
    }
    const char *const kind = sp_foreign_kind(head, n, sp_input_codec(s));
    return kind ? sp_fail(SPMM_ERR_UNSUPPORTED, "%s: %s", s->path, kind) : SPMM_OK;
}

int sp_input_descriptor(const char *path)
{
    /* O_NONBLOCK: otherwise open() of a named pipe, which is refused later, would first wait for a writer */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

spmm_status sp_input_open(const char *path, sp_input **source)
{
    return sp_input_of(path, sp_input_descriptor(path), source);
}

spmm_status sp_input_of(const char *path, int fd, sp_input **source)
{
    *source = NULL;
    sp_input *const s = calloc(1, sizeof *s);
    if (!s && fd >= 0) close(fd);
    if (!s) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate a reader", path);
    s->path = path;
    s->limit = INT64_MAX;
    s->fd = fd;
    spmm_status status = fd < 0 ? cannot_open(path, -fd) : check_file(s);
    if (status == SPMM_OK) status = detect_codec(s);
    if (status == SPMM_OK) status = check_kind(s);
    if (status != SPMM_OK) {
        sp_input_close(s);
        return status;
    }
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    *source = s;
    return SPMM_OK;
}

const char *sp_input_error(const sp_input *s) { return s->error; }

int64_t sp_input_bytes_left_at_most(const sp_input *s)
{
    const int64_t end = s->file_bytes < s->limit ? s->file_bytes : s->limit;
    const int64_t left = end > s->position ? end - s->position : 0;
    if (!s->unpack) return left;
    /* PACKED_BYTES + 1 covers data that were read but not handed out yet: compressed bytes in `packed` and in
     * the decoder, and text */
    const int64_t ratio = s->unpack->codec->ratio;
    return left > INT64_MAX / ratio - PACKED_BYTES - 1 ? INT64_MAX : (left + PACKED_BYTES + 1) * ratio;
}

int sp_input_repeatable(const sp_input *s) { return !s->unpack && !s->tar; }

const sp_codec *sp_input_codec(const sp_input *s) { return s->unpack ? s->unpack->codec : NULL; }

spmm_status sp_input_dup(const sp_input *source, sp_input **other)
{
    *other = NULL;
    sp_input *const s = calloc(1, sizeof *s);
    if (!s) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate a reader", source->path);
    s->path = source->path;
    s->file_bytes = source->file_bytes;
    s->limit = INT64_MAX;
    s->fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
    if (s->fd < 0) {
        free(s);
        return sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened again: %s", source->path, strerror(errno));
    }
    *other = s;
    return SPMM_OK;
}

void sp_input_go_back(sp_input *s, int64_t position)
{
    if (s->tar)
        (void)find_matrix(s);
    else
        rewind_stream(s, position);
}

void sp_input_limit(sp_input *s, int64_t limit) { s->limit = limit; }

double sp_input_fraction(const sp_input *s)
{
    const int64_t done = s->position - (s->unpack ? s->unpack->left : 0);
    return s->file_bytes > 0 ? (done < s->file_bytes ? (double)done / (double)s->file_bytes : 1.0) : 1.0;
}

void sp_input_close(sp_input *s)
{
    if (!s) return;
    if (s->unpack) s->unpack->codec->ops->destroy(s->unpack->state);
    free(s->unpack);
    free(s->tar);
    if (s->fd >= 0) close(s->fd);
    free(s);
}
