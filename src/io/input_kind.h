/** Recognizes, by their first bytes, files that are not text. */
#ifndef SP_INPUT_KIND_H
#define SP_INPUT_KIND_H

#include <stdint.h>

enum { SP_KIND_BYTES = 512 }; /**< number of bytes at the start of a file that sp_foreign_kind() needs */

/** Compares the first bytes of a file with those of known file types that are not text. If one matches,
 *  returns a message that says what the file is and what to do, for example:
 *  "found xz data, expected text, plain or gzipped: unpack it first (xz -dk FILE)".
 *  \param [in] head  the first bytes of the file
 *  \param [in] n     number of bytes in head: SP_KIND_BYTES, or the length of the file if that is less
 *  \return the message, or NULL if the bytes match no known type; the message is in static storage of the
 *          calling thread and valid until the thread's next call */
const char *sp_foreign_kind(const unsigned char *head, int64_t n);

#endif
