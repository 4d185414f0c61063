/** Counts unfinished output files, which output_file.h names TARGET.part-XXXXXXXX. */
#ifndef SP_TEST_PARTS_H
#define SP_TEST_PARTS_H

#include <dirent.h>
#include <string.h>

/** Returns the number of unfinished output files in the folder; -1 if it cannot be read. */
static inline int parts_in(const char *folder)
{
    DIR *const d = opendir(folder);
    int count = 0;
    if (!d) return -1;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) count += strstr(e->d_name, ".part") != NULL;
    closedir(d);
    return count;
}

#endif
