/** Counts what the processes of a node allocate against the memory that the system and control groups leave. */
#include "base/budget.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

/* Allocated memory is in use only once it is touched: what the system reports as free may have been promised already,
 * by this process or by another rank. So the processes count the bytes that they take, and `base` estimates what was
 * free before any were taken. How much of the bytes taken has been touched is unknown, but lies between what this
 * process has touched and all of them; base is therefore kept between (free now + touched here) and (free now +
 * taken). */

#define UNKNOWN (INT64_MAX / 4)

enum {
    RESERVE = 16 << 20,  /* bytes per process for MPI's buffers, stacks and small allocations */
    RESERVE_SHARE = 128, /* 1/128 of what is free, for page tables */
    LOOK_SHARE = 8       /* /proc is read again after 1/8 of what was left has been taken */
};

static struct {
    pthread_mutex_t lock; /* protects what look() changes */
    int64_t alone;        /* the counter that taken points to while this process counts alone */
    int64_t *taken;       /* bytes taken by all sharers */
    int sharers;
    int64_t own;      /* bytes of *taken that this process took */
    int64_t resident; /* resident bytes of this process when it had taken nothing */
    int64_t base;     /* bytes that were free before any were taken, as estimated */
    int64_t seen;     /* *taken at the last look() */
    int64_t room;     /* bytes that were left then; -1: no look() yet */
} budget = {.lock = PTHREAD_MUTEX_INITIALIZER, .taken = &budget.alone, .sharers = 1, .room = -1};

static int64_t load(const int64_t *value) { return __atomic_load_n(value, __ATOMIC_RELAXED); }

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

/** Returns the resident bytes of this process that it does not share with others. */
static int64_t resident(void)
{
    long long size, all = 0, shared = 0;
    FILE *const f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lld %lld %lld", &size, &all, &shared) != 3) all = shared = 0;
    if (f) fclose(f);
    return (int64_t)(all - shared) * sysconf(_SC_PAGESIZE);
}

/** Updates base and room from /proc; called with the lock held. */
static void look(void)
{
    const int64_t now = free_now(), taken = load(budget.taken), own = load(&budget.own);
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

/** Whether `bytes` are left in addition to `taken`. \param [out] room  what is left */
static int fits(int64_t taken, int64_t bytes, int64_t *room)
{
    pthread_mutex_lock(&budget.lock);
    if (taken - budget.seen > budget.room / LOOK_SHARE - bytes) look();
    *room = budget.room - (taken - budget.seen);
    pthread_mutex_unlock(&budget.lock);
    return bytes <= *room;
}

int sp_budget_take(int64_t bytes, int64_t *room)
{
    int64_t taken = load(budget.taken);
    do {
        if (!fits(taken, bytes, room)) return 0;
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
