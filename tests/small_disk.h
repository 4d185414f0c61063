/** Mounts a small file system, for tests of full disks. */
#ifndef SP_TEST_SMALL_DISK_H
#define SP_TEST_SMALL_DISK_H

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { NO_SMALL_DISK = 9 }; /* exit status of a child that could not mount one */

/** Writes text to a file; returns 1 on success. */
static inline int tell_kernel_(const char *file, const char *text)
{
    FILE *const f = fopen(file, "w");
    return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

/** Enters a user namespace in which this user is root, and a mount namespace; returns 1 on success. */
static inline int be_root_(void)
{
    char users[40], groups[40];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && tell_kernel_("/proc/self/setgroups", "deny") &&
           tell_kernel_("/proc/self/uid_map", users) && tell_kernel_("/proc/self/gid_map", groups);
}

/** Mounts a file system in memory (tmpfs) on the folder `place`, with a size in tmpfs's notation ("64k");
 *  only this process and its later children see it.
 *  \return 1; 0 if the system does not let this user mount one */
static inline int small_disk(const char *place, const char *size)
{
    char option[64];
    snprintf(option, sizeof option, "size=%s", size);
    if (unshare(CLONE_NEWNS) != 0 && !be_root_()) return 0;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 0;
    return mount("none", place, "tmpfs", 0, option) == 0;
}

/** Waits for the child that ran the test `sentence` on a small disk. It exits with test_.tests_failed, which
 *  is counted here as at most one failed test, or with NO_SMALL_DISK, which skips the test. */
static inline void small_disk_end(pid_t child, const char *sentence)
{
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SMALL_DISK)
        SKIP(sentence, "no file system can be mounted here");
    else
        test_.tests_failed += status != 0;
}

#endif
