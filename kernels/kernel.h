/** What a kernel sees: a matrix in one format, X, Y, and on the CPU the threads' row ranges.
 *  Kernels never see MPI. A kernel is one file here plus one line of kernels.def. */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include "spmm.h"

/** A block of A in one storage format, arrays in the memory of `space`.
 *
 *  SPMM_CSR        row_start [rows+1], col [nnz], val [nnz].
 *  SPMM_ELL        padded ELLPACK, row-major: entry j of row i at i*width + j. Rows shorter than
 *                  width end in col = -1, val = 0: a kernel stops at the first -1, so a non-finite
 *                  X never meets a padding zero. The seeds' (values, col_indices).
 *  SPMM_ELL_NOPAD  rows of their own length nz_per_row[i], behind one another from row_start[i].
 */
typedef struct sp_matrix {
    spmm_format format;
    spmm_precision precision;
    spmm_device space;
    int64_t rows, cols, nnz;
    int64_t width;       /**< SPMM_ELL: the longest row; else 0 */
    int64_t *row_start;  /**< SPMM_CSR, SPMM_ELL_NOPAD */
    int32_t *nz_per_row; /**< SPMM_ELL_NOPAD */
    int32_t *col;        /**< column indices, increasing within a row */
    void *val;
} sp_matrix;

/** Row ranges of the OpenMP threads, balanced by entries + 2 rows: thread t has rows
 *  [begin[t], begin[t+1]). */
typedef struct sp_work {
    int threads;
    int64_t *begin; /**< [threads + 1] */
} sp_work;

/** One product. x and y are in the memory of a->space, y does not overlap x; y's padding columns
 *  (k <= j < ld) may be written. GPU kernels are queued on the device's one stream
 *  (sp_device_stream) and do not wait; the launcher checks cudaGetLastError. */
typedef struct sp_launch {
    const sp_matrix *a;
    const sp_work *work; /**< CPU only; NULL on a GPU */
    const spmm_multivector *x;
    spmm_multivector *y;
} sp_launch;

typedef spmm_status (*sp_kernel_fn)(const sp_launch *launch);

typedef struct sp_kernel {
    const char *id;
    spmm_device device;
    spmm_format format;
    int exact; /**< 1: one fma chain a row in column order from +0, bit for bit the serial product */
    const char *what;
    sp_kernel_fn run;
} sp_kernel;

/** The registry, in the order of kernels.def; *count rows. A kernel that this build lacks is listed
 *  too, and its run returns SPMM_ERR_NO_DEVICE. */
const sp_kernel *sp_kernels(int *count);

/** The kernel of that name, or NULL. */
const sp_kernel *sp_kernel_find(const char *id);

/** The kernel that `auto` means for a device and a format; NULL if there is none. */
const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format);

#endif
