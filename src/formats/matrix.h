/** A block in the format and the memory that a kernel wants. */
#ifndef SP_MATRIX_H
#define SP_MATRIX_H

#include "spmm_types.h"

enum {
    SP_FORMATS = SPMM_PANEL + 1,
    SP_ROW_SEGMENT =
        512,            /**< entries of the longest row that a GPU sub-warp sums alone; longer ones are cut */
    SP_SLICE = 32,      /**< pieces of a slice of SPMM_SELL: a warp's */
    SP_PANEL = 8,       /**< rows of a panel of SPMM_PANEL: those of an FP64 tensor-core operand */
    SP_TILE_COLUMNS = 4 /**< columns of a tile of SPMM_PANEL: likewise */
};

/** A row that was cut into pieces: its sum is partial[first] + ... + partial[first + count - 1], in that
 *  order. */
typedef struct sp_split {
    int32_t row, count;
    int64_t first;
} sp_split;

/** A block of A in one storage format, arrays in the memory of `space`.
 *
 *  SPMM_CSR        row_start [rows+1], col [nnz], val [nnz].
 *  SPMM_ELL        padded ELLPACK, row-major: entry j of row i at i*width + j. Rows shorter than
 *                  width end in col = -1, val = 0: a kernel stops at the first -1, so a non-finite
 *                  X never meets a padding zero. The seeds' (values, col_indices).
 *  SPMM_ELL_NOPAD  rows of their own length nz_per_row[i], behind one another from row_start[i].
 *  SPMM_SELL       sliced ELLPACK (Kreutzer et al.: SIAM J. Sci. Comput. 36(5), 2014) of pieces: rows,
 *                  and rows of more than SP_ROW_SEGMENT entries cut into pieces. Slice s has
 *                  SP_SLICE pieces, stored by columns: entry j of its piece r at row_start[s] +
 *                  j*SP_SLICE + r, padded by col = -1 up to its longest; row_start [groups+1]. target
 *                  [groups*SP_SLICE]: the row of Y that the piece is, or ~p for partial sum p, or
 *                  INT32_MIN for a piece that pads the last slice.
 *  SPMM_PANEL      SP_PANEL consecutive rows share the list of their distinct columns, in increasing
 *                  order, in tiles of SP_TILE_COLUMNS (after Wang et al.: TC-GNN, USENIX ATC 2023). Panel p
 *                  has tiles tile_start[p] .. tile_start[p+1]; tile t's columns are col[4t .. 4t+3] (a
 *                  panel's last tile repeats its last column), its entries are the set bits of mask[t],
 *                  bit 4*row + column, and their values follow in bit order from val[row_start[p]] on
 *                  over the tiles of the panel. row_start, tile_start [groups+1].
 */
typedef struct sp_matrix {
    spmm_format format;
    spmm_precision precision;
    spmm_device space;
    int borrowed; /**< 1: the arrays belong to somebody else */
    int64_t rows, cols, nnz;
    int64_t width;       /**< SPMM_ELL: the longest row; else 0 */
    int64_t groups;      /**< SPMM_SELL: slices; SPMM_PANEL: panels; else 0 */
    int64_t partials;    /**< SPMM_SELL: pieces that are partial sums */
    int64_t splits;      /**< SPMM_SELL: rows that were cut */
    int64_t *row_start;  /**< all but SPMM_ELL */
    int32_t *nz_per_row; /**< SPMM_ELL_NOPAD */
    int32_t *col;        /**< column indices, increasing within a row */
    void *val;
    int32_t *target;     /**< SPMM_SELL */
    sp_split *split;     /**< SPMM_SELL, [splits] */
    int64_t *tile_start; /**< SPMM_PANEL */
    uint32_t *mask;      /**< SPMM_PANEL */
} sp_matrix;

/** Converts a CSR block and puts it where the kernels of that device look for it.
 *
 *  Local.
 *  \param [in]  block      in host memory; still the caller's. CSR on the CPU is read in place: block must
 *                          outlive *m then
 *  \param [in]  ell_limit  padded ELLPACK is refused beyond this many times the CSR's bytes; <= 0: 3.0
 *  \param [in]  threads    OpenMP threads
 *  \param [out] m          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the format would be too large), _NO_DEVICE, _DEVICE */
spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int threads, sp_matrix *m);

/** CSR in host memory as a kernel sees it: borrowed, nothing is copied; must not outlive `a`. */
void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m);

/** Copies a host matrix to the open GPU; complete on return.
 *
 *  SPMM_ELL_NOPAD's row_start has `rows` elements there: kernels take the length from nz_per_row.
 *  \param [in]  host    in host memory; still the caller's
 *  \param [out] device  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device);

/** Bytes of the arrays. */
int64_t sp_matrix_bytes(const sp_matrix *m);

/** Frees the arrays, wherever they are, and zeroes *m; accepts NULL and zeroed; leaves borrowed arrays. */
void sp_matrix_destroy(sp_matrix *m);

#endif
