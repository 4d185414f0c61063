/** Error handling: status codes (spmm_types.h), one error message per thread, and the macros TRY and
 *  TRY_GOTO. */
#ifndef SP_STATUS_H
#define SP_STATUS_H

#include "spmm_types.h"

/* mk/config.mk refuses such flags by name; this finds those that a wrapper hides, and defaults of compilers
   (icx: -fp-model=fast) */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error \
    "the compiler may change sums, inf, nan or -0 (-ffast-math or the like): add -fno-fast-math (icx: -fp-model=precise)"
#endif

#if defined(__GNUC__)
#define SP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SP_PRINTF(fmt, args)
#endif

enum { SP_MESSAGE_BYTES = 1024 };

/** Sets the calling thread's error message (printf style, one line). Control characters, which file names
 *  and other arguments may contain, become question marks. An argument may be the previous message. Local.
 *  \return `status` */
spmm_status sp_fail(spmm_status status, const char *format, ...) SP_PRINTF(2, 3);

/** Makes the calling thread's error message begin with "PATH:", unless it does or `status` is SPMM_OK. The
 *  message of a failed allocation does not name the file. Local.
 *  \return `status` */
spmm_status sp_fail_in(const char *path, spmm_status status);

/** Replaces the calling thread's error message, e.g. by the message of another thread or rank; copies the
 *  text. Local. */
void sp_set_message(const char *message);

/** Returns the exit code of the program spmm_mpi for a status: 0 to 4. Local. */
int sp_exit_code(spmm_status status);

/** Returns the status expr from the calling function if it is not SPMM_OK. In a collective function, expr
 *  must be a status that the ranks have agreed on (sp_agree()), so that all ranks leave the function
 *  together. */
#define TRY(expr)                                       \
    do {                                                \
        const spmm_status try_status_ = (expr);         \
        if (try_status_ != SPMM_OK) return try_status_; \
    } while (0)

/** Like TRY, for functions that must free something first: sets the variable `status` to expr and, if that
 *  is not SPMM_OK, jumps to the label. */
#define TRY_GOTO(expr, label)              \
    do {                                   \
        status = (expr);                   \
        if (status != SPMM_OK) goto label; \
    } while (0)

/* Checks of the arguments that a program passes to the functions of spmm.h. The messages name the function,
 * the argument and what was expected. */

/** Checks that a pointer argument is not NULL. Local.
 *  \param [in] function  name of the public function (its __func__), for the message
 *  \param [in] name      name of the argument, for the message
 *  \param [in] expected  what was expected, the end of the message "FUNCTION: NAME is NULL, expected ..."
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_given(const char *function, const char *name, const void *pointer, const char *expected);

/** Checks that an argument is a value of its enumeration: low <= value <= high. Local.
 *  \param [in] type  name of the enumeration, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_among(const char *function, const char *name, int value, const char *type, int low, int high);

/** Checks that the argument `precision` is a value of spmm_precision. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_precision_check(const char *function, spmm_precision precision);

#endif
