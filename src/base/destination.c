/** Determines the destinations of outputs, opens the outputs, and handles signals while an output is
 *  written. */
#include "base/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "base/words.h"
#include "codec/codec.h"

spmm_status sp_cannot_write(const char *path)
{
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
}

static spmm_status cannot(const char *path, int reason)
{
    errno = reason;
    return sp_cannot_write(path);
}

/* ---- meaning of a name ---- */

/** Returns a pointer to the last component of a path. */
static char *base_of(char *path)
{
    char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/** Returns the folder that a path names, "." if the path has no folder.
 *  \param [out] folder  buffer for the result, [PATH_MAX] */
static const char *folder_of(const char *path, char *folder)
{
    snprintf(folder, PATH_MAX, "%s", path);
    *base_of(folder) = '\0';
    return folder[0] ? folder : ".";
}

/** Follows a chain of symbolic links; the file at its end need not exist.
 *  \param [out] target  path of that file, [PATH_MAX]
 *  \return 0 or an errno */
static int follow(const char *path, char *target)
{
    enum { MOST_LINKS = 40 }; /* Linux follows no more than this either */
    char link[PATH_MAX];
    if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) return ENAMETOOLONG;
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t n = readlink(target, link, sizeof link - 1);
        if (n < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
        link[n] = '\0';
        char *const to = link[0] == '/' ? target : base_of(target);
        const size_t room = PATH_MAX - (size_t)(to - target);
        if ((size_t)n >= room) return ENAMETOOLONG;
        memcpy(to, link, (size_t)n + 1);
    }
    return ELOOP;
}

static int same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void sp_open_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
            return; /* the new descriptor is the lowest free one, which is fd */
}

/* The descriptor that outputs named "-" write to: standard output, or its duplicate once it was reserved. */
static int reserved = STDOUT_FILENO;

spmm_status sp_reserve_standard_output(void)
{
    fflush(stdout);
    reserved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (reserved >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return SPMM_OK;
    reserved = STDOUT_FILENO;
    return sp_cannot_write("-");
}

/** Describes standard output, which the name "-" denotes. */
static spmm_status find_standard_output(sp_destination *to)
{
    struct stat s;
    if (fstat(reserved, &s) != 0) return sp_cannot_write(to->path);
    to->kind = SP_TO_STREAM;
    to->device = s.st_dev;
    to->inode = s.st_ino;
    to->standard = STDOUT_FILENO;
    return SPMM_OK;
}

/** Returns 1 if standard output is this file, 2 if standard error is, else 0. */
static int standard_stream(const struct stat *file)
{
    struct stat s;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &s) == 0 && same(&s, file)) return fd;
    return 0;
}

static spmm_status find_stream(sp_destination *to, const struct stat *s)
{
    to->kind = SP_TO_STREAM;
    to->device = s->st_dev;
    to->inode = s->st_ino;
    to->standard = standard_stream(s);
    return to->standard || access(to->path, W_OK) == 0 ? SPMM_OK : sp_cannot_write(to->path);
}

static spmm_status find_new(sp_destination *to)
{
    char folder[PATH_MAX];
    struct stat s;
    to->kind = SP_TO_NEW;
    if (!*base_of(to->target)) return cannot(to->path, to->path[0] ? EISDIR : ENOENT);
    if (stat(folder_of(to->target, folder), &s) != 0) return sp_cannot_write(to->path);
    to->device = s.st_dev;
    to->inode = s.st_ino;
    return SPMM_OK;
}

/** Describes an existing file in *to. If another process replaces the file concurrently, the new file is
 *  described. A name under /proc/self/fd may denote an open file that has no other name; such a file is
 *  treated as a stream.
 *  \param [in] seen  result of a stat() of the path just before */
static spmm_status find_old(sp_destination *to, const struct stat *seen)
{
    struct stat s;
    if (stat(to->target, &s) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) return sp_cannot_write(to->path);
        return seen->st_nlink == 0 ? find_stream(to, seen) : find_new(to);
    }
    to->kind = SP_TO_OLD;
    to->device = s.st_dev;
    to->inode = s.st_ino;
    to->owner = s.st_uid;
    to->group = s.st_gid;
    to->mode = s.st_mode & 0777;
    return SPMM_OK;
}

spmm_status sp_destination_find(const char *path, sp_destination *to)
{
    struct stat s;
    memset(to, 0, sizeof *to);
    to->path = path;
    if (strcmp(path, "-") == 0) return find_standard_output(to);
    const int there = stat(path, &s) == 0;
    if (!there && errno != ENOENT) return sp_cannot_write(path);
    if (there && S_ISDIR(s.st_mode))
        return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: found a folder, expected a file", path);
    if (there && (!S_ISREG(s.st_mode) || standard_stream(&s))) return find_stream(to, &s);
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != ENOENT) return sp_cannot_write(path);
    if (fd >= 0) close(fd);
    const int reason = follow(path, to->target);
    if (reason) return cannot(path, reason);
    return there ? find_old(to, &s) : find_new(to);
}

/* ---- signals while something is written ---- */

/* A signal handler receives only the signal number, so its data must be global. The first IGNORED
 * elements of `signals` are ignored, the others are caught. */
enum { IGNORED = 2, SIGNALS = 6 };
static const int signals[SIGNALS] = {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM, SIGALRM};
static struct sigaction before[SIGNALS];
static int caught[SIGNALS];
static char unfinished[PATH_MAX];

/** Signal handler: removes the unfinished file, restores the former handler and raises the signal again,
 *  which takes effect when this function returns. */
static void remove_unfinished(int signal)
{
    const int reason = errno;
    unlink(unfinished);
    for (int i = IGNORED; i < SIGNALS; i++)
        if (signals[i] == signal) sigaction(signal, &before[i], NULL);
    raise(signal);
    errno = reason;
}

void sp_writing_begin(const char *part)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    snprintf(unfinished, sizeof unfinished, "%s", part ? part : "");
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        /* remove_unfinished() runs first, then a former handler, e.g. MPI's; a signal that was ignored stays
         * ignored */
        caught[i] = i < IGNORED ? before[i].sa_handler == SIG_DFL : part && before[i].sa_handler != SIG_IGN;
        if (!caught[i]) continue;
        action.sa_handler = i < IGNORED ? SIG_IGN : remove_unfinished;
        sigaction(signals[i], &action, NULL);
    }
}

void sp_writing_end(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (caught[i]) sigaction(signals[i], &before[i], NULL);
}

/* ---- opening ---- */

spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd)
{
    enum { TRIES = 100, MOST_BASE = 200 };
    const mode_t mode = to->kind == SP_TO_OLD ? to->mode : 0666;
    char target[PATH_MAX];
    struct timespec now;
    memcpy(target, to->target, sizeof target);
    const char *const base = base_of(target);
    clock_gettime(CLOCK_REALTIME, &now);
    for (uint64_t i = 0; i < TRIES; i++) {
        const uint64_t word = sp_random((uint64_t)getpid(), (uint64_t)now.tv_nsec + i, (uint64_t)now.tv_sec);
        if (snprintf(part, PATH_MAX, "%.*s%.*s.part-%08x", (int)(base - target), target, MOST_BASE, base,
                     (unsigned)(word >> 32)) >= PATH_MAX)
            return cannot(to->path, ENAMETOOLONG);
        sp_writing_begin(part); /* called before open(), so that a signal at any time removes the file */
        *fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (*fd >= 0) return SPMM_OK;
        sp_writing_end();
        if (errno != EEXIST) break;
    }
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: cannot create a file in its folder: %s", to->path,
                   strerror(errno));
}

spmm_status sp_destination_stream(const sp_destination *to, int *fd)
{
    const int from = strcmp(to->path, "-") == 0 ? reserved : to->standard;
    if (to->standard) fflush(to->standard == STDOUT_FILENO ? stdout : stderr);
    *fd = to->standard ? fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                       : open(to->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return *fd >= 0 ? SPMM_OK : sp_cannot_write(to->path);
}

/* ---- all outputs of a program ---- */

/** Checks that a new file can be created in the folder of a destination. If the file system supports it, the
 *  file is created without a name, so that nothing is left if this process is killed. */
static spmm_status try_folder(const sp_destination *to)
{
    char part[PATH_MAX];
    int fd = open(folder_of(to->target, part), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        return SPMM_OK;
    }
    TRY(sp_destination_part(to, part, &fd));
    close(fd);
    unlink(part);
    sp_writing_end();
    return SPMM_OK;
}

/** Checks that an output whose name has the suffix of a compressed file will be compressed. */
static spmm_status check_suffix(const sp_named_file *file)
{
    static const char *const others[] = {".Z", ".lz4", ".lz", ".lzma", ".zip", ".7z", NULL};
    const char *const dot = strrchr(file->path, '.');
    const sp_codec *const codec = sp_codec_of_name(file->path);
    int other = 0;
    for (int i = 0; dot && others[i]; i++) other |= strcasecmp(dot, others[i]) == 0;
    if ((!codec && !other) || (codec && file->use == SP_COMPRESSED && codec->encoder->create)) return SPMM_OK;
    if (file->use != SP_COMPRESSED)
        return sp_fail(SPMM_ERR_USAGE, "%s %s: this file is written uncompressed: leave %s out of its name",
                       file->name, SHOWN(file->path), dot);
    if (other)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s %s: found a name ending in %s, expected .gz, .bz2, .xz, .zst or none of these",
                       file->name, SHOWN(file->path), dot);
    return sp_fail(SPMM_ERR_USAGE,
                   "%s %s: this build cannot write %s: give a name ending in .gz, or build with %s",
                   file->name, SHOWN(file->path), codec->name, codec->library);
}

/** Determines the destination that the name of a file denotes and, for an output, checks that it can be
 *  written.
 *  \param [out] known  1: *to is set, and can be compared with other destinations; 0: no path was given, or a
 *                      file to be read is not an existing regular file */
static spmm_status examine(const sp_named_file *file, sp_destination *to, int *known)
{
    struct stat s;
    *known = 0;
    if (!file->path) return SPMM_OK;
    if (file->use == SP_READ) {
        *known = stat(file->path, &s) == 0 && S_ISREG(s.st_mode);
        if (*known) *to = (sp_destination){.kind = SP_TO_OLD, .device = s.st_dev, .inode = s.st_ino};
        return SPMM_OK;
    }
    *known = 1;
    TRY(check_suffix(file));
    TRY(sp_destination_find(file->path, to));
    if (to->kind == SP_TO_STREAM || (to->kind == SP_TO_OLD && file->use == SP_APPENDED)) return SPMM_OK;
    return try_folder(to);
}

/** Returns 1 if both denote the same file. Two streams never count as the same; a stream may be redirected to
 *  a file, and then is the same as this file. */
static int same_target(sp_destination *a, sp_destination *b)
{
    if (a->kind == SP_TO_STREAM && b->kind == SP_TO_STREAM) return 0;
    if ((a->kind == SP_TO_NEW) != (b->kind == SP_TO_NEW)) return 0;
    return a->device == b->device && a->inode == b->inode &&
           (a->kind != SP_TO_NEW || strcmp(base_of(a->target), base_of(b->target)) == 0);
}

spmm_status sp_outputs_check(const sp_named_file *files, int count)
{
    sp_destination here, other;
    int known, other_known;
    for (int i = 0; i < count; i++) {
        TRY(examine(&files[i], &here, &known));
        for (int j = 0; j < i && known; j++) {
            TRY(examine(&files[j], &other, &other_known));
            if (files[i].use == SP_READ && files[j].use == SP_READ) continue;
            if (!other_known || !same_target(&here, &other)) continue;
            return sp_fail(SPMM_ERR_USAGE, "%s and %s are one file, %s: give another name", files[j].name,
                           files[i].name, SHOWN(files[i].path));
        }
    }
    return SPMM_OK;
}
