/** What a program passes to a function of spmm.h, looked at before anything is done with it. The messages name the
 *  function, the argument and what was expected. Local. */
#ifndef SP_ARGUMENTS_H
#define SP_ARGUMENTS_H

#include "base/status.h"

/** \param [in] function  the public function's name, __func__ there
 *  \param [in] expected  ends the sentence "f: NAME is NULL, expected ..."
 *  \return SPMM_OK, SPMM_ERR_USAGE (the pointer is NULL) */
spmm_status sp_given(const char *function, const char *name, const void *pointer, const char *expected);

/** \param [in] type  the enumeration's name, whose values are low to high
 *  \return SPMM_OK, SPMM_ERR_USAGE (value is none of them) */
spmm_status sp_among(const char *function, const char *name, int value, const char *type, int low, int high);

/** sp_among() for a precision. */
spmm_status sp_precision_check(const char *function, spmm_precision precision);

#endif
