/** Recognizes files that are not text by their first bytes. */
#ifndef SP_INPUT_KIND_H
#define SP_INPUT_KIND_H

#include <stdint.h>

enum { SP_KIND_BYTES = 512 }; /**< bytes that suffice to recognize any of them */

/** Says what a file that begins with `head` is, if it is known not to be text: "found xz data, expected text,
 *  plain or gzipped: unpack it first (xz -dk FILE)".
 *  \param [in] n  bytes in head, SP_KIND_BYTES, or fewer if the file is shorter
 *  \return the message, in static storage of the calling thread until its next call; NULL: nothing recognized */
const char *sp_foreign_kind(const unsigned char *head, int64_t n);

#endif
