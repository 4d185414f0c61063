/** Operations on rows in device memory: packing for the exchange of X, and sums of Y. Each function queues a
 *  kernel in the given stream and does not wait for it. */
#ifndef SP_DEVICE_OPS_H
#define SP_DEVICE_OPS_H

#include "spmm_types.h"

/** Packs rows: row i of out := row list[i] of x. Local.
 *  \param [in] row_bytes  size in bytes of a row, in x and in out: 4, 8, 16, or a multiple of 32. There are
 *                         no gaps between rows. x and out are aligned to the largest power of two that
 *                         divides row_bytes, up to 16
 *  \param [in] list       row numbers, [count], in device memory
 *  \param [in] stream     a cudaStream_t, see sp_device_stream()
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                         void *stream);

/** Rows of x to be sent to one neighbor: rows list[0 .. rows-1] or, if list is NULL, rows first ..
 *  first+rows-1. */
typedef struct sp_push {
    const int32_t *list; /**< row numbers, [rows], in device memory; or NULL */
    int64_t first, rows;
    void *to; /**< destination of the rows, without gaps between them; may be in another GPU's memory */
} sp_push;

/** Writes the rows for each neighbor to their destination. A single launch of few blocks serves all
 *  neighbors, so that it can run at the same time as another kernel. Local; returns the same errors as
 *  sp_cuda_pack().
 *  \param [in] x_pitch    distance in bytes between the starts of consecutive rows of x
 *  \param [in] row_bytes  size in bytes of a row: 4, 8, 16, or a multiple of 32; x, x_pitch and the
 *                         destinations are aligned to the largest power of two that divides row_bytes, up to
 *                         16
 *  \param [in] push       one element per neighbor, [count], in host memory */
spmm_status sp_cuda_push(const void *x, int64_t x_pitch, int64_t row_bytes, const sp_push *push, int count,
                         void *stream);

/** Splits the rows of x into `count` column blocks. Column block s begins at out + s * slice_bytes; its rows
 *  have `width` bytes each, without gaps. Row i of column block s is a copy of bytes s * width ..
 *  (s + 1) * width - 1 of row i of x. x, x_pitch, width, out and slice_bytes are
 *  multiples of 16 (bytes). Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
                          int64_t slice_bytes, void *stream);

/** Computes y := alpha x + beta y for all rows and the k columns of y; y is not read if beta is 0. x and y
 *  are in device memory, have the same precision, and may be the same multivector. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                          void *stream);

#endif
