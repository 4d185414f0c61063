/** MPI windows in shared memory, and MPI files, for a single rank. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contrib/one_rank/one_rank.h"

struct spmm_one_rank_win {
    void *base;
    MPI_Aint bytes;
    int unit;
};

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
    (void)info;
    const int error = sp_one_rank_check(comm, "MPI_Win_allocate_shared");
    if (error) return error;
    *win = MPI_WIN_NULL;
    if (bytes < 0) return sp_one_rank_fail(comm, MPI_ERR_ARG, "MPI_Win_allocate_shared");
    void *const memory = mmap(NULL, bytes > 0 ? (size_t)bytes : 1, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MPI_Win made = memory != MAP_FAILED ? malloc(sizeof *made) : NULL;
    if (!made) {
        if (memory != MAP_FAILED) munmap(memory, bytes > 0 ? (size_t)bytes : 1);
        return sp_one_rank_fail(comm, MPI_ERR_NO_MEM, "MPI_Win_allocate_shared");
    }
    *made = (struct spmm_one_rank_win){memory, bytes, unit};
    *(void **)base = memory;
    *win = made;
    return MPI_SUCCESS;
}

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *bytes, int *unit, void *base)
{
    sp_one_rank_must_run("MPI_Win_shared_query");
    if (!win) return sp_one_rank_fail(NULL, MPI_ERR_WIN, "MPI_Win_shared_query");
    if (rank != 0 && rank != MPI_PROC_NULL)
        return sp_one_rank_fail(NULL, MPI_ERR_RANK, "MPI_Win_shared_query");
    *bytes = win->bytes;
    *unit = win->unit;
    *(void **)base = win->base;
    return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win)
{
    sp_one_rank_must_run("MPI_Win_free");
    if (!*win) return sp_one_rank_fail(NULL, MPI_ERR_WIN, "MPI_Win_free");
    munmap((*win)->base, (*win)->bytes > 0 ? (size_t)(*win)->bytes : 1);
    free(*win);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

struct spmm_one_rank_file {
    int descriptor;
};

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file)
{
    (void)info;
    const int error = sp_one_rank_check(comm, "MPI_File_open");
    if (error) return error;
    *file = MPI_FILE_NULL;
    const int how = mode & MPI_MODE_RDWR ? O_RDWR : mode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
    const int descriptor = open(path, how | O_CLOEXEC | (mode & MPI_MODE_CREATE ? O_CREAT : 0), 0666);
    if (descriptor < 0) return errno == ENOENT ? MPI_ERR_NO_SUCH_FILE : MPI_ERR_FILE;
    *file = malloc(sizeof **file);
    if (!*file) {
        close(descriptor);
        return MPI_ERR_NO_MEM;
    }
    (*file)->descriptor = descriptor;
    return MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File file, MPI_Offset bytes)
{
    sp_one_rank_must_run("MPI_File_set_size");
    if (!file) return MPI_ERR_FILE;
    return ftruncate(file->descriptor, bytes) == 0 ? MPI_SUCCESS : MPI_ERR_IO;
}

int MPI_File_write_at(MPI_File file, MPI_Offset at, const void *data, int count, MPI_Datatype type,
                      MPI_Status *status)
{
    sp_one_rank_must_run("MPI_File_write_at");
    if (!file) return MPI_ERR_FILE;
    const int error = sp_one_rank_buffer(count, type);
    if (error) return error;
    const int64_t bytes = sp_one_rank_bytes(count, type);
    int64_t done = 0;
    while (done < bytes) {
        const ssize_t n = pwrite(file->descriptor, (const char *)data + done, (size_t)(bytes - done),
                                 at + done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return MPI_ERR_IO;
        done += n;
    }
    if (status) *status = (MPI_Status){0, MPI_ANY_TAG, MPI_SUCCESS, bytes};
    return MPI_SUCCESS;
}

int MPI_File_close(MPI_File *file)
{
    sp_one_rank_must_run("MPI_File_close");
    if (!*file) return MPI_ERR_FILE;
    const int closed = close((*file)->descriptor);
    free(*file);
    *file = MPI_FILE_NULL;
    return closed == 0 ? MPI_SUCCESS : MPI_ERR_IO;
}
