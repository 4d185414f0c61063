/** Reductions over multivectors in device memory: only the result is downloaded. */
#ifndef SP_DIFFERENCE_H
#define SP_DIFFERENCE_H

#include "spmm_types.h"

/** How far a multivector y is from a reference, computed in double whatever the precision. Elements that are not
 *  finite in y or in the reference enter only the two counts. */
typedef struct sp_difference {
    int64_t different;     /**< elements that are not bitwise equal (all NaNs count as equal) */
    int64_t unmatched;     /**< those of them that are not finite in y, in the reference, or in both */
    double max_absolute;   /**< the largest |y - ref| */
    double max_relative;   /**< the largest |y - ref| / |ref|, or |y| where ref is 0 */
    double mean_relative;  /**< the sum of the same quantities divided by rows * k */
    double norm;           /**< Frobenius norm of y - ref (infinite if elements exceed 1e154) */
    double max_reference;  /**< the largest |ref| */
    double norm_reference; /**< Frobenius norm of ref */
} sp_difference;

/** Norms of a multivector, computed in double. */
typedef struct sp_norms {
    int64_t not_finite; /**< number of elements that are not finite; they enter neither norm */
    double max, norm;   /**< largest magnitude; Frobenius norm */
} sp_norms;

/** Compares y with ref: both in device memory, of the same rows, k and precision, with any leading dimensions. One
 *  launch, whose last block adds the results of all blocks in a fixed order, so that the result is bitwise
 *  reproducible on a given GPU model.
 *
 *  Local. Allocates GPU memory, runs after what was queued before, and waits.
 *  \param [out] result  zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes differ, or not in device memory), SPMM_ERR_MEMORY, _NO_DEVICE,
 *          _DEVICE */
spmm_status sp_device_compare(const spmm_multivector *y, const spmm_multivector *ref, sp_difference *result);

/** Computes the norms of v, in the same way and with the same errors. Local. */
spmm_status sp_device_norms(const spmm_multivector *v, sp_norms *result);

#endif
