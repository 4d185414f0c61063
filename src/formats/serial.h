/** The serial products: the reference for the verification of all kernels, and the product with one chain per
 *  element.
 *
 *  The functions work on rows [begin, end), so that a caller can divide the rows among threads; the result is
 *  the same for any division. m is in host memory, in CSR or in ELLPACK with or without padding; for all
 *  other formats, which do not store rows contiguously, rows of y and bounds are set to zero. x [cols x k]
 *  and y [rows x k] are in host memory, have the precision of the matrix, and do not overlap; row 0 of y is
 *  row 0 of the matrix, whatever `begin` is. */
#ifndef SP_SERIAL_H
#define SP_SERIAL_H

#include "formats/matrix.h"

/** Computes rows [begin, end) of y = m x in the canonical order of formats/summation.h. Local. */
void sp_serial_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                       spmm_multivector *y);

/** Computes rows [begin, end) of y = m x with one chain per element: each row, of any length, is one chain of
 *  fma from +0.0, in the order of its entries: y = fma(a_last, x, ... fma(a_1, x, fma(a_0, x, 0))). Local. */
void sp_serial_plain_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                             spmm_multivector *y);

/** Computes the magnitudes to which error bounds are relative, for rows [begin, end) of m: bound[i*k + j] is
 *  the sum of |a| |x|, in double, over the entries a of row i; x is the element of column j of X by which a
 *  is multiplied. bound is [rows x k] without padding. Local. */
void sp_serial_bound(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                     double *bound);

#endif
