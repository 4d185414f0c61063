/** Cuts long rows into leaves, which become rows of panels, and adds the sums of leaves, which products with
 *  panels store in memory. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/cuda_panels.cuh"
#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "formats/panel.h"
}

namespace {

/** Numbers of long rows, their leaves and their sections, in one row or in all rows before it. */
struct counts {
    int32_t rows, leaves, sections;
    __host__ __device__ counts operator+(const counts &o) const
    {
        return {rows + o.rows, leaves + o.leaves, sections + o.sections};
    }
};

__global__ void __launch_bounds__(THREADS)
    count_leaves(const int64_t *row_start, int64_t rows, counts *of_row)
{
    for (int64_t i = first_item(); i <= rows; i += grid_size()) {
        const int64_t length = i < rows ? row_start[i + 1] - row_start[i] : 0;
        of_row[i] = length <= SP_CHAIN ? counts{}
                                       : counts{1, (int32_t)((length - 1) / SP_LEAF + 1),
                                                (int32_t)((length - 1) / SP_SECTION + 1)};
    }
}

/** Arrays of the rows after the cut. `target` is as in sp_cut_rows; `row` are the numbers of the rows, which
 *  are sorted by `key`. */
struct cut_arrays {
    const counts *before; /* [rows + 1] */
    int64_t *row_start;
    int32_t *target, *row;
    uint32_t *key;
    sp_leaves *leaf;
};

/** Lists the short rows, with their positions as keys, and the long rows. */
__global__ void __launch_bounds__(THREADS)
    list_rows(const int64_t *row_start, int64_t rows, const int32_t *order,
              const __grid_constant__ cut_arrays to)
{
    for (int64_t i = first_item(); i <= rows; i += grid_size()) {
        const int64_t row = order && i < rows ? order[i] : i;
        const counts before = to.before[row];
        const int64_t at = row - before.rows + before.leaves;
        if (row == rows) to.row_start[at] = row_start[rows];
        if (row == rows || row_start[row + 1] - row_start[row] > SP_CHAIN) {
            to.leaf[before.rows] = {(int32_t)row, before.leaves, before.sections};
        } else {
            to.row_start[at] = row_start[row];
            to.target[at] = (int32_t)row;
            to.row[at] = (int32_t)at;
            to.key[at] = (uint32_t)i;
        }
    }
}

/** Lists the leaves, one block per long row. The key of a leaf is the column of its middle entry, plus 2^31,
 *  so that leaves follow short rows. Also lists the packs whose first row this is. */
__global__ void __launch_bounds__(THREADS)
    list_leaves(const int64_t *row_start, const int32_t *col, int64_t rows, int64_t long_rows, int64_t packs,
                const __grid_constant__ cut_arrays to, int32_t *pack)
{
    for (int64_t r = blockIdx.x; r <= long_rows; r += gridDim.x) {
        const sp_leaves own = to.leaf[r];
        const int64_t from = r == 0 ? 0 : to.leaf[r - 1].section / SP_LEAF_PACK + 1;
        const int64_t last = r == long_rows ? packs : own.section / SP_LEAF_PACK;
        for (int64_t p = from + threadIdx.x; p <= last; p += THREADS) pack[p] = (int32_t)r;
        if (r == long_rows) continue;
        const int64_t begin = row_start[own.row], end = row_start[own.row + 1],
                      first = own.row - r + own.leaf;
        for (int64_t i = threadIdx.x; begin + i * SP_LEAF < end; i += THREADS) {
            const int64_t e = begin + i * SP_LEAF;
            to.row_start[first + i] = e;
            to.target[first + i] = (int32_t)(rows + own.leaf + i);
            to.row[first + i] = (int32_t)(first + i);
            to.key[first + i] = (uint32_t)INT32_MAX + 1 +
                                (uint32_t)col[e + min(end - e, (int64_t)SP_LEAF) / 2];
        }
    }
}

/** Temporary memory of the cut. */
struct cut_memory {
    counts *before;
    int32_t *row;
    uint32_t *key, *sorted_key;
    char *temporary;
    size_t bytes;
};

void take_memory(cut_memory *t, arena *memory, int64_t rows, int64_t most, cudaStream_t stream)
{
    size_t sort = 0, sum = 0;
    t->before = take<counts>(memory, rows + 1);
    t->row = take<int32_t>(memory, most);
    t->key = take<uint32_t>(memory, most);
    t->sorted_key = take<uint32_t>(memory, most);
    cub::DeviceScan::ExclusiveSum(NULL, sum, t->before, t->before, rows + 1, stream);
    cub::DeviceRadixSort::SortPairs(NULL, sort, t->key, t->sorted_key, t->row, t->row, most, 0, 32, stream);
    t->bytes = sort > sum ? sort : sum;
    t->temporary = take<char>(memory, (int64_t)t->bytes);
}

spmm_status cut(const sp_matrix *a, const int32_t *order, cut_memory *t, cudaStream_t stream, sp_cut_rows *c,
                sp_matrix *m)
{
    counts all;
    count_leaves<<<blocks_for(a->rows + 1), THREADS, 0, stream>>>(a->row_start, a->rows, t->before);
    cub::DeviceScan::ExclusiveSum(t->temporary, t->bytes, t->before, t->before, a->rows + 1, stream);
    TRY(sp_device_launched("cut of long rows"));
    TRY(sp_device_download(&all, t->before + a->rows, sizeof all));
    m->packs = (all.sections - 1) / SP_LEAF_PACK + 1;
    c->a.rows = a->rows - all.rows + all.leaves;
    m->leaves = all.leaves;
    m->sections = all.sections;
    TRY(allocate(m, SP_LEAF_LIST, &m->leaf, all.rows + 1LL, sizeof *m->leaf));
    TRY(allocate(m, SP_PACK, &m->pack, m->packs + 1, sizeof *m->pack));
    TRY(sp_device_alloc((void **)&c->a.row_start, (c->a.rows + 1) * (int64_t)sizeof *c->a.row_start,
                        "leaves"));
    TRY(sp_device_alloc((void **)&c->target, c->a.rows * (int64_t)sizeof *c->target, "leaves"));
    TRY(sp_device_alloc((void **)&c->order, c->a.rows * (int64_t)sizeof *c->order, "leaves"));
    const cut_arrays to = {t->before, c->a.row_start, c->target, t->row, t->key, m->leaf};
    list_rows<<<blocks_for(a->rows + 1), THREADS, 0, stream>>>(a->row_start, a->rows, order, to);
    list_leaves<<<(unsigned)min(all.rows + 1, 4096), THREADS, 0, stream>>>(a->row_start, a->col, a->rows,
                                                                           all.rows, m->packs, to, m->pack);
    cub::DeviceRadixSort::SortPairs(t->temporary, t->bytes, t->key, t->sorted_key, t->row, c->order,
                                    c->a.rows, 0, 32, stream);
    TRY(sp_device_launched("cut of long rows"));
    return sp_device_sync();
}

} // namespace

spmm_status sp_cuda_cut_rows(const sp_matrix *a, const int32_t *order, sp_cut_rows *c, sp_matrix *m)
{
    arena memory = {};
    cut_memory t = {};
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    *c = {};
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    const int64_t most = a->rows + sp_most_leaves(a->nnz);
    if (most > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "%lld rows and leaves of long rows: expected at most 2^31 - 1",
                       (long long)most);
    c->a = *a;
    c->a.row_start = NULL;
    take_memory(&t, &memory, a->rows, most, stream);
    TRY(arena_open(&memory, "leaves"));
    take_memory(&t, &memory, a->rows, most, stream);
    const spmm_status status = cut(a, order, &t, stream, c, m);
    arena_close(&memory);
    if (status != SPMM_OK) sp_cuda_cut_free(c);
    return status;
}

void sp_cuda_cut_free(sp_cut_rows *c)
{
    sp_device_free(c->a.row_start);
    sp_device_free(c->target);
    sp_device_free(c->order);
    *c = {};
}

namespace {

/** Returns the value of x in another lane; all lanes must call it. */
template <typename X> __device__ inline X from_lane(X x, int lane)
{
    union {
        X whole;
        uint32_t word[sizeof(X) / 4];
    } w = {x};
#pragma unroll
    for (int i = 0; i < (int)(sizeof(X) / 4); i++) w.word[i] = __shfl_sync(ALL_LANES, w.word[i], lane);
    return w.whole;
}

/* A block computes VECTORS vectors of columns with at most SECTIONS warps. Each warp sums one section at a
 * time. */
enum { VECTORS = WARP / SP_SEGMENTS, SECTIONS = SP_SECTIONS };

template <typename T> struct leaf_args {
    const sp_leaves *leaf;
    const int32_t *pack;
    const T *x, *sums;
    T *y, *partial; /* x and partial are not used */
    int64_t ldy;
    uint32_t pitch; /* bytes from one row of sums to the next */
    int columns;
};

/** Returns, in the first VECTORS lanes of a warp, the sum of a section: of `count` leaves, `pitch` bytes
 *  apart. Each lane sums a segment of a vector. All lanes must call it.
 *  \param [in] leaf  this lane's vector of the first leaf */
template <typename X> __device__ inline X sum_of_section(const char *leaf, uint32_t pitch, int count)
{
    const int first = threadIdx.x % WARP / VECTORS * SP_LEAVES;
    X loaded[SP_LEAVES];
#pragma unroll
    for (int i = 0; i < SP_LEAVES; i++)
        loaded[i] = __ldcs((const X *)row_of(leaf, min(first + i, count - 1), pitch));
#pragma unroll
    for (int i = 1; i < SP_LEAVES; i++)
        if (first + i < count) add(loaded[0], loaded[i]);
    X section = loaded[0];
#pragma unroll
    for (int i = 1; i < SP_SEGMENTS; i++) {
        const X segment = from_lane(loaded[0], threadIdx.x % VECTORS + i * VECTORS);
        if (i * SP_LEAVES < count) add(section, segment);
    }
    return section;
}

/** Adds the leaves of the long rows of a pack, one block per pack and per tile of VECTORS vectors of V
 *  columns. Each of its warps sums one section at a time. Then threads of the first warps, one per row and
 *  vector, add the sections to the sums of the rows. */
template <typename T, int V>
__global__ void __launch_bounds__(SECTIONS *WARP) add_leaves(const __grid_constant__ leaf_args<T> a)
{
    using X = typename vector_of<T, V>::type;
    __shared__ sp_leaves row[SP_LEAF_PACK + 1];
    __shared__ X sections[SECTIONS][VECTORS];
    const int first = a.pack[blockIdx.x], rows = a.pack[blockIdx.x + 1] - first, lane = threadIdx.x % WARP,
              warps = blockDim.x / WARP;
    if (rows == 0) return; /* the pack is in the middle of a row */
    if ((int)threadIdx.x <= rows) row[threadIdx.x] = a.leaf[first + threadIdx.x];
    __syncthreads();
    wait_for_previous();
    const int v = threadIdx.x % VECTORS, mine = threadIdx.x / VECTORS,
              column = (blockIdx.y * VECTORS + v) * V;
    const char *const leaf = (const char *)(a.sums + (column < a.columns ? column : 0));
    X part{}, sum{};
    for (int now = row[0].section; now < row[rows].section; now += warps) {
        const int section = now + threadIdx.x / WARP;
        if (section < row[rows].section) { /* the same for all lanes of a warp */
            const int r = __popc(
                __ballot_sync(ALL_LANES, lane < rows - 1 && row[lane + 1].section <= section));
            const int from = row[r].leaf + (section - row[r].section) * (SP_SECTION / SP_LEAF);
            const X found = sum_of_section<X>(row_of(leaf, from, a.pitch), a.pitch,
                                              min(row[r + 1].leaf - from, SP_SECTION / SP_LEAF));
            if (lane < VECTORS) sections[section - now][v] = found;
        }
        __syncthreads();
        for (int s = max(row[min(mine, rows)].section, now);
             mine < rows && s < min(row[mine + 1].section, now + warps); s++) {
            const int in_row = s - row[mine].section;
            if (in_row % SP_SECTIONS > 0) {
                add(part, sections[s - now][v]);
                continue;
            }
            if (in_row == SP_SECTIONS)
                sum = part;
            else if (in_row > 0)
                add(sum, part);
            part = sections[s - now][v];
        }
        __syncthreads();
    }
    if (mine >= rows || column >= a.columns) return;
    if (row[mine + 1].section - row[mine].section > SP_SECTIONS)
        add(sum, part);
    else
        sum = part;
    *(X *)(a.y + row[mine].row * a.ldy + column) = sum;
}

template <typename T> void launch_adding(const sp_launch *l, const void *sums, cudaStream_t stream)
{
    leaf_args<T> a = {};
    a.leaf = l->a->leaf;
    a.pack = l->a->pack;
    a.sums = (const T *)sums;
    a.pitch = (uint32_t)(partial_ld(l->x->k) * (int64_t)sizeof(T));
    a.y = (T *)l->y->data;
    a.ldy = l->y->ld;
    a.columns = (int)l->x->k;
    /* one warp per section of a pack whose last row has an average number of sections */
    const int64_t rows = l->a->bytes[SP_LEAF_LIST] / (int64_t)sizeof *l->a->leaf - 1;
    const unsigned warps = (unsigned)min(min(SP_LEAF_PACK + l->a->sections / rows, l->a->sections),
                                         (int64_t)SECTIONS);
    launch_vectors(l, a, [=](leaf_args<T> rest, auto V) {
        const int tiles = min((rest.columns - 1) / (VECTORS * V) + 1, MAX_TILES);
        rest.sums += rest.y - (T *)l->y->data;
        launch_early(add_leaves<T, V>, dim3((unsigned)l->a->packs, (unsigned)tiles), warps * WARP, 0, stream,
                     rest);
        return min(rest.columns, tiles * VECTORS * V);
    });
}

} // namespace

spmm_status sp_cuda_leaf_sums(const sp_setup *setup, void **sums)
{
    const sp_matrix *const a = setup->a;
    *sums = NULL;
    if (a->leaves == 0) return SPMM_OK;
    return sp_device_alloc(sums, a->leaves * partial_ld(setup->most) * sp_value_size(a->precision),
                           "sums of leaves");
}

void sp_cuda_add_leaves(const sp_launch *l, const void *sums, cudaStream_t stream)
{
    if (l->a->packs == 0) return;
    with_real(l->a->precision, [&](auto value) { launch_adding<decltype(value)>(l, sums, stream); });
}
