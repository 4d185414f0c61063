/** Finds the matrix in a tar archive, e.g. NAME/NAME.mtx in archives of the SuiteSparse Matrix Collection.
 *  Format: ustar (POSIX.1-2017, pax, "ustar Interchange Format"), with GNU tar's sizes from 8 GiB on. Names
 *  that only extended headers hold are not read. */
#ifndef SP_TAR_H
#define SP_TAR_H

#include <stdint.h>

enum { SP_TAR_BLOCK = 512, SP_TAR_NAME = 260 };

/** An archive that is read as a stream. */
typedef struct sp_tar {
    /** Reads the next `bytes` bytes of the archive. \return their number: less at its end and after errors */
    int64_t (*read)(void *source, char *to, int64_t bytes);
    void *source;
    int64_t left;           /**< bytes of the member that were not read yet */
    int64_t gap;            /**< bytes between the end of the member and the next header */
    char name[SP_TAR_NAME]; /**< the member */
} sp_tar;

/** Returns 1 if a tar archive begins with these bytes, [SP_TAR_BLOCK]; else 0. */
int sp_tar_begins(const unsigned char *head);

/** Reads on to the next file D/D.mtx, e.g. to the first one where `left` and `gap` are 0. Sets t->name.
 *  \return 1: t->left bytes of the matrix follow; 0: the archive ended; -1: it is damaged */
int sp_tar_next(sp_tar *t);

/** Reads at most `bytes` bytes of the matrix. \return their number; 0: no more, or reading failed */
int64_t sp_tar_read(sp_tar *t, char *to, int64_t bytes);

#endif
