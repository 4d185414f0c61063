/** The test harness: one plain main per module; a test's name is a sentence; one line of output per test.
 *
 *      int main(void) {
 *          TEST("a matrix without rows has no entries") {
 *              CHECK(a.nnz == 0);
 *              CHECK_INT(a.nnz, 0);
 *          }
 *          SKIP("the GPU agrees with the CPU", "no GPU");
 *          return test_end();
 *      }
 *
 *  prints `PASS name`, `FAIL name` (after file, line and what was found; a test without a CHECK fails) or
 *  `SKIP name: why`, which tests/run counts. Under MPI only rank 0 prints these lines, and a check that fails
 *  on any rank fails the test: see test_mpi.h. */
#ifndef SP_TEST_H
#define SP_TEST_H

#include <fenv.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** TEST_THREADS_WATCHED is 1 with the thread sanitizer, which makes everything ten times slower;
 *  TEST_SANITIZED is 1 with the thread or the address sanitizer, both of which need memory of their own. gcc
 *  and clang announce them differently. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TEST_THREADS_WATCHED 1
#else
#define TEST_THREADS_WATCHED 0
#endif
#if TEST_THREADS_WATCHED || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

static struct {
    const char *name;
    int failed, tests_failed, rank;
    int checked;            /* 1: the test has checked something on this rank */
    int ran;                /* number of tests that have begun */
    int (*any)(int failed); /* test_mpi.h: the maximum over all ranks; NULL without MPI */
} test_;

/** TEST_TRAPS is 0 in programs that test NaNs, infinities or values of all kinds, and with clang, which also
 *  computes what the program does not need (-ffp-exception-behavior=ignore). */
#if defined(__clang__)
#undef TEST_TRAPS
#define TEST_TRAPS 0
#elif !defined(TEST_TRAPS)
#define TEST_TRAPS 1
#endif

/** Makes invalid operations, divisions by zero and overflows end the process (on = 1), where the processor
 *  can trap them: the library causes none with finite data. Each test begins so if TEST_TRAPS is 1. */
static inline void test_traps(int on)
{
#if defined(__GLIBC__)
    feclearexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    if (on) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#else
    (void)on;
#endif
}

static char test_others_[16384]; /* the names of tests that TEST_ONLY leaves out, a line each */

/** Returns whether a test is to run; notes the name of one that is not. */
static inline int test_wanted_(const char *name)
{
    const char *const only = getenv("TEST_ONLY");
    if (!only || !strncmp(name, only, strlen(only))) return 1;
    const size_t used = strlen(test_others_);
    snprintf(test_others_ + used, sizeof test_others_ - used, "  %s\n", name);
    return 0;
}

/** Begins a test, for TEST; returns 1, or 0 if it is not to run. TEST_ONLY (tests/run --only) is the
 *  beginning of the names of those that run. */
static inline int test_begin_(const char *name)
{
    if (!test_wanted_(name)) return 0;
    test_.ran++;
    test_.name = name;
    test_.failed = test_.checked = 0;
    test_traps(TEST_TRAPS);
    return 1;
}

/** Prints and counts a test's outcome, for TEST; returns 0. Collective under MPI. */
static inline int test_finish_(void)
{
    test_traps(0);
    const int checked = test_.any ? test_.any(test_.checked) : test_.checked;
    const int failed = (test_.any ? test_.any(test_.failed) : test_.failed) || !checked;
    if (test_.rank == 0 && !checked)
        printf("  nothing was checked: a CHECK is missing, or was not reached\n");
    if (test_.rank == 0) printf("%s %s\n", failed ? "FAIL" : "PASS", test_.name);
    fflush(stdout);
    test_.tests_failed += failed != 0;
    return 0;
}

/** Makes a test's sentence as printf does; it stays until the next one is made. */
__attribute__((format(printf, 1, 2))) static inline const char *test_name(const char *format, ...)
{
    static char name[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return name;
}

/** Runs the block that follows as the test `sentence`. */
#define TEST(sentence) for (int once_ = test_begin_(sentence); once_; once_ = test_finish_())

/** Reports a test that is not run. */
#define SKIP(sentence, why)                                          \
    do {                                                             \
        if (!test_wanted_(sentence)) break;                          \
        test_.ran++;                                                 \
        if (test_.rank == 0) printf("SKIP %s: %s\n", sentence, why); \
    } while (0)

/** Notes that a test checks something. Threads may do it side by side. */
static inline void test_check_(void) { __atomic_store_n(&test_.checked, 1, __ATOMIC_RELAXED); }

#define CHECK(condition)                                                                                 \
    do {                                                                                                 \
        test_check_();                                                                                   \
        if (!(condition)) {                                                                              \
            if (test_.failed++ < 5)                                                                      \
                printf("  %s:%d (rank %d): not true: %s\n", __FILE__, __LINE__, test_.rank, #condition); \
        }                                                                                                \
    } while (0)
#define CHECK_INT(found, expected)                                                                           \
    do {                                                                                                     \
        test_check_();                                                                                       \
        const long long f_ = (long long)(found), e_ = (long long)(expected);                                 \
        if (f_ != e_ && test_.failed++ < 5)                                                                  \
            printf("  %s:%d (rank %d): %s is %lld, expected %lld\n", __FILE__, __LINE__, test_.rank, #found, \
                   f_, e_);                                                                                  \
    } while (0)
#define CHECK_TEXT(text, part)                                                                            \
    do {                                                                                                  \
        test_check_();                                                                                    \
        const char *t_ = (text);                                                                          \
        if (!strstr(t_, (part)) && test_.failed++ < 5)                                                    \
            printf("  %s:%d (rank %d): \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, test_.rank, \
                   t_, (part));                                                                           \
    } while (0)
/** Checks that a call fails with this status, and that the error message has this part. */
#define CHECK_ERROR(call, status, part)         \
    do {                                        \
        CHECK_INT(call, status);                \
        CHECK_TEXT(spmm_error_message(), part); \
    } while (0)

/** Returns main's exit status: 1 if any test failed, or if there is none of the name that TEST_ONLY wants. */
static inline int test_end(void)
{
    if (test_others_[0] && !test_.ran && test_.rank == 0)
        printf("%sFAIL no test's name begins with \"%s\"; the names are above\n", test_others_,
               getenv("TEST_ONLY"));
    return test_.tests_failed || (test_others_[0] && !test_.ran);
}

#endif
