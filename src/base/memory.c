/** Allocates host memory and counts it against the memory budget. */
#include "base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"

enum { LINE = 64, HUGE_PAGE = 2 << 20, HUGE_FROM = HUGE_PAGE, COUNTED_FROM = 1 << 20 };

/* ---- counting against the budget ---- */

static int unchecked(void)
{
    const char *const off = getenv("SPMM_MEMORY_CHECK");
    return off && strcmp(off, "0") == 0;
}

static spmm_status memory_refuse(double bytes, const char *what, double room)
{
    char wanted[32], there[32];
    return sp_fail(
        SPMM_ERR_MEMORY, "cannot allocate %s for %s: %s are available (SPMM_MEMORY_CHECK=0 tries anyway)",
        sp_bytes_text(wanted, sizeof wanted, bytes), what, sp_bytes_text(there, sizeof there, room));
}

/* Requests of less than COUNTED_FROM bytes are not counted. Linux grants more memory than is available and
 * kills a process that then uses it; the budget turns that into an error message. */
spmm_status sp_memory_take(int64_t bytes, const char *what)
{
    int64_t room;
    if (bytes < COUNTED_FROM) return SPMM_OK;
    if (unchecked())
        sp_budget_give(-bytes);
    else if (!sp_budget_take(bytes, &room))
        return memory_refuse((double)bytes, what, (double)room);
    return SPMM_OK;
}

void sp_memory_give(int64_t bytes)
{
    if (bytes >= COUNTED_FROM) sp_budget_give(bytes);
}

/** Ends of allocations that sp_release_tail() has returned to the system. An entry stays in this list until
 *  its allocation is freed. */
static struct {
    pthread_mutex_t lock;
    int count;
    struct {
        const void *p;
        int64_t bytes;
    } of[64];
} tails = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_tail(const void *p, int64_t bytes)
{
    pthread_mutex_lock(&tails.lock);
    if (tails.count < (int)(sizeof tails.of / sizeof *tails.of)) {
        tails.of[tails.count].p = p;
        tails.of[tails.count++].bytes = bytes;
        sp_budget_give(bytes);
    }
    pthread_mutex_unlock(&tails.lock);
}

/** Returns how many bytes of the allocation p have already been given back to the budget by
 *  sp_release_tail(), and removes the entries for p from the list. */
static int64_t take_tails(const void *p)
{
    int64_t bytes = 0;
    pthread_mutex_lock(&tails.lock);
    for (int k = tails.count; k-- > 0;) {
        if (tails.of[k].p != p) continue;
        bytes += tails.of[k].bytes;
        tails.of[k] = tails.of[--tails.count];
    }
    pthread_mutex_unlock(&tails.lock);
    return bytes;
}

/** Returns how many bytes the budget counts for the allocation p; 0 if p is NULL or has less than
 *  COUNTED_FROM bytes. */
static int64_t counted(void *p)
{
    const int64_t bytes = p ? (int64_t)malloc_usable_size(p) : 0;
    return bytes < COUNTED_FROM ? 0 : bytes;
}

spmm_status sp_memory_needs(double bytes, const char *what)
{
    if (bytes < COUNTED_FROM || unchecked()) return SPMM_OK;
    const double room = (double)sp_available_bytes();
    return bytes <= room ? SPMM_OK : memory_refuse(bytes, what, room);
}

/* ---- allocations ---- */

spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what)
{
    int64_t bytes;
    *p = NULL;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > INT64_MAX - HUGE_PAGE)
        return sp_fail(SPMM_ERR_LIMIT, "%s: %lld elements of %zu bytes do not fit a 64-bit count", what,
                       (long long)count, size);
    TRY(sp_memory_take(bytes, what));
    const size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : LINE;
    const size_t rounded = ((size_t)bytes + align) / align * align; /* more than `bytes`, so never 0 */
    *p = aligned_alloc(align, rounded);
    sp_budget_give((bytes < COUNTED_FROM ? 0 : bytes) - counted(*p));
    if (!*p) {
        char text[32];
        return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s for %s",
                       sp_bytes_text(text, sizeof text, (double)bytes), what);
    }
    /* rows of X and Y are accessed in any order: huge pages avoid most TLB misses. A failure does not
     * matter. */
    if (align == HUGE_PAGE) (void)madvise(*p, rounded, MADV_HUGEPAGE);
    return SPMM_OK;
}

spmm_status sp_alloc_zero(void **p, int64_t count, size_t size, const char *what)
{
    TRY(sp_alloc(p, count, size, what));
    memset(*p, 0, (size_t)count * size);
    return SPMM_OK;
}

void sp_release_tail(void *p, size_t used, size_t bytes)
{
    const long size = sysconf(_SC_PAGESIZE);
    if (size < 1) return;
    const uintptr_t page = (uintptr_t)size;
    const uintptr_t begin = ((uintptr_t)p + used + page - 1) / page * page,
                    end = ((uintptr_t)p + bytes) / page * page;
    if (begin >= end || madvise((char *)p + (begin - (uintptr_t)p), end - begin, MADV_DONTNEED) != 0) return;
    if (counted(p) > 0) add_tail(p, (int64_t)(end - begin));
}

static void release(void *p)
{
    const int64_t bytes = counted(p);
    if (bytes > 0) sp_budget_give(bytes - take_tails(p));
    free(p);
}

/* ---- allocations with several users ---- */

/** All claims, in a list. `first` is atomic so that sp_free() takes the lock only if there are claims. */
static struct {
    pthread_mutex_t lock;
    _Atomic(sp_kept *) first;
} claims = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** Makes some claim on p responsible for freeing it. The caller holds the lock. \return 1; 0: there is no
 *  claim */
static int leave_to_claim(const void *p)
{
    sp_kept *k = claims.first;
    while (k && k->p != p) k = k->next;
    if (k) k->freed = 1;
    return k != NULL;
}

void sp_free(void *p)
{
    int left = 0;
    if (p && claims.first) {
        pthread_mutex_lock(&claims.lock);
        left = leave_to_claim(p);
        pthread_mutex_unlock(&claims.lock);
    }
    if (!left) release(p);
}

void sp_keep(sp_kept *kept, void *p)
{
    *kept = (sp_kept){.p = p};
    if (!p) return;
    pthread_mutex_lock(&claims.lock);
    kept->next = claims.first;
    claims.first = kept;
    pthread_mutex_unlock(&claims.lock);
}

/** Removes a claim from the list. The caller holds the lock. */
static void remove_claim(const sp_kept *kept)
{
    sp_kept *k = claims.first;
    if (k == kept) {
        claims.first = kept->next;
        return;
    }
    while (k->next != kept) k = k->next;
    k->next = kept->next;
}

void sp_drop(sp_kept *kept)
{
    if (!kept->p) return;
    pthread_mutex_lock(&claims.lock);
    remove_claim(kept);
    const int last = kept->freed && !leave_to_claim(kept->p);
    pthread_mutex_unlock(&claims.lock);
    if (last) release(kept->p);
    *kept = (sp_kept){.p = NULL};
}

const char *sp_bytes_text(char *buf, size_t n, double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int u = 0;
    while (bytes >= 999.5 && u < 6) {
        bytes /= 1000;
        u++;
    }
    snprintf(buf, n, u == 0 ? "%.0f %s" : "%.3g %s", bytes, unit[u]);
    return buf;
}

int64_t sp_peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

void sp_peak_restart(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f); /* writing 5 resets the peak resident set size, see proc(5) */
    fclose(f);
}

/** Returns how many bytes a resource limit of this process leaves; INT64_MAX if there is no limit.
 *  \param [in] field  index in /proc/self/statm of the number of pages that count against this limit */
static int64_t own_room(int resource, int field)
{
    struct rlimit limit;
    long long pages = 0;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
    FILE *const f = fopen("/proc/self/statm", "r");
    for (int k = 0; f && k <= field; k++)
        if (fscanf(f, "%lld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    const int64_t used = (int64_t)pages * sysconf(_SC_PAGESIZE), most = (int64_t)limit.rlim_cur;
    return most < 0 ? INT64_MAX : most > used ? most - used : 0;
}

int64_t sp_available_bytes(void)
{
    const int64_t room[] = {sp_budget_room(), own_room(RLIMIT_AS, 0), own_room(RLIMIT_DATA, 5)};
    int64_t least = room[0];
    for (int k = 1; k < 3; k++)
        if (room[k] < least) least = room[k];
    return least;
}
