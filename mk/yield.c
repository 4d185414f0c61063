/* Preloaded by tests/run where ranks are MPICH's. A rank of MPICH that waits asks its network (UCX) again and again, and has
 * no setting to leave the core to others: with more ranks than cores each message waits for the end of a time slice, and
 * the tests of minutes would take hours. Here a rank that was told often that nothing came sleeps for a moment. */
#include <dlfcn.h>
#include <time.h>

enum { PATIENCE = 100 };

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local unsigned (*progress)(void *);
    static _Thread_local int idle;
    /* ISO C has no cast from an object to a function */
    if (!progress) *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned events = progress(worker);
    idle = events ? 0 : idle + 1;
    if (idle > PATIENCE) {
        idle = PATIENCE;
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    return events;
}
