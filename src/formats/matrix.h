/** A block of A in the storage format and the memory that a kernel needs. */
#ifndef SP_MATRIX_H
#define SP_MATRIX_H

#include "spmm_types.h"

enum {
    SP_FORMATS = SPMM_PANEL + 1,
    SP_ROW_SEGMENT = 512, /**< most entries of a row that one GPU sub-warp sums; longer rows are cut */
    SP_SLICE = 32,        /**< row segments in a slice of SPMM_SELL: as many as a warp has lanes */
    SP_PANEL = 8,         /**< rows in a panel of SPMM_PANEL: those of an FP64 tensor-core operand */
    SP_TILE_COLUMNS = 4   /**< columns in a tile of SPMM_PANEL: likewise */
};

/** A long row that was cut into segments: its sum is partial[first] + ... + partial[first + count - 1], added in that
 *  order. */
typedef struct sp_split {
    int32_t row, count;
    int64_t first;
} sp_split;

/** A block of A in one storage format, with its arrays in the memory of `space`.
 *
 *  SPMM_CSR        row_start [rows+1], col [nnz], val [nnz].
 *  SPMM_ELL        padded ELLPACK, row-major: entry j of row i is at i*width + j. Rows shorter than
 *                  width are padded with col = -1, val = 0: a kernel stops at the first -1, so that a
 *                  non-finite X is never multiplied by a padding zero. The baseline kernels' arrays
 *                  (values, col_indices).
 *  SPMM_ELL_NOPAD  rows without padding: row i has nz_per_row[i] entries from row_start[i] on; row_start,
 *                  nz_per_row [rows].
 *  SPMM_SELL       sliced ELLPACK (Kreutzer et al.: SIAM J. Sci. Comput. 36(5), 2014) of row segments:
 *                  rows of up to SP_ROW_SEGMENT entries, and the segments that longer rows are cut into.
 *                  A slice is SP_SLICE segments, stored by columns: entry j of segment r of slice s is at
 *                  row_start[s] + j*SP_SLICE + r, and segments are padded with col = -1 to the longest of
 *                  the slice; row_start [groups+1]. target [groups*SP_SLICE]: the row of Y that the
 *                  segment sums, or ~p for partial sum p, or INT32_MIN for a segment that pads the last
 *                  slice.
 *  SPMM_PANEL      SP_PANEL consecutive rows share one list of their distinct columns, in increasing
 *                  order, in tiles of SP_TILE_COLUMNS (after Wang et al.: TC-GNN, USENIX ATC 2023). Panel p
 *                  has the tiles [tile_start[p], tile_start[p+1]). The columns of tile t are
 *                  col[4t .. 4t+3] (the last tile of a panel repeats its last column); its entries are the
 *                  set bits of mask[t], bit 4*row + column. The values of a panel's tiles follow in bit
 *                  order, tile after tile, from val[row_start[p]] on. row_start, tile_start [groups+1].
 */
typedef struct sp_matrix {
    spmm_format format;
    spmm_precision precision;
    spmm_device space;
    int borrowed; /**< 1: the arrays are owned by another object and not freed */
    int64_t rows, cols, nnz;
    int64_t width;       /**< SPMM_ELL: entries of the longest row; else 0 */
    int64_t groups;      /**< SPMM_SELL: number of slices; SPMM_PANEL: of panels; else 0 */
    int64_t partials;    /**< SPMM_SELL: number of partial sums, one for each segment of a long row */
    int64_t splits;      /**< SPMM_SELL: number of long rows, which were cut */
    int64_t *row_start;  /**< in all formats but SPMM_ELL */
    int32_t *nz_per_row; /**< SPMM_ELL_NOPAD */
    int32_t *col;        /**< column indices, increasing within a row */
    void *val;           /**< values, of type `precision` */
    int32_t *target;     /**< SPMM_SELL */
    sp_split *split;     /**< SPMM_SELL, [splits] */
    int64_t *tile_start; /**< SPMM_PANEL */
    uint32_t *mask;      /**< SPMM_PANEL */
} sp_matrix;

/** Converts a CSR block to a storage format, in the memory of a device.
 *
 *  Local.
 *  \param [in]  block      in host memory; stays the caller's. CSR on the CPU is not copied: block must then
 *                          outlive *m
 *  \param [in]  format     SPMM_FORMAT_AUTO means SPMM_CSR here
 *  \param [in]  ell_limit  padded ELLPACK is refused beyond this many times the bytes of the CSR; <= 0: 3.0
 *  \param [in]  threads    OpenMP threads of the conversion
 *  \param [out] m          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the format would be too large), _NO_DEVICE, _DEVICE */
spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int threads, sp_matrix *m);

/** Makes *m a view of a CSR matrix in host memory: nothing is copied, and the view must not outlive `a`. Local. */
void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m);

/** Copies a matrix from host memory to the open GPU; complete on return. Local.
 *  \param [in]  host    in host memory; stays the caller's
 *  \param [out] device  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device);

/** Returns the bytes of the arrays of a matrix in host memory (some of which are read); INT64_MAX beyond 64 bits.
 *  Local. */
int64_t sp_matrix_bytes(const sp_matrix *m);

/** Frees the arrays in either memory, unless they are borrowed, and zeroes *m; accepts NULL and zeroed objects.
 *  Local. */
void sp_matrix_destroy(sp_matrix *m);

#endif
