/** A stdio stream whose text is written to a file as gzip data. */
#ifndef SP_GZIP_OUTPUT_H
#define SP_GZIP_OUTPUT_H

#include <stdio.h>

/** Returns 1 if the name ends in .gz, in upper or lower case, and has something before it. */
int sp_gzip_name(const char *path);

/** Opens a stream that compresses what is written to it. fclose() completes the compressed data and fails if
 *  any of them could not be written; it leaves the file descriptor open. Local.
 *  \param [in] fd  file descriptor, open for writing until after fclose()
 *  \return the stream; NULL, with errno: memory or descriptors are lacking */
FILE *sp_gzip_output(int fd);

#endif
