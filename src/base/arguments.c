/** Checks the arguments of public functions. */
#include "base/arguments.h"

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
    return sp_among(function, "precision", (int)precision, "spmm_precision", SPMM_F64, SPMM_F32);
}
