/** Rows of device memory on the move: packing for the exchange of X, and the sums of Y. Each is queued in the
 *  given stream and does not wait. */
#ifndef SP_MOVE_H
#define SP_MOVE_H

#include "spmm.h"

/** out's row i := x's row list[i].
 *  \param [in] row_bytes  of a row in both, without gaps: 4, 8, 16, or a multiple of 32; x and out are aligned to
 *                         a row's greatest power of two, up to 16 bytes
 *  \param [in] list       [count], device memory
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                         void *stream);

/** y := alpha x + beta y, k columns of `rows` rows; where beta is 0, y is not read. x and y in device memory, of one
 *  precision; they may be the same.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                          void *stream);

#endif
