/** The serial product: the reference that all kernels are checked against.
 *
 *  It sums each row in storage (= column) order as one chain of fma from +0.0, in the precision of the matrix:
 *  y = fma(a_last, x, ... fma(a_1, x, fma(a_0, x, 0))). The functions work on rows [begin, end), so that a caller can
 *  divide the rows among threads; the result does not depend on that. x [cols x k] and y [rows x k] are in host
 *  memory, have the precision of the matrix, and do not overlap; row 0 of y is row 0 of the matrix for any begin. */
#ifndef SP_SERIAL_H
#define SP_SERIAL_H

#include "formats/matrix.h"

/** Computes rows [begin, end) of y = m x. m is in host memory, in CSR or ELLPACK, padded or not (SPMM_SELL and
 *  SPMM_PANEL do not store rows contiguously: the rows of Y are set to zero). Local. */
void sp_serial_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                       spmm_multivector *y);

/** Computes bound[i*k + j] = sum over the entries of row i of |a| |x|, in double, for rows [begin, end): the
 *  magnitude that error bounds are relative to. bound [rows x k], without padding; formats as sp_serial_product().
 *  Local. */
void sp_serial_bound(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                     double *bound);

#endif
