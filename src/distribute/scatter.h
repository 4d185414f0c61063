/** Root -> owners: blocks of A, and rows of X. */
#ifndef SP_SCATTER_H
#define SP_SCATTER_H

#include "comm/grid.h"
#include "formats/csr.h"

/** Who gets what, the same on every rank: block (p, q) is rows [row_begin[p], row_begin[p+1]) and columns
 *  [col_begin[q], col_begin[q+1]); of X, rank (p, q) owns rows [x_begin[q*(P+1)+p], x_begin[q*(P+1)+p+1]). */
typedef struct sp_ranges {
    int p, q;
    int64_t *row_begin; /**< [P + 1] */
    int64_t *col_begin; /**< [Q + 1] */
    int64_t *x_begin;   /**< [Q * (P + 1)] */
} sp_ranges;

/** Allocates the arrays, zeroed. */
spmm_status sp_ranges_create(int p, int q, sp_ranges *ranges);
void sp_ranges_destroy(sp_ranges *ranges);

/** Gives every rank root's row_begin and col_begin, and works out x_begin from them.
 *  Collective. \param [in,out] ranges  created everywhere for the grid's P x Q */
spmm_status sp_ranges_share(const sp_grid *grid, int root, int64_t rows, int64_t cols, sp_ranges *ranges);

/** First row of X that rank (p, q) owns, and behind its last. */
static inline int64_t sp_x_first(const sp_ranges *r, int p, int q) { return r->x_begin[q * (r->p + 1) + p]; }
static inline int64_t sp_x_end(const sp_ranges *r, int p, int q) { return sp_x_first(r, p + 1, q); }

/** Says where this rank's block is; its csr is zeroed. Local. \param [in] rows, cols  of the whole matrix */
void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block);

/** What becomes of root's matrix. */
typedef enum sp_scatter_mode {
    SP_SCATTER_COPY, /**< it stays the caller's */
    SP_SCATTER_BORROW, /**< the same, and where Q is 1 root's block has its ja and as, and must not outlive it */
    SP_SCATTER_CONSUME /**< root's block takes its arrays over, shrunk to what belongs to it: root never holds
                            more than the matrix */
} sp_scatter_mode;

/** Told after each block that left, on root: the share of the entries that is out. */
typedef void (*sp_scatter_progress)(void *context, double fraction);

/** Sends each rank its block.
 *
 *  Collective over grid->comm.
 *  \param [in]  ranges  the same on every rank
 *  \param [in,out] a    on root: the whole matrix; with SP_SCATTER_CONSUME destroyed on return, also on failure.
 *                       Ignored elsewhere
 *  \param [in]  progress  on root, may be NULL; context is passed on
 *  \param [out] block   the caller destroys it with spmm_block_destroy()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       sp_scatter_mode mode, sp_scatter_progress progress, void *context, spmm_block *block);

/** Sends each rank those of the rows of an array that it owns of X.
 *
 *  Collective. \param [in]  all   on rank 0: [n] rows of row_bytes; ignored elsewhere
 *  \param [out] mine  this rank's rows \param [in] tag  of the messages */
spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, const void *all, int64_t row_bytes,
                            void *mine, int tag);

/** Sends each rank its rows of X.
 *
 *  Collective. \param [in]  whole  on rank 0: X, [n x k], host memory; ignored elsewhere
 *  \param [in,out] x  this rank's rows, host memory, leading dimension as whole's */
spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, const spmm_multivector *whole,
                         spmm_multivector *x);

#endif
