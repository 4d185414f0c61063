/** Reads plain files with pread() and gzipped files through zlib, as one stream of text. */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/words.h"
#include "io/input_kind.h"

enum { PACKED_BYTES = 64 << 10, DEFLATE_RATIO = 1032, GZIP_ONLY = 16, WINDOW_BITS = 15 };

struct sp_input {
    const char *path;
    int fd;
    int gzip;
    int64_t file_bytes; /* length of the file when it was opened */
    int64_t position;   /* offset of the next byte to read from the file */
    int64_t limit;      /* the file is read only up to this offset */
    z_stream z;
    int inflating; /* 1: inside a gzip member */
    int finished;  /* 1: at the end of the text, or reading has failed */
    spmm_status failed;
    char error[256];
    unsigned char packed[PACKED_BYTES]; /* compressed bytes read from the file; z.next_in points into them */
};

static spmm_status source_fail(sp_input *s, const char *text)
{
    snprintf(s->error, sizeof s->error, "%s", text);
    s->finished = 1;
    s->failed = SPMM_ERR_OPEN;
    return s->failed;
}

/** Calls pread() until `bytes` bytes have been read, or until the end of the file or s->limit is reached. */
static spmm_status read_fully(sp_input *s, void *buffer, int64_t bytes, int64_t *got)
{
    *got = 0;
    if (bytes > s->limit - s->position) bytes = s->limit - s->position;
    while (*got < bytes) {
        const ssize_t n = pread(s->fd, (char *)buffer + *got, (size_t)(bytes - *got), (off_t)s->position);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            char text[200];
            snprintf(text, sizeof text, "found an error when reading: %s, expected more of the file",
                     strerror(errno));
            return source_fail(s, text);
        }
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

static spmm_status cannot_open(const char *path)
{
    const int reason = errno;
    char name[512];
    if (strcmp(path, "-") == 0)
        return sp_fail(SPMM_ERR_OPEN,
                       "-: no such file, and the standard input is not read: write the text to a file first"
                       " (... > FILE)");
    /* a shell passes <(...) as the path /dev/fd/N, but mpirun does not pass descriptor N on to the ranks */
    if (reason == ENOENT && strncmp(path, "/dev/fd/", 8) == 0) return refuse_pipe(path);
    return sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened: %s", sp_shown(name, sizeof name, path),
                   strerror(reason));
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

static spmm_status detect_gzip(sp_input *s)
{
    int64_t got;
    if (read_fully(s, s->packed, 2, &got) != SPMM_OK)
        return sp_fail(SPMM_ERR_OPEN, "%s: %s", s->path, s->error);
    s->position = 0;
    s->gzip = got == 2 && s->packed[0] == 0x1f && s->packed[1] == 0x8b;
    if (!s->gzip) return SPMM_OK;
    if (inflateInit2(&s->z, WINDOW_BITS + GZIP_ONLY) != Z_OK)
        return sp_fail(SPMM_ERR_MEMORY, "%s: cannot start zlib", s->path);
    s->inflating = 1;
    return SPMM_OK;
}

/** Reads compressed bytes from the file if none are left in s->packed; s->z.avail_in stays 0 at the end of
 *  the file. */
static spmm_status refill(sp_input *s)
{
    int64_t got;
    if (s->z.avail_in > 0) return SPMM_OK;
    TRY(read_fully(s, s->packed, PACKED_BYTES, &got));
    s->z.next_in = s->packed;
    s->z.avail_in = (uInt)got;
    return SPMM_OK;
}

/** Begins the next gzip member, if there is one. First skips zero bytes: gzip files from tapes or disks may
 *  be padded with zeros to a whole block. */
static spmm_status next_member(sp_input *s)
{
    for (;;) {
        TRY(refill(s));
        if (s->z.avail_in == 0) {
            s->finished = 1;
            return SPMM_OK;
        }
        if (*s->z.next_in != 0) break;
        s->z.next_in++;
        s->z.avail_in--;
    }
    if (*s->z.next_in != 0x1f)
        return source_fail(s, "found other bytes behind the gzip data, expected the end of the file");
    inflateReset(&s->z);
    s->inflating = 1;
    return SPMM_OK;
}

static spmm_status inflate_some(sp_input *s)
{
    const uInt room = s->z.avail_out;
    const int code = inflate(&s->z, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
        s->inflating = 0;
        return SPMM_OK;
    }
    if (code == Z_OK) return SPMM_OK;
    if (code == Z_BUF_ERROR) {
        if (s->z.avail_in == 0 && s->z.avail_out == room)
            return source_fail(
                s, "found the end of the file inside the gzip data, expected more: it is cut short");
        return SPMM_OK;
    }
    char text[200];
    snprintf(text, sizeof text, "found damaged gzip data (%s), expected an intact file",
             s->z.msg ? s->z.msg : "zlib error");
    return source_fail(s, text);
}

static spmm_status read_gzip(sp_input *s, char *buffer, int64_t bytes, int64_t *got)
{
    const uInt piece = bytes < (1 << 30) ? (uInt)bytes : (uInt)1 << 30;
    spmm_status status = SPMM_OK;
    s->z.next_out = (unsigned char *)buffer;
    s->z.avail_out = piece;
    while (status == SPMM_OK && s->z.avail_out > 0 && !s->finished) {
        if (!s->inflating) {
            status = next_member(s);
            continue;
        }
        status = refill(s);
        if (status == SPMM_OK) status = inflate_some(s);
    }
    *got = (int64_t)(piece - s->z.avail_out);
    return *got > 0 ? SPMM_OK : status;
}

spmm_status sp_input_read(sp_input *s, char *buffer, int64_t bytes, int64_t *got)
{
    *got = 0;
    if (s->finished || bytes <= 0) return s->failed;
    if (s->gzip) return read_gzip(s, buffer, bytes, got);
    const spmm_status status = read_fully(s, buffer, bytes, got);
    return *got > 0 ? SPMM_OK : status;
}

/** Refuses a file whose first bytes show that it is not text. Ignores read errors: they will occur again, and
 *  be reported, when the file is read. */
static spmm_status check_kind(sp_input *s)
{
    char head[SP_KIND_BYTES];
    int64_t n = 0;
    for (int64_t got = 1; got > 0 && n < SP_KIND_BYTES; n += got)
        if (sp_input_read(s, head + n, SP_KIND_BYTES - n, &got) != SPMM_OK) break;
    const char *const kind = sp_foreign_kind((const unsigned char *)head, n);
    sp_input_go_back(s, 0);
    return kind ? sp_fail(SPMM_ERR_UNSUPPORTED, "%s: %s", s->path, kind) : SPMM_OK;
}

spmm_status sp_input_open(const char *path, sp_input **source)
{
    *source = NULL;
    sp_input *const s = calloc(1, sizeof *s);
    if (!s) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate the read buffer", path);
    s->path = path;
    s->limit = INT64_MAX;
    /* O_NONBLOCK: otherwise open() of a named pipe, which is refused below, would first wait for a writer */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    spmm_status status = s->fd < 0 ? cannot_open(path) : check_file(s);
    if (status == SPMM_OK) status = detect_gzip(s);
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
    if (!s->gzip) return left;
    /* PACKED_BYTES + 1 covers what zlib already holds: unread input and pending output */
    return left > INT64_MAX / DEFLATE_RATIO - PACKED_BYTES - WINDOW_BITS
               ? INT64_MAX
               : (left + PACKED_BYTES + 1) * DEFLATE_RATIO;
}

int sp_input_repeatable(const sp_input *s) { return !s->gzip; }

spmm_status sp_input_dup(const sp_input *source, sp_input **other)
{
    *other = NULL;
    sp_input *const s = calloc(1, sizeof *s);
    if (!s) return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate the read buffer", source->path);
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
    s->position = position;
    s->finished = 0;
    s->failed = SPMM_OK;
    s->error[0] = '\0';
    if (!s->gzip) return;
    inflateReset(&s->z);
    s->z.avail_in = 0;
    s->inflating = 1;
}

void sp_input_limit(sp_input *s, int64_t limit) { s->limit = limit; }

double sp_input_fraction(const sp_input *s)
{
    const int64_t done = s->position - (s->gzip ? (int64_t)s->z.avail_in : 0);
    return s->file_bytes > 0 ? (done < s->file_bytes ? (double)done / (double)s->file_bytes : 1.0) : 1.0;
}

void sp_input_close(sp_input *s)
{
    if (!s) return;
    if (s->gzip) inflateEnd(&s->z);
    if (s->fd >= 0) close(s->fd);
    free(s);
}
