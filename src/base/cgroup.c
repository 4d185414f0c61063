/** Finds the control groups (v1 and v2) of this process, and reads their limits of memory and CPU time. */
#include "base/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 3 * PATH_BYTES, NO_LIMIT_LOG2 = 60 };

/** The part of a hierarchy of control groups that this process can see. */
typedef struct hierarchy {
    int v1;                 /* 1: cgroup v1, 0: v2 */
    char top[PATH_BYTES];   /* folder of the topmost visible group: where the hierarchy is mounted */
    char group[PATH_BYTES]; /* folder of the group of this process: `top` or a folder below it */
} hierarchy;

/* Names of a group's files and of keys in its memory.stat. The array `version` has the names of both
 * versions: [0] of cgroup v2, [1] of v1. */
typedef struct names {
    const char *limit[2]; /* files with limits, of which the lower limit applies. limit[1] is NULL if there is
                             only one file */
    const char *used;
    const char *inactive, *active, *mapped; /* keys in memory.stat, for bytes of page cache */
} names;
static const names version[] = {
    {{"memory.max", "memory.high"}, "memory.current", "inactive_file", "active_file", "file_mapped"},
    {{"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     "total_inactive_file",
     "total_active_file",
     "total_mapped_file"},
};

/* ---- files of numbers ---- */

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_BYTES + 64];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
}

/** Reads the number in a file.
 *  \return the number; -1 if there is no such file, no number in it (e.g. "max"), or a number so large that
 *          it means "no limit" */
static int64_t number_in(const char *folder, const char *name)
{
    long long value = -1;
    FILE *const f = open_in(folder, name);
    if (!f) return -1;
    if (fscanf(f, "%lld", &value) != 1) value = -1;
    fclose(f);
    return value >> NO_LIMIT_LOG2 == 0 ? value : -1; /* v1 writes a huge number for "no limit" */
}

/** Returns the value for a key in memory.stat, or `otherwise` if the key is missing. */
static int64_t stat_in(const char *folder, const char *key, int64_t otherwise)
{
    char line[256], found[128];
    long long value;
    int64_t result = otherwise;
    FILE *const f = open_in(folder, "memory.stat");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%127s %lld", found, &value) == 2 && strcmp(found, key) == 0) result = value;
    if (f) fclose(f);
    return result;
}

/* ---- positions of the groups ---- */

/** Replaces octal escapes such as "\040" in the text by the characters that they stand for. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p;) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
            p[3] <= '7') {
            *to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0');
            p += 4;
        } else {
            *to++ = *p++;
        }
    }
    *to = 0;
}

/** Returns 1 if the comma-separated list contains the word, else 0. */
static int has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == 0)) return 1;
    return 0;
}

/** Finds the path of this process's group within the hierarchy, from a line "ID:CONTROLLERS:PATH" of
 *  /proc/self/cgroup.
 *  \return 1 if found, else 0 */
static int find_path(const char *root, const char *controller, int v1, char *path)
{
    char line[LINE_BYTES];
    int found = 0;
    FILE *const f = open_in(root, "proc/self/cgroup");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *const controllers = strchr(line, ':');
        char *const text = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!text) continue;
        *text = 0;
        found = v1 ? has_word(controllers + 1, controller)
                   : strncmp(line, "0:", 2) == 0 && controllers[1] == 0;
        text[1 + strcspn(text + 1, "\n")] = 0;
        if (found) snprintf(path, PATH_BYTES, "%.*s", PATH_BYTES - 1, text + 1);
    }
    if (f) fclose(f);
    return found;
}

/** Determines the mount point of the hierarchy (`point`) and the group that is mounted there (`mounted`),
 *  from a line "ID PARENT DEVICE PATH POINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS" of /proc/self/mountinfo.
 *  \return 1 if found, 0 if the hierarchy is not mounted */
static int find_mount(const char *root, const char *controller, int v1, char *mounted, char *point)
{
    char line[LINE_BYTES], type[64], options[PATH_BYTES];
    int found = 0;
    FILE *const f = open_in(root, "proc/self/mountinfo");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *const end = strstr(line, " - ");
        if (!end || sscanf(end, " - %63s %*s %4095s", type, options) != 2 ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", mounted, point) != 2)
            continue;
        found = v1 ? strcmp(type, "cgroup") == 0 && has_word(options, controller)
                   : strcmp(type, "cgroup2") == 0;
    }
    if (f) fclose(f);
    unescape(mounted);
    unescape(point);
    return found;
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/** Locates the hierarchy of cgroup v1 that has the controller, or the one of v2.
 *  \return 1 if found, 0 if this process is in no such hierarchy or cannot see it */
static int find_hierarchy(const char *root, const char *controller, int v1, hierarchy *h)
{
    char path[PATH_BYTES], mounted[PATH_BYTES] = "", point[PATH_BYTES] = "";
    h->v1 = v1;
    if (!find_path(root, controller, v1, path) || !find_mount(root, controller, v1, mounted, point)) return 0;
    if (snprintf(h->top, sizeof h->top, "%s%s", strcmp(root, "/") == 0 ? "" : root, point) >= PATH_BYTES)
        return 0;
    /* the mounted part of the hierarchy may not contain this process's group, e.g. in another namespace; then
     * only the topmost visible group can be read */
    const size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    const int below = strncmp(path, mounted, n) == 0 && (path[n] == '/' || path[n] == 0) &&
                      !strstr(path, "/..");
    const int length = snprintf(h->group, sizeof h->group, "%s%s", h->top, below ? path + n : "");
    if (length >= PATH_BYTES || !is_folder(h->group)) memcpy(h->group, h->top, sizeof h->group);
    for (size_t k = strlen(h->group); k > strlen(h->top) && h->group[k - 1] == '/';) h->group[--k] = 0;
    return 1;
}

/** Goes to the group above. \return 1; 0: there is none, or it is not visible */
static int go_up(hierarchy *h)
{
    char *const slash = strrchr(h->group, '/');
    if (strlen(h->group) <= strlen(h->top) || !slash) return 0;
    *slash = 0;
    return 1;
}

/* ---- memory ---- */

/** Returns the number of bytes of page cache that the kernel can reclaim from the group in `folder`: those
 *  that no process has mapped. */
static int64_t reclaimable(const names *n, const char *folder)
{
    const int64_t bytes = stat_in(folder, n->inactive, 0) + stat_in(folder, n->active, 0) -
                          stat_in(folder, n->mapped, 0);
    return bytes > 0 ? bytes : 0;
}

/** If the limit of a group leaves less memory than least->bytes, stores that amount and the group in *least.
 *  \param [in] folder  the folder of the group
 *  \param [in] limit   limit in bytes; negative: no limit */
static void keep_least(const names *n, const char *folder, int64_t limit, sp_cgroup_room *least)
{
    struct stat info;
    const int64_t used = number_in(folder, n->used);
    if (limit < 0 || used < 0) return;
    int64_t room = limit - used + reclaimable(n, folder);
    if (room > limit) room = limit;
    if (room < 0) room = 0;
    if (room >= least->bytes) return;
    least->bytes = room;
    /* the inode number identifies the group within its file system; 0 means no group */
    least->group = stat(folder, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/** If the limits of the group in `folder` leave less memory than least->bytes, stores that amount and the
 *  group in *least. */
static void look_at(const hierarchy *h, const char *folder, sp_cgroup_room *least)
{
    const names *const n = &version[h->v1];
    int64_t limit = -1;
    for (int k = 0; k < 2 && n->limit[k]; k++) {
        const int64_t one = number_in(folder, n->limit[k]);
        if (one >= 0 && (limit < 0 || one < limit)) limit = one;
    }
    keep_least(n, folder, limit, least);
}

static void look_upwards(hierarchy *h, sp_cgroup_room *least)
{
    /* cgroup v1: the file of a group above the mount point cannot be read. Its limit appears only in the key
     * hierarchical_memory_limit of the groups below it. */
    if (h->v1) {
        const int64_t above = stat_in(h->group, "hierarchical_memory_limit", -1);
        keep_least(&version[1], h->group, above >> NO_LIMIT_LOG2 == 0 ? above : -1, least);
    }
    do look_at(h, h->group, least);
    /* an old v1 group may not count the memory of the groups below it: then its limit does not apply to this
     * process */
    while (go_up(h) && !(h->v1 && number_in(h->group, "memory.use_hierarchy") == 0));
}

sp_cgroup_room sp_cgroup_look(const char *root)
{
    sp_cgroup_room least = {INT64_MAX, 0};
    for (int v1 = 0; v1 < 2; v1++) {
        hierarchy h;
        if (find_hierarchy(root, "memory", v1, &h)) look_upwards(&h, &least);
    }
    return least;
}

/* ---- CPU time ---- */

/** Returns the number of cores whose time the group may use; INFINITY: all. */
static double cores_of(const hierarchy *h)
{
    long long quota = -1, period = -1; /* cpu.max contains "max" instead of the quota if there is no limit */
    FILE *const f = h->v1 ? NULL : open_in(h->group, "cpu.max");
    if (f && fscanf(f, "%lld %lld", &quota, &period) != 2) quota = -1;
    if (f) fclose(f);
    if (h->v1) quota = number_in(h->group, "cpu.cfs_quota_us");
    if (h->v1) period = number_in(h->group, "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? (double)quota / (double)period : INFINITY;
}

int sp_cgroup_cores(const char *root)
{
    enum { MOST = 1000000 };
    double least = INFINITY;
    for (int v1 = 0; v1 < 2; v1++) {
        hierarchy h;
        if (!find_hierarchy(root, "cpu", v1, &h)) continue;
        do least = fmin(least, cores_of(&h));
        while (go_up(&h));
    }
    return least < MOST ? (int)ceil(least) : 0;
}
