/** Checks the arguments that a program passes to the functions of spmm.h. The error messages name the
 *  function, the argument and what was expected. */
#ifndef SP_ARGUMENTS_H
#define SP_ARGUMENTS_H

#include "base/status.h"

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
