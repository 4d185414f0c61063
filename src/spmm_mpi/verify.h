/** Y against the serial CSR product. */
#ifndef SP_SPMM_MPI_VERIFY_H
#define SP_SPMM_MPI_VERIFY_H

#include "formats/csr.h"

enum { SP_SAMPLE_ROWS = 1000 };

/** The outcome; the worst element is the one with the largest error over its bound. */
typedef struct sp_error {
    double max_relative;  /**< largest |y - ref| / |ref|; where ref is 0: |y| */
    double mean_relative; /**< the mean of the same */
    int64_t checked;      /**< elements compared */
    int64_t wrong;     /**< elements beyond 2 gamma_n sum|a||x|, or not finite where ref is, or the reverse */
    int64_t different; /**< elements that are not the same number (bits, but that 0 is -0, and NaN is NaN) */
    int64_t row, column;           /**< of the first wrong element; -1 without one */
    double found, expected, bound; /**< there */
} sp_error;

/** Compares y with A x, row by row with sp_serial_product, in the precision of A.
 *
 *  Local. gamma_n = n u / (1 - n u), n the row's length, u = 2^-53 or 2^-24, plus n of the smallest
 *  subnormals, which the relative model leaves out (Higham: Accuracy and Stability of Numerical
 *  Algorithms, 2nd ed., section 3.1).
 *  \param [in] a  [rows x n], x [n x k], y [rows x k], all in host memory and of one precision
 *  \param [in] threads  rows are shared by them; the result does not depend on it
 *  \return SPMM_OK also when elements are wrong: see error->wrong; SPMM_ERR_MEMORY */
spmm_status sp_verify(const spmm_csr *a, const spmm_multivector *x, const spmm_multivector *y, int threads,
                      sp_error *error);

/** The rows to look at in mode sample: strictly increasing, evenly spaced within each block, at least one of every
 *  block that has rows; all rows of a matrix of at most SP_SAMPLE_ROWS, else at most SP_SAMPLE_ROWS and one per block.
 *  Local.
 *  \param [in]  begin  block boundaries, [blocks + 1], at most 2^31
 *  \param [out] rows   [SP_SAMPLE_ROWS + blocks]
 *  \param [out] first  first[b] is where block b's rows start in rows, [blocks + 1] */
void sp_sample_rows(const int64_t *begin, int blocks, int64_t *rows, int64_t *first);

#endif
