#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

const char *const sp_precision_words[] = {"f64", "f32", NULL};

enum { LINE = 64, HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20, CHECK_FROM = 1 << 30 };

/** Linux grants more memory than there is, and kills whoever then uses it: a large request is held against
 *  what is available, so that it ends in a message instead. */
static spmm_status check_available(int64_t bytes, const char *what)
{
    char wanted[32], there[32];
    const char *const off = getenv("SPMM_MEMORY_CHECK");
    if (bytes < CHECK_FROM || (off && strcmp(off, "0") == 0)) return SPMM_OK;
    const int64_t available = sp_available_bytes();
    if (bytes <= available) return SPMM_OK;
    return sp_fail(SPMM_ERR_MEMORY,
                   "cannot allocate %s for %s: %s are available (SPMM_MEMORY_CHECK=0 tries anyway)",
                   sp_bytes_text(wanted, sizeof wanted, (double)bytes), what,
                   sp_bytes_text(there, sizeof there, (double)available));
}

spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what)
{
    int64_t bytes;
    *p = NULL;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > INT64_MAX - HUGE_PAGE)
        return sp_fail(SPMM_ERR_LIMIT, "%s: %lld elements of %zu bytes do not fit a 64-bit count", what,
                       (long long)count, size);
    TRY(check_available(bytes, what));
    const size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : LINE;
    const size_t rounded = ((size_t)bytes + align) / align * align; /* never 0 */
    *p = aligned_alloc(align, rounded);
    if (!*p) {
        char text[32];
        return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s for %s",
                       sp_bytes_text(text, sizeof text, (double)bytes), what);
    }
    /* rows of X and Y are reached in any order: huge pages spare most TLB misses. Advice only. */
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
    if (begin < end) (void)madvise((char *)p + (begin - (uintptr_t)p), end - begin, MADV_DONTNEED);
}

void sp_free(void *p) { free(p); }

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
    fputs("5", f); /* proc(5): resets the peak resident set */
    fclose(f);
}

static int64_t file_number(const char *path)
{
    long long value = -1;
    FILE *f = fopen(path, "r");
    if (f) {
        if (fscanf(f, "%lld", &value) != 1) value = -1;
        fclose(f);
    }
    return value;
}

int64_t sp_available_bytes(void)
{
    int64_t available = INT64_MAX;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        long long kib;
        if (sscanf(line, "MemAvailable: %lld", &kib) == 1) available = (int64_t)kib * 1024;
    }
    if (f) fclose(f);
    /* inside a container or a batch job the limit is the cgroup's */
    const int64_t limit = file_number("/sys/fs/cgroup/memory.max");
    const int64_t used = file_number("/sys/fs/cgroup/memory.current");
    if (limit > 0 && used >= 0 && limit - used < available) available = limit > used ? limit - used : 0;
    return available;
}
