/** Compares what is read of a file's header, member by member: the padding of the structure has any bytes. */
#ifndef SAME_INFO_H
#define SAME_INFO_H

#include <string.h>

#include "io/mtx_read.h"

static inline int same_info(const sp_mtx_info *a, const sp_mtx_info *b)
{
    return strcmp(a->format, b->format) == 0 && strcmp(a->field, b->field) == 0 &&
           strcmp(a->symmetry, b->symmetry) == 0 && a->stored == b->stored && a->bytes == b->bytes;
}

#endif
