/** Root -> owners: blocks of rows of A, and X. */
#ifndef SP_SCATTER_H
#define SP_SCATTER_H

#include "csr.h"
#include "grid.h"

/** One rank's rows of A. */
typedef struct sp_block {
    spmm_csr csr;      /**< columns are global */
    int64_t row_begin; /**< global index of the first row */
    int borrowed;      /**< 1: ja and as belong to root's whole matrix and must not outlive it */
} sp_block;

/** Told after each block that left, on root: the share of the entries that is out. */
typedef void (*sp_scatter_progress)(void *context, double fraction);

/** Sends each rank its rows.
 *
 *  Collective over grid->comm; root is rank 0.
 *  \param [in]  a       on root: the whole matrix; elsewhere ignored
 *  \param [in]  begin   on root: block p is rows [begin[p], begin[p+1]), [size + 1]; else ignored
 *  \param [in]  borrow  on root: 1 lets its own block share ja and as with a instead of copying
 *  \param [in]  progress  on root, may be NULL; context is passed on
 *  \param [out] block   the caller destroys it with sp_block_destroy()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_scatter(const sp_grid *grid, const spmm_csr *a, const int64_t *begin, int borrow,
                       sp_scatter_progress progress, void *context, sp_block *block);
void sp_block_destroy(sp_block *block);

/** Gives every rank root's X.
 *
 *  Collective. \param [in,out] x  host memory, the same shape on every rank; root's content is sent */
spmm_status sp_scatter_x(const sp_grid *grid, spmm_multivector *x);

#endif
