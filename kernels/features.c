/** Computes the features of a matrix. */
#include "kernels/features.h"

#include <math.h>
#include <string.h>

#include "device/device.h"
#include "device/topology.h"
#include "formats/panel.h"
#include "formats/summation.h"
#include "order/row_clusters.h"

static double mean_length(const sp_features *f) { return sp_ratio(f->sum.nnz, f->sum.rows); }

/** Copies the column indices of row i to `to`, in increasing order. The row must have at most SP_CHAIN
 *  entries. */
static void copy_increasing(const spmm_csr *a, int64_t i, int32_t *to)
{
    const int32_t *const col = a->ja + a->irp[i];
    const int64_t length = a->irp[i + 1] - a->irp[i];
    for (int64_t e = 0; e < length; e++) {
        int64_t at = e;
        for (; at > 0 && to[at - 1] > col[e]; at--) to[at] = to[at - 1];
        to[at] = col[e];
    }
}

/** Returns how far row i reaches: the greatest minus the smallest of its column indices, plus 1. The row must
 *  not be empty. \param [in] any_order  0: the column indices of a row increase */
static double reach_of(const spmm_csr *a, int64_t i, int any_order)
{
    const int32_t *const col = a->ja + a->irp[i];
    const int64_t length = a->irp[i + 1] - a->irp[i];
    int32_t first = col[0], last = col[length - 1];
    for (int64_t e = 0; any_order && e < length; e++) {
        if (col[e] < first) first = col[e];
        if (col[e] > last) last = col[e];
    }
    return (double)last - first + 1;
}

/** For a sample of short rows i, picks a random column c of row i that is not the diagonal. Adds to
 *  sum->columns the number of columns of row i other than c, and to sum->shared how many of these are also
 *  columns of row c of the matrix. Skips row i if row c is long or outside the block. */
static void compare_neighbors(const spmm_csr *a, int64_t diagonal, struct sp_feature_sums *sum)
{
    const int64_t step = a->rows / SP_ROW_SAMPLES + 1;
    uint64_t at_random = 1;
    for (int64_t s = 0; s < a->rows; s += step) {
        at_random = sp_next_sample(at_random);
        const int64_t i = s + sp_sampled_row(at_random, step);
        if (i >= a->rows) break;
        const int64_t length = a->irp[i + 1] - a->irp[i];
        if (length < 2 || length > SP_CHAIN) continue;
        int32_t column[SP_CHAIN];
        copy_increasing(a, i, column);
        int64_t e = sp_sampled_entry(at_random, length);
        if (column[e] - diagonal == i) e = e + 1 < length ? e + 1 : 0;
        const int64_t row = column[e] - diagonal;
        if (row < 0 || row >= a->rows || a->irp[row + 1] - a->irp[row] > SP_CHAIN) continue;
        sum->columns += (double)(length - 1);
        sum->shared += fmax((double)sp_common_columns(a->irp, a->ja, i, row) - 1, 0);
    }
}

void sp_features_of(const spmm_csr *block, int64_t diagonal, int any_order, int threads, sp_features *f)
{
    double squares = 0, longest = 0, changes = 0, reach = 0, over[SP_LENGTH_BOUNDS] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : longest) \
    reduction(+ : squares, changes, reach, over[ : SP_LENGTH_BOUNDS])
    for (int64_t i = 0; i < block->rows; i++) {
        const double length = (double)(block->irp[i + 1] - block->irp[i]);
        squares += length * length;
        for (int b = 0; b < SP_LENGTH_BOUNDS && length > 4 << b; b++) over[b] += length;
        if (length > longest) longest = length;
        if (length > SP_CHAIN) reach += length * reach_of(block, i, any_order);
        changes += i > 0 && block->irp[i] - block->irp[i - 1] != block->irp[i + 1] - block->irp[i];
    }
    memset(f, 0, sizeof *f);
    f->sum.squares = squares;
    f->sum.changes = changes;
    f->sum.reach = reach;
    memcpy(f->sum.over, over, sizeof over);
    f->sum.panel_columns = sp_panel_columns(block, SP_PANEL_SAMPLES, threads);
    compare_neighbors(block, diagonal, &f->sum);
    f->longest = longest;
    sp_features_finish(block, f);
}

void sp_features_finish(const spmm_csr *a, sp_features *f)
{
    enum { MOST_F32_PER_F64 = 4 }; /* f32 units per f64 unit: P100 to H200 have 2, graphics GPUs 32 or 64 */
    f->sum.blocks = 1;
    f->sum.rows = (double)a->rows;
    f->sum.nnz = (double)a->nnz;
    f->cache = (double)sp_last_cache_bytes();
    f->unstaged = !sp_device_starts_early();
    f->f64_slow = sp_device_f32_per_f64() > MOST_F32_PER_F64;
}

double sp_features_variation(const sp_features *f)
{
    const double mean = mean_length(f);
    if (mean <= 0) return 0;
    const double variance = f->sum.squares / f->sum.rows - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

double sp_features_reuse(const sp_features *f) { return sp_ratio(f->sum.nnz, f->sum.panel_columns); }

double sp_trait_of(const sp_features *f, sp_trait trait, int64_t k, spmm_precision precision)
{
    const struct sp_feature_sums *const s = &f->sum;
    if (trait >= SP_OVER_4 && trait <= SP_OVER_128) return sp_ratio(s->over[trait - SP_OVER_4], s->nnz);
    switch (trait) {
    case SP_X_BYTES: return (double)k * (double)sp_value_size(precision);
    case SP_MEAN: return mean_length(f);
    case SP_VARIATION: return sp_features_variation(f);
    case SP_REUSE: return sp_features_reuse(f);
    case SP_SHARED: return sp_ratio(s->shared, s->columns);
    default: return sp_ratio(s->nnz, s->blocks);
    }
}
