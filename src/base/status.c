/** Maps status codes to texts and exit codes, and keeps each thread's error message. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"

static _Thread_local char message[SP_MESSAGE_BYTES];

static const struct {
    const char *text;
    int exit_code;
} table[] = {
#define ROW(name, exit_code, text) {text, exit_code},
    SPMM_STATUS_LIST(ROW)
#undef ROW
};

static int known(spmm_status status) { return (int)status >= 0 && status < SPMM_STATUS_COUNT; }

const char *spmm_version(int *major, int *minor, int *patch)
{
    if (major) *major = SPMM_VERSION_MAJOR;
    if (minor) *minor = SPMM_VERSION_MINOR;
    if (patch) *patch = SPMM_VERSION_PATCH;
    return SPMM_VERSION;
}

const char *spmm_status_string(spmm_status status)
{
    return known(status) ? table[status].text : "unknown status";
}

int sp_exit_code(spmm_status status)
{
    return known(status) ? table[status].exit_code : table[SPMM_ERR_INTERNAL].exit_code;
}

const char *spmm_error_message(void) { return message; }

void sp_set_message(const char *text)
{
    size_t n = strlen(text);
    if (n >= sizeof message) n = sizeof message - 1;
    memmove(message, text, n);
    message[n] = '\0';
    /* file names and arguments may contain any bytes, but a message is one line and must not control the
     * terminal */
    for (char *p = message; *p; p++)
        for (int bytes = sp_control(p); bytes > 0; bytes--) p[bytes - 1] = '?';
}

spmm_status sp_fail(spmm_status status, const char *format, ...)
{
    /* formats into a local buffer, because an argument may be the previous message itself */
    char text[SP_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sp_set_message(text);
    return status;
}

spmm_status sp_fail_in(const char *path, spmm_status status)
{
    size_t n = 0;
    if (status == SPMM_OK || !*path) return status; /* an empty path is shown in quotes */
    while (path[n] && (message[n] == path[n] || message[n] == '?')) n++;
    return !path[n] && message[n] == ':' ? status : sp_fail(status, "%s: %s", path, message);
}

/* ---- arguments of public functions ---- */

spmm_status sp_given(const char *function, const char *name, const void *pointer, const char *expected)
{
    if (pointer) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: %s is NULL, expected %s", function, name, expected);
}

spmm_status sp_among(const char *function, const char *name, int value, const char *type, int low, int high)
{
    if (value >= low && value <= high) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: %s is %d, expected a value of %s, %d to %d", function, name, value,
                   type, low, high);
}

spmm_status sp_precision_check(const char *function, spmm_precision precision)
{
    return sp_among(function, "precision", (int)precision, "spmm_precision", SPMM_F64, SPMM_C64);
}
