/** Words that a user typed: how a message shows them, and which known word may have been meant. No MPI. */
#ifndef SP_WORDS_H
#define SP_WORDS_H

#include <stddef.h>

/** The text as a message shows it: as it is, or, where that would not be seen or would break the line (it is empty, or has
 *  blanks, quotation marks or control characters), in quotation marks, with control characters as \xNN. What does not fit
 *  ends in "...".
 *  \param [in] n  bytes of buf, at least 16 \return buf */
const char *sp_shown(char *buf, size_t n, const char *text);

/** The same in a buffer that lives as long as the block that the call stands in. */
#define SHOWN(text) sp_shown((char[128]){0}, 128, text)

/** The known word that is nearest to what was typed, so far. Starts as {.typed = text}. */
typedef struct sp_guess {
    const char *typed;
    const char *word; /**< NULL: none is near; points to what was offered */
    int distance;     /**< of word: typing errors, see sp_guess_offer() */
} sp_guess;

/** Keeps the word where it is nearer than what was offered before, and near enough to have been meant: a letter too many,
 *  too few, wrong, or two swapped count as one error each, and longer words may have more of them. Upper and lower case,
 *  and dashes and underscores, are the same. */
void sp_guess_offer(sp_guess *guess, const char *word);

/** "; did you mean BEFOREwordAFTER?", or "" where no word is near. \return buf */
const char *sp_guess_text(char *buf, size_t n, const sp_guess *guess, const char *before, const char *after);

/** The same in a buffer that lives as long as the block that the call stands in. */
#define MEANT(guess, before, after) sp_guess_text((char[128]){0}, 128, guess, before, after)

#endif
