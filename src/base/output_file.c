/** Writes a file under a temporary name and renames it when it is complete. */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/encoder_stream.h"

/** Opens the stream to which the caller writes. Closing it does not close out->fd, which is synced
 *  afterwards. */
static FILE *open_stream(const sp_codec *codec, int fd)
{
    if (codec) return sp_encoder_open(codec, fd);
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *const file = own >= 0 ? fdopen(own, "w") : NULL;
    if (!file && own >= 0) close(own);
    return file;
}

spmm_status sp_output_file_open(const char *path, const sp_codec *codec, sp_output_file *out)
{
    out->part[0] = '\0';
    TRY(sp_destination_find(path, &out->to));
    if (out->to.kind == SP_TO_STREAM) {
        TRY(sp_destination_stream(&out->to, &out->fd));
        sp_writing_begin(NULL);
    } else {
        TRY(sp_destination_part(&out->to, out->part, &out->fd));
    }
    out->file = open_stream(codec, out->fd);
    if (out->file) return SPMM_OK;
    const spmm_status status = sp_cannot_write(path);
    close(out->fd);
    if (out->part[0]) (void)unlink(out->part);
    sp_writing_end();
    return status;
}

/** Syncs the folder of the file `target`, if the file system supports that: the renaming of the file is then
 *  on disk. */
static void sync_folder(const char *target)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", target);
    char *const slash = strrchr(folder, '/');
    if (slash) slash[1] = '\0';
    const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/** Gives the new file the owner, group and permissions of the old file. Only root can change the owner, and
 *  other users can set only groups that they belong to. If not even the group can be set, members of the new
 *  file's group get no more permissions than all other users. */
static int take_permissions(int fd, const sp_destination *old)
{
    mode_t mode = old->mode;
    if (fchown(fd, old->owner, old->group) != 0 && fchown(fd, (uid_t)-1, old->group) != 0)
        mode = (mode & 0707) | (mode & 07) << 3;
    return fchmod(fd, mode); /* called after fchown(), which may clear permission bits */
}

/** Gives the complete file its permissions and syncs it to disk; a full disk may be reported only at this
 *  point. */
static spmm_status finish(const sp_output_file *out)
{
    if (!out->part[0]) return SPMM_OK;
    if (out->to.kind == SP_TO_OLD && take_permissions(out->fd, &out->to) != 0)
        return sp_cannot_write(out->to.path);
    /* EINVAL: this file system cannot sync */
    return fsync(out->fd) == 0 || errno == EINVAL ? SPMM_OK : sp_cannot_write(out->to.path);
}

spmm_status sp_output_file_close(sp_output_file *out, spmm_status status)
{
    const int failed = ferror(out->file); /* then errno was set by the failed write */
    const int reason = errno;
    if (fclose(out->file) != 0 && status == SPMM_OK && !failed) status = sp_cannot_write(out->to.path);
    if (failed && status == SPMM_OK) {
        errno = reason;
        status = sp_cannot_write(out->to.path);
    }
    if (status == SPMM_OK) status = finish(out);
    if (close(out->fd) != 0 && status == SPMM_OK) status = sp_cannot_write(out->to.path);
    if (out->part[0]) {
        if (status == SPMM_OK && rename(out->part, out->to.target) != 0)
            status = sp_fail(SPMM_ERR_OUTPUT, "%s: cannot rename its .part file to it: %s", out->to.path,
                             strerror(errno));
        if (status == SPMM_OK)
            sync_folder(out->to.target);
        else
            (void)unlink(out->part);
    }
    sp_writing_end();
    return status;
}
