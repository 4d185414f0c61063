/** Words that a user typed: how a message quotes them, and which known word may have been meant. No MPI. */
#ifndef SP_WORDS_H
#define SP_WORDS_H

#include <stddef.h>

/** Formats a text for a message: as it is, or, if it could not be seen or would break the line (it is empty, or has
 *  blanks, quotation marks, backslashes or control characters), in quotation marks with control characters as \xNN. A
 *  text that does not fit is cut and ends in "...". Local.
 *  \param [in] n  bytes of buf, at least 16
 *  \return buf */
const char *sp_shown(char *buf, size_t n, const char *text);

/** sp_shown() into a buffer that lives as long as the enclosing block. */
#define SHOWN(text) sp_shown((char[128]){0}, 128, text)

/** The known word nearest to what was typed, of those offered so far. Initialize as {.typed = text}. */
typedef struct sp_guess {
    const char *typed;
    const char *word; /**< NULL: none is near; points to what was offered */
    int distance;     /**< of word: number of typing errors, see sp_guess_offer() */
} sp_guess;

/** Keeps a word if it is nearer than those offered before, and near enough to have been meant. An extra, missing or
 *  wrong letter and two swapped letters count as one error each, and longer words may have more errors. Upper and
 *  lower case are the same, and so are dashes and underscores. Local.
 *  \param [in] word  must outlive the guess */
void sp_guess_offer(sp_guess *guess, const char *word);

/** Writes "; did you mean BEFOREwordAFTER?" into buf [n], or "" if no word is near. Local. \return buf */
const char *sp_guess_text(char *buf, size_t n, const sp_guess *guess, const char *before, const char *after);

/** sp_guess_text() into a buffer that lives as long as the enclosing block. */
#define MEANT(guess, before, after) sp_guess_text((char[128]){0}, 128, guess, before, after)

#endif
