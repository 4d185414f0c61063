/** Parses words of Matrix Market banners and size lines. */
#include "io/mtx_banner.h"

#include <strings.h>

#include "io/numparse.h"

/* if two words have the same letter, the first one is the standard's */
static const struct {
    char letter;
    const char *text;
} words[SP_BANNER_WORDS][7] = {
    {{'M', "matrix"}, {'V', "vector"}},
    {{'C', "coordinate"}, {'A', "array"}},
    {{'R', "real"},
     {'C', "complex"},
     {'P', "pattern"},
     {'I', "integer"},
     {'R', "double"},
     {'R', "float"},
     {'I', "unsigned-integer"}},
    {{'G', "general"}, {'S', "symmetric"}, {'H', "hermitian"}, {'K', "skew-symmetric"}},
};
enum { MOST_WORDS = sizeof *words / sizeof **words };

sp_word sp_next_word(const char **p)
{
    const char *const begin = sp_skip_blanks(*p);
    *p = sp_word_end(begin);
    return (sp_word){begin, *p};
}

static int is_word(sp_word word, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(word.end - word.begin) == n && strncasecmp(word.begin, text, n) == 0;
}

int sp_is_banner_mark(sp_word word) { return is_word(word, "%%MatrixMarket"); }

char sp_banner_letter(int which, sp_word word)
{
    for (int n = 0; n < MOST_WORDS && words[which][n].text; n++)
        if (is_word(word, words[which][n].text)) return words[which][n].letter;
    return '\0';
}

const char *sp_banner_text(int which, char letter)
{
    for (int n = 0; n < MOST_WORDS && words[which][n].text; n++)
        if (words[which][n].letter == letter) return words[which][n].text;
    return NULL;
}

sp_size_kind sp_parse_size(sp_word word, int64_t limit, int64_t *value)
{
    const char *stop;
    if (word.begin == word.end) return SP_SIZE_NONE;
    const int found = sp_parse_int64(word.begin, &stop, value);
    if (found == 0 || stop != word.end) return SP_SIZE_NO_NUMBER;
    if (*word.begin == '-' && (found < 0 || *value < 0)) return SP_SIZE_NEGATIVE;
    if (found < 0) return SP_SIZE_OVERFLOW;
    return *value > limit ? SP_SIZE_TOO_LARGE : SP_SIZE_FOUND;
}
