/** Distributes the blocks of A and the rows of X from one rank to their owners. */
#ifndef SP_SCATTER_H
#define SP_SCATTER_H

#include "comm/grid.h"
#include "formats/csr.h"

/** Ranges of all blocks, the same on every rank: block (p, q) consists of rows [row_begin[p], row_begin[p+1]) and
 *  columns [col_begin[q], col_begin[q+1]) of A; rank (p, q) owns rows [x_begin[q*(P+1)+p], x_begin[q*(P+1)+p+1])
 *  of X. */
typedef struct sp_ranges {
    int p, q;           /**< the grid's P and Q */
    int64_t *row_begin; /**< [P + 1] */
    int64_t *col_begin; /**< [Q + 1] */
    int64_t *x_begin;   /**< [Q * (P + 1)] */
} sp_ranges;

/** Allocates the arrays, zeroed, for a p x q grid. Local. The caller destroys them.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_ranges_create(int p, int q, sp_ranges *ranges);

/** Frees the arrays; accepts zeroed ranges. Local. */
void sp_ranges_destroy(sp_ranges *ranges);

/** Broadcasts root's row_begin and col_begin, and computes x_begin from them on every rank.
 *  Collective over grid->comm.
 *  \param [in]     rows, cols  of the whole matrix, the same on every rank
 *  \param [in,out] ranges      created on every rank for the grid's P x Q
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_ranges_share(const sp_grid *grid, int root, int64_t rows, int64_t cols, sp_ranges *ranges);

/** Returns the first row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_first(const sp_ranges *r, int p, int q) { return r->x_begin[q * (r->p + 1) + p]; }

/** Returns the row after the last row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_end(const sp_ranges *r, int p, int q) { return sp_x_first(r, p + 1, q); }

/** Sets the position of this rank's block within the matrix, its rows of X and its grid; block->csr is zeroed. Local.
 *  \param [in]  rows, cols  of the whole matrix */
void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block);

/** What happens to root's matrix in sp_scatter(). */
typedef enum sp_scatter_mode {
    SP_SCATTER_COPY,   /**< it stays the caller's */
    SP_SCATTER_BORROW, /**< the same; if Q is 1 root's block borrows its ja and as, and must not outlive it */
    SP_SCATTER_CONSUME /**< root's block takes over its arrays, shrunk to the block's entries; root never
                            holds more than the matrix */
} sp_scatter_mode;

/** Called on root after each block, its own included, with the fraction of all entries that are done. */
typedef void (*sp_scatter_progress)(void *context, double fraction);

/** Sends each rank its block.
 *
 *  Collective over grid->comm.
 *  \param [in]     ranges    the same on every rank
 *  \param [in,out] a         on root: the whole matrix; with SP_SCATTER_CONSUME destroyed on return, also on failure.
 *                            Ignored elsewhere
 *  \param [in]     progress  used on root; may be NULL; context is passed on to it
 *  \param [out]    block     the caller destroys it with spmm_block_destroy()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       sp_scatter_mode mode, sp_scatter_progress progress, void *context, spmm_block *block);

/** Sends each rank some rows of an array: those with the indices of the rows of X that it owns.
 *
 *  Collective over grid->comm.
 *  \param [in]  all        on rank 0: the array, one row of row_bytes bytes per row of X; ignored elsewhere
 *  \param [out] mine       this rank's rows
 *  \param [in]  tag        of the messages
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, const void *all, int64_t row_bytes,
                            void *mine, int tag);

/** Sends each rank its rows of X.
 *
 *  Collective over grid->comm.
 *  \param [in]     whole  on rank 0: X, [n x k], host memory; elsewhere not NULL, but its data is not used
 *  \param [in,out] x      created by the caller for this rank's rows, in host memory, with the precision and leading
 *                         dimension of `whole`; receives the values
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, const spmm_multivector *whole,
                         spmm_multivector *x);

#endif
