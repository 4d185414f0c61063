/** Converts decimal text to numbers: 8 digits at a time, doubles correctly rounded, independent of the
 *  locale.
 *
 *  The inline functions are the hot path of the file readers: they parse the common spellings and reject all
 *  others, which the reader then passes to sp_parse_real(). Any text passed to a function of this header must
 *  be followed by SP_PARSE_PAD readable bytes. A number ends at the first byte that cannot continue it, so
 *  the last byte of a text must not be a digit.
 *
 *  Doubles are converted by Clinger's exact case (W. Clinger, "How to read floating point numbers
 *  accurately", PLDI 1990), else by the Eisel-Lemire product with 128-bit powers of five (D. Lemire, "Number
 *  parsing at a gigabyte per second", Software: Practice and Experience 51, 2021; N. Mushtak and D. Lemire,
 *  "Fast number parsing without fallback", same journal 53, 2023). */
#ifndef SP_NUMPARSE_H
#define SP_NUMPARSE_H

#include <stdint.h>
#include <string.h>

enum {
    SP_PARSE_PAD = 8,
    SP_POWER_MIN = -342,    /**< with a smaller power of ten, any 19-digit mantissa underflows to 0 */
    SP_POWER_MAX = 308,     /**< with a larger power of ten, any nonzero mantissa overflows */
    SP_MANTISSA_DIGITS = 19 /**< every number of this many digits fits in 64 bits */
};

/** The leading 128 bits of 5^q, shifted so that the most significant bit is set: row q - SP_POWER_MIN holds
 *  {high, low}. They are truncated, or rounded up if q is -27 to -1. Constant after sp_numparse_init(). */
extern uint64_t sp_power_of_five[SP_POWER_MAX - SP_POWER_MIN + 1][2];
/** 10^0 to 10^22, the powers of ten that a double holds exactly. */
extern const double sp_exact_power_of_ten[23];
/** The integers 10^0 to 10^7. */
extern const uint64_t sp_small_power_of_ten[8];

/** Fills sp_power_of_five. Must be called before any function below that computes a double; cheap when called
 *  again, and safe to call from several threads at once. */
void sp_numparse_init(void);

/** Returns mantissa * 10^power, rounded to nearest, ties to even; infinity on overflow. Computes with
 *  integers only, so that neither rounding mode nor traps of the caller matter. */
double sp_eisel_lemire(uint64_t mantissa, int64_t power);

typedef enum sp_number_kind {
    SP_NUMBER_NONE, /**< the text is not a number */
    SP_NUMBER_FINITE,
    SP_NUMBER_OVERFLOW, /**< finite as written, but beyond the range of a double: the value is +-infinity */
    SP_NUMBER_INFINITE, /**< "inf" or "infinity" */
    SP_NUMBER_NAN
} sp_number_kind;

/** Parses a real number in any spelling: [+-] digits [. digits] [E|D [+-] digits], .5, 5., inf, infinity,
 *  nan; letters in upper or lower case; any number of digits. After a decimal point, the letter may be
 *  missing before a sign and exactly three digits, as Fortran writes them (0.25-102).
 *  \param [in]  p      the text; blanks are not skipped
 *  \param [out] stop   the first byte after the number; p if there is no number
 *  \param [out] value  the number, correctly rounded in any rounding mode; 0 if there is no number */
sp_number_kind sp_parse_real(const char *p, const char **stop, double *value);

/** Parses an integer of any size, [+-] digits, and rounds it to the nearest double; also accepts inf and nan.
 *  Parameters and return value are those of sp_parse_real(). */
sp_number_kind sp_parse_integer(const char *p, const char **stop, double *value);

/** Parses [+-] digits as an int64_t; sets *stop to the first byte after the number, or to p if there is no
 *  number.
 *  \return 1; 0 if there is no number; -1 if the number is beyond the range of int64_t */
int sp_parse_int64(const char *p, const char **stop, int64_t *value);

/** Loads 8 characters into a word, the first character into the low byte. */
static inline uint64_t sp_load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/** Counts the leading digits, 0 to 8, of the 8 characters in *word (the first character in the low byte). On
 *  return, the bytes of these digits hold their values, 0 to 9. */
static inline int sp_count_digits8(uint64_t *word)
{
    const uint64_t x = *word ^ 0x3030303030303030u;
    /* adding 0x76 sets the top bit of a byte above 9; a carry affects only the bytes of later characters */
    const uint64_t other = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
    *word = x;
    return other ? __builtin_ctzll(other) >> 3 : 8;
}

/** Returns the number whose 8 decimal digits are the bytes of x, the first digit in the low byte: joins the
 *  digits into 2-digit numbers, these into 4-digit numbers, and these into the result. */
static inline uint64_t sp_join_digits8(uint64_t x)
{
    const uint64_t pair_mask = 0x000000FF000000FFu;
    x = x * 10 + (x >> 8);
    return ((x & pair_mask) * 0x000F424000000064u + ((x >> 16) & pair_mask) * 0x0000271000000001u) >> 32;
}

/** Returns the number whose n < 8 digits are the first n bytes of x: shifts the bytes up, so that the missing
 *  leading digits are 0. */
static inline uint64_t sp_join_digits(uint64_t x, int n) { return sp_join_digits8((x << 8) << (56 - 8 * n)); }

/** Appends the digits at p to the decimal number *number and returns the end of the digits. If *number gets
 *  more than 19 digits, it may wrap around modulo 2^64. */
static inline const char *sp_parse_digits(const char *p, uint64_t *number)
{
    for (;;) {
        uint64_t word = sp_load8(p);
        const int n = sp_count_digits8(&word);
        if (n < 8) {
            *number = *number * sp_small_power_of_ten[n] + sp_join_digits(word, n);
            return p + n;
        }
        *number = *number * 100000000u + sp_join_digits8(word);
        p += 8;
    }
}

/** Parses an unsigned integer of at most 15 digits into *value. Returns its end, or p if there is no such
 *  integer. */
static inline const char *sp_parse_index(const char *p, uint64_t *value)
{
    uint64_t word = sp_load8(p);
    int n = sp_count_digits8(&word);
    if (__builtin_expect(n < 8, 1)) {
        *value = sp_join_digits(word, n);
        return p + n;
    }
    const uint64_t high = sp_join_digits8(word);
    word = sp_load8(p + 8);
    n = sp_count_digits8(&word);
    if (n == 8) return p;
    *value = high * sp_small_power_of_ten[n] + sp_join_digits(word, n);
    return p + 8 + n;
}

/** Returns what sp_eisel_lemire() returns, mostly faster; requires the default rounding mode. */
static inline double sp_scale(uint64_t mantissa, int64_t power)
{
    if (mantissa <= (UINT64_C(1) << 53) && power >= -22 && power <= 22)
        return power < 0 ? (double)mantissa / sp_exact_power_of_ten[-power]
                         : (double)mantissa * sp_exact_power_of_ten[power];
    return sp_eisel_lemire(mantissa, power);
}

/** Parses the mantissa of a real number, i.e. its digits and decimal point, if the point is among the first 8
 *  characters, as in most numbers. Loads these characters as one word and removes the point from the word.
 *  Sets *digits to the number of digits and *power to the exponent of ten of the last digit, and moves *p
 *  past the digits. Returns 1; returns 0 and changes nothing if there is no such number. */
static inline int sp_parse_pointed(const char **p, uint64_t *mantissa, int64_t *digits, int64_t *power)
{
    uint64_t word = sp_load8(*p);
    const uint64_t low_bits = 0x0101010101010101u, x = word ^ 0x2E2E2E2E2E2E2E2Eu;
    const uint64_t point = (x - low_bits) & ~x &
                           (low_bits << 7); /* its lowest set bit marks the first point */
    if (!point) return 0;
    const uint64_t before = ((point & -point) >> 7) - 1;
    const int whole = __builtin_ctzll(point) >> 3;
    word = (word & before) | ((word >> 8) & ~before) | UINT64_C(0xFF) << 56;
    const int n = sp_count_digits8(&word);
    if (n < whole || n == 0) return 0; /* the point comes after the end of the number, or there is no digit */
    *mantissa = sp_join_digits(word, n);
    const char *const next = *p + n + 1;
    const char *const end = n == 7 ? sp_parse_digits(next, mantissa) : next;
    *digits = n + (end - next);
    *power = whole - *digits;
    *p = end;
    return 1;
}

/** Parses the exponent at p, an optional sign and at most 7 digits, and adds it to *power; returns its end,
 *  or NULL if there is no such exponent. */
static inline const char *sp_parse_exponent(const char *p, int64_t *power)
{
    const int minus = *p == '-';
    p += minus | (*p == '+');
    const unsigned tens = (unsigned char)p[0] - '0', ones = (unsigned char)p[1] - '0';
    int64_t exponent = tens * 10 + ones;
    int n = 2;
    if (tens > 9 || ones > 9 || (unsigned char)p[2] - (unsigned)'0' <= 9) { /* not 2 digits as usual */
        uint64_t word = sp_load8(p);
        n = sp_count_digits8(&word);
        if (n == 0 || n == 8) return NULL;
        exponent = (int64_t)sp_join_digits(word, n);
    }
    *power += (exponent ^ -(int64_t)minus) + minus; /* negates the exponent if minus is 1, without a branch */
    return p + n;
}

/** Parses a finite real number of at most 19 digits (leading zeros included) and at most 7 exponent digits,
 *  as nearly all numbers have. Requires the default rounding mode. Returns the end of the number; NULL if
 *  there is no such number or it overflows. */
static inline __attribute__((always_inline)) const char *sp_parse_real_fast(const char *p, double *value)
{
    const int negative = *p == '-';
    uint64_t mantissa = 0;
    int64_t power = 0, digits;
    p += negative;
    if (!sp_parse_pointed(&p, &mantissa, &digits, &power)) {
        const char *const first = p;
        p = sp_parse_digits(p, &mantissa);
        digits = p - first;
        if (*p == '.') {
            const char *const fraction = ++p;
            p = sp_parse_digits(p, &mantissa);
            power = fraction - p;
            digits -= power;
        }
    }
    if (digits == 0 || digits > SP_MANTISSA_DIGITS) return NULL;
    const char letter = (char)(*p | 0x20);
    if (letter == 'e' || letter == 'd') {
        p = sp_parse_exponent(p + 1, &power);
        if (!p) return NULL;
    }
    const double magnitude = sp_scale(mantissa, power);
    if (!(magnitude <= 0x1.fffffffffffffp1023)) return NULL;
    /* sets the sign bit without a branch: signs come in any order, so half of the predictions would fail */
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= (uint64_t)negative << 63;
    memcpy(value, &bits, sizeof bits);
    return p;
}

#endif
