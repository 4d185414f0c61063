/** Operations on rows in device memory: packing for the exchange of X, sums of Y, and products of
 *  multivectors with small matrices. A function with a parameter `stream` queues a kernel in it and does not
 *  wait for it. */
#ifndef SP_DEVICE_OPS_H
#define SP_DEVICE_OPS_H

#include "base/value_type.h"
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

/** As sp_cuda_pack(), for rows of f64, which are rounded to f32: rows of out have row_bytes / 2 bytes. */
spmm_status sp_cuda_pack_rounded(const void *x, int64_t row_bytes, const int32_t *list, int64_t count,
                                 void *out, void *stream);

/** Widens rows of f32 to the ghost rows of an X of f64: rows 0 .. low-1 and low+own .. low+own+high-1 of x
 *  are set to the rows of `from`. Local.
 *  \param [in] from       [low + high] rows of row_bytes / 2 bytes, without gaps, aligned as in
 *                         sp_cuda_pack(); not read if there are none
 *  \param [in] row_bytes  size of a row of x: 8, 16, or a multiple of 32; rows of x are `pitch` bytes apart
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_widen(const void *from, int64_t low, int64_t own, int64_t high, int64_t row_bytes,
                          int64_t pitch, void *x, void *stream);

/** Sums of rows: for each n, the rows addend[start[n] .. start[n + 1] - 1] are added to row row[n]. */
typedef struct sp_row_sums {
    int64_t count;
    const int32_t *row;    /**< [count], without repetition */
    const int64_t *start;  /**< [count + 1] */
    const int32_t *addend; /**< [start[count]] */
} sp_row_sums;

/** Adds rows of s to rows of y, in the order of the lists. Local.
 *  \param [in]     sums    its arrays are in device memory
 *  \param [in]     s       `addend` numbers the rows of s from its first ghost row, which is row 0
 *  \param [in,out] y       with the precision and number of columns of s
 *  \param [in]     stream  a cudaStream_t
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_add_rows(const sp_row_sums *sums, const spmm_multivector *s, spmm_multivector *y,
                             void *stream);

/** Copies elements: to[i] := values[from[i]], unless from[i] is UINT32_MAX. Local.
 *  \param [in] from   [count]; from, values and to are in device memory
 *  \param [in] size   bytes of an element: 4 or 8
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_gather(const uint32_t *from, int64_t count, int size, const void *values, void *to,
                           void *stream);

/** Rows of x to be sent to one neighbor: rows list[0 .. rows-1] or, if list is NULL, rows first ..
 *  first+rows-1. */
typedef struct sp_push {
    const int32_t *list; /**< row numbers, [rows], in device memory; or NULL */
    int64_t first, rows;
    void *to; /**< destination of the rows; may be in another GPU's memory */
} sp_push;

/** Writes the rows for each neighbor to their destination. A single launch sends to all neighbors. It has few
 *  blocks if another kernel may run concurrently. Local; returns the same errors as sp_cuda_pack().
 *  \param [in] pitch      distance in bytes between the starts of consecutive rows, in x and at the
 *                         destinations
 *  \param [in] row_bytes  size in bytes of a row: 4, 8, 16, or a multiple of 32; x, pitch and the
 *                         destinations are aligned to the largest power of two that divides row_bytes, up to
 *                         16
 *  \param [in] push       one element per neighbor, [count], in host memory
 *  \param [in] alone      1: no other kernel runs concurrently */
spmm_status sp_cuda_push(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push, int count,
                         int alone, void *stream);

/** As sp_cuda_push(), for rows of f64, which are rounded to f32: rows at the destinations have row_bytes / 2
 *  bytes, without gaps. */
spmm_status sp_cuda_push_rounded(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push,
                                 int count, int alone, void *stream);

/** Splits the rows of x into `count` column blocks. Column block s begins at out + s * slice_bytes; its rows
 *  have `width` bytes each, without gaps. Row i of column block s is a copy of bytes s * width ..
 *  (s + 1) * width - 1 of row i of x. The rows of x are x_pitch bytes apart. x, x_pitch, width, out and
 *  slice_bytes are multiples of 16 (bytes). Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
                          int64_t slice_bytes, void *stream);

/** Computes y := alpha x + beta y for all rows and the k columns of y; y is not read if beta is 0. x and y
 *  are in device memory, have the same precision, and may be the same multivector, or have different layouts.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_axpby(sp_value alpha, const spmm_multivector *x, sp_value beta, spmm_multivector *y,
                          void *stream);

/** Multiplies column j of x, in device memory, by factor[j]. Local.
 *  \param [in] factor  in device memory, [x->k] values of the type of x
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_scale(const void *factor, spmm_multivector *x, void *stream);

/** Multiplies row i of x, in device memory and of either layout, by factor[i * stride]. Local.
 *  \param [in] factor  in device memory, in the precision of x
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_scale_rows(const void *factor, int64_t stride, spmm_multivector *x, void *stream);

/** Determines the row of each entry of a CSR matrix in device memory. Local.
 *  \param [in]  nnz  at least 1
 *  \param [out] row  [nnz], in device memory
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_find_rows(const int64_t *start, int64_t rows, int64_t nnz, int32_t *row);

/** As sp_cpu_values_gradient() (kernels/kernel.h), with the same bits, for arrays and operands in
 *  device memory. Local.
 *  \param [in] row, col  [nnz] the places of the entries
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_values_gradient(int64_t nnz, const int32_t *row, const int32_t *col,
                                    const spmm_multivector *g, const spmm_multivector *x,
                                    spmm_multivector *values, void *stream);

/** Compares a matrix with the CSR of a block, all in device memory. Local.
 *  \param [in]  a      as for spmm_plan_update_rows(): without a map
 *  \param [in]  mark   not 0
 *  \param [out] found  [2], in memory that host and GPU can access: found[0] := mark if the patterns differ,
 *                      found[1] := mark if a bit of the values differs. Otherwise the element is not written
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_compare_rows(const spmm_csr *block, const spmm_rows *a, uint32_t mark, uint32_t *found,
                                 void *stream);

/** Queues to[i] := i + 1, for unsigned integers of 4 or 8 bytes, [count] in device memory. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_number(int64_t count, int size, void *to);

/* The following functions use SP_STREAM_MAIN and are complete on return. */

/** Computes place[i] := number[i] - 1, or UINT32_MAX if number[i] is not 1 to `most`; both are in device
 *  memory, [count]. Local.
 *  \param [in]  size      bytes of a number: 4 or 8
 *  \param [out] in_order  1: place[i] is i for i < most, and UINT32_MAX for the others
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_find_places(const void *number, int64_t count, int size, int64_t most, uint32_t *place,
                                int *in_order);

/** Facts about the arrays of a CSR matrix. */
typedef struct sp_rows_facts {
    int64_t nnz, longest;     /**< number of entries of the matrix and of its longest row */
    int starts_sound;         /**< 1: row starts begin with 0, do not decrease and are at most nnz */
    int in_range, increasing; /**< 1: all columns are in range; they increase. Set if starts_sound is 1 */
} sp_rows_facts;

/** Checks a CSR matrix [rows x cols] in device memory, and copies its row starts. Local.
 *  \param [in]  a    as for spmm_rows_apply()
 *  \param [out] irp  [rows + 1] in device memory: the row starts; NULL: they are not copied
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_check_rows(const spmm_rows *a, int64_t rows, int64_t cols, int64_t *irp,
                               sp_rows_facts *found);

/** Transposes a CSR matrix in device memory with less than 2^32 - 1 entries and 2^31 rows. Rows of the
 *  transpose have their entries in the order of a's rows. Local.
 *  \param [out] t     its arrays are in device memory; the caller frees them, also on failure
 *  \param [out] from  [nnz] in device memory: entry i of t is entry from[i] of a; as the arrays of t
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_csr_transpose(const spmm_csr *a, spmm_csr *t, uint32_t **from);

/** Queues a copy of column indices below 2^31 to indices of 4 bytes, [nnz] in device memory. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_narrow_columns(const int64_t *from, int64_t nnz, int32_t *to);

/** Computes X^T Y in f64, g[i * y->k + j] := sum of x(r, i) y(r, j) over the rows r; x and y are in device
 *  memory and have the same rows and precision. The order of summation depends only on the shapes. Local.
 *  \param [out] g  in host memory, [x->k * y->k]
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_gram(const spmm_multivector *x, const spmm_multivector *y, double *g);

/** Computes the sums of the squares of the columns of x in f64, in an order that depends only on the shape.
 *  Local.
 *  \param [out] sum  in host memory, [x->k]
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_squares(const spmm_multivector *x, double *sum);

/** Computes y := alpha x r + beta y in the precision of x and y, which are in device memory and have the same
 *  rows; y is not read if beta is 0. y may be columns 0 .. y->k - 1 of x; a copy of y is then allocated if y
 *  has more than 64 columns. Local.
 *  \param [in] r    in host memory, x->k rows of y->k columns, row-major
 *  \param [in] ldr  leading dimension of r
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_times(sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr,
                          sp_value beta, const spmm_multivector *y);

#endif
