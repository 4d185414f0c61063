#include "scatter.h"

#include <string.h>

#include "memory.h"
#include "multivector.h"
#include "partition.h"

enum { ROOT = 0, TAG_IRP = 11, TAG_JA, TAG_AS };

/** What an owner must know before it can allocate. */
typedef struct header {
    int64_t rows, cols, nnz, row_begin, precision;
} header;

static spmm_status send_block(const sp_grid *grid, const spmm_csr *a, int64_t first, int64_t end, int to)
{
    const int64_t at = a->irp[first], nnz = a->irp[end] - at;
    const int64_t size = (int64_t)sp_value_size(a->precision);
    TRY(sp_send(grid->comm, to, TAG_IRP, a->irp + first, (end - first + 1) * 8));
    TRY(sp_send(grid->comm, to, TAG_JA, a->ja + at, nnz * 4));
    return sp_send(grid->comm, to, TAG_AS, (const char *)a->as + at * size, nnz * size);
}

static spmm_status receive_block(const sp_grid *grid, spmm_csr *block)
{
    TRY(sp_recv(grid->comm, ROOT, TAG_IRP, block->irp, (block->rows + 1) * 8));
    TRY(sp_recv(grid->comm, ROOT, TAG_JA, block->ja, block->nnz * 4));
    return sp_recv(grid->comm, ROOT, TAG_AS, block->as,
                   block->nnz * (int64_t)sp_value_size(block->precision));
}

/** Root's own rows; its arrays are a's, or copies. */
static void own_block(const spmm_csr *a, const header *h, sp_block *block)
{
    const int64_t at = a->irp[h->row_begin], size = (int64_t)sp_value_size(a->precision);
    memcpy(block->csr.irp, a->irp + h->row_begin, (size_t)(h->rows + 1) * 8);
    if (block->borrowed) {
        block->csr.ja = a->ja + at;
        block->csr.as = (char *)a->as + at * size;
    } else {
        memcpy(block->csr.ja, a->ja + at, (size_t)(h->nnz * 4));
        memcpy(block->csr.as, (const char *)a->as + at * size, (size_t)(h->nnz * size));
    }
}

static spmm_status allocate(const header *h, int borrow, sp_block *block)
{
    /* a borrowed block owns its row starts only */
    TRY(sp_csr_create(h->rows, h->cols, borrow ? 0 : h->nnz, (spmm_precision)h->precision, &block->csr));
    if (borrow) {
        sp_free(block->csr.ja);
        sp_free(block->csr.as);
        block->csr.ja = NULL;
        block->csr.as = NULL;
    }
    block->csr.nnz = h->nnz;
    block->row_begin = h->row_begin;
    block->borrowed = borrow;
    return SPMM_OK;
}

static spmm_status send_headers(const sp_grid *grid, const spmm_csr *a, const int64_t *begin, header *mine)
{
    header *all = NULL;
    spmm_status status = SPMM_OK;
    if (grid->rank == ROOT) {
        status = sp_alloc((void **)&all, grid->size, sizeof *all, "the blocks' sizes");
        for (int r = 0; status == SPMM_OK && r < grid->size; r++)
            all[r] = (header){begin[r + 1] - begin[r], a->cols, a->irp[begin[r + 1]] - a->irp[begin[r]],
                              begin[r], a->precision};
    }
    status = sp_agree(grid->comm, "scatter", status);
    if (status == SPMM_OK)
        status = SP_MPI(
            MPI_Scatter(all, sizeof *all, MPI_BYTE, mine, sizeof *mine, MPI_BYTE, ROOT, grid->comm));
    sp_free(all);
    return status;
}

spmm_status sp_scatter(const sp_grid *grid, const spmm_csr *a, const int64_t *begin, int borrow,
                       sp_scatter_progress progress, void *context, sp_block *block)
{
    header mine;
    memset(block, 0, sizeof *block);
    TRY(send_headers(grid, a, begin, &mine));
    spmm_status status = allocate(&mine, borrow && grid->rank == ROOT, block);
    TRY_GOTO(sp_agree(grid->comm, "scatter", status), failed);
    if (grid->rank == ROOT) {
        for (int r = 0; r < grid->size && status == SPMM_OK; r++) {
            if (r != ROOT) status = send_block(grid, a, begin[r], begin[r + 1], r);
            if (progress) progress(context, a->nnz ? (double)a->irp[begin[r + 1]] / (double)a->nnz : 1.0);
        }
        own_block(a, &mine, block);
    } else {
        status = receive_block(grid, &block->csr);
    }
    TRY_GOTO(sp_agree(grid->comm, "scatter", status), failed);
    const int64_t at = block->csr.irp[0];
    for (int64_t i = 0; i <= block->csr.rows; i++) block->csr.irp[i] -= at;
    return SPMM_OK;
failed:
    sp_block_destroy(block);
    return status;
}

void sp_block_destroy(sp_block *block)
{
    if (!block) return;
    if (block->borrowed) {
        block->csr.ja = NULL;
        block->csr.as = NULL;
    }
    spmm_csr_destroy(&block->csr);
    memset(block, 0, sizeof *block);
}

spmm_status sp_scatter_x(const sp_grid *grid, spmm_multivector *x)
{
    return sp_agree(grid->comm, "x", sp_bcast(grid->comm, ROOT, x->data, sp_multivector_bytes(x)));
}

spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, spmm_csr *block, int64_t *row_begin)
{
    /* the stages take rank 0 as root: a copy of comm in which root comes first */
    MPI_Comm ordered = MPI_COMM_NULL;
    sp_grid grid = {.size = 0};
    sp_block mine = {.borrowed = 0};
    int64_t *begin = NULL;
    int rank;
    memset(block, 0, sizeof *block);
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    spmm_status status = sp_agree(comm, "scatter",
                                  rank == root && !a ? sp_fail(SPMM_ERR_USAGE, "no matrix on root %d", root)
                                                     : SPMM_OK);
    TRY(status);
    TRY(SP_MPI(MPI_Comm_split(comm, 0, rank == root ? -1 : rank, &ordered)));
    TRY_GOTO(sp_grid_create(ordered, 0, 0, &grid), done);
    if (grid.rank == ROOT) {
        status = sp_alloc((void **)&begin, grid.size + 1, sizeof *begin, "row blocks");
        if (status == SPMM_OK) sp_partition_entries(a->irp, a->rows, grid.size, begin);
    }
    TRY_GOTO(sp_agree(grid.comm, "scatter", status), done);
    TRY_GOTO(sp_scatter(&grid, a, begin, 0, NULL, NULL, &mine), done);
    *block = mine.csr;
    *row_begin = mine.row_begin;
done:
    sp_free(begin);
    sp_grid_destroy(&grid);
    MPI_Comm_free(&ordered);
    return status;
}
