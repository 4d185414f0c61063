/** Numbers: against strtod of the C library, bit for bit.  limit: 120 */
#define TEST_TRAPS 0 /* numbers of all bits */
#include <fenv.h>
#include <locale.h>
#include <math.h>

#include "base/random.h"
#include "io/numparse.h"
#include "test.h"

static uint64_t drawn;
static uint64_t draw(void) { return sp_random(7, drawn++, 0); }

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/** Whether the parser reads all of `text` (padded) and agrees with strtod, and the fast parser agrees or
 *  gives up. */
static int agrees(const char *text)
{
    const size_t n = strlen(text);
    static char line[8192];
    const char *stop;
    double value, fast = 0;
    memcpy(line, text, n);
    memset(line + n, '\n', SP_PARSE_PAD + 1);
    const double expected = strtod(text, NULL);
    const sp_number_kind kind = sp_parse_real(line, &stop, &value);
    const char *const end = sp_parse_real_fast(line, &fast);
    const int ok = same_bits(value, expected) && stop == line + n &&
                   (!end || (end == stop && same_bits(fast, value))) &&
                   kind == (isinf(expected) ? SP_NUMBER_OVERFLOW : SP_NUMBER_FINITE);
    if (!ok) printf("  %s: %a (fast %a), expected %a\n", text, value, fast, expected);
    return ok;
}

static double random_double(void)
{
    for (;;) {
        const uint64_t bits = draw();
        double d;
        memcpy(&d, &bits, sizeof d);
        if (isfinite(d)) return d;
    }
}

/** A random string of digits, maybe with a point and an exponent. */
static void random_text(char *text, int digits)
{
    char *p = text;
    if (draw() % 2) *p++ = '-';
    const int point = (int)(draw() % (uint64_t)(digits + 1));
    for (int k = 0; k < digits; k++) {
        if (k == point) *p++ = '.';
        *p++ = (char)('0' + draw() % 10);
    }
    if (draw() % 4) p += sprintf(p, "e%d", (int)(draw() % 700) - 350);
    *p = '\0';
}

/** The exact decimal expansion of the number halfway between d and the next double, d >= 0. */
static void halfway_text(char *text, size_t n, double d)
{
    const long double middle = ((long double)d + (long double)nextafter(d, INFINITY)) / 2;
    snprintf(text, n, "%.800Lg", middle); /* the number is exact in 64 bits; glibc prints all its digits */
}

static void test_random(void)
{
    char text[512];
    TEST("a million random doubles printed with 14 to 25 digits are read like strtod does") {
        for (int k = 0; k < 1000000; k++) {
            snprintf(text, sizeof text, "%.*e", 13 + (int)(draw() % 12), random_double());
            CHECK(agrees(text));
        }
    }
    TEST("a million random doubles of everyday size are read like strtod does") {
        for (int k = 0; k < 1000000; k++) {
            const double d = ((double)(draw() >> 11) * 0x1p-53 - 0.5) * sp_exact_power_of_ten[draw() % 12];
            snprintf(text, sizeof text, draw() % 2 ? "%.*f" : "%.*g", (int)(draw() % 18), d);
            CHECK(agrees(text));
        }
    }
    TEST(
        "half a million random strings of 1 to 60 digits, any point and exponent, are read like strtod does") {
        for (int k = 0; k < 500000; k++) {
            random_text(text, 1 + (int)(draw() % (k % 2 ? 60 : 20)));
            CHECK(agrees(text));
        }
    }
}

static void test_halfway(void)
{
    char text[2048];
    TEST(
        "numbers halfway between two doubles go to the even one, a digit behind them decides, subnormals too") {
        for (int k = 0; k < 30000; k++) {
            uint64_t bits = draw() >> 1;
            if (k % 3 == 0) bits &= (UINT64_C(1) << 52) - 1; /* subnormal */
            if (k % 3 == 1) bits = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1023) + draw() % 64) << 52;
            double d;
            memcpy(&d, &bits, sizeof d);
            if (!isfinite(d)) continue;
            halfway_text(text, sizeof text - 8, d);
            CHECK(agrees(text));
            if (strchr(text, 'e')) continue;
            strcat(text, strchr(text, '.') ? "0000001" : ".000001");
            CHECK(agrees(text));
        }
    }
    TEST("digits beyond the 768th still decide a tie") {
        char *const big = malloc(4000);
        /* 2^-1074, exactly, has 751 digits behind its zeros */
        snprintf(big, 4000, "%.1075f", 0x1p-1074);
        CHECK(agrees(big));
        snprintf(big, 4000, "9007199254740993.%01500d", 0);
        CHECK(agrees(big));
        strcat(big, "1");
        CHECK(agrees(big));
        snprintf(big, 4000, "9007199254740993%01500de-1500", 0);
        CHECK(agrees(big));
        free(big);
    }
}

/* the ends of the range, ties, long digit strings, huge exponents */
static char texts[] =
    "1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1e309 1e310 -1e400 "
    "4.9406564584124654e-324 2.4703282292062327e-324 2.4703282292062328e-324 2e-324 1e-400 "
    "2.2250738585072011e-308 2.2250738585072014e-308 2.2250738585072012e-308 9007199254740993 "
    "9007199254740992 9007199254740991.5 9007199254740993.0000000000000000000000000000001 "
    "18446744073709551615 18446744073709551616 99999999999999999999 1e22 1e23 8.5e22 "
    "123456789012345678e-5 0.000000000000000000000000000000000000000000001 0e999999999999 0 -0 "
    "00000000000000000000000000000000000001 1e-999999999999999999999 1e999999999999999999999 5. "
    ".5 -.5e1 1E0 1e+0 1e-0 100000000000000016777215 100000000000000016777216 "
    "6.631236846766476e-316 3.237883913302901e-319 1.8e-322 0.1e-323 7.2057594037927933e16 "
    "1090544144181609348835077142190 2.2204460492503131e-16 1.00000005960464477550 "
    "1e0000000000001";

static void test_ends(void)
{
    TEST("the ends of the range, ties, long digit strings and huge exponents are read like strtod does") {
        for (const char *text = strtok(texts, " "); text; text = strtok(NULL, " ")) CHECK(agrees(text));
    }
}

static void test_environment(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    TEST("in any rounding mode, with exceptions trapped, numbers have the same bits and raise nothing") {
        static const char *const numbers[] = {"0.1",
                                              "-1e23",
                                              "1e-5",
                                              "9007199254740993",
                                              "5e-324",
                                              "1e400",
                                              "-1e-400",
                                              "9007199254740993.00000000000000000000000000000001",
                                              "9007199254740992.99999999999999999999999999999999",
                                              "1.7976931348623158079372897140530341507993413271e308"};
        const int traps = feenableexcept(FE_ALL_EXCEPT) >= 0 ? FE_ALL_EXCEPT : 0; /* not on every processor */
        fesetenv(FE_DFL_ENV);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            char text[128];
            double value;
            const char *stop;
            snprintf(text, sizeof text, "%s\n%8s", numbers[k], "");
            const double expected = strtod(text, NULL);
            for (int m = 0; m < 4; m++) {
                feclearexcept(FE_ALL_EXCEPT);
                fesetround(modes[m]);
                feenableexcept(traps);
                sp_parse_real(text, &stop, &value);
                CHECK(fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT) == 0 && fegetround() == modes[m] &&
                      fegetexcept() == traps);
                fesetenv(FE_DFL_ENV);
                CHECK(same_bits(value, expected) && *stop == '\n');
            }
        }
    }
}

static sp_number_kind kind_of(const char *text, int length)
{
    char line[128];
    const char *stop;
    double value;
    snprintf(line, sizeof line, "%s\n%8s", text, "");
    const sp_number_kind kind = sp_parse_real(line, &stop, &value);
    return stop - line == length ? kind : (sp_number_kind)-1;
}

static void test_spellings(void)
{
    TEST("D, d and + are taken, and inf, infinity and nan in any case") {
        double value;
        const char *stop;
        CHECK(sp_parse_real("+1.5D+2\n       ", &stop, &value) == SP_NUMBER_FINITE && value == 150);
        CHECK(sp_parse_real("-2d-1\n       ", &stop, &value) == SP_NUMBER_FINITE && value == -0.2);
        CHECK(sp_parse_real_fast("15D-1\n       ", &value) != NULL && value == 1.5);
        CHECK_INT(kind_of("inf", 3), SP_NUMBER_INFINITE);
        CHECK_INT(kind_of("-Infinity", 9), SP_NUMBER_INFINITE);
        CHECK_INT(kind_of("+NaN", 4), SP_NUMBER_NAN);
    }
    TEST("what is no number is none, and a number ends where it cannot go on") {
        CHECK_INT(kind_of("", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of(".", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of("-", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of("+-1", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of("e5", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of("in", 0), SP_NUMBER_NONE);
        CHECK_INT(kind_of("1e", 1), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("1e+", 1), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("1.2.3", 3), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("0x10", 1), SP_NUMBER_FINITE);
        /* an exponent without its letter has three digits and follows a number with a point */
        CHECK_INT(kind_of("1-200", 1), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("1.5-20", 3), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("1.5-2000", 3), SP_NUMBER_FINITE);
        CHECK_INT(kind_of("1.5-200", 7), SP_NUMBER_FINITE);
    }
    TEST("a locale with a decimal comma changes nothing") {
        const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
        for (int k = 0; k < 4 && !setlocale(LC_ALL, names[k]); k++) continue;
        double value;
        const char *stop;
        CHECK(sp_parse_real("9007199254740993.00000000000000000001\n       ", &stop, &value) ==
              SP_NUMBER_FINITE);
        CHECK(value == 9007199254740994.0 && *stop == '\n');
        setlocale(LC_ALL, "C");
    }
}

static void test_integers(void)
{
    char text[64];
    TEST("a hundred thousand random integers of 1 to 25 digits are read exactly or correctly rounded") {
        for (int k = 0; k < 100000; k++) {
            const int digits = 1 + (int)(draw() % 25);
            int n = 0;
            if (draw() % 2) text[n++] = '-';
            for (int d = 0; d < digits; d++) text[n++] = (char)('0' + draw() % 10);
            text[n] = '\0';
            strcpy(text + n, "\n       ");
            const char *stop;
            double value;
            int64_t whole;
            uint64_t index = 0;
            CHECK(sp_parse_integer(text, &stop, &value) == SP_NUMBER_FINITE && stop == text + n);
            CHECK(same_bits(value, strtod(text, NULL)));
            if (digits < 19) CHECK(sp_parse_int64(text, &stop, &whole) == 1 && whole == atoll(text));
            if (text[0] == '-') continue;
            const char *const end = sp_parse_index(text, &index);
            if (digits < 16) CHECK(end == text + n && index == (uint64_t)atoll(text));
            if (digits > 15) CHECK(end == text);
        }
    }
    TEST("the ends of int64 are read, one beyond them is noticed") {
        const char *stop;
        int64_t v;
        CHECK(sp_parse_int64("9223372036854775807\n       ", &stop, &v) == 1 && v == INT64_MAX);
        CHECK(sp_parse_int64("-9223372036854775808\n       ", &stop, &v) == 1 && v == INT64_MIN);
        CHECK(sp_parse_int64("9223372036854775808\n       ", &stop, &v) == -1);
        CHECK(sp_parse_int64("-9223372036854775809\n       ", &stop, &v) == -1);
        CHECK(sp_parse_int64("x\n       ", &stop, &v) == 0);
    }
}

int main(void)
{
    sp_numparse_init();
    test_random();
    test_halfway();
    test_ends();
    test_environment();
    test_spellings();
    test_integers();
    return test_end();
}
