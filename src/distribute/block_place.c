/** Sets the position of a block in the grid, and destroys blocks. */
#include <string.h>

#include "distribute/scatter.h"
#include "formats/csr.h"

void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block)
{
    const int p = grid->coords[0], q = grid->coords[1];
    memset(block, 0, sizeof *block);
    block->rows = rows;
    block->cols = cols;
    block->row_begin = ranges->row_begin[p];
    block->col_begin = ranges->col_begin[q];
    block->x_begin = sp_x_first(ranges, p, q);
    block->x_rows = sp_x_end(ranges, p, q) - block->x_begin;
    block->p = grid->dims[0];
    block->q = grid->dims[1];
}

void spmm_block_destroy(spmm_block *block)
{
    if (!block) return;
    if (block->borrowed) {
        block->csr.ja = NULL;
        block->csr.as = NULL;
    }
    spmm_csr_destroy(&block->csr);
    memset(block, 0, sizeof *block);
}
