/** Compares the bytes that the processes of a node allocate with the memory that the system and control
 *  groups leave available. */
#include "base/budget.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

/* The system counts allocated memory as used only once it is touched: memory that it reports as free may
 * have been allocated already, by this process or by another rank. So the processes count the bytes that
 * they take, and `base` estimates how many bytes were free before any were taken. How many of the taken
 * bytes have been touched is unknown, but it is at least what this process has touched and at most all of
 * them. Therefore base is kept between (free now + touched by this process) and (free now + taken by all). */

#define UNKNOWN (INT64_MAX / 4)

enum {
    RESERVE = 16 << 20,  /* bytes per process kept for MPI buffers, stacks and small allocations */
    RESERVE_SHARE = 128, /* 1/128 of the free memory is kept for page tables */
    LOOK_SHARE = 8       /* /proc is read again after 1/8 of the bytes that were left at the last reading have
                            been taken */
};

static struct {
    pthread_mutex_t lock; /* protects the members that look() changes */
    int64_t alone;        /* the counter to which `taken` points while this process counts separately */
    int64_t *taken;       /* bytes taken by all processes that count together */
    int sharers;
    int64_t own;      /* the bytes of *taken that this process took */
    int64_t resident; /* resident memory of this process, in bytes, before it took anything */
    int64_t base;     /* estimate of the number of bytes that were free before any were taken */
    int64_t seen;     /* value of *taken at the last call of look() */
    int64_t room;     /* number of bytes that were left at the last call of look(); -1: it has not been called
                         yet */
} budget = {.lock = PTHREAD_MUTEX_INITIALIZER, .taken = &budget.alone, .sharers = 1, .room = -1};

static int64_t budget_load(const int64_t *value) { return __atomic_load_n(value, __ATOMIC_RELAXED); }

static int64_t free_now(void)
{
    int64_t bytes = UNKNOWN;
    char line[256];
    long long kib;
    FILE *const f = fopen("/proc/meminfo", "r");
    while (f && bytes == UNKNOWN && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kib) == 1) bytes = (int64_t)kib * 1024;
    if (f) fclose(f);
    const sp_cgroup_room group = sp_cgroup_look("/");
    if (group.bytes < bytes) bytes = group.bytes;
    if (bytes == UNKNOWN) return bytes;
    bytes -= (int64_t)budget.sharers * RESERVE + bytes / RESERVE_SHARE;
    return bytes > 0 ? bytes : 0;
}

/** Returns the size in bytes of the resident memory that this process does not share with others. */
static int64_t resident(void)
{
    long long size, all = 0, shared = 0;
    FILE *const f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lld %lld %lld", &size, &all, &shared) != 3) all = shared = 0;
    if (f) fclose(f);
    return (int64_t)(all - shared) * sysconf(_SC_PAGESIZE);
}

/** Updates budget.base, budget.seen and budget.room from /proc; the caller holds budget.lock. */
static void look(void)
{
    const int64_t now = free_now(), taken = budget_load(budget.taken), own = budget_load(&budget.own);
    if (budget.room < 0 && own == 0) budget.resident = resident();
    int64_t touched = resident() - budget.resident;
    if (touched > own) touched = own;
    if (touched < 0) touched = 0;
    if (budget.base < now + touched) budget.base = now + touched;
    if (budget.base > now + taken) budget.base = now + taken;
    budget.seen = taken;
    budget.room = budget.base > taken ? budget.base - taken : 0;
}

int64_t sp_budget_room(void)
{
    pthread_mutex_lock(&budget.lock);
    look();
    const int64_t room = budget.room;
    pthread_mutex_unlock(&budget.lock);
    return room;
}

/** Returns 1 if at least `bytes` bytes are left in the budget when *budget.taken is `taken`, else 0.
 *  \param [out] room  number of bytes left in the budget */
static int budget_fits(int64_t taken, int64_t bytes, int64_t *room)
{
    pthread_mutex_lock(&budget.lock);
    if (taken - budget.seen > budget.room / LOOK_SHARE - bytes) look();
    *room = budget.room - (taken - budget.seen);
    pthread_mutex_unlock(&budget.lock);
    return bytes <= *room;
}

int sp_budget_take(int64_t bytes, int64_t *room)
{
    int64_t taken = budget_load(budget.taken);
    do {
        if (!budget_fits(taken, bytes, room)) return 0;
    } while (!__atomic_compare_exchange_n(budget.taken, &taken, taken + bytes, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    __atomic_fetch_add(&budget.own, bytes, __ATOMIC_RELAXED);
    return 1;
}

void sp_budget_give(int64_t bytes)
{
    if (bytes == 0) return;
    __atomic_fetch_sub(budget.taken, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&budget.own, bytes, __ATOMIC_RELAXED);
}

uint64_t sp_budget_group(void) { return sp_cgroup_look("/").group; }

void sp_budget_share(int64_t *taken, int sharers)
{
    pthread_mutex_lock(&budget.lock);
    __atomic_fetch_sub(budget.taken, budget.own, __ATOMIC_RELAXED);
    budget.taken = taken ? taken : &budget.alone;
    budget.sharers = taken ? sharers : 1;
    __atomic_fetch_add(budget.taken, budget.own, __ATOMIC_RELAXED);
    if (budget.own == 0) budget.resident = resident();
    budget.base = 0;
    look();
    pthread_mutex_unlock(&budget.lock);
}

int sp_budget_sharers(void) { return budget.sharers; }
