/** Errors: one list of codes (spmm_types.h), one message per thread, TRY. */
#ifndef SP_STATUS_H
#define SP_STATUS_H

#include "spmm_types.h"

#if defined(__GNUC__)
#define SP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SP_PRINTF(fmt, args)
#endif

enum { SP_MESSAGE_BYTES = 1024 };

/** Sets the calling thread's message (printf style, one line). Control characters, which names and arguments may
 *  contain, become question marks. An argument may be the previous message. Local. \return status */
spmm_status sp_fail(spmm_status status, const char *format, ...) SP_PRINTF(2, 3);

/** Replaces the calling thread's message, e.g. by one from another thread or rank; copies the text. Local. */
void sp_set_message(const char *message);

/** Returns the exit code of spmm_mpi for a status: 0 to 4. Local. */
int sp_exit_code(spmm_status status);

/** Returns from the calling function if expr is not SPMM_OK. In a collective function it may wrap only a status that
 *  the ranks have agreed on (sp_agree), so that no rank leaves alone. */
#define TRY(expr)                                       \
    do {                                                \
        const spmm_status try_status_ = (expr);         \
        if (try_status_ != SPMM_OK) return try_status_; \
    } while (0)

/** The same for functions that must free something first: jumps to the label. Needs a variable `status`. */
#define TRY_GOTO(expr, label)              \
    do {                                   \
        status = (expr);                   \
        if (status != SPMM_OK) goto label; \
    } while (0)

#endif
