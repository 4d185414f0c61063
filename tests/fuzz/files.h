/** Matrix files of any format, through the table of formats: the same outcome for any number of threads and
 *  any size of pieces; if calls fail, that outcome or a refusal. */
#ifndef SP_FUZZ_FILES_H
#define SP_FUZZ_FILES_H

#include "ways.h"

/** Reads a file, and sets *o to the outcome. */
typedef void (*files_reader)(const char *path, const sp_read_options *options, ways_outcome *o);

/** Reads the matrix of a file into *o. Aborts if the matrix is invalid or does not have the sizes in the
 *  header, or if a refusal leaves arrays allocated.
 *  \param [in]  format  name of the only format that is read: a file of another format is accepted, but not
 *                       read; NULL: any format
 *  \param [in]  most    largest number of rows and of columns that is read; more are refused
 *  \param [out] sizes   sizes in the header; zeros if the file could not be opened */
void files_read(const char *path, const sp_read_options *options, const char *format, int64_t most,
                sp_sizes *sizes, ways_outcome *o);

/** Reads with one thread and in one piece, then as set by the input's head, then with its fault. Aborts
 *  unless the outcomes agree.
 *  \param [out] o  the first outcome; the caller destroys it by ways_destroy() */
void files_check(const fuzz_input *in, const char *path, files_reader read, ways_outcome *o);

#endif
