/* Preloaded by tests/run where ranks are MPICH's. A rank of MPICH that waits asks its network (UCX) again and
 * again, and has no setting to leave the core to others: with more ranks than cores each message waits for
 * the end of a time slice, and the tests of minutes would take hours. Here a rank that was told often that
 * nothing came sleeps for a moment. */
#include <dlfcn.h>
#include <time.h>

enum { PATIENCE = 100 };

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local unsigned (*progress)(void *);
    static _Thread_local int idle;
    if (!progress) {
        void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
        /* in a Python process the network's library came with a module, and is not searched for names */
        if (!found) found = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
        *(void **)&progress = found; /* ISO C has no cast from an object to a function */
    }
    const unsigned events = progress(worker);
    idle = events ? 0 : idle + 1;
    if (idle > PATIENCE) {
        idle = PATIENCE;
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    return events;
}
