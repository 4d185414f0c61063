/** Appends lines to files under a lock, and to streams. */
#include "cli/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_file.h"

/* ---- streams ---- */

/* The streams written to so far. They stay open, like the standard streams, until the process ends, because
 * further lines may follow at any time. */
enum { STREAMS = 8 };
static struct stream {
    dev_t device;
    ino_t inode;
    int fd;
} streams[STREAMS];
static int stream_count;

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno != EINTR) return 0;
        if (n > 0) text += n, bytes -= (size_t)n;
    }
    return 1;
}

static spmm_status to_stream(const sp_destination *to, const char *head, const char *line, size_t bytes)
{
    const struct stream *s = streams;
    while (s < streams + stream_count && (s->device != to->file.st_dev || s->inode != to->file.st_ino)) s++;
    const int known = s < streams + stream_count;
    if (!known) {
        struct stream opened = {to->file.st_dev, to->file.st_ino, 0};
        if (stream_count == STREAMS)
            return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: too many streams are open", to->path);
        TRY(sp_destination_stream(to, &opened.fd));
        streams[stream_count++] = opened;
    } else if (to->standard) {
        fflush(to->standard == STDOUT_FILENO ? stdout : stderr);
    }
    const int done = (known || !head || write_all(s->fd, head, strlen(head))) &&
                     write_all(s->fd, line, bytes);
    return done ? SPMM_OK : sp_cannot_write(to->path);
}

/* ---- files ---- */

/** Waits up to three seconds for the lock of the file.
 *  \return 1 if this process holds the lock now, 0 if it does not or if the file system has no locks */
static int lock(int fd)
{
    enum { TRIES = 1500 };
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 1;
        if (errno != EWOULDBLOCK && errno != EINTR) return 0;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/** Determines the length to which to truncate a file whose last line lacks its newline. If that line is the
 *  beginning of one of the caller's lines, e.g. after a crash, *end is the offset of the line. Otherwise *end
 *  is `size`, and nothing is removed. */
static spmm_status mend(int fd, off_t size, sp_append_cut cut, off_t *end)
{
    enum { LONGEST = 1 << 20 }; /* maximum size in bytes of one of the caller's lines */
    const size_t bytes = size < LONGEST ? (size_t)size : LONGEST;
    char *text;
    *end = size;
    if (!cut) return SPMM_OK;
    TRY(sp_alloc((void **)&text, (int64_t)bytes, 1, "the last line of a file"));
    if (pread(fd, text, bytes, size - (off_t)bytes) == (ssize_t)bytes) {
        size_t n = 0;
        while (n < bytes && text[bytes - n - 1] != '\n') n++;
        if (((off_t)n == size || n < bytes) && cut(text + bytes - n, n)) *end = size - (off_t)n;
    }
    sp_free(text);
    return SPMM_OK;
}

/** Returns 1 if the file is not empty and its last line lacks its newline. */
static int ends_in_a_line(int fd, off_t size)
{
    char last;
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/** Appends the pieces of text in one write; if that fails, truncates the file to `size`, its length before
 *  the write. */
static spmm_status append_add(int fd, const char *path, off_t size, const struct iovec *piece, int pieces,
                              int locked)
{
    size_t bytes = 0;
    for (int i = 0; i < pieces; i++) bytes += piece[i].iov_len;
    const ssize_t n = writev(fd, piece, pieces);
    /* a short write means that the disk is full; fsync() fails with EINVAL if the file system cannot sync */
    const int reason = n < 0                               ? errno
                       : (size_t)n < bytes                 ? ENOSPC
                       : fsync(fd) == 0 || errno == EINVAL ? 0
                                                           : errno;
    if (!reason) return SPMM_OK;
    /* without the lock, another process may have appended a line in the meantime; then the file is not
     * truncated */
    if (n > 0 && (locked || lseek(fd, 0, SEEK_END) == size + n) && ftruncate(fd, size) != 0)
        return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s; the last line of the file is now incomplete",
                       path, strerror(reason));
    errno = reason;
    return sp_cannot_write(path);
}

static spmm_status to_file(int fd, const char *path, const char *head, sp_append_cut cut, const char *line,
                           size_t bytes)
{
    const int locked = lock(fd);
    off_t size = lseek(fd, 0, SEEK_END);
    if (locked && ends_in_a_line(fd, size)) {
        off_t end;
        TRY(mend(fd, size, cut, &end));
        if (end < size && ftruncate(fd, end) != 0) return sp_cannot_write(path);
        size = end;
    }
    const size_t newline = ends_in_a_line(fd, size), heading = head && size == 0 ? strlen(head) : 0;
    const struct iovec piece[] = {{(char *)"\n", newline}, {(char *)head, heading}, {(char *)line, bytes}};
    return append_add(fd, path, size, piece, 3, locked);
}

spmm_status sp_append(const char *path, const char *head, sp_append_cut cut, const char *line, size_t bytes)
{
    sp_destination to;
    TRY(sp_destination_find(path, &to));
    sp_writing_begin(NULL);
    spmm_status status;
    if (to.kind == SP_TO_STREAM) {
        status = to_stream(&to, head, line, bytes);
    } else {
        const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        status = fd < 0 ? sp_cannot_write(path) : to_file(fd, path, head, cut, line, bytes);
        if (fd >= 0 && close(fd) != 0 && status == SPMM_OK) status = sp_cannot_write(path);
    }
    sp_writing_end();
    return status;
}
