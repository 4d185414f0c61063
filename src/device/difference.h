/** Reductions over multivectors where they lie, in device memory: nothing but the result is downloaded. */
#ifndef SP_DIFFERENCE_H
#define SP_DIFFERENCE_H

#include "spmm_types.h"

/** What a multivector y is away from a reference; formed in double, whatever the precision. Elements that
 *  are not finite in both take part in the counts alone. */
typedef struct sp_difference {
    int64_t different;     /**< elements that are not the same bits (all NaN count as the same) */
    int64_t unmatched;     /**< of those: not finite in y, in the reference, or in both */
    double max_absolute;   /**< the largest |y - ref| */
    double max_relative;   /**< the largest |y - ref| / |ref|; where ref is 0: |y| */
    double mean_relative;  /**< the sum of the same over rows x k */
    double norm;           /**< of y - ref: root of the sum of squares (infinite beyond 1e154) */
    double max_reference;  /**< the largest |ref| */
    double norm_reference; /**< of ref */
} sp_difference;

typedef struct sp_norms {
    int64_t not_finite; /**< elements that are not; they are in neither of the others */
    double max, norm;   /**< the largest magnitude; the root of the sum of squares */
} sp_norms;

/** Compares y with ref: the same rows, k and precision, both in device memory, any leading dimensions. One
 *  launch, whose last block adds the blocks' results in their order: the same bits every time on a GPU.
 *
 *  Allocates, follows what was queued before, and waits. \param [out] result  zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes differ, or not in device memory), SPMM_ERR_MEMORY, _NO_DEVICE,
 *          _DEVICE */
spmm_status sp_device_compare(const spmm_multivector *y, const spmm_multivector *ref, sp_difference *result);

/** Norms of v, in the same way. */
spmm_status sp_device_norms(const spmm_multivector *v, sp_norms *result);

#endif
