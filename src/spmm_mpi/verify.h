/** Compares Y with the serial CSR product, in all rows or in sampled rows. */
#ifndef SP_SPMM_MPI_VERIFY_H
#define SP_SPMM_MPI_VERIFY_H

#include "distribute/scatter.h"
#include "formats/csr.h"

enum { SP_SAMPLE_ROWS = 1000 }; /**< approximate number of rows that --verify sample compares */

/** Result of the comparison of y with two serial products: `ref`, summed in the canonical order
 *  (formats/summation.h), and `plain`, where each element is one sequence of additions in the order of the
 *  entries. The two differ only in rows of more than SP_CHAIN entries. */
typedef struct sp_error {
    double max_relative;  /**< maximum relative error |y - plain| / |plain|; for plain = 0, |y| */
    double mean_relative; /**< mean relative error of all elements */
    int64_t checked;      /**< number of elements compared */
    int64_t wrong; /**< number of wrong elements: y and ref differ by more than sp_verify() allows, or they
                        differ and one of them is infinite or NaN */
    int64_t different;   /**< number of elements that differ at all; 0 equals -0, and all NaNs are equal */
    int64_t row, column; /**< position of the first wrong element; -1: none is wrong */
    sp_c128 found, expected; /**< first wrong element: its y and its ref .. */
    double bound;            /**< .. and the allowed error */
    double rounding; /**< maximum part of the allowed error that is due to rounded rows of X; 0: none were
                          rounded */
    double of_bound; /**< maximum of |y - ref| / the allowed error; 0: no rows of X were rounded */
} sp_error;

/** The rows of X that were rounded to f32 for the exchange: for each row of A, the rows that no rank of its
 *  process row owns. */
typedef struct sp_ghosts_rounded {
    const sp_ranges *ranges;
    const int64_t *row; /**< global index of each row of a, increasing; NULL: a is the whole matrix */
} sp_ghosts_rounded;

/** Compares y with the products of a and x that sp_serial_product() (ref) and sp_serial_plain_product()
 *  (plain) compute in the precision of a.
 *
 *  The allowed error is 2 (gamma_n sum|a||x| + n t), where n is the number of entries of the row, gamma_n = n
 *  u / (1 - n u), u the unit round-off (2^-53 or 2^-24), and t the smallest subnormal number. The factor 2 is
 *  needed because both y and the reference may have an error. The term n t covers underflow, which the
 *  relative error model omits (Higham: Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
 *
 *  With rounded rows, sum |a| max(2^-24 |x|, 2^-150) over the entries that read such rows is added, times
 *  1 + 4 n u for the rounding errors of that sum and of the product of the rounded rows. 2^-150 is half of
 *  the smallest subnormal f32.
 *
 *  Local.
 *  \param [in] a        matrix [rows x n]; x is [n x k], y is [rows x k]; all in host memory and of one
 *                       precision
 *  \param [in] rounded  NULL: no rows of X were rounded
 *  \param [in] threads  number of OpenMP threads; only the last bits of error->mean_relative depend on it
 *  \return SPMM_OK, also if elements are wrong (see error->wrong); SPMM_ERR_MEMORY */
spmm_status sp_verify(const spmm_csr *a, const spmm_multivector *x, const spmm_multivector *y,
                      const sp_ghosts_rounded *rounded, int threads, sp_error *error);

/** Selects the rows that --verify sample compares. They are evenly spaced within each block, and each
 *  nonempty block has at least one. Their total is at most SP_SAMPLE_ROWS + blocks. A matrix of at most
 *  SP_SAMPLE_ROWS rows is selected as a whole.
 *
 *  Local.
 *  \param [in]  begin  [blocks + 1] block b consists of rows begin[b] to begin[b + 1] - 1; values <= 2^31
 *  \param [out] rows   [SP_SAMPLE_ROWS + blocks] the selected rows, strictly increasing
 *  \param [out] first  [blocks + 1] rows[first[b]] to rows[first[b + 1] - 1] are the rows of block b */
void sp_sample_rows(const int64_t *begin, int blocks, int64_t *rows, int64_t *first);

#endif
