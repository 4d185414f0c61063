/** Quotes words for messages and guesses which known word was meant, by edit distance. */
#include "base/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 40 }; /* maximum length of the words that are compared */

int sp_control(const char *text)
{
    const unsigned char *const p = (const unsigned char *)text;
    if (p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0) return 2;
    return p[0] != '\0' && (p[0] < ' ' || p[0] == 0x7f);
}

/** Returns 1 if a message can show the text without quotation marks. */
static int plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if (sp_control(p) || *p == ' ' || *p == '"' || *p == '\\') return 0;
    return *text != '\0';
}

const char *sp_shown(char *buf, size_t n, const char *text)
{
    /* the rest is reserved for the longest possible ending */
    const size_t room = n - sizeof "\\x00\\x00\"...";
    size_t used = 0;
    if (plain(text)) {
        if (snprintf(buf, n, "%s", text) >= (int)n) memcpy(buf + n - 4, "...", 4);
        return buf;
    }
    buf[used++] = '"';
    for (; *text && used < room; text++) {
        const int bytes = sp_control(text);
        for (int i = 0; i < bytes; i++)
            used += (size_t)snprintf(buf + used, n - used, "\\x%02X", (unsigned char)text[i]);
        if (bytes == 2) text++;
        if (bytes > 0) continue;
        if (*text == '"' || *text == '\\') buf[used++] = '\\';
        buf[used++] = *text;
    }
    snprintf(buf + used, n - used, "\"%s", *text ? "..." : "");
    return buf;
}

void sp_text_add(char *text, size_t n, size_t *used, const char *format, ...)
{
    va_list arguments;
    if (*used >= n) return;
    va_start(arguments, format);
    *used += (size_t)vsnprintf(text + *used, n - *used, format, arguments);
    va_end(arguments);
}

/** Maps characters that the comparison does not distinguish (upper and lower case, '_' and '-') to one of
 *  them. */
static int folded(char c) { return c == '_' ? '-' : tolower((unsigned char)c); }

static int least(int a, int b) { return a < b ? a : b; }

/** Returns the restricted Damerau-Levenshtein distance of a and b (optimal string alignment): the smallest
 *  number of edits that turn a into b, where an edit deletes, inserts or replaces a letter or swaps it with
 *  the next one. Both words have at most LONGEST letters. */
static int distance(const char *a, const char *b)
{
    int row[3][LONGEST + 1]; /* rows i, i - 1 and i - 2 of the table of distances; row i is row[i % 3] */
    const int n = (int)strlen(a), m = (int)strlen(b);
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *const now = row[i % 3], *const last = row[(i + 2) % 3], *const before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            const int same = folded(a[i - 1]) == folded(b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

void sp_guess_offer(sp_guess *guess, const char *word)
{
    const size_t n = strlen(guess->typed);
    const int most = n < 2 ? 0 : n < 6 ? 1 : n < 10 ? 2 : 3;
    if (n == 0 || n > LONGEST || strlen(word) > LONGEST) return;
    /* the first letter of a short word is rarely mistyped: a user who types "gpu" does not mean "cpu" */
    if (n < 4 && folded(guess->typed[0]) != folded(word[0])) return;
    const int found = distance(guess->typed, word);
    if (found > most || found >= (int)strlen(word) || (guess->word && found >= guess->distance)) return;
    guess->word = word;
    guess->distance = found;
}

void sp_guess_offer_alias(sp_guess *guess, const sp_alias *alias)
{
    const char *const before = guess->word;
    sp_guess_offer(guess, alias->theirs);
    if (guess->word != before) guess->word = alias->ours;
}

const char *sp_guess_text(char *buf, size_t n, const sp_guess *guess, const char *before, const char *after)
{
    buf[0] = '\0';
    if (guess->word) snprintf(buf, n, "; did you mean %s%s%s?", before, guess->word, after);
    return buf;
}
