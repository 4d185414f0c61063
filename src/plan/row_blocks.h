/** A block's rows as a few consecutive parts: those that need only own rows of X first. */
#ifndef SP_ROW_BLOCKS_H
#define SP_ROW_BLOCKS_H

#include "distribute/halo.h"
#include "kernels/kernel.h"

enum { SP_MOST_INTERIOR = 4, SP_MOST_ROW_BLOCKS = 2 * SP_MOST_INTERIOR + 1 };

/** Rows [first, first + rows) of the block, ready for a kernel. */
typedef struct sp_row_block {
    int64_t first, rows;
    spmm_csr csr; /**< the rows; ja and as are the halo's */
    int borrowed; /**< 1: irp too */
    sp_matrix a;
    sp_thread_ranges work; /**< on the CPU */
    void *state;           /**< the kernel's */
} sp_row_block;

typedef struct sp_row_blocks {
    const sp_kernel *kernel;
    int count;
    int interior; /**< the first ones, whose rows need no other rank's X */
    sp_row_block part[SP_MOST_ROW_BLOCKS];
} sp_row_blocks;

/** Where the parts are: first and rows of each, the rest zeroed.
 *
 *  Up to SP_MOST_INTERIOR runs of interior rows, the longest ones, whole panels of SP_PANEL rows of the block;
 *  other interior rows are computed with the boundary. One part where there is no halo, where the runs hold
 *  too little to be worth a kernel of their own, or with overlap 0. */
void sp_row_blocks_find(const sp_halo *halo, int overlap, sp_row_blocks *parts);

/** Converts each part to the kernel's format and memory. Local.
 *  \param [in,out] parts  found; the caller destroys it, also on failure
 *  \return as sp_matrix_create() and the kernel's prepare() */
spmm_status sp_row_blocks_create(const sp_halo *halo, const sp_kernel *kernel, int64_t k, double ell_limit,
                                 int threads, sp_shape shape, sp_row_blocks *parts);
void sp_row_blocks_destroy(sp_row_blocks *parts);

/** Runs the kernel on parts [begin, end): y's rows of those parts. x: as the block sees it. */
spmm_status sp_row_blocks_run(const sp_row_blocks *parts, int begin, int end, sp_shape shape,
                              const spmm_multivector *x, const spmm_multivector *y);

/** Rows in the interior parts. */
int64_t sp_row_blocks_interior_rows(const sp_row_blocks *parts);

#endif
