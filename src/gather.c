#include "gather.h"

#include <string.h>

#include "memory.h"
#include "multivector.h"

enum { ROOT = 0, TAG_Y = 21 };

static spmm_status receive_blocks(const sp_grid *grid, const int64_t *block_rows, spmm_multivector *y)
{
    const int64_t row_bytes = y->ld * (int64_t)sp_value_size(y->precision);
    int64_t at = 0;
    for (int r = 0; r < grid->size; r++) {
        if (r != ROOT)
            TRY(sp_recv(grid->comm, r, TAG_Y, (char *)y->data + at * row_bytes, block_rows[r] * row_bytes));
        at += block_rows[r];
    }
    return SPMM_OK;
}

spmm_status sp_gather(const sp_grid *grid, const spmm_multivector *block, int64_t rows, spmm_multivector *y)
{
    int64_t *block_rows = NULL;
    spmm_status status = SPMM_OK;
    memset(y, 0, sizeof *y);
    if (grid->rank == ROOT) {
        status = spmm_multivector_create(rows, block->k, block->precision, SPMM_CPU, y);
        if (status == SPMM_OK)
            status = sp_alloc((void **)&block_rows, grid->size, sizeof *block_rows, "block sizes");
    }
    TRY_GOTO(sp_agree(grid->comm, "gather", status), failed);
    TRY_GOTO(SP_MPI(MPI_Gather(&block->rows, 1, MPI_INT64_T, block_rows, 1, MPI_INT64_T, ROOT, grid->comm)),
             failed);
    if (grid->rank == ROOT) {
        memcpy(y->data, block->data, (size_t)sp_multivector_bytes(block));
        status = receive_blocks(grid, block_rows, y);
    } else {
        status = sp_send(grid->comm, ROOT, TAG_Y, block->data, sp_multivector_bytes(block));
    }
    TRY_GOTO(sp_agree(grid->comm, "gather", status), failed);
    sp_free(block_rows);
    return SPMM_OK;
failed:
    sp_free(block_rows);
    spmm_multivector_destroy(y);
    return status;
}
