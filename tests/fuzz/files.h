/** Matrix files of any format, through the table of formats: one outcome for any number of threads and pieces
 *  of any size, and a refusal or the same where calls fail. */
#ifndef SP_FUZZ_FILES_H
#define SP_FUZZ_FILES_H

#include "ways.h"

/** Reads a file into *o, which it sets. */
typedef void (*files_reader)(const char *path, const sp_read_options *options, ways_outcome *o);

/** Reads the matrix of a file into *o, and aborts if a matrix is not sound or not of the sizes that the
 *  header says, or if a refusal leaves something behind.
 *  \param [in]  format  name of the only format that is read: a file of another one is accepted, with nothing
 *                       in *o; NULL: any format
 *  \param [in]  most    largest number of rows and of columns that is read; more are refused
 *  \param [out] sizes   what the header says; zeros if the file could not be opened */
void files_read(const char *path, const sp_read_options *options, const char *format, int64_t most,
                sp_sizes *sizes, ways_outcome *o);

/** Reads by one thread and at once, then as the input's head says, then while its calls fail, and aborts
 *  unless the outcomes agree.
 *  \param [out] o  the first outcome; the caller destroys it by ways_destroy() */
void files_check(const fuzz_input *in, const char *path, files_reader read, ways_outcome *o);

#endif
