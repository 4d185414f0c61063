/** Numbers: words between blanks, compared with the C library's strtod() and, if available, a second
 *  oracle. */
#include "fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/numparse.h"
#include "fuzz_oracle.h"

enum { MOST_BYTES = 1200 };

static const char *digits(const char *p)
{
    while (isdigit((unsigned char)*p)) p++;
    return p;
}

/** Returns whether p is an exponent without a letter, as Fortran writes it: a sign and exactly three digits,
 *  after a number with a decimal point. */
static int bare_exponent(int point, const char *p)
{
    return point && (*p == '-' || *p == '+') && digits(p + 1) == p + 4;
}

/** Returns the end of a real number, by the grammar in numparse.h; p if there is none. *bare: whether its
 *  exponent has no letter. */
static const char *real_end(const char *p, sp_number_kind *kind, int *bare)
{
    const char *const start = p, *q;
    *bare = 0;
    p += *p == '-' || *p == '+';
    *kind = SP_NUMBER_INFINITE;
    if (strncasecmp(p, "infinity", 8) == 0) return p + 8;
    if (strncasecmp(p, "inf", 3) == 0) return p + 3;
    *kind = SP_NUMBER_NAN;
    if (strncasecmp(p, "nan", 3) == 0) return p + 3;
    *kind = SP_NUMBER_NONE;
    q = digits(p);
    int64_t count = q - p;
    const int point = *q == '.';
    if (point) {
        const char *const fraction = q + 1;
        q = digits(fraction);
        count += q - fraction;
    }
    if (count == 0) return start;
    *kind = SP_NUMBER_FINITE;
    *bare = bare_exponent(point, q);
    if (*bare) return q + 4;
    if (!strchr("eEdD", *q) || !*q) return q;
    const char *const exponent = q + 1 + (q[1] == '-' || q[1] == '+'), *const end = digits(exponent);
    return end > exponent ? end : q;
}

static int same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

static void check_real(const char *p)
{
    char copy[MOST_BYTES + 2], *stop;
    const char *found;
    sp_number_kind kind;
    double value, second;
    int bare;
    const char *const end = real_end(p, &kind, &bare);
    const size_t n = (size_t)(end - p), mantissa = bare ? n - 4 : n;
    const sp_number_kind is = sp_parse_real(p, &found, &value);
    FUZZ_CHECK(found == end);
    memcpy(copy, p, mantissa);
    copy[mantissa] = 'e';
    memcpy(copy + mantissa + bare, end - (n - mantissa), n - mantissa);
    copy[n + (size_t)bare] = '\0';
    if (kind == SP_NUMBER_FINITE)
        for (char *c = copy; *c; c++)
            if (*c == 'd' || *c == 'D') *c = 'e';
    const double expected = strtod(copy, &stop);
    FUZZ_CHECK(!*stop);
    if (kind == SP_NUMBER_FINITE && isinf(expected)) kind = SP_NUMBER_OVERFLOW;
    if (is != kind || !same(value, expected))
        fuzz_fail("%s is %.17g (%d), expected %.17g (%d)", copy, value, (int)is, expected, (int)kind);
    if (is == SP_NUMBER_FINITE && fuzz_oracle(copy, &second)) FUZZ_CHECK(same(value, second));
}

/** Checks that the fast path reads a finite number like the careful one, or declines it. Before an exponent
 *  without a letter the fast path stops, at the sign of the exponent; the callers of the fast path then
 *  refuse a number that ends at a sign. */
static void check_fast(const char *p)
{
    double value, expected;
    const char *stop;
    const char *const end = sp_parse_real_fast(p, &value);
    if (!end) return;
    const sp_number_kind kind = sp_parse_real(p, &stop, &expected);
    if (stop == end + 4 && (*end == '-' || *end == '+')) return;
    FUZZ_CHECK(kind == SP_NUMBER_FINITE && end == stop && same(value, expected));
}

static void check_integers(const char *p)
{
    const char *stop;
    double value;
    int64_t whole;
    uint64_t index = 0;
    const char *const first = p + (*p == '-' || *p == '+'), *const end = digits(first);
    const int number = end > first;
    errno = 0;
    const long long expected = number ? strtoll(p, NULL, 10) : 0;
    const int found = sp_parse_int64(p, &stop, &whole);
    FUZZ_CHECK(found == (number ? errno == ERANGE ? -1 : 1 : 0) && stop == (number ? end : p));
    if (found == 1) FUZZ_CHECK(whole == expected);
    const sp_number_kind kind = sp_parse_integer(p, &stop, &value);
    if (kind == SP_NUMBER_FINITE) {
        FUZZ_CHECK(number && stop == end);
        if (found == 1) FUZZ_CHECK(value == (double)whole);
    }
    const char *const q = sp_parse_index(p, &index);
    if (q > p && first == p) FUZZ_CHECK(q == end && index == strtoull(p, NULL, 10));
}

static void check_word(const char *from, size_t n)
{
    char word[MOST_BYTES + 2 * SP_PARSE_PAD + 2];
    memcpy(word, from, n);
    memset(word + n, ' ', 2 * SP_PARSE_PAD);
    word[n + 2 * SP_PARSE_PAD] = '\0';
    check_real(word);
    check_fast(word);
    check_integers(word);
}

int fuzz_numbers(const uint8_t *data, size_t size)
{
    fuzz_input in;
    if (!fuzz_begin(&in, "numbers", data, size)) return 0;
    if (memchr(in.data, '\0', in.size)) return 0;
    for (const char *p = (const char *)in.data, *const end = p + in.size; p < end;) {
        const char *q = p;
        while (q < end && !isspace((unsigned char)*q)) q++;
        if (q > p && q - p <= MOST_BYTES) check_word(p, (size_t)(q - p));
        p = q + 1;
    }
    return fuzz_end();
}
