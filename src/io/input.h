/** The bytes of a plain or gzipped file, in order, as text. */
#ifndef SP_INPUT_H
#define SP_INPUT_H

#include "base/status.h"

typedef struct sp_input sp_input;

/** Opens a regular file; gzip is known by its first two bytes, not by its name, and what is no text by its first ones, too.
 *  \param [in]  path    must outlive the source
 *  \param [out] source  closed by sp_input_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_UNSUPPORTED (no text; says what, and what to do), SPMM_ERR_MEMORY */
spmm_status sp_input_open(const char *path, sp_input **source);

/** Reads the next bytes of text. Of a damaged gzip file all that can be had is returned first, so
 *  that what is found in it has its place before the damage.
 *  \param [out] got  0 at the end of the text only
 *  \return SPMM_OK; SPMM_ERR_OPEN when the disk or the gzip data fail: then, and in every later call,
 *          sp_input_error() says what */
spmm_status sp_input_read(sp_input *source, char *buffer, int64_t bytes, int64_t *got);

/** "found ..., expected ..." of the last failure. */
const char *sp_input_error(const sp_input *source);

/** Text still to come is at most this many bytes, judged by the file's length alone: deflate packs
 *  no more than 1032 bytes into one. */
int64_t sp_input_bytes_left_at_most(const sp_input *source);

/** Whether the text can be read again: where it is not inflated. */
int sp_input_repeatable(const sp_input *source);

/** Another source of the same open file, whatever its name stands for by now; of such a text. */
spmm_status sp_input_dup(const sp_input *source, sp_input **other);

/** Goes back to a byte of the text of such a file. */
void sp_input_go_back(sp_input *source, int64_t position);

/** What lies behind that byte is not of such a text; INT64_MAX: all is. */
void sp_input_limit(sp_input *source, int64_t limit);

/** Share of the file that was read, 0 to 1. */
double sp_input_fraction(const sp_input *source);

/** Accepts NULL. */
void sp_input_close(sp_input *source);

#endif
