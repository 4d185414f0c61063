/** Converts decimal text to numbers: computes the table of powers of five, and implements the Eisel-Lemire
 *  algorithm and a parser for numbers of any spelling and length. */
#include "io/numparse.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fp_environment.h"

uint64_t sp_power_of_five[SP_POWER_MAX - SP_POWER_MIN + 1][2];

const double sp_exact_power_of_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
const uint64_t sp_small_power_of_ten[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

/* ---- table of the powers of five, by exact arithmetic ---- */

/* Big numbers of LIMBS 32-bit limbs hold 5^308, and 2^BIG_ONE / 5^342 with at least 128 significant bits:
 * 5^342 has 795 bits. For q from RECIPROCAL_EXACT to -1, 5^-q fits in 64 bits. */
enum { LIMBS = 32, BIG_ONE = 32 * LIMBS - 1, RECIPROCAL_EXACT = -27 };

/** Sets `out` to the leading 128 bits of the big number `limb`, whose least significant limb is limb[0]. */
static void leading_bits(const uint32_t limb[LIMBS], uint64_t out[2])
{
    int top = LIMBS - 1;
    while (limb[top] == 0) top--;
    const int lead = __builtin_clz(limb[top]);
    uint32_t word[4];
    for (int k = 0; k < 4; k++) {
        const uint32_t here = top - k >= 0 ? limb[top - k] : 0;
        const uint32_t next = top - k - 1 >= 0 ? limb[top - k - 1] : 0;
        word[k] = (uint32_t)((((uint64_t)here << 32) | next) << lead >> 32);
    }
    out[0] = ((uint64_t)word[0] << 32) | word[1];
    out[1] = ((uint64_t)word[2] << 32) | word[3];
}

static void fill_table(void)
{
    uint32_t big[LIMBS] = {1};
    for (int q = 0; q <= SP_POWER_MAX; q++) {
        leading_bits(big, sp_power_of_five[q - SP_POWER_MIN]);
        uint64_t carry = 0;
        for (int k = 0; k < LIMBS; k++) {
            carry += (uint64_t)big[k] * 5;
            big[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    /* repeated division by 5 rounds down correctly, because floor(floor(x / 5) / 5) = floor(x / 25) */
    memset(big, 0, sizeof big);
    big[BIG_ONE / 32] = UINT32_C(1) << (BIG_ONE % 32);
    for (int q = -1; q >= SP_POWER_MIN; q--) {
        uint64_t rest = 0;
        for (int k = LIMBS - 1; k >= 0; k--) {
            rest = (rest << 32) | big[k];
            big[k] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        uint64_t *const row = sp_power_of_five[q - SP_POWER_MIN];
        leading_bits(big, row);
        /* Mushtak and Lemire's proof (numparse.h) requires 5^q to be rounded up if 5^-q fits in 64 bits */
        if (q >= RECIPROCAL_EXACT && ++row[1] == 0) row[0]++;
    }
}

static locale_t c_locale;

static void init(void)
{
    fill_table();
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

void sp_numparse_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}

/* ---- Eisel-Lemire ---- */

enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023, EXPONENT_ALL_ONES = 0x7FF };

static double from_bits(uint64_t mantissa, int exponent)
{
    const uint64_t bits = (mantissa & ((UINT64_C(1) << MANTISSA_BITS) - 1)) | (uint64_t)exponent
                                                                                  << MANTISSA_BITS;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/** Returns the leading 128 bits of w * 5^power, exact enough for rounding; w must have its top bit set.
 *  Multiplies by the table's low 64 bits of 5^power only if the lowest 9 bits of the upper half of the first
 *  product are all ones, because only then can a carry change the rounding. */
static unsigned __int128 leading_product(uint64_t w, int power)
{
    const uint64_t *const five = sp_power_of_five[power - SP_POWER_MIN];
    unsigned __int128 product = (unsigned __int128)w * five[0];
    const uint64_t open = UINT64_MAX >> (MANTISSA_BITS + 3);
    if (((uint64_t)(product >> 64) & open) == open)
        product += (uint64_t)(((unsigned __int128)w * five[1]) >> 64);
    return product;
}

double sp_eisel_lemire(uint64_t mantissa, int64_t any_power)
{
    if (mantissa == 0 || any_power < SP_POWER_MIN) return 0.0;
    if (any_power > SP_POWER_MAX) return INFINITY;
    const int power = (int)any_power, lead = __builtin_clzll(mantissa);
    const unsigned __int128 product = leading_product(mantissa << lead, power);
    const uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    const int upper = (int)(high >> 63);
    const int shift = upper + 64 - MANTISSA_BITS - 3;
    uint64_t m = high >> shift; /* 54 bits: the significand and one bit for rounding */
    /* floor(power * log2(10)) + 63: 217706 / 2^16 is close enough to log2(10) for all powers in the table */
    const int binary = ((217706 * power) >> 16) + 63;
    int exponent = binary + upper - lead + EXPONENT_BIAS;
    if (exponent <= 0) { /* subnormal */
        if (1 - exponent >= 64) return 0.0;
        m >>= 1 - exponent;
        m = (m + (m & 1)) >> 1;
        return from_bits(m, m >> MANTISSA_BITS ? 1 : 0);
    }
    /* exact tie, which is possible only under these conditions: round to even, i.e. down if the last kept
     * bit is 0 */
    if (low <= 1 && power >= -4 && power <= 23 && (m & 3) == 1 && m << shift == high) m &= ~UINT64_C(1);
    m = (m + (m & 1)) >> 1;
    if (m >> (MANTISSA_BITS + 1)) {
        m >>= 1;
        exponent++;
    }
    return exponent >= EXPONENT_ALL_ONES ? INFINITY : from_bits(m, exponent);
}

/* ---- numbers of any spelling and length ---- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/** A decimal number in the text: its digits without leading zeros, possibly with a decimal point among
 *  them. */
typedef struct decimal {
    const char *first, *end; /* [first, end): the digits and the point, if any, between them */
    int64_t digits;          /* number of digits in [first, end) */
    int64_t power;           /* exponent of ten of the last digit */
} decimal;

enum { POWER_LIMIT = 1000000 }; /* numbers above 10^POWER_LIMIT overflow, below its reciprocal underflow */

/** Returns 1 if an exponent without its letter is at p: a sign and exactly three digits, as Fortran writes it
 *  where the letter has no room (0.25-102). */
static int without_letter(const char *p)
{
    return (*p == '-' || *p == '+') && is_digit(p[1]) && is_digit(p[2]) && is_digit(p[3]) && !is_digit(p[4]);
}

/** Scans an optional exponent, E or D [+-] digits, at p, and adds it to *power. A letter without digits is
 *  not part of the number. Returns the first character after the number.
 *  \param [in] point  1: the digits before p have a decimal point, so that the letter may be missing */
static const char *scan_exponent(const char *p, int point, int64_t *power)
{
    const char letter = (char)(*p | 0x20);
    const int bare = point && without_letter(p);
    if (letter != 'e' && letter != 'd' && !bare) return p;
    if (!bare) p++;
    const int minus = *p == '-';
    const char *q = p + (minus || *p == '+');
    if (!is_digit(*q)) return bare ? p : p - 1;
    int64_t exponent = 0;
    for (; is_digit(*q); q++)
        if (exponent < INT64_MAX / 32) exponent = exponent * 10 + (*q - '0');
    *power += minus ? -exponent : exponent;
    return q;
}

/** Scans the digits at p, with at most one decimal point if allow_point is 1, into *d. Returns the first
 *  character after them; p if there is no digit. */
static const char *scan_decimal(const char *p, int allow_point, decimal *d)
{
    const char *const start = p;
    const char *point = NULL;
    int64_t all = 0;
    d->first = NULL;
    d->digits = 0;
    for (;; p++) {
        if (*p == '.' && allow_point && !point) {
            point = p;
            continue;
        }
        if (!is_digit(*p)) break;
        all++;
        if (!d->first && *p != '0') d->first = p;
        d->digits += d->first != NULL;
    }
    if (all == 0) return start;
    d->end = p;
    if (!d->first) d->first = p;
    d->power = point ? -(p - point - 1) : 0;
    return p;
}

/** Converts *d by strtod_l() on a copy that keeps only the first KEPT digits. If a dropped digit is not 0, a
 *  digit 1 is appended; then the result is rounded correctly, because 768 digits and this one suffice. */
static double by_strtod(const decimal *d)
{
    enum { KEPT = 780 };
    char text[KEPT + 48];
    SP_DEFAULT_FP;
    int n = 0, rest = 0;
    int64_t dropped = 0;
    for (const char *p = d->first; p < d->end; p++) {
        if (*p == '.') continue;
        if (n < KEPT) {
            text[n++] = *p;
        } else {
            dropped++;
            rest |= *p != '0';
        }
    }
    int64_t power = d->power + dropped;
    if (rest) {
        text[n++] = '1';
        power--;
    }
    snprintf(text + n, sizeof text - (size_t)n, "e%lld", (long long)power);
    return strtod_l(text, NULL, c_locale);
}

static double decimal_value(const decimal *d)
{
    if (d->digits == 0) return 0.0;
    if (d->power + d->digits > POWER_LIMIT) return INFINITY;
    if (d->power + d->digits < -POWER_LIMIT) return 0.0;
    uint64_t mantissa = 0;
    int taken = 0;
    for (const char *p = d->first; p < d->end && taken < SP_MANTISSA_DIGITS; p++) {
        if (*p == '.') continue;
        mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        taken++;
    }
    const int64_t power = d->power + (d->digits - taken);
    const double low = sp_eisel_lemire(mantissa, power);
    if (taken == d->digits) return low;
    /* *d lies between mantissa and mantissa + 1 (times 10^power); usually both round to the same double */
    const double high = sp_eisel_lemire(mantissa + 1, power);
    return low == high ? low : by_strtod(d);
}

static int same_letters(const char *p, const char *word)
{
    for (; *word; p++, word++)
        if ((*p | 0x20) != *word) return 0;
    return 1;
}

static sp_number_kind parse_word(const char *p, const char **stop, double *value)
{
    if (same_letters(p, "inf")) {
        *stop = p + (same_letters(p, "infinity") ? 8 : 3);
        *value = INFINITY;
        return SP_NUMBER_INFINITE;
    }
    if (same_letters(p, "nan")) {
        *stop = p + 3;
        *value = NAN;
        return SP_NUMBER_NAN;
    }
    return SP_NUMBER_NONE;
}

static sp_number_kind parse(const char *p, const char **stop, double *value, int real)
{
    const int negative = *p == '-';
    const char *const digits = p + (negative || *p == '+');
    decimal d;
    double magnitude = 0.0;
    *stop = p;
    *value = 0.0;
    sp_number_kind kind = parse_word(digits, stop, &magnitude);
    if (kind == SP_NUMBER_NONE) {
        const char *end = scan_decimal(digits, real, &d);
        if (end == digits) return SP_NUMBER_NONE;
        const int point = memchr(digits, '.', (size_t)(end - digits)) != NULL;
        if (real) end = scan_exponent(end, point, &d.power);
        *stop = end;
        magnitude = decimal_value(&d);
        kind = isinf(magnitude) ? SP_NUMBER_OVERFLOW : SP_NUMBER_FINITE;
    }
    *value = negative ? -magnitude : magnitude;
    return kind;
}

sp_number_kind sp_parse_real(const char *p, const char **stop, double *value)
{
    return parse(p, stop, value, 1);
}

sp_number_kind sp_parse_integer(const char *p, const char **stop, double *value)
{
    return parse(p, stop, value, 0);
}

int sp_parse_int64(const char *p, const char **stop, int64_t *value)
{
    const int negative = *p == '-';
    const char *q = p + (negative || *p == '+');
    int fits = 1;
    int64_t v = 0;
    *stop = p;
    *value = 0;
    if (!is_digit(*q)) return 0;
    for (; is_digit(*q); q++) {
        const int digit = *q - '0';
        /* v is the negated number, because INT64_MIN has no positive counterpart */
        fits = fits && !__builtin_mul_overflow(v, 10, &v) && !__builtin_sub_overflow(v, digit, &v);
    }
    *stop = q;
    if (!fits || (!negative && v == INT64_MIN)) return -1;
    *value = negative ? v : -v;
    return 1;
}
