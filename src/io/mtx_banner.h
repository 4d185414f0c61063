/** The words of a Matrix Market banner and the numbers of a size line, for the reader of libspmm
 *  (io/mtx_header.h) and for libmm (include/mmio.h), which report errors in different ways. */
#ifndef SP_MTX_BANNER_H
#define SP_MTX_BANNER_H

#include "io/text_chunks.h"

/** The words of a banner after %%MatrixMarket, in this order. */
enum { SP_BANNER_OBJECT, SP_BANNER_FORMAT, SP_BANNER_FIELD, SP_BANNER_SYMMETRY, SP_BANNER_WORDS };

/** The word [begin, end) of a line; empty at the end of the line. */
typedef struct sp_word {
    const char *begin, *end;
} sp_word;

typedef enum sp_size_kind {
    SP_SIZE_FOUND,
    SP_SIZE_NONE,      /**< the line has no further word */
    SP_SIZE_NO_NUMBER, /**< the word is not an integer */
    SP_SIZE_NEGATIVE,
    SP_SIZE_OVERFLOW, /**< beyond int64_t */
    SP_SIZE_TOO_LARGE /**< beyond the limit */
} sp_size_kind;

/** Returns the end of the word at p: the first blank or newline at or after p. */
static inline const char *sp_word_end(const char *p)
{
    while (!sp_is_blank(*p) && *p != '\n') p++;
    return p;
}

/** Returns the first word at or after *p, and moves *p to its end. A newline must end the line. */
sp_word sp_next_word(const char **p);

/** Returns 1 if the word is %%MatrixMarket, in any case, else 0. */
int sp_is_banner_mark(sp_word word);

/** Returns the letter by which a typecode of include/mmio.h stands for a word of the banner, in any case; 0
 *  if the word is unknown. The object "vector" is 'V'. The fields "double" and "unsigned-integer", which some
 *  programs write although they are not in the standard, are 'R' and 'I'. */
char sp_banner_letter(int which, sp_word word);

/** Returns the standard's word for a letter of a typecode; NULL if there is none. */
const char *sp_banner_text(int which, char letter);

/** Parses a number of a size line. SP_PARSE_PAD bytes behind the line must be readable.
 *  \param [in]  limit  largest number that is accepted
 *  \param [out] value  the number; undefined unless SP_SIZE_FOUND is returned */
sp_size_kind sp_parse_size(sp_word word, int64_t limit, int64_t *value);

#endif
