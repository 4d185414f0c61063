/** Files that are no text, told by their first bytes. */
#ifndef SP_INPUT_KIND_H
#define SP_INPUT_KIND_H

#include <stdint.h>

enum { SP_KIND_BYTES = 512 }; /**< that are enough to tell */

/** What a file is that begins like that, where it is known to be no text: "found xz data, expected text, plain or gzipped: unpack it
 *  first (xz -dk FILE)".
 *  \param [in] n  bytes there are, up to SP_KIND_BYTES; fewer where the file is short
 *  \return NULL: nothing that is known. Static storage, for the calling thread until its next call */
const char *sp_foreign_kind(const unsigned char *head, int64_t n);

#endif
