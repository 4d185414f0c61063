/** Shows the progress of phases on a terminal. */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Returns 1 if the parent of this process is Open MPI's launcher on the same host. */
static int launched_here(void)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    char path[64], name[32] = "";
    if (!getenv("OMPI_COMM_WORLD_RANK")) return 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    FILE *const f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%31s", name) != 1) name[0] = '\0';
    fclose(f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return 1;
    return 0;
}

/** Implements sp_progress_is_seen(). */
static int look(void)
{
    struct stat at;
    char path[64], target[32];
    if (isatty(STDERR_FILENO)) return 1;
    /* if stderr is not a pipe, the user has redirected it */
    if (fstat(STDERR_FILENO, &at) != 0 || !S_ISFIFO(at.st_mode) || !launched_here()) return 0;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), STDERR_FILENO);
    const ssize_t n = readlink(path, target, sizeof target);
    return n > 0 && strncmp(target, "/dev/pts/", 9) == 0;
}

int sp_progress_is_seen(void)
{
    static int seen = -1;
    if (seen < 0) seen = look();
    return seen;
}

void sp_progress_show(void *phase, double fraction)
{
    static int last = -1;
    const int percent = (int)(100 * fraction);
    if (percent == last) return;
    last = percent;
    if (percent < 100)
        fprintf(stderr, "\r%s %d %%\033[K", (const char *)phase, percent);
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

void sp_progress_phase(const char *phase)
{
    fprintf(stderr, "\r%s\033[K", phase ? phase : "");
    fflush(stderr);
}
