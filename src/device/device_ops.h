/** Rows of device memory on the move: packing for the exchange of X, and the sums of Y. Each is queued in the
 *  given stream and does not wait. */
#ifndef SP_DEVICE_OPS_H
#define SP_DEVICE_OPS_H

#include "spmm_types.h"

/** out's row i := x's row list[i].
 *  \param [in] row_bytes  of a row in both, without gaps: 4, 8, 16, or a multiple of 32; x and out are aligned to
 *                         a row's greatest power of two, up to 16 bytes
 *  \param [in] list       [count], device memory
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                         void *stream);

/** Rows for one neighbour: x's rows list[0 .. rows-1], or with list NULL first .. first+rows-1. */
typedef struct sp_push {
    const int32_t *list; /**< device memory */
    int64_t first, rows;
    void *to; /**< where they shall be, one behind another; may be another GPU's memory */
} sp_push;

/** Writes each neighbour's rows to where it wants them, all neighbours' at once, with few blocks: beside another
 *  kernel. The errors are sp_cuda_pack()'s.
 *  \param [in] x_pitch  bytes from a row of x to the next
 *  \param [in] row_bytes  4, 8, 16, or a multiple of 32; x, x_pitch and the targets are aligned to its greatest power
 *                         of two, up to 16 bytes
 *  \param [in] push     [count], host memory */
spmm_status sp_cuda_push(const void *x, int64_t x_pitch, int64_t row_bytes, const sp_push *push, int count,
                         void *stream);

/** Cuts rows of x into `count` blocks of columns: block s's row i, at out + s * slice_bytes + i * width, gets bytes
 *  [s * width, (s + 1) * width) of x's row i. x, x_pitch, width, out and slice_bytes are multiples of 16 bytes.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
                          int64_t slice_bytes, void *stream);

/** y := alpha x + beta y, k columns of `rows` rows; where beta is 0, y is not read. x and y in device memory, of one
 *  precision; they may be the same.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                          void *stream);

#endif
