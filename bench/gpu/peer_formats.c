#include "peer_formats.h"

#include <string.h>

#include "base/memory.h"

static void copy_value(const spmm_csr *a, int64_t from, void *val, int64_t to)
{
    if (a->precision == SPMM_F64)
        ((double *)val)[to] = ((const double *)a->as)[from];
    else
        ((float *)val)[to] = ((const float *)a->as)[from];
}

void peer_arrays_destroy(peer_arrays *p)
{
    sp_free(p->start);
    sp_free(p->col);
    sp_free(p->val);
    memset(p, 0, sizeof *p);
}

static spmm_status alloc_entries(const spmm_csr *a, peer_arrays *p)
{
    TRY(sp_alloc((void **)&p->col, p->stored, sizeof *p->col, "a peer's columns"));
    return sp_alloc(&p->val, p->stored * p->block * p->block, sp_value_size(a->precision), "a peer's values");
}

/* ---- sliced ELLPACK ---- */

static int64_t length(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row]; }

static int64_t slice_end(const spmm_csr *a, int64_t slice)
{
    const int64_t end = (slice + 1) * PEER_SLICE;
    return end < a->rows ? end : a->rows;
}

/** Sizes of the slices; p->stored is their sum. */
static spmm_status measure_slices(const spmm_csr *a, double limit, peer_arrays *p)
{
    p->stored = 0;
    for (int64_t s = 0; s < p->groups; s++) {
        int64_t longest = 0;
        for (int64_t i = s * PEER_SLICE; i < slice_end(a, s); i++)
            if (length(a, i) > longest) longest = length(a, i);
        p->start[s] = (int32_t)p->stored;
        p->stored += longest * PEER_SLICE;
        if (p->stored > INT32_MAX || (double)p->stored > limit * (double)a->nnz + PEER_SLICE)
            return sp_fail(SPMM_ERR_UNSUPPORTED,
                           "slices of %d rows would pad the entries more than %.1f-fold", PEER_SLICE, limit);
    }
    p->start[p->groups] = (int32_t)p->stored;
    return SPMM_OK;
}

static void fill_slice(const spmm_csr *a, int64_t slice, const peer_arrays *p)
{
    const int64_t begin = slice * PEER_SLICE, size = (int64_t)sp_value_size(a->precision);
    for (int64_t e = p->start[slice]; e < p->start[slice + 1]; e++) p->col[e] = -1;
    memset((char *)p->val + p->start[slice] * size, 0,
           (size_t)((p->start[slice + 1] - p->start[slice]) * size));
    for (int64_t i = begin; i < slice_end(a, slice); i++)
        for (int64_t e = 0; e < length(a, i); e++) {
            const int64_t to = p->start[slice] + e * PEER_SLICE + i - begin;
            p->col[to] = a->ja[a->irp[i] + e];
            copy_value(a, a->irp[i] + e, p->val, to);
        }
}

static spmm_status make_slices(const spmm_csr *a, int threads, double limit, peer_arrays *p)
{
    TRY(sp_alloc((void **)&p->start, p->groups + 1, sizeof *p->start, "slices"));
    TRY(measure_slices(a, limit, p));
    TRY(alloc_entries(a, p));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < p->groups; s++) fill_slice(a, s, p);
    return SPMM_OK;
}

spmm_status peer_sell(const spmm_csr *a, int threads, double limit, peer_arrays *p)
{
    *p = (peer_arrays){.groups = (a->rows + PEER_SLICE - 1) / PEER_SLICE, .block = 1};
    const spmm_status status = make_slices(a, threads, limit, p);
    if (status != SPMM_OK) peer_arrays_destroy(p);
    return status;
}

/* ---- blocks ---- */

/** 1 when the b rows from `row` on have the same columns, in whole blocks of b. */
static int is_block_row(const spmm_csr *a, int64_t row, int64_t b)
{
    const int64_t n = length(a, row);
    const int32_t *const col = a->ja + a->irp[row];
    if (n % b != 0) return 0;
    for (int64_t e = 0; e < n; e += b)
        if (col[e] % b != 0 || col[e + b - 1] != col[e] + b - 1) return 0;
    for (int64_t i = 1; i < b; i++)
        if (length(a, row + i) != n || memcmp(a->ja + a->irp[row + i], col, (size_t)n * sizeof *col) != 0)
            return 0;
    return 1;
}

static int64_t find_block(const spmm_csr *a, int most)
{
    for (int64_t b = most; b > 1; b--) {
        int64_t row = 0;
        if (a->rows % b != 0 || a->cols % b != 0 || a->nnz == 0) continue;
        while (row < a->rows && is_block_row(a, row, b)) row += b;
        if (row == a->rows) return b;
    }
    return 0;
}

static void fill_block_row(const spmm_csr *a, int64_t group, const peer_arrays *p)
{
    const int64_t b = p->block, row = group * b;
    for (int64_t t = p->start[group]; t < p->start[group + 1]; t++) {
        const int64_t offset = (t - p->start[group]) * b;
        p->col[t] = (int32_t)(a->ja[a->irp[row] + offset] / b);
        for (int64_t i = 0; i < b; i++)
            for (int64_t j = 0; j < b; j++)
                copy_value(a, a->irp[row + i] + offset + j, p->val, (t * b + i) * b + j);
    }
}

static spmm_status make_blocks(const spmm_csr *a, int threads, peer_arrays *p)
{
    const int64_t b = p->block;
    TRY(sp_alloc((void **)&p->start, p->groups + 1, sizeof *p->start, "block starts"));
    TRY(alloc_entries(a, p));
    for (int64_t g = 0; g <= p->groups; g++) p->start[g] = (int32_t)(a->irp[g * b] / (b * b));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t g = 0; g < p->groups; g++) fill_block_row(a, g, p);
    return SPMM_OK;
}

spmm_status peer_blocks(const spmm_csr *a, int threads, int most, peer_arrays *p)
{
    const int64_t b = find_block(a, most);
    *p = (peer_arrays){0};
    if (b == 0) return sp_fail(SPMM_ERR_USAGE, "the matrix is not made of dense blocks");
    *p = (peer_arrays){.groups = a->rows / b, .stored = a->nnz / (b * b), .block = b};
    const spmm_status status = make_blocks(a, threads, p);
    if (status != SPMM_OK) peer_arrays_destroy(p);
    return status;
}
