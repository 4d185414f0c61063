/** Operations on rows in device memory: packing for the exchange of X, and sums of Y. Each is queued in the given
 *  stream and does not wait. */
#ifndef SP_DEVICE_OPS_H
#define SP_DEVICE_OPS_H

#include "spmm_types.h"

/** Packs rows: row i of out := row list[i] of x. Local.
 *  \param [in] row_bytes  of a row in both, without gaps: 4, 8, 16, or a multiple of 32; x and out are aligned to the
 *                         largest power of two that divides it, up to 16 bytes
 *  \param [in] list       [count], device memory
 *  \param [in] stream     a cudaStream_t, see sp_device_stream()
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                         void *stream);

/** Rows of x for one neighbor: rows list[0 .. rows-1], or if list is NULL, rows first .. first+rows-1. */
typedef struct sp_push {
    const int32_t *list; /**< device memory */
    int64_t first, rows;
    void *to; /**< destination, without gaps between rows; may be another GPU's memory */
} sp_push;

/** Writes each neighbor's rows to their destination, all neighbors' in one launch of few blocks, so that it can run
 *  beside another kernel. Local; errors as sp_cuda_pack().
 *  \param [in] x_pitch    bytes from one row of x to the next
 *  \param [in] row_bytes  4, 8, 16, or a multiple of 32; x, x_pitch and the destinations are aligned to the largest
 *                         power of two that divides it, up to 16 bytes
 *  \param [in] push       [count], host memory */
spmm_status sp_cuda_push(const void *x, int64_t x_pitch, int64_t row_bytes, const sp_push *push, int count,
                         void *stream);

/** Splits rows of x into `count` column blocks: row i of block s, at out + s * slice_bytes + i * width, gets bytes
 *  [s * width, (s + 1) * width) of row i of x. x, x_pitch, width, out and slice_bytes are multiples of 16 bytes.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
                          int64_t slice_bytes, void *stream);

/** Computes y := alpha x + beta y for the k columns and `rows` rows of y; y is not read if beta is 0. x and y are in
 *  device memory, of one precision, and may be the same. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                          void *stream);

#endif
