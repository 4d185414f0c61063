/** Creates, maps and lends memory that the processes of a node share. */
#include "device/node_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"

enum { HUGE_PAGE = 2 << 20 };

#ifndef MADV_COLLAPSE /* of Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

/* ---- files and mappings ---- */

static spmm_status refused(const char *what)
{
    return sp_fail(SPMM_ERR_MEMORY, "cannot create memory that the ranks of a node share: %s: %s", what,
                   strerror(errno));
}

/** Sets the size of the file. First checks the limit on the size of files, because ftruncate() beyond this
 *  limit would end the process with a signal. */
static spmm_status set_size(int descriptor, int64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (int64_t)limit.rlim_cur < bytes) {
        errno = EFBIG;
        return refused("the limit on the size of files (ulimit -f)");
    }
    return ftruncate(descriptor, bytes) == 0 ? SPMM_OK : refused("ftruncate");
}

spmm_status sp_node_file_create(int64_t bytes, int *descriptor, sp_node_file *file)
{
    struct stat facts;
    *descriptor = memfd_create("spmm", MFD_CLOEXEC);
    if (*descriptor < 0) return refused("memfd_create");
    spmm_status status = set_size(*descriptor, bytes);
    if (status == SPMM_OK && fstat(*descriptor, &facts) != 0) status = refused("fstat");
    if (status != SPMM_OK) {
        close(*descriptor);
        *descriptor = -1;
        return status;
    }
    *file = (sp_node_file){getpid(), *descriptor, facts.st_dev, facts.st_ino};
    return SPMM_OK;
}

spmm_status sp_node_file_open(const sp_node_file *file, int *descriptor)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)file->process, (long long)file->descriptor);
    *descriptor = -1;
    /* The file is checked before it is opened: if the other process is in another namespace, this path may
     * name a device or a pipe, which must not be opened. */
    if (stat(path, &facts) != 0) return refused(path);
    if (facts.st_dev != file->device || facts.st_ino != file->inode) {
        errno = ENOENT;
        return refused(path);
    }
    *descriptor = open(path, O_RDWR | O_CLOEXEC);
    return *descriptor >= 0 ? SPMM_OK : refused(path);
}

spmm_status sp_node_memory_map(int descriptor, int64_t at, int64_t bytes, void **memory)
{
    /* reserves HUGE_PAGE more addresses than necessary, so that the mapping can begin at a huge page
     * boundary */
    const size_t size = (size_t)bytes, room = size + HUGE_PAGE;
    *memory = NULL;
    char *const all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return refused("mmap");
    const size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    void *const p = mmap(all + before, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, at);
    if (p == MAP_FAILED) {
        const spmm_status status = refused("mmap");
        munmap(all, room);
        return status;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), end = (before + size + page - 1) / page * page;
    if (before > 0) munmap(all, before);
    if (end < room) munmap(all + end, room - end);
    *memory = p;
    return SPMM_OK;
}

/* ---- loans ---- */

typedef struct loan {
    void *memory;
    int64_t bytes, own, length;
    int left; /* 1: sp_node_memory_unmap() has deferred the unmapping to the end of the loan */
    struct loan *next;
} loan;

static struct {
    pthread_mutex_t lock;
    loan *first;
} loans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** Returns the link that points to the loan of `memory`; without such a loan, the last link, which is NULL.
 *  The caller holds the lock. */
static loan **link_to(const void *memory)
{
    loan **at = &loans.first;
    while (*at && (*at)->memory != memory) at = &(*at)->next;
    return at;
}

/** Makes the system allocate the pages of bytes [at, at + length) of the file. Each thread does this for its
 *  share, so that the pages are near the thread. \return 1 on success */
static int provide(int descriptor, int64_t at, int64_t length)
{
    const int threads = sp_threads_default();
    int failed = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : failed)
    for (int t = 0; t < threads; t++) {
        const int64_t begin = length / threads * t,
                      end = t + 1 == threads ? length : length / threads * (t + 1);
        if (end > begin && fallocate(descriptor, 0, at + begin, end - begin) != 0) failed |= errno;
    }
    if (failed) errno = ENOSPC;
    return !failed;
}

/** Requests huge pages for the pages that provide() has allocated. On most systems huge pages for shared
 *  memory must be requested. A failure does not matter. */
static void make_huge(char *memory, int64_t own, int64_t length)
{
    const int64_t first = own / HUGE_PAGE * HUGE_PAGE,
                  last = (own + length + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const int threads = sp_threads_default();
    if (length < HUGE_PAGE) return;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t at = first; at < last; at += HUGE_PAGE) (void)madvise(memory + at, HUGE_PAGE, MADV_COLLAPSE);
}

/** Zeroes the bytes [own, own + length) of the mapping, and returns whole pages of them to the system. */
static void clear(char *memory, int64_t own, int64_t length)
{
    const int64_t page = sysconf(_SC_PAGESIZE), end = own + length;
    int64_t first = (own + page - 1) / page * page, last = end / page * page;
    if (first >= last || madvise(memory + first, (size_t)(last - first), MADV_REMOVE) != 0)
        first = last = end;
    memset(memory + own, 0, (size_t)(first - own));
    memset(memory + last, 0, (size_t)(end - last));
}

spmm_status sp_node_memory_lend(int descriptor, void *memory, int64_t bytes, int64_t at, int64_t own,
                                int64_t length)
{
    static const char what[] = "a multivector that the ranks of a node share";
    loan *one;
    TRY(sp_alloc_zero((void **)&one, 1, sizeof *one, what));
    spmm_status status = sp_memory_take(length, what);
    if (status == SPMM_OK && length > 0 && !provide(descriptor, at + own, length)) {
        status = refused("fallocate");
        sp_memory_give(length);
        clear(memory, own, length);
    }
    if (status != SPMM_OK) {
        sp_free(one);
        return status;
    }
    make_huge(memory, own, length);
    pthread_mutex_lock(&loans.lock);
    *one = (loan){memory, bytes, own, length, 0, loans.first};
    loans.first = one;
    pthread_mutex_unlock(&loans.lock);
    return SPMM_OK;
}

int sp_node_memory_lent(const void *memory)
{
    pthread_mutex_lock(&loans.lock);
    const int lent = *link_to(memory) != NULL;
    pthread_mutex_unlock(&loans.lock);
    return lent;
}

int sp_node_memory_return(void *memory)
{
    pthread_mutex_lock(&loans.lock);
    loan **const link = link_to(memory), *const one = *link;
    if (one) {
        clear(memory, one->own, one->length); /* before another thread can borrow the memory */
        if (one->left) munmap(memory, (size_t)one->bytes);
        *link = one->next;
    }
    pthread_mutex_unlock(&loans.lock);
    if (!one) return 0;
    sp_memory_give(one->length);
    sp_free(one);
    return 1;
}

void sp_node_memory_unmap(void *memory, int64_t bytes)
{
    if (!memory) return;
    pthread_mutex_lock(&loans.lock);
    loan *const one = *link_to(memory);
    if (one) one->left = 1;
    pthread_mutex_unlock(&loans.lock);
    if (!one) munmap(memory, (size_t)bytes);
}
