/** Properties of the values of A on CPUs. */
#ifndef SP_CPU_VALUES_H
#define SP_CPU_VALUES_H

#include <stdint.h>

#include "spmm_types.h"

/** Returns the address of a value that all entries of A have, bit for bit; NULL if values differ or there are
 *  none. Local.
 *  \param [in] begin, end  [rows] row i has the entries begin[i] .. end[i] - 1 of val */
const void *sp_common_value(const void *val, spmm_precision precision, const int64_t *begin,
                            const int64_t *end, int64_t rows, int threads);

#endif
