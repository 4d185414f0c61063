/** Quotes words that a user typed, for messages, and compares names. Without MPI. */
#ifndef SP_WORDS_H
#define SP_WORDS_H

#include <stddef.h>

/** Returns the number of bytes of the control character at the beginning of the text: 1 for ASCII, 2 for
 *  U+0080 to U+009F in UTF-8, which terminals also interpret; 0: the text begins with another character.
 *  Local. */
int sp_control(const char *text);

/** Formats a text for a message: unchanged if it is plain, else in quotation marks. A text is not plain if it
 *  is empty or contains blanks, quotation marks, backslashes or control characters. In quotation marks, each
 *  byte of a control character becomes \xNN, and a backslash precedes each quotation mark and backslash. A
 *  text that does not fit is truncated and ends in "...". Local.
 *  \param [out] buf  receives the formatted text
 *  \param [in]  n    size of buf in bytes, at least 16
 *  \return buf */
const char *sp_shown(char *buf, size_t n, const char *text);

/** Returns the text as formatted by sp_shown(), in a buffer that exists until the end of the enclosing
 *  block. */
#define SHOWN(text) sp_shown((char[128]){0}, 128, text)

enum { SP_SHOWN_BYTES = 4 * 4096 + 8 }; /**< space for any path, even if each byte becomes \xNN */

/** Returns the text as SHOWN() does, but not truncated, for lines of the report. */
#define SHOWN_WHOLE(text) sp_shown((char[SP_SHOWN_BYTES]){0}, SP_SHOWN_BYTES, text)

/** Appends formatted text, like printf(); text that does not fit is truncated. Local.
 *  \param [in,out] text  [n]
 *  \param [in,out] used  length of the text, or more if it was truncated */
__attribute__((format(printf, 4, 5))) void sp_text_add(char *text, size_t n, size_t *used, const char *format,
                                                       ...);

/** Returns 1 if the names differ at most in the case of letters, in dashes and underscores. Local. */
int sp_same_name(const char *a, const char *b);

/** A name that other documents use, and its name here. */
typedef struct sp_alias {
    const char *theirs, *ours;
} sp_alias;

#endif
