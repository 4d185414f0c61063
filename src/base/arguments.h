/** Checks of the arguments that a program passes to the functions of spmm.h, before anything is done with them. The
 *  messages name the function, the argument and what was expected. */
#ifndef SP_ARGUMENTS_H
#define SP_ARGUMENTS_H

#include "base/status.h"

/** Checks that a pointer is not NULL. Local.
 *  \param [in] function  name of the public function: its __func__
 *  \param [in] name      the argument's name
 *  \param [in] expected  ends the message "FUNCTION: NAME is NULL, expected ..."
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_given(const char *function, const char *name, const void *pointer, const char *expected);

/** Checks that a value belongs to its enumeration. Local.
 *  \param [in] type  the enumeration's name; its values are low .. high
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_among(const char *function, const char *name, int value, const char *type, int low, int high);

/** sp_among() for an argument `precision`. Local. */
spmm_status sp_precision_check(const char *function, spmm_precision precision);

#endif
