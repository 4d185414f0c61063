/** Collects the rows of Y, or the blocks of a matrix, on rank 0. */
#include "distribute/gather.h"

#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "formats/multivector.h"

enum { ROOT = 0 };

static spmm_status receive_blocks(const sp_grid *grid, const int64_t *block_rows, spmm_multivector *y)
{
    int64_t at = 0;
    for (int r = 0; r < grid->size; r++) {
        if (r != ROOT) TRY(sp_recv(grid->comm, r, SP_TAG_Y, sp_row(y, at), block_rows[r] * sp_row_bytes(y)));
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
    TRY_GOTO(sp_agree(grid->comm, "gather", status), done);
    TRY_GOTO(sp_collect(grid->comm, &block->rows, sizeof block->rows, block_rows), done);
    if (grid->rank == ROOT) {
        memcpy(y->data, block->data, (size_t)sp_multivector_bytes(block));
        status = receive_blocks(grid, block_rows, y);
    } else {
        status = sp_send(grid->comm, ROOT, SP_TAG_Y, block->data, sp_multivector_bytes(block));
    }
    status = sp_agree(grid->comm, "gather", status);
done:
    sp_free(block_rows);
    if (status != SPMM_OK) spmm_multivector_destroy(y);
    return status;
}

/* ---- gathering a matrix ---- */

/** On root only: the sizes of all ranks' blocks, and buffers for one block at a time. */
typedef struct pieces {
    int64_t (*size)[2]; /* [ranks], rows and entries of each block */
    int64_t *start;     /* row starts of the current block */
    int32_t *ja;
    void *as;
    int64_t *next; /* position in the matrix of the next entry of each row */
} pieces;

static void destroy_pieces(pieces *s)
{
    sp_free(s->size);
    sp_free(s->start);
    sp_free(s->ja);
    sp_free(s->as);
    sp_free(s->next);
}

static spmm_status make_room(const sp_grid *grid, spmm_precision precision, int64_t cols, pieces *s,
                             spmm_csr *a)
{
    int64_t rows = 0, nnz = 0, most_rows = 0, most_nnz = 0;
    for (int r = 0; r < grid->size; r++) {
        if (r % grid->dims[1] == 0) rows += s->size[r][0];
        nnz += s->size[r][1];
        if (s->size[r][0] > most_rows) most_rows = s->size[r][0];
        if (s->size[r][1] > most_nnz) most_nnz = s->size[r][1];
    }
    TRY(sp_csr_create(rows, cols, nnz, precision, a));
    TRY(sp_alloc((void **)&s->start, most_rows + 1, sizeof *s->start, "row starts"));
    TRY(sp_alloc((void **)&s->ja, most_nnz, sizeof *s->ja, "a block's columns"));
    TRY(sp_alloc(&s->as, most_nnz, sp_value_size(precision), "a block's values"));
    return sp_alloc((void **)&s->next, rows + 1, sizeof *s->next, "row starts");
}

/** Receives the row starts of rank r's block into s->start, or copies them if r is root. start[0] is 0. */
static spmm_status starts_of(const sp_grid *grid, const spmm_csr *piece, int r, pieces *s)
{
    const int64_t rows = s->size[r][0];
    if (r != ROOT) return sp_recv(grid->comm, r, SP_TAG_GATHER_STARTS, s->start, (rows + 1) * 8);
    memcpy(s->start, piece->irp, (size_t)(rows + 1) * 8);
    return SPMM_OK;
}

static spmm_status entries_of(const sp_grid *grid, const spmm_csr *piece, int r, pieces *s)
{
    const int64_t nnz = s->size[r][1], size = sp_value_size(piece->precision);
    if (r == ROOT) {
        memcpy(s->ja, piece->ja, (size_t)nnz * 4);
        memcpy(s->as, piece->as, (size_t)(nnz * size));
        return SPMM_OK;
    }
    TRY(sp_recv(grid->comm, r, SP_TAG_GATHER_JA, s->ja, nnz * 4));
    return sp_recv(grid->comm, r, SP_TAG_GATHER_AS, s->as, nnz * size);
}

/** Appends the entries of the block in s to rows [first_row, first_row + rows) of `a`. The blocks of a
 *  process row arrive in the order of their columns, so these rows stay sorted. */
static void gather_append(const pieces *s, int64_t first_row, int64_t rows, int64_t col_begin, spmm_csr *a)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t n = s->start[i + 1] - s->start[i], to = s->next[first_row + i];
        for (int64_t e = 0; e < n; e++) a->ja[to + e] = (int32_t)(s->ja[s->start[i] + e] + col_begin);
        sp_values_copy(a->precision, s->as, s->start[i], n, a->as, to);
        s->next[first_row + i] += n;
    }
}

/** Assembles the matrix on root. The row starts of all blocks are received twice. The first pass counts the
 *  entries per row. The second pass also receives the entries, and stores them. */
static spmm_status put_together(const sp_grid *grid, const spmm_csr *piece, const int64_t *col_begin,
                                pieces *s, spmm_csr *a)
{
    for (int pass = 0; pass < 2; pass++) {
        int64_t row = 0;
        for (int r = 0; r < grid->size; r++) {
            const int64_t rows = s->size[r][0];
            TRY(starts_of(grid, piece, r, s));
            if (pass == 0) {
                for (int64_t i = 0; i < rows; i++) a->irp[row + i + 1] += s->start[i + 1] - s->start[i];
            } else {
                TRY(entries_of(grid, piece, r, s));
                gather_append(s, row, rows, col_begin[r % grid->dims[1]], a);
            }
            if (r % grid->dims[1] == grid->dims[1] - 1) row += rows;
        }
        for (int64_t i = 0; pass == 0 && i < a->rows; i++) a->irp[i + 1] += a->irp[i];
        if (pass == 0) memcpy(s->next, a->irp, (size_t)(a->rows + 1) * 8);
    }
    return SPMM_OK;
}

static spmm_status send_piece(const sp_grid *grid, const spmm_csr *piece)
{
    for (int pass = 0; pass < 2; pass++)
        TRY(sp_send(grid->comm, ROOT, SP_TAG_GATHER_STARTS, piece->irp, (piece->rows + 1) * 8));
    TRY(sp_send(grid->comm, ROOT, SP_TAG_GATHER_JA, piece->ja, piece->nnz * 4));
    return sp_send(grid->comm, ROOT, SP_TAG_GATHER_AS, piece->as,
                   piece->nnz * sp_value_size(piece->precision));
}

spmm_status sp_gather_csr(const sp_grid *grid, const spmm_csr *piece, const int64_t *col_begin, spmm_csr *a)
{
    const int root = grid->rank == ROOT;
    const int64_t mine[2] = {piece->rows, piece->nnz};
    pieces s = {.size = NULL};
    spmm_status status = SPMM_OK;
    memset(a, 0, sizeof *a);
    if (root) status = sp_alloc((void **)&s.size, grid->size, sizeof *s.size, "the blocks' sizes");
    TRY_GOTO(sp_agree(grid->comm, "gather", status), done);
    TRY_GOTO(sp_collect(grid->comm, mine, sizeof mine, s.size), done);
    if (root) status = make_room(grid, piece->precision, col_begin[grid->dims[1]], &s, a);
    TRY_GOTO(sp_agree(grid->comm, "gather", status), done);
    status = sp_agree(grid->comm, "gather",
                      root ? put_together(grid, piece, col_begin, &s, a) : send_piece(grid, piece));
done:
    destroy_pieces(&s);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}
