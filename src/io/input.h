/** Reads the text of a plain or compressed file as a stream of bytes. */
#ifndef SP_INPUT_H
#define SP_INPUT_H

#include "base/status.h"
#include "codec/codec.h"

typedef struct sp_input sp_input;

/** Opens a file for reading, without waiting for a writer if it is a pipe.
 *  \return the descriptor, or -errno on failure */
int sp_input_descriptor(const char *path);

/** Opens a regular file that contains text, plain or compressed in a way that this build can read (codec.h).
 *  If the file is a tar archive (codec/tar.h), the text is its matrix. The first bytes of the file, not its
 *  name, decide whether it is compressed, an archive, or text.
 *  \param [in]  path    must remain valid until sp_input_close()
 *  \param [out] source  closed by sp_input_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_UNSUPPORTED (the file is not text; the message says what it is
 *          and what to do), SPMM_ERR_MEMORY */
spmm_status sp_input_open(const char *path, sp_input **source);

/** Like sp_input_open(), for a file that is already open.
 *  \param [in] fd  what sp_input_descriptor(path) returned; the source owns it, also on failure */
spmm_status sp_input_of(const char *path, int fd, sp_input **source);

/** Reads up to `bytes` bytes of text into `buffer`. If a compressed file is damaged, the text that the codec
 *  can recover before the damage is returned first, so that errors in that text are found before the damage
 *  is reported. How much text that is does not depend on the sizes of the reads.
 *  \param [out] got  number of bytes read; on success, 0 only at the end of the text
 *  \return SPMM_OK; SPMM_ERR_OPEN if the file cannot be read or decompressed, SPMM_ERR_MEMORY if
 *          decompressing it takes too much memory. After an error, every later call returns the same status,
 *          and sp_input_error() returns the reason */
spmm_status sp_input_read(sp_input *source, char *buffer, int64_t bytes, int64_t *got);

/** Returns the message of the last failed sp_input_read(), "found ..., expected ..."; owned by the source. */
const char *sp_input_error(const sp_input *source);

/** Returns an upper bound on the number of bytes of text still to be read. It follows from the length of the
 *  file alone, because no codec compresses by more than a known factor (sp_codec.ratio). */
int64_t sp_input_bytes_left_at_most(const sp_input *source);

/** Returns 1 if the text is repeatable, i.e. can be read again from any byte; else 0. The text of a plain
 *  file is repeatable; a compressed file, or an archive, can only be read again from the beginning. */
int sp_input_repeatable(const sp_input *source);

/** Returns the codec of a compressed file; NULL if the file is plain. */
const sp_codec *sp_input_codec(const sp_input *source);

/** Opens a second source for the same open file (not for the path, which may name another file by now). The
 *  second source starts at byte 0 and has no limit (sp_input_limit()). The text must be repeatable:
 *  sp_input_repeatable().
 *  \param [out] other  closed by sp_input_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_input_dup(const sp_input *source, sp_input **other);

/** Moves the source to byte `position` of the text, where the next sp_input_read() starts; earlier read
 *  errors are cleared. If the text is not repeatable (sp_input_repeatable()), `position` must be 0. */
void sp_input_go_back(sp_input *source, int64_t position);

/** Makes the text end before byte `limit`, or at the end of the file if `limit` is INT64_MAX. The text must
 *  be repeatable: sp_input_repeatable(). */
void sp_input_limit(sp_input *source, int64_t limit);

/** Returns the fraction of the file that has been read, 0 to 1; for a compressed file, the fraction of its
 *  compressed bytes. */
double sp_input_fraction(const sp_input *source);

/** Closes the file and frees the source; accepts NULL. */
void sp_input_close(sp_input *source);

#endif
