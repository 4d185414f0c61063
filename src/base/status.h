/** Errors: one list of codes (spmm.h), one message a thread, TRY. */
#ifndef SP_STATUS_H
#define SP_STATUS_H

#include "spmm_types.h"

#if defined(__GNUC__)
#define SP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SP_PRINTF(fmt, args)
#endif

enum { SP_MESSAGE_BYTES = 1024 };

/** Records the calling thread's message (printf style, one line) and returns status. Control characters, as names and
 *  arguments may have them, become question marks. */
spmm_status sp_fail(spmm_status status, const char *format, ...) SP_PRINTF(2, 3);

/** Replaces the calling thread's message, e.g. by one that came from another thread or rank. */
void sp_set_message(const char *message);

/** Exit code of spmm_mpi for a status: 0 to 4. */
int sp_exit_code(spmm_status status);

/** Returns from the calling function when expr is not SPMM_OK. In a collective function it may wrap
 *  only an agreed status (sp_agree), so that no rank leaves alone. */
#define TRY(expr)                                       \
    do {                                                \
        const spmm_status try_status_ = (expr);         \
        if (try_status_ != SPMM_OK) return try_status_; \
    } while (0)

/** The same where something must be freed first: jumps to the label. Needs a variable `status`. */
#define TRY_GOTO(expr, label)              \
    do {                                   \
        status = (expr);                   \
        if (status != SPMM_OK) goto label; \
    } while (0)

#endif
