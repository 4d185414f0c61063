/** Distributes the blocks of A and the rows of X from one rank to their owners. */
#ifndef SP_SCATTER_H
#define SP_SCATTER_H

#include "comm/grid.h"
#include "formats/csr.h"

/** Ranges of all blocks, the same on every rank: block (p, q) consists of rows [row_begin[p], row_begin[p+1])
 *  and columns [col_begin[q], col_begin[q+1]) of A; rank (p, q) owns rows [x_begin[q*(P+1)+p],
 *  x_begin[q*(P+1)+p+1]) of X. */
typedef struct sp_ranges {
    int p, q;           /**< rows and columns of the process grid, P and Q */
    int64_t *row_begin; /**< first row of each row block, [P + 1] */
    int64_t *col_begin; /**< first column of each column block, [Q + 1] */
    int64_t *x_begin;   /**< first row of X of each rank, [Q * (P + 1)] */
} sp_ranges;

/** Allocates the arrays of *ranges, zeroed, for a p x q grid; the caller destroys *ranges. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_ranges_create(int p, int q, sp_ranges *ranges);

/** Frees the arrays of *ranges; accepts zeroed ranges. Local. */
void sp_ranges_destroy(sp_ranges *ranges);

/** Broadcasts row_begin and col_begin of root, and computes x_begin from them on every rank.
 *  Collective over grid->comm.
 *  \param [in]     rows, cols  size of the whole matrix, the same on every rank
 *  \param [in,out] ranges      created on every rank for the P x Q of the grid
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_ranges_share(const sp_grid *grid, int root, int64_t rows, int64_t cols, sp_ranges *ranges);

/** Returns the first row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_first(const sp_ranges *r, int p, int q) { return r->x_begin[q * (r->p + 1) + p]; }

/** Returns the row after the last row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_end(const sp_ranges *r, int p, int q) { return sp_x_first(r, p + 1, q); }

/** Sets all members of this rank's *block except csr, which is zeroed: the size of the matrix, the position
 *  of the block, the rows of X that this rank owns, and the grid. Local.
 *  \param [in]  rows, cols  size of the whole matrix */
void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block);

/** What sp_scatter() does with the matrix on root. */
typedef enum sp_scatter_mode {
    SP_SCATTER_COPY,   /**< the caller keeps the matrix; root's block is a copy */
    SP_SCATTER_BORROW, /**< the caller keeps the matrix; if Q is 1, root's block shares the arrays ja and as
                            of the matrix, and must not outlive the matrix */
    SP_SCATTER_CONSUME /**< root's block takes over the arrays of the matrix, shrunk to the block's entries,
                            so that root never stores entries twice */
} sp_scatter_mode;

/** Callback on root, called after each block (also the block of root itself) with the fraction of all entries
 *  distributed so far. */
typedef void (*sp_scatter_progress)(void *context, double fraction);

/** Distributes a matrix: sends each rank its block of the matrix on root.
 *
 *  Collective over grid->comm.
 *  \param [in]     ranges    the same on every rank
 *  \param [in,out] a         on root: the whole matrix; SP_SCATTER_CONSUME destroys it, also on failure.
 *                            Ignored on other ranks
 *  \param [in]     progress  called on root only; may be NULL
 *  \param [in]     context   passed on to progress
 *  \param [out]    block     the caller destroys it with spmm_block_destroy()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       sp_scatter_mode mode, sp_scatter_progress progress, void *context, spmm_block *block);

/** Distributes the rows of an array on rank 0 as the rows of X are distributed: each rank receives the rows
 *  whose indices are those of the rows of X that the rank owns.
 *
 *  Collective over grid->comm.
 *  \param [in]  all   on rank 0: the array, one row of row_bytes bytes per row of X; ignored on other ranks
 *  \param [out] mine  the rows of the array that this rank receives
 *  \param [in]  tag   MPI tag of the messages
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, const void *all, int64_t row_bytes,
                            void *mine, int tag);

/** Distributes X from rank 0: sends each rank the rows of X that the rank owns.
 *
 *  Collective over grid->comm.
 *  \param [in]     whole  on rank 0: X, [n x k], in host memory; on other ranks not NULL, but its data is not
 *                         used
 *  \param [in,out] x      receives this rank's rows of X; the caller has created it, in host memory, for this
 *                         number of rows, with the precision and leading dimension of `whole`
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, const spmm_multivector *whole,
                         spmm_multivector *x);

#endif
