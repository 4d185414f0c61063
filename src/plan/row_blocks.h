/** Splits a block into a few row blocks, each with a kernel state of its own: interior ones, which need only owned
 *  rows of X, first. */
#ifndef SP_ROW_BLOCKS_H
#define SP_ROW_BLOCKS_H

#include "distribute/halo.h"
#include "kernels/kernel.h"

enum { SP_MOST_INTERIOR = 4, SP_MOST_ROW_BLOCKS = 2 * SP_MOST_INTERIOR + 1 };

/** Row block: rows [first, first + rows) of the block, ready for a kernel. */
typedef struct sp_row_block {
    int64_t first, rows;
    spmm_csr csr;          /**< the rows; ja and as belong to the halo */
    int borrowed;          /**< 1: irp, too */
    sp_matrix a;           /**< the rows in the kernel's format and memory */
    sp_thread_ranges work; /**< on the CPU; empty on a GPU */
    void *state;           /**< private to the kernel */
} sp_row_block;

typedef struct sp_row_blocks {
    const sp_kernel *kernel;
    int count;
    int interior; /**< how many of them, the first ones, need no ghost rows of X */
    sp_row_block part[SP_MOST_ROW_BLOCKS];
} sp_row_blocks;

/** Determines the row blocks: sets first and rows of each, and zeroes their other members. Local.
 *
 *  The interior ones are the longest runs of interior rows, at most SP_MOST_INTERIOR, trimmed to whole panels of
 *  SP_PANEL rows of the block; other interior rows are computed with the boundary rows. There is only one row block
 *  where this rank has no ghost rows, where the runs hold too few rows to be worth a kernel of their own, or with
 *  overlap 0. */
void sp_row_blocks_find(const sp_halo *halo, int overlap, sp_row_blocks *parts);

/** Converts each row block to the kernel's format and memory, and prepares the kernel. Local.
 *  \param [in]     halo   must outlive *parts
 *  \param [in]     k      columns of X in the products to come
 *  \param [in,out] parts  from sp_row_blocks_find(); the caller destroys it, also on failure
 *  \return as sp_matrix_create() and the kernel's prepare() */
spmm_status sp_row_blocks_create(const sp_halo *halo, const sp_kernel *kernel, int64_t k, double ell_limit,
                                 int threads, sp_shape shape, sp_row_blocks *parts);

/** Frees the row blocks and zeroes *parts; accepts zeroed objects. Local. */
void sp_row_blocks_destroy(sp_row_blocks *parts);

/** Runs the kernel on row blocks [begin, end): computes their rows of y. Local; on a GPU the kernels are queued.
 *  \param [in] x  X as the block sees it, ghost rows included
 *  \return as the kernel's run() */
spmm_status sp_row_blocks_run(const sp_row_blocks *parts, int begin, int end, sp_shape shape,
                              const spmm_multivector *x, const spmm_multivector *y);

/** Returns the number of rows in the interior row blocks. Local. */
int64_t sp_row_blocks_interior_rows(const sp_row_blocks *parts);

#endif
