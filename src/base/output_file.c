/** Determines the meaning of the names of outputs, and writes files under temporary names. */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "base/words.h"
#include "codec/gzip_output.h"

spmm_status sp_cannot_write(const char *path)
{
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
}

/* ---- meaning of a name ---- */

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/** Returns the folder of a file, "." if the path has none, in the buffer `folder`, [PATH_MAX]. */
static const char *folder_of(const char *path, char *folder)
{
    snprintf(folder, PATH_MAX, "%.*s", (int)(base_of(path) - path), path);
    return folder[0] ? folder : ".";
}

/** Follows a chain of symbolic links, which stat() found to end; the file at its end need not exist.
 *  \param [in,out] path  [PATH_MAX]
 *  \return 1; 0: the name is too long */
static int follow(char *path)
{
    enum { MOST_LINKS = 40 }; /* Linux follows no more than this either */
    char link[PATH_MAX];
    ssize_t n;
    for (int i = 0; i < MOST_LINKS && (n = readlink(path, link, sizeof link)) >= 0; i++) {
        char *const to = path + (link[0] == '/' ? 0 : base_of(path) - path);
        if (to + n >= path + PATH_MAX) return 0;
        memcpy(to, link, (size_t)n);
        to[n] = '\0';
    }
    return 1;
}

static int same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The descriptor that outputs named "-" write to: standard output, or its duplicate once it was reserved. */
static int reserved = STDOUT_FILENO;

spmm_status sp_destination_find(const char *path, sp_destination *to)
{
    char folder[PATH_MAX];
    struct stat s;
    const int dash = strcmp(path, "-") == 0;
    *to = (sp_destination){.path = path, .kind = SP_TO_STREAM, .standard = dash ? STDOUT_FILENO : 0};
    const int there = (dash ? fstat(reserved, &to->file) : stat(path, &to->file)) == 0;
    if (!there && (dash || errno != ENOENT)) return sp_cannot_write(path);
    if (there && !dash && S_ISDIR(to->file.st_mode))
        return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: found a folder, expected a file", path);
    for (int fd = STDOUT_FILENO; there && !to->standard && fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &s) == 0 && same(&s, &to->file)) to->standard = fd;
    if (to->standard) return SPMM_OK;
    if (there && access(path, W_OK) != 0) return sp_cannot_write(path);
    if (there && !S_ISREG(to->file.st_mode)) return SPMM_OK;
    snprintf(to->target, sizeof to->target, "%s", path);
    errno = ENAMETOOLONG;
    if (!follow(to->target)) return sp_cannot_write(path);
    if (stat(to->target, &s) == 0) {
        to->kind = SP_TO_OLD;
        to->file = s;
        return SPMM_OK;
    }
    /* a name under /proc/self/fd of an open file without another name is treated as a stream */
    if (there && to->file.st_nlink == 0) return SPMM_OK;
    to->kind = SP_TO_NEW;
    errno = path[0] ? EISDIR : ENOENT;
    const int found = *base_of(to->target) && stat(folder_of(to->target, folder), &to->file) == 0;
    return found ? SPMM_OK : sp_cannot_write(path);
}

void sp_open_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
            return; /* the new descriptor is the lowest free one, which is fd */
}

spmm_status sp_reserve_standard_output(void)
{
    fflush(stdout);
    reserved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (reserved >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return SPMM_OK;
    reserved = STDOUT_FILENO;
    return sp_cannot_write("-");
}

/* ---- signals while something is written ---- */

/* A signal handler receives only the signal number, so its data must be global. The first IGNORED elements of
 * `signals` are ignored, the others remove the unfinished file. */
enum { IGNORED = 2, SIGNALS = 6 };
static const int signals[SIGNALS] = {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM, SIGALRM};
static struct sigaction before[SIGNALS];
static char unfinished[PATH_MAX];

void sp_writing_remove(void)
{
    if (unfinished[0]) unlink(unfinished);
}

/** Signal handler: the signal that it raises takes effect when it returns, and ends the process. */
static void remove_unfinished(int signal)
{
    sp_writing_remove();
    sp_writing_end();
    raise(signal);
}

void sp_writing_begin(const char *part)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    snprintf(unfinished, sizeof unfinished, "%s", part ? part : "");
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (i >= IGNORED) action.sa_handler = remove_unfinished;
        /* a handler of the program may return, and the writing continues */
        if (before[i].sa_handler == SIG_DFL && (i < IGNORED || part)) sigaction(signals[i], &action, NULL);
    }
}

void sp_writing_end(void)
{
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
    unfinished[0] = '\0';
}

/* ---- opening and closing ---- */

spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd)
{
    enum { TRIES = 100 };
    const mode_t mode = to->kind == SP_TO_OLD ? to->file.st_mode & 0777 : 0666;
    const char *const base = base_of(to->target);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (uint64_t i = 0; i < TRIES; i++) {
        const uint64_t word = sp_random((uint64_t)getpid(), (uint64_t)now.tv_nsec + i, (uint64_t)now.tv_sec);
        errno = ENAMETOOLONG;
        if (snprintf(part, PATH_MAX, "%.*s%.200s.part-%08x", (int)(base - to->target), to->target, base,
                     (unsigned)(word >> 32)) >= PATH_MAX)
            break;
        sp_writing_begin(part); /* called before open(), so that a signal at any time removes the file */
        *fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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

spmm_status sp_output_file_open(const char *path, sp_output_file *out)
{
    const int packed = sp_gzip_name(path);
    out->part[0] = '\0';
    TRY(sp_destination_find(path, &out->to));
    if (out->to.kind == SP_TO_STREAM) {
        TRY(sp_destination_stream(&out->to, &out->fd));
        sp_writing_begin(NULL);
    } else {
        TRY(sp_destination_part(&out->to, out->part, &out->fd));
    }
    const int own = packed ? -1 : fcntl(out->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    out->file = packed ? sp_gzip_output(out->fd) : own >= 0 ? fdopen(own, "w") : NULL;
    if (out->file) return SPMM_OK;
    const spmm_status status = sp_cannot_write(path);
    if (own >= 0) close(own);
    close(out->fd);
    if (out->part[0]) (void)unlink(out->part);
    sp_writing_end();
    return status;
}

/** Gives the complete file the owner, group and permissions of the old file, and syncs it; a full disk may be
 *  reported only at this point. Only root can change the owner, and other users can set only groups that they
 *  belong to. If not even the group can be set, members of the new file's group get no more permissions than
 *  all other users.
 *  \return 1; 0 with errno */
static int output_file_finish(int fd, const sp_destination *to)
{
    const struct stat *const old = &to->file;
    mode_t mode = old->st_mode & 0777;
    if (to->kind == SP_TO_OLD) {
        if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
            mode = (mode & 0707) | (mode & 07) << 3;
        if (fchmod(fd, mode) != 0) return 0; /* called after fchown(), which may clear permission bits */
    }
    return fsync(fd) == 0 || errno == EINVAL; /* EINVAL: this file system cannot sync */
}

/** Renames the complete file and syncs the folder, if the file system can. */
static spmm_status give_name(const sp_output_file *out)
{
    char folder[PATH_MAX];
    if (rename(out->part, out->to.target) != 0)
        return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot rename the .part file to this name: %s", out->to.path,
                       strerror(errno));
    const int fd = open(folder_of(out->to.target, folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) (void)fsync(fd), close(fd);
    return SPMM_OK;
}

spmm_status sp_output_file_close(sp_output_file *out, spmm_status status)
{
    const int is_file = out->part[0] != '\0';
    int reason = !ferror(out->file) ? 0 : errno ? errno : EIO; /* errno was set by the failed write */
    if (fclose(out->file) != 0 && !reason) reason = errno;
    if (status == SPMM_OK && !reason && is_file && !output_file_finish(out->fd, &out->to)) reason = errno;
    if (close(out->fd) != 0 && !reason) reason = errno;
    errno = reason;
    if (status == SPMM_OK && reason) status = sp_cannot_write(out->to.path);
    if (status == SPMM_OK && is_file) status = give_name(out);
    if (status != SPMM_OK && is_file) (void)unlink(out->part);
    sp_writing_end();
    return status;
}

/* ---- all outputs of a program ---- */

/** Checks that an output whose name has the suffix of a compressed file will be compressed. */
static spmm_status check_suffix(const sp_named_file *file)
{
    static const char *const others[] = {".bz2", ".xz", ".zst", ".Z", ".lz4", ".lz", ".lzma", ".zip", ".7z"};
    const char *const dot = strrchr(file->path, '.');
    const int packed = sp_gzip_name(file->path);
    int other = 0;
    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        other |= strcasecmp(dot, others[i]) == 0;
    if (!other && (!packed || file->use == SP_COMPRESSED)) return SPMM_OK;
    if (file->use != SP_COMPRESSED)
        return sp_fail(SPMM_ERR_USAGE, "%s %s: this file is written uncompressed: remove %s from its name",
                       file->name, SHOWN(file->path), dot);
    return sp_fail(SPMM_ERR_USAGE, "%s %s: found a name ending in %s, expected .gz or no compression",
                   file->name, SHOWN(file->path), dot);
}

/** Determines what the name of a file denotes and, for an output, whether it can be written.
 *  \param [out] to  path is NULL if no name was given, or if what is read is not a regular file */
static spmm_status examine(const sp_named_file *file, sp_destination *to)
{
    char part[PATH_MAX];
    int fd;
    *to = (sp_destination){.kind = SP_TO_OLD};
    if (file->path && file->use == SP_READ && stat(file->path, &to->file) == 0 && S_ISREG(to->file.st_mode))
        to->path = file->path;
    if (!file->path || file->use == SP_READ) return SPMM_OK;
    TRY(check_suffix(file));
    TRY(sp_destination_find(file->path, to));
    if (to->kind == SP_TO_STREAM || (to->kind == SP_TO_OLD && file->use == SP_APPENDED)) return SPMM_OK;
    TRY(sp_destination_part(to, part, &fd));
    close(fd);
    unlink(part);
    sp_writing_end();
    return SPMM_OK;
}

/** Returns 1 if both denote the same file. Two streams never count as the same; a stream may be redirected to
 *  a file, and then is the same as this file. */
static int same_target(const sp_destination *a, const sp_destination *b)
{
    if (!a->path || !b->path || (a->kind == SP_TO_STREAM && b->kind == SP_TO_STREAM)) return 0;
    if ((a->kind == SP_TO_NEW) != (b->kind == SP_TO_NEW) || !same(&a->file, &b->file)) return 0;
    return a->kind != SP_TO_NEW || strcmp(base_of(a->target), base_of(b->target)) == 0;
}

spmm_status sp_outputs_check(const sp_named_file *files, int count)
{
    enum { MOST = 8 };
    sp_destination to[MOST];
    for (int i = 0; i < count; i++) {
        TRY(examine(&files[i], &to[i]));
        for (int j = 0; j < i; j++) {
            if ((files[i].use == SP_READ && files[j].use == SP_READ) || !same_target(&to[i], &to[j]))
                continue;
            return sp_fail(SPMM_ERR_USAGE, "%s and %s name the same file, %s: choose different names",
                           files[j].name, files[i].name, SHOWN(files[i].path));
        }
    }
    return SPMM_OK;
}
