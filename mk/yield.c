/* Preloaded by tests/run if the ranks are MPICH's. A waiting rank of MPICH polls its network (UCX) and has no
 * setting to yield its core. With more ranks than cores, each message would wait for the end of a time slice,
 * and tests of minutes would take hours. With this library, a rank sleeps for a moment after many polls
 * without an event. */
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
        /* in a Python process a module loaded the network's library, which RTLD_NEXT does not search */
        if (!found) found = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
        *(void **)&progress = found; /* ISO C has no cast from object to function pointers */
    }
    const unsigned events = progress(worker);
    idle = events ? 0 : idle + 1;
    if (idle > PATIENCE) {
        idle = PATIENCE;
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    return events;
}
