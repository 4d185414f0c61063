#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <zlib.h>

static struct {
    _Atomic int kind, left;
    _Atomic int64_t allocated, open, largest;
} state;

void faults_set(fuzz_fault kind, int after)
{
    atomic_store(&state.left, after);
    atomic_store(&state.kind, (int)kind);
}

int64_t faults_allocated(void) { return atomic_load(&state.allocated); }
int64_t faults_open(void) { return atomic_load(&state.open); }
int64_t faults_largest(void) { return atomic_load(&state.largest); }
void faults_restart(void) { atomic_store(&state.largest, 0); }

/** Returns whether this call must fail: with the fault `once` only the chosen call fails, with the fault
 *  `from` the chosen call and all later ones fail. */
static int strikes(fuzz_fault once, fuzz_fault from)
{
    const int kind = atomic_load(&state.kind);
    if (kind == FUZZ_NO_FAULT || (kind != (int)once && kind != (int)from)) return 0;
    const int left = atomic_fetch_sub(&state.left, 1);
    return kind == (int)once ? left == 0 : left <= 0;
}

/** Records the size of a request, and returns whether it must fail. */
static int refused(size_t n)
{
    int64_t largest = atomic_load(&state.largest);
    while ((int64_t)n > largest && !atomic_compare_exchange_weak(&state.largest, &largest, (int64_t)n))
        continue;
    if (!strikes(FUZZ_ALLOC_ONCE, FUZZ_ALLOC_FROM)) return 0;
    errno = ENOMEM;
    return 1;
}

static int io_error(void)
{
    if (!strikes(FUZZ_IO_ONCE, FUZZ_IO_FROM)) return 0;
    errno = EIO;
    return 1;
}

static int interrupted(void)
{
    if (!strikes(FUZZ_INTR, FUZZ_NO_FAULT)) return 0;
    errno = EINTR;
    return 1;
}

static void *count(void *p)
{
    if (p) atomic_fetch_add(&state.allocated, 1);
    return p;
}

static int opened(int fd)
{
    if (fd >= 0) atomic_fetch_add(&state.open, 1);
    return fd;
}

/* ---- memory ---- */

/* the linker's --wrap=f: calls of f go to __wrap_f, and __real_f is the original f */
#define WRAP(type, name, parameters) \
    type __real_##name parameters;   \
    type __wrap_##name parameters;   \
    type __wrap_##name parameters

WRAP(void *, malloc, (size_t n)) { return refused(n) ? NULL : count(__real_malloc(n)); }
WRAP(void *, calloc, (size_t n, size_t size))
{
    return refused(n * size) ? NULL : count(__real_calloc(n, size));
}
WRAP(void *, aligned_alloc, (size_t align, size_t n))
{
    return refused(n) ? NULL : count(__real_aligned_alloc(align, n));
}
WRAP(char *, strdup, (const char *s)) { return refused(0) ? NULL : count(__real_strdup(s)); }

WRAP(void *, realloc, (void *p, size_t n))
{
    if (refused(n)) return NULL;
    void *const q = __real_realloc(p, n);
    return p ? q : count(q);
}

WRAP(void, free, (void *p))
{
    if (p) atomic_fetch_sub(&state.allocated, 1);
    __real_free(p);
}

WRAP(locale_t, newlocale, (int mask, const char *name, locale_t base))
{
    return refused(0) ? (locale_t)0 : __real_newlocale(mask, name, base);
}

WRAP(int, inflateInit2_, (z_streamp z, int bits, const char *version, int size))
{
    return refused(0) ? Z_MEM_ERROR : __real_inflateInit2_(z, bits, version, size);
}

/* ---- files ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return io_error() ? -1 : opened(__real_open(path, flags, mode));
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    const long argument = va_arg(args, long);
    va_end(args);
    if (command != F_DUPFD_CLOEXEC) return __real_fcntl(fd, command, argument);
    return io_error() ? -1 : opened(__real_fcntl(fd, command, argument));
}

WRAP(int, close, (int fd))
{
    atomic_fetch_sub(&state.open, 1);
    const int status = __real_close(fd); /* the file is closed even if close() fails */
    return io_error() ? -1 : status;
}

WRAP(FILE *, fopen, (const char *path, const char *mode))
{
    FILE *const f = io_error() ? NULL : __real_fopen(path, mode);
    if (f) atomic_fetch_add(&state.open, 1);
    return f;
}

/* (Only the targets call fmemopen(), so it never fails on request. It is counted because fclose() closes its
 * files, too.) */
WRAP(FILE *, fmemopen, (void *memory, size_t n, const char *mode))
{
    FILE *const f = __real_fmemopen(memory, n, mode);
    if (f) atomic_fetch_add(&state.open, 1);
    return f;
}

WRAP(int, fclose, (FILE * f))
{
    atomic_fetch_sub(&state.open, 1);
    const int status = __real_fclose(f);
    return io_error() ? EOF : status;
}

/* (not counted, because the descriptor has been counted when it was opened) */
WRAP(FILE *, fdopen, (int fd, const char *mode)) { return io_error() ? NULL : __real_fdopen(fd, mode); }
WRAP(int, fflush, (FILE * f)) { return io_error() ? EOF : __real_fflush(f); }
WRAP(int, flock, (int fd, int operation)) { return io_error() ? -1 : __real_flock(fd, operation); }
WRAP(int, fchmod, (int fd, mode_t mode)) { return io_error() ? -1 : __real_fchmod(fd, mode); }
WRAP(int, mkdir, (const char *path, mode_t mode)) { return io_error() ? -1 : __real_mkdir(path, mode); }
WRAP(int, stat, (const char *path, struct stat *info)) { return io_error() ? -1 : __real_stat(path, info); }
WRAP(int, fstat, (int fd, struct stat *info)) { return io_error() ? -1 : __real_fstat(fd, info); }
WRAP(int, ftruncate, (int fd, off_t n)) { return io_error() ? -1 : __real_ftruncate(fd, n); }
WRAP(int, fsync, (int fd)) { return io_error() ? -1 : __real_fsync(fd); }
WRAP(int, rename, (const char *from, const char *to)) { return io_error() ? -1 : __real_rename(from, to); }

/** Returns the number of bytes, at most n, that a read or write transfers. */
static size_t moved(size_t n) { return n > 1 && strikes(FUZZ_NO_FAULT, FUZZ_SHORT) ? n / 2 : n; }

/** Changes what was read to other numbers of the same length. */
static ssize_t altered(char *buffer, ssize_t n)
{
    if (n > 0 && strikes(FUZZ_NO_FAULT, FUZZ_CHANGE))
        for (ssize_t k = 0; k < n; k++)
            buffer[k] = (char)(buffer[k] == '1' ? '2' : buffer[k] == '2' ? '1' : buffer[k]);
    return n;
}

WRAP(ssize_t, pread, (int fd, void *buffer, size_t n, off_t at))
{
    if (io_error() || interrupted()) return -1;
    if (strikes(FUZZ_NO_FAULT, FUZZ_CUT)) return 0;
    return altered(buffer, __real_pread(fd, buffer, moved(n), at));
}

WRAP(ssize_t, read, (int fd, void *buffer, size_t n))
{
    if (io_error() || interrupted()) return -1;
    if (strikes(FUZZ_NO_FAULT, FUZZ_CUT)) return 0;
    return altered(buffer, __real_read(fd, buffer, moved(n)));
}

WRAP(ssize_t, pwrite, (int fd, const void *buffer, size_t n, off_t at))
{
    return io_error() || interrupted() ? -1 : __real_pwrite(fd, buffer, moved(n), at);
}

WRAP(ssize_t, write, (int fd, const void *buffer, size_t n))
{
    return io_error() || interrupted() ? -1 : __real_write(fd, buffer, moved(n));
}

WRAP(ssize_t, writev, (int fd, const struct iovec *piece, int pieces))
{
    if (io_error() || interrupted()) return -1;
    if (pieces < 1 || !strikes(FUZZ_NO_FAULT, FUZZ_SHORT)) return __real_writev(fd, piece, pieces);
    while (pieces > 1 && piece->iov_len == 0) piece++, pieces--;
    return __real_write(fd, piece->iov_base, piece->iov_len / 2);
}
