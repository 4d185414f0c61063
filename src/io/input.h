/** Delivers the text of a plain or gzipped file as a stream of bytes. */
#ifndef SP_INPUT_H
#define SP_INPUT_H

#include "base/status.h"

typedef struct sp_input sp_input;

/** Opens a regular file. Its first bytes, not its name, tell whether it is gzipped and whether it is something
 *  other than text.
 *  \param [in]  path    must outlive the source
 *  \param [out] source  closed by sp_input_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_UNSUPPORTED (not text; says what it is and what to do),
 *          SPMM_ERR_MEMORY */
spmm_status sp_input_open(const char *path, sp_input **source);

/** Reads the next bytes of text. Of a damaged gzip file, everything that can be inflated is returned first, so that
 *  errors in that text are found before the damage is reported.
 *  \param [out] got  number of bytes read; on success 0 only at the end of the text
 *  \return SPMM_OK; SPMM_ERR_OPEN if the disk or the gzip data fail: this and every later call then return it, and
 *          sp_input_error() says why */
spmm_status sp_input_read(sp_input *source, char *buffer, int64_t bytes, int64_t *got);

/** Returns "found ..., expected ..." of the last failure; owned by the source. */
const char *sp_input_error(const sp_input *source);

/** Returns an upper bound on the bytes of text still to come, from the file's length alone: deflate compresses by a
 *  factor of at most 1032. */
int64_t sp_input_bytes_left_at_most(const sp_input *source);

/** Returns whether the text can be read again from any byte: true unless it is gzipped. */
int sp_input_repeatable(const sp_input *source);

/** Opens another source on the same open file (not on whatever its name refers to by now), which starts at byte 0 and
 *  has no limit. The text must be repeatable.
 *  \param [out] other  closed by sp_input_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_input_dup(const sp_input *source, sp_input **other);

/** Continues at byte `position` of the text, which must be repeatable; forgets the end of the text and errors. */
void sp_input_go_back(sp_input *source, int64_t position);

/** Ends the text, which must be repeatable, before byte `limit`; INT64_MAX: at the end of the file. */
void sp_input_limit(sp_input *source, int64_t limit);

/** Returns the fraction of the file (compressed, if it is gzipped) that has been read, 0 to 1. */
double sp_input_fraction(const sp_input *source);

/** Closes the file and frees the source; accepts NULL. */
void sp_input_close(sp_input *source);

#endif
