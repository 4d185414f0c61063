/** Finds and loads adaptors to other libraries. */
#include "kernels/peers/peer_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fp_environment.h"

enum { MOST = 16, NAME_BYTES = 32, LINE_BYTES = 256, PATH_BYTES = 4096 };

/* the adaptors that the process has loaded, or has failed to load */
static struct loaded {
    char name[NAME_BYTES], version[LINE_BYTES], problem[LINE_BYTES];
    void *so;                 /* stays loaded */
    const peer_adaptor *peer; /* NULL: the adaptor cannot be used, see `problem` */
} loaded[MOST];
static int count;

int sp_peer_find(const char *name, char *path, size_t size)
{
    /* relative to the folder of the program: spmm_mpi, a bench, or an installed spmm_mpi */
    static const char *const folders[] = {"peers", "../peers", "../lib/spmm_mpi/peers"};
    char here[PATH_BYTES] = "";
    char *const slash = readlink("/proc/self/exe", here, sizeof here - 1) > 0 ? strrchr(here, '/') : NULL;
    here[slash ? slash - here : 0] = '\0';
    for (int i = 0; i < 3 && slash; i++) {
        snprintf(path, size, "%s/%s/peer_%s.so", here, folders[i], name);
        if (access(path, F_OK) == 0) return 1;
    }
    snprintf(path, size, "%s/%s/peer_%s.so", here, folders[0], name);
    return 0;
}

/** Loads an adaptor with private symbols (RTLD_LOCAL), so that libraries that define the same symbols, such
 *  as two BLAS, do not conflict. The program exports no symbols, so no library uses the program's. A library
 *  that was linked with -ffast-math makes the thread that loads it flush subnormal numbers; this function
 *  restores the thread's setting.
 *  \return NULL, or a description of the problem */
static const char *peer_load_load(struct loaded *l, int threads)
{
    SP_DEFAULT_FP;
    char path[PATH_BYTES + LINE_BYTES], folder[sizeof path];
    if (!sp_peer_find(l->name, path, sizeof path)) return "this build has no adaptor";
    l->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const peer_adaptor *const p = l->so ? dlsym(l->so, "spmm_peer") : NULL;
    if (!p) return dlerror();
    memcpy(folder, path, sizeof folder);
    *strrchr(folder, '/') = '\0';
    const char *const problem = p->open ? p->open(threads, folder, l->version, sizeof l->version) : NULL;
    if (!problem) l->peer = p;
    return problem;
}

static struct loaded *peer_load_find(const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(loaded[i].name, name) == 0) return &loaded[i];
    return NULL;
}

spmm_status sp_peer_open(const char *name, int threads, const peer_adaptor **p, const char **version)
{
    struct loaded *l = peer_load_find(name);
    *p = NULL;
    if (!l && count == MOST) return sp_fail(SPMM_ERR_INTERNAL, "%s: more than %d adaptors", name, MOST);
    if (!l) {
        l = &loaded[count++];
        snprintf(l->name, sizeof l->name, "%s", name);
        const char *const problem = peer_load_load(l, threads);
        if (problem) snprintf(l->problem, sizeof l->problem, "%s", problem);
    }
    if (!l->peer) return sp_fail(SPMM_ERR_NO_DEVICE, "%s cannot be used here: %s", name, l->problem);
    *p = l->peer;
    if (version) *version = l->version;
    return SPMM_OK;
}

void sp_peers_close(void)
{
    for (int i = 0; i < count; i++)
        if (loaded[i].peer && loaded[i].peer->close) loaded[i].peer->close();
}
