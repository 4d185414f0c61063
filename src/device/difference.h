/** Compares multivectors in device memory and computes their norms on the GPU; only the results are
 *  downloaded. */
#ifndef SP_DIFFERENCE_H
#define SP_DIFFERENCE_H

#include "spmm_types.h"

/** The difference between a multivector y and a reference multivector ref, computed in double whatever the
 *  precision. An element that is not finite in y or in ref can only be counted in `different` and
 *  `unmatched`; it does not affect the other members. */
typedef struct sp_difference {
    int64_t different;     /**< number of elements that are not bitwise equal (all NaNs count as equal) */
    int64_t unmatched;     /**< number of different elements that are not finite in y, in ref, or in both */
    double max_absolute;   /**< largest |y - ref| of any element */
    double max_relative;   /**< largest |y - ref| / |ref| of any element; |y| if ref is 0 */
    double mean_relative;  /**< sum of |y - ref| / |ref| (|y| if ref is 0) over the elements, divided by the
                                number of all elements */
    double norm;           /**< Frobenius norm of y - ref (infinite if elements exceed 1e154) */
    double max_reference;  /**< largest |ref| of any element */
    double norm_reference; /**< Frobenius norm of ref */
} sp_difference;

/** Norms of a multivector, computed in double. */
typedef struct sp_norms {
    int64_t not_finite; /**< number of elements that are not finite; such elements enter neither norm */
    double max, norm;   /**< max: largest magnitude of an element; norm: Frobenius norm */
} sp_norms;

/** Compares y with ref. Both are in device memory and have the same rows, k and precision; their leading
 *  dimensions may differ. A single launch compares them; its last block adds the results of all blocks in a
 *  fixed order, so that the result is bitwise reproducible on a given GPU model.
 *
 *  Local. Allocates GPU memory, runs after the work that was queued before, and waits for the result.
 *  \param [out] result  zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes differ, or not in device memory), SPMM_ERR_MEMORY, _NO_DEVICE,
 *          _DEVICE */
spmm_status sp_device_compare(const spmm_multivector *y, const spmm_multivector *ref, sp_difference *result);

/** Computes the norms of v, a multivector in device memory. Works and fails like sp_device_compare().
 *  Local. */
spmm_status sp_device_norms(const spmm_multivector *v, sp_norms *result);

#endif
