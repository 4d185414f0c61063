/** Recognizes, by their first bytes, files that are not text. */
#ifndef SP_INPUT_KIND_H
#define SP_INPUT_KIND_H

#include "codec/codec.h"

enum { SP_KIND_BYTES = 512 }; /**< number of bytes at the start of a file that sp_foreign_kind() needs */

/** Compares the first bytes of a text, plain or decompressed, with those of known file types that are not
 *  text. If one matches, returns a message that says what the file is and what to do, for example: "found
 *  bzip2 data, expected text, plain or compressed by gzip: unpack it first (bzip2 -dk FILE)".
 *  \param [in] head   the first bytes of the text
 *  \param [in] n      number of bytes in head: SP_KIND_BYTES, or the length of the text if that is less
 *  \param [in] outer  the codec of the file; NULL: the file is plain
 *  \return the message, or NULL if the bytes match no known type; the message is in static storage of the
 *          calling thread and valid until the thread's next call */
const char *sp_foreign_kind(const unsigned char *head, int64_t n, const sp_codec *outer);

/** Guesses the format of a text that does not begin with the banner of Matrix Market, for the end of an error
 *  message. Local.
 *  \param [in] p, end  the first nonblank line of the text, [p, end)
 *  \return " (this looks like ..: ..)", or "" if the format is unknown; in static storage of the calling
 *          thread and valid until the thread's next call */
const char *sp_text_kind(const char *p, const char *end);

#endif
