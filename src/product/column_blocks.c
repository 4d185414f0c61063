/** Allocates the column blocks of X, and copies the owned rows of X into them. */
#include "product/column_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "device/device_ops.h"
#include "formats/multivector.h"

/* ALIGN: alignment of a column block in a row of Y, in bytes.
 * LEAST_BYTES: minimum width, in bytes, of the column blocks that sp_column_blocks_best() chooses.
 * ENOUGH: maximum number of column blocks that sp_column_blocks_best() chooses.
 * LEAST_MOVED: minimum number of bytes of each column block that a rank receives.
 * VECTOR: alignment that sp_cuda_split() requires, in bytes. */
enum { ALIGN = 32, LEAST_BYTES = 128, ENOUGH = 4, LEAST_MOVED = 8 << 20, VECTOR = 16 };

int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count)
{
    if (count < 1 || count > SP_MOST_COLUMN_BLOCKS || k % count != 0) return 0;
    return count == 1 || k / count * sp_value_size(precision) % ALIGN == 0;
}

int sp_column_blocks_best(int64_t k, spmm_precision precision, int64_t rows)
{
    int best = 1;
    for (int n = 2; n <= ENOUGH; n++) {
        const int64_t bytes = k / n * sp_value_size(precision);
        if (sp_column_blocks_fit(k, precision, n) && bytes >= LEAST_BYTES && rows >= LEAST_MOVED / bytes)
            best = n;
    }
    return best;
}

int sp_column_blocks_fitting(int64_t k, spmm_precision precision, int most)
{
    while (most > 1 && !sp_column_blocks_fit(k, precision, most)) most--;
    return most;
}

static spmm_status column_blocks_allocate(sp_exchange *exchange, spmm_device space, int64_t bytes,
                                          void **memory)
{
    if (exchange && space == SPMM_CUDA) return sp_exchange_alloc(exchange, bytes, memory);
    return space == SPMM_CPU ? sp_alloc(memory, bytes, 1, "blocks of X")
                             : sp_device_alloc_exchanged(memory, bytes, "blocks of X");
}

/** Sets the shape of each column block. Places copies in blocks->memory; sp_column_blocks_set() sets the
 *  addresses of column blocks that are parts of X. */
static void column_blocks_place(const sp_moves *moves, spmm_precision precision, spmm_device space,
                                sp_column_blocks *blocks)
{
    const int64_t bytes = sp_moves_rows(moves) * sp_multivector_ld(blocks->width, precision) *
                          sp_value_size(precision);
    for (int s = 0; s < blocks->count; s++)
        blocks->x[s] = blocks->in_x ? (spmm_multivector){.rows = moves->own,
                                                         .k = blocks->width,
                                                         .precision = precision,
                                                         .space = space,
                                                         .ghost_low = moves->ghost_low,
                                                         .ghost_high = moves->ghost_high}
                                    : sp_multivector_in((char *)blocks->memory + s * bytes, moves->ghost_low,
                                                        moves->own, moves->ghost_high, blocks->width,
                                                        precision, space);
}

/** Determines the width of the column blocks, and whether they are parts of X. */
static void column_blocks_cut(int64_t k, spmm_precision precision, const sp_exchange *exchange, int count,
                              sp_column_blocks *blocks)
{
    const int64_t x_pitch = sp_multivector_ld(k, precision) * sp_value_size(precision);
    blocks->count = count;
    blocks->width = k / count;
    blocks->in_x = count == 1 || (exchange && sp_exchange_pitch(exchange) == x_pitch);
}

void sp_column_blocks_set_k(const sp_moves *moves, int64_t k, const sp_exchange *exchange, int count,
                            sp_column_blocks *blocks)
{
    const spmm_precision precision = blocks->x[0].precision;
    const spmm_device space = blocks->x[0].space;
    column_blocks_cut(k, precision, exchange, count, blocks);
    column_blocks_place(moves, precision, space, blocks);
}

spmm_status sp_column_blocks_create(const sp_moves *moves, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks)
{
    int64_t bytes = 0, all;
    memset(blocks, 0, sizeof *blocks);
    column_blocks_cut(k, precision, exchange, count, blocks);
    if (blocks->in_x) column_blocks_place(moves, precision, space, blocks);
    if (blocks->in_x) return SPMM_OK;
    TRY(sp_multivector_size(sp_moves_rows(moves), blocks->width, precision, &bytes));
    if (__builtin_mul_overflow(bytes, count, &all))
        return sp_fail(SPMM_ERR_LIMIT, "%d blocks of %lld rows of X: their size exceeds 64 bits", count,
                       (long long)sp_moves_rows(moves));
    TRY(column_blocks_allocate(exchange, space, all, &blocks->memory));
    column_blocks_place(moves, precision, space, blocks);
    return SPMM_OK;
}

void sp_column_blocks_destroy(sp_column_blocks *blocks)
{
    if (blocks->x[0].space == SPMM_CPU)
        sp_free(blocks->memory);
    else
        sp_device_free(blocks->memory);
    memset(blocks, 0, sizeof *blocks);
}

static spmm_status fill_on_gpu(sp_column_blocks *blocks, const spmm_multivector *x)
{
    const int64_t size = sp_value_size(x->precision), bytes = blocks->width * size;
    const int64_t apart = (char *)blocks->x[1].data - (char *)blocks->x[0].data;
    if ((uintptr_t)x->data % VECTOR == 0 && sp_row_bytes(x) % VECTOR == 0)
        return sp_cuda_split(x->data, sp_row_bytes(x), x->rows, blocks->count, bytes, blocks->x[0].data,
                             apart, sp_device_stream(SP_STREAM_MAIN));
    for (int s = 0; s < blocks->count; s++)
        TRY(sp_stream_copy_2d(blocks->x[s].data, bytes, (const char *)x->data + s * bytes, sp_row_bytes(x),
                              bytes, x->rows, SP_STREAM_MAIN));
    return SPMM_OK;
}

static spmm_status column_blocks_fill(sp_column_blocks *blocks, const spmm_multivector *x, int threads)
{
    const int64_t bytes = blocks->width * sp_value_size(x->precision);
    if (x->space == SPMM_CUDA) return fill_on_gpu(blocks, x);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < x->rows; i++)
        for (int s = 0; s < blocks->count; s++)
            memcpy((char *)blocks->x[s].data + i * bytes, (const char *)sp_row(x, i) + s * bytes,
                   (size_t)bytes);
    return SPMM_OK;
}

spmm_status sp_column_blocks_set(sp_column_blocks *blocks, const spmm_multivector *x,
                                 const sp_exchange *exchange, int threads)
{
    const int64_t bytes = blocks->width * sp_value_size(x->precision);
    for (int s = 0; s < blocks->count && blocks->in_x; s++) {
        blocks->x[s].data = (char *)x->data + s * bytes;
        blocks->x[s].ld = x->ld;
    }
    if (!blocks->in_x) TRY(column_blocks_fill(blocks, x, threads));
    return exchange && x->space == SPMM_CUDA ? sp_stream_wait(sp_exchange_stream(exchange), SP_STREAM_MAIN)
                                             : SPMM_OK;
}

spmm_multivector sp_column_blocks_x(const sp_column_blocks *blocks, int s)
{
    spmm_multivector x = blocks->x[s];
    x.data = sp_row(&x, -x.ghost_low);
    x.rows += x.ghost_low + x.ghost_high;
    x.ghost_low = x.ghost_high = 0;
    return x;
}

spmm_multivector sp_column_blocks_y(const sp_column_blocks *blocks, int s, const spmm_multivector *y)
{
    spmm_multivector part = *y;
    part.k = blocks->width;
    part.data = (char *)y->data + s * blocks->width * sp_value_size(y->precision);
    return part;
}
