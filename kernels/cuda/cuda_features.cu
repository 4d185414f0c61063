/** Computes the features of a matrix in GPU memory. The results equal the results of features.c exactly. */
#include "kernels/cuda/cuda_passes.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "formats/panel.h"
#include "kernels/features.h"
#include "order/row_clusters.h"
}

namespace {

using number = unsigned long long;

/** Sums of whole numbers, which do not depend on the order of the additions. The caller zeroes them. */
struct counts {
    number squares, over[SP_LENGTH_BOUNDS], longest, changes, reach, panel_entries, panel_columns, columns,
        shared;
};

__global__ void __launch_bounds__(THREADS) count_rows(const __grid_constant__ spmm_csr a, counts *found)
{
    number squares = 0, longest = 0, changes = 0, reach = 0, over[SP_LENGTH_BOUNDS] = {0};
    for (int64_t i = first_item(); i < a.rows; i += grid_size()) {
        const int64_t begin = a.irp[i], end = a.irp[i + 1];
        const number length = (number)(end - begin);
        squares += length * length;
#pragma unroll
        for (int b = 0; b < SP_LENGTH_BOUNDS; b++) over[b] += length > 4u << b ? length : 0;
        longest = max(longest, length);
        if (length > SP_CHAIN) reach += length * (number)(a.ja[end - 1] - (int64_t)a.ja[begin] + 1);
        changes += i > 0 && begin - a.irp[i - 1] != end - begin;
    }
    for (int d = 16; d > 0; d /= 2) longest = max(longest, __shfl_xor_sync(0xffffffffu, longest, d));
    if (threadIdx.x % 32 == 0) atomicMax(&found->longest, longest);
    add_up(&found->squares, squares);
    for (int b = 0; b < SP_LENGTH_BOUNDS; b++) add_up(&found->over[b], over[b]);
    add_up(&found->changes, changes);
    add_up(&found->reach, reach);
}

/** Counts the distinct columns of a sampled panel. Adds the number of its entries to *entries. */
__device__ number columns_of_panel(const spmm_csr &a, int64_t panel, number *entries)
{
    int64_t at[SP_PANEL], end[SP_PANEL];
    number columns = 0;
    int32_t column = -1;
    for (int r = 0; r < SP_PANEL; r++) {
        const int64_t i = panel * SP_PANEL + r;
        at[r] = end[r] = 0;
        if (i >= a.rows) continue;
        sp_sampled_part(a.irp, a.ja, i, panel, &column, at + r, end + r);
        *entries += (number)(end[r] - at[r]);
    }
    for (;; columns++) {
        int32_t next = INT32_MAX;
        for (int r = 0; r < SP_PANEL; r++)
            if (at[r] < end[r]) next = min(next, a.ja[at[r]]);
        if (next == INT32_MAX) return columns;
        for (int r = 0; r < SP_PANEL; r++) at[r] += at[r] < end[r] && a.ja[at[r]] == next;
    }
}

/** Thread s examines panel s and row s of the samples. */
__global__ void __launch_bounds__(THREADS)
    examine_samples(const __grid_constant__ spmm_csr a, int64_t diagonal, counts *found)
{
    const int64_t s = first_item(), panels = (a.rows + SP_PANEL - 1) / SP_PANEL;
    const int64_t samples = min((int64_t)SP_PANEL_SAMPLES, panels), step = a.rows / SP_ROW_SAMPLES + 1;
    number entries = 0, panel_columns = 0, columns = 0, shared = 0;
    if (s < samples) panel_columns = columns_of_panel(a, s * panels / samples, &entries);
    uint64_t at_random = 1;
    for (int64_t j = 0; j <= s && s * step < a.rows; j++) at_random = sp_next_sample(at_random);
    const int64_t i = s * step + sp_sampled_row(at_random, step);
    const int64_t length = s * step < a.rows && i < a.rows ? a.irp[i + 1] - a.irp[i] : 0;
    if (length >= 2 && length <= SP_CHAIN) {
        const int32_t *const column = a.ja + a.irp[i];
        int64_t e = sp_sampled_entry(at_random, length);
        if (column[e] - diagonal == i) e = e + 1 < length ? e + 1 : 0;
        const int64_t row = column[e] - diagonal;
        if (row >= 0 && row < a.rows && a.irp[row + 1] - a.irp[row] <= SP_CHAIN) {
            columns = (number)(length - 1);
            shared = (number)max((int64_t)sp_common_columns(a.irp, a.ja, i, row) - 1, (int64_t)0);
        }
    }
    add_up(&found->panel_entries, entries);
    add_up(&found->panel_columns, panel_columns);
    add_up(&found->columns, columns);
    add_up(&found->shared, shared);
}

spmm_status count(const spmm_csr *a, int64_t diagonal, counts *there, counts *here)
{
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    TRY(sp_device_zero(there, sizeof *there));
    count_rows<<<blocks_for(a->rows), THREADS, 0, stream>>>(*a, there);
    examine_samples<<<blocks_for(SP_ROW_SAMPLES), THREADS, 0, stream>>>(*a, diagonal, there);
    TRY(sp_device_launched("features"));
    return sp_device_download(here, there, sizeof *here);
}

} // namespace

extern "C" spmm_status sp_cuda_features(const spmm_csr *a, int64_t diagonal, sp_features *f)
{
    counts here = {}, *there = NULL;
    TRY(sp_device_alloc((void **)&there, sizeof *there, "features"));
    const spmm_status status = a->rows > 0 ? count(a, diagonal, there, &here) : SPMM_OK;
    sp_device_free(there);
    *f = {};
    f->sum.squares = (double)here.squares;
    for (int b = 0; b < SP_LENGTH_BOUNDS; b++) f->sum.over[b] = (double)here.over[b];
    f->sum.changes = (double)here.changes;
    f->sum.reach = (double)here.reach;
    f->sum.panel_columns = sp_ratio((double)here.panel_columns, (double)here.panel_entries) * (double)a->nnz;
    f->sum.columns = (double)here.columns;
    f->sum.shared = (double)here.shared;
    f->longest = (double)here.longest;
    sp_features_finish(a, f);
    return status;
}
