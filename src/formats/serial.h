/** The serial products: the reference that everything is checked against.
 *
 *  Each sums a row in storage (= column) order with one fma chain from +0.0, in the precision of
 *  the matrix: y = fma(a_last, x, ... fma(a_1, x, fma(a_0, x, 0))). Each works on rows
 *  [begin, end) so that a caller may have threads share the rows; the result does not depend on it.
 *  x [cols x k], y [rows x k] in host memory, same precision as the matrix, not overlapping.
 *  y's row 0 is row 0 of the matrix. */
#ifndef SP_SERIAL_H
#define SP_SERIAL_H

#include "formats/matrix.h"

/** CSR or ELLPACK, padded or not (SPMM_SELL and SPMM_PANEL have no rows to walk: Y is not written); m in
 *  host memory. */
void sp_serial_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                       spmm_multivector *y);

/** bound[i*k + j] = sum over the row's entries of |a| |x|, in double, for rows [begin, end);
 *  bound [rows x k], dense. CSR only. */
void sp_serial_bound(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                     double *bound);

#endif
