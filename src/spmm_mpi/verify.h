/** Verifies Y against the serial CSR product, in full or at sampled rows. */
#ifndef SP_SPMM_MPI_VERIFY_H
#define SP_SPMM_MPI_VERIFY_H

#include "formats/csr.h"

enum { SP_SAMPLE_ROWS = 1000 }; /**< rows that mode sample compares, about; see sp_sample_rows() */

/** The outcome of a comparison of y with the reference ref. */
typedef struct sp_error {
    double max_relative;  /**< largest |y - ref| / |ref|; where ref is 0: |y| */
    double mean_relative; /**< the mean of the same */
    int64_t checked;      /**< elements compared */
    int64_t wrong; /**< elements beyond the allowed error, see sp_verify(), or that differ where y or ref is
                               not finite */
    int64_t
        different; /**< elements that differ in any bit, except that 0 equals -0 and any NaN equals any NaN */
    int64_t row, column;           /**< of the first wrong element; -1 without one */
    double found, expected, bound; /**< y, ref and the allowed error there */
} sp_error;

/** Compares y with sp_serial_product() of A and x, in the precision of A.
 *
 *  The allowed error is 2 (gamma_n sum|a||x| + n t), since y and the reference may both be off by half of it: n is
 *  the row's length, gamma_n = n u / (1 - n u), u the unit round-off (2^-53 or 2^-24), and t the smallest subnormal,
 *  for underflow, which the relative error model leaves out (Higham: Accuracy and Stability of Numerical Algorithms,
 *  2nd ed., section 3.1).
 *
 *  Local.
 *  \param [in] a  [rows x n], x [n x k], y [rows x k], all in host memory and of one precision
 *  \param [in] threads  OpenMP threads, which share the rows; only the last bits of the mean depend on them
 *  \return SPMM_OK also when elements are wrong: see error->wrong; SPMM_ERR_MEMORY */
spmm_status sp_verify(const spmm_csr *a, const spmm_multivector *x, const spmm_multivector *y, int threads,
                      sp_error *error);

/** Lists the rows that mode sample compares: strictly increasing, evenly spaced within each block, and at least one
 *  of every block that has rows. These are all rows of a matrix with at most SP_SAMPLE_ROWS rows, else at most
 *  SP_SAMPLE_ROWS plus one per block.
 *
 *  Local.
 *  \param [in]  begin  block boundaries, [blocks + 1], values at most 2^31
 *  \param [out] rows   [SP_SAMPLE_ROWS + blocks]
 *  \param [out] first  [blocks + 1]: the rows of block b are rows[first[b]] to rows[first[b + 1] - 1] */
void sp_sample_rows(const int64_t *begin, int blocks, int64_t *rows, int64_t *first);

#endif
