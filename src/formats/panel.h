/** Row panels: estimates of their numbers of columns, and conversions on the GPU. */
#ifndef SP_PANEL_H
#define SP_PANEL_H

#include "base/search.h"
#include "formats/matrix.h"
#include "formats/summation.h"

enum {
    SP_STAGED_BYTES = 256, /**< size in bytes of a tile of columns of X: the part of each row of X that a
                                thread block of the kernel panel_staged processes at a time. Rows of X must
                                have at least this size; columns that pad the last tile also cost time */
    SP_STAGED_TILES = 8    /**< maximum number of such tiles for panel_staged; if X has more columns, products
                                use the kernel panel_mma */
};

/** Finds the entries [*begin, *end) that row i contributes to a sampled panel. A short row contributes all
 *  its entries, a long row one leaf. The number of the panel determines the leaf of its first long row. The
 *  other long rows contribute the leaf at the same column. Local.
 *  \param [in,out] column  a column of the leaf of the first long row; -1 before that row */
SP_HOST_DEVICE static inline void sp_sampled_part(const int64_t *irp, const int32_t *ja, int64_t i,
                                                  int64_t panel, int32_t *column, int64_t *begin,
                                                  int64_t *end)
{
    const int64_t first = irp[i], length = irp[i + 1] - first;
    *begin = first;
    *end = first + length;
    if (length <= SP_CHAIN) return;
    int64_t e = (int64_t)((uint64_t)length * (uint32_t)((uint32_t)panel * 2654435769u) >> 32);
    if (*column < 0)
        *column = ja[first + e];
    else
        e = sp_lower_bound_i32(ja, first, first + length - 1, *column) - first;
    *begin += e / SP_LEAF * SP_LEAF;
    if (*begin + SP_LEAF < *end) *end = *begin + SP_LEAF;
}

/** Estimates the number of distinct columns per panel, summed over all panels of the block `a`, from up to
 *  `samples` panels of consecutive rows spread evenly over the block. Long rows are cut into leaves
 *  (summation.h), which take the place of rows in panels. nnz divided by this sum is the mean number of
 *  entries of a panel that use the same row of X. Uses `threads` threads. Local. */
double sp_panel_columns(const spmm_csr *a, int64_t samples, int threads);

/** Converts a CSR matrix to SPMM_PANEL, with the rows in the order of sp_cuda_cluster_rows() if rows of a
 *  panel then share more columns. Leaves of long rows follow the rows, in the order of their columns, or are
 *  clustered together with the rows. Local; complete on return.
 *  \param [in]  a  SPMM_CSR in GPU memory; the caller keeps it
 *  \param [in]  k  not used
 *  \param [out] m  in GPU memory; the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_panels(const sp_matrix *a, int64_t k, sp_matrix *m);

/** Groups rows that share columns into panels, within windows of 64 consecutive rows of an order, on the GPU.
 *  Local; complete on return, except for the new order, which is written in the main stream.
 *  \param [in]  a          SPMM_CSR in GPU memory, with fewer than 2^31 rows
 *  \param [in]  order      [a->rows] in GPU memory; the caller keeps it; NULL: the original order
 *  \param [out] regrouped  the new order, [a->rows] in GPU memory; the caller frees it with sp_device_free();
 *                          NULL if there are no rows, and on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_regroup_rows(const sp_matrix *a, const int32_t *order, int32_t **regrouped);

/** The rows of a matrix after long rows have been cut into leaves (summation.h), in GPU memory. Leaves of
 *  different rows share columns, so that a panel fetches a row of X once for all of them. */
typedef struct sp_cut_rows {
    sp_matrix a;     /**< SPMM_CSR: leaves replace the long rows; col and val belong to the matrix */
    int32_t *order;  /**< [a.rows]: the short rows in a given order, then the leaves by their columns */
    int32_t *target; /**< [a.rows]: as in sp_matrix, for each row of a */
} sp_cut_rows;

/** Returns the maximum number of leaves of long rows with so many entries: a long row has more than SP_CHAIN
 *  entries, and all its leaves but the last one have SP_LEAF. */
static inline int64_t sp_most_leaves(int64_t entries) { return entries / 25; }

/** Cuts the long rows of a matrix, and lists them in m. Local; complete on return.
 *  \param [in]     a      SPMM_CSR in GPU memory; outlives *c
 *  \param [in]     order  [a->rows] order of the short rows, in GPU memory; NULL: their order in the matrix
 *  \param [out]    c      the caller frees it with sp_cuda_cut_free(); zeroed on failure
 *  \param [in,out] m      its leaves and packs are set; the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_cut_rows(const sp_matrix *a, const int32_t *order, sp_cut_rows *c, sp_matrix *m);

/** Frees the arrays of the rows, and zeroes *c; accepts zeroed objects. Local. */
void sp_cuda_cut_free(sp_cut_rows *c);

/** Like sp_cuda_panels(), for SPMM_STAGED: rows are ordered along a curve through a layout of the matrix
 *  (sp_cuda_lay_out_rows()) if consecutive rows then share more columns. */
spmm_status sp_cuda_staged_panels(const sp_matrix *a, int64_t k, sp_matrix *m);

#endif
