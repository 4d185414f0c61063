/** Orders rows by clusters on the GPU (order/row_clusters.h): a few passes over the column indices, one
 *  pass over the clusters per level, and at the end one radix sort per level (CUB). */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/cuda_passes.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "order/row_clusters.h"
#include "formats/summation.h"
}

namespace {

constexpr int LANES = 8; /* lanes per row */
constexpr unsigned NONE = ~0u;

/** Returns the smallest value of a sub-warp of LANES lanes, in all of them. */
__device__ inline unsigned subwarp_min(unsigned value)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) value = min(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

/** The entries of a row, of which this thread reads every LANES-th one; empty for a row that is not
 *  clustered. */
struct own_row {
    int64_t row, begin, end;
};

__device__ inline own_row row_of_lane(const int64_t *row_start, int64_t rows, int64_t row)
{
    if (row >= rows) return {row, 0, 0};
    const int64_t begin = row_start[row], end = row_start[row + 1];
    return end - begin <= SP_CHAIN ? own_row{row, begin + threadIdx.x % LANES, end} : own_row{row, 0, 0};
}

/** Computes, for each row, the minimum hash of its columns, with two seeds, and, for each column, the minimum
 *  hash of its rows.
 *  \param [out] least, second  [rows]; NONE for a row that is empty or not clustered
 *  \param owner [cols]: NONE on entry; on return the minimum hash of the column's rows */
__global__ void __launch_bounds__(THREADS)
    find_minima(const int64_t *row_start, const int32_t *col, int64_t rows, unsigned *least, unsigned *second,
                unsigned *owner)
{
    const int64_t padded = (rows + LANES - 1) / LANES * LANES;
    for (int64_t i = first_item() / LANES; i < padded; i += grid_size() / LANES) {
        const own_row own = row_of_lane(row_start, rows, i);
        const unsigned row_hash = sp_hash((unsigned)i, SP_SEED_ROWS);
        unsigned first = NONE, other = NONE;
        for (int64_t e = own.begin; e < own.end; e += LANES) {
            const unsigned c = (unsigned)col[e];
            first = min(first, sp_hash(c, SP_SEED_ROWS));
            other = min(other, sp_hash(c, SP_SEED_SECOND));
            if (row_hash < owner[c]) atomicMin(owner + c, row_hash);
        }
        first = subwarp_min(first);
        other = subwarp_min(other);
        if (i >= rows || threadIdx.x % LANES) continue;
        least[i] = first;
        second[i] = other;
    }
}

/** Marks the columns that have the minimum hash of some row. */
__global__ void __launch_bounds__(THREADS) mark_columns(const unsigned *least, int64_t rows, int32_t *mark)
{
    for (int64_t i = first_item(); i < rows; i += grid_size())
        if (least[i] != NONE) mark[sp_unhash(least[i], SP_SEED_ROWS)] = 1;
}

/** Sets the cluster of each row.
 *  \param [in]  number   [cols]: the cluster of the rows whose minimum hash is that of the column
 *  \param [out] label    [rows] the cluster; `of_row` is a copy */
__global__ void __launch_bounds__(THREADS)
    label_rows(const unsigned *least, const int32_t *number, int64_t rows, int32_t *label, int32_t *of_row)
{
    for (int64_t i = first_item(); i < rows; i += grid_size())
        label[i] = of_row[i] = least[i] != NONE ? number[sp_unhash(least[i], SP_SEED_ROWS)] : 0;
}

/** Sets the cluster of each column to that of its owner, the row with the minimum hash among the column's
 *  rows. */
__global__ void __launch_bounds__(THREADS)
    label_columns(const unsigned *owner, const int32_t *of_row, int64_t cols, int32_t *of_col)
{
    for (int64_t c = first_item(); c < cols; c += grid_size())
        of_col[c] = owner[c] != NONE ? of_row[sp_unhash(owner[c], SP_SEED_ROWS)] : 0;
}

/** Counts of columns that rows share, for a sample of rows. */
struct kinship {
    /* number of columns of the sampled rows; number of these that the next row also has */
    unsigned long long columns, with_next;
    /* For each sampled row, another row with a common column is compared. others: number of columns of the
     * sampled rows except the common one; with_partner: number of these that the other row also has */
    unsigned long long others, with_partner;
};

/** From every `step` rows, takes one at random. Compares it with the next row, and with the owner of the
 *  column that has its minimum hash. (In a matrix of blocks, every step-th row could always be the first row
 *  of its block.) */
__global__ void __launch_bounds__(THREADS)
    compare_rows(const int64_t *row_start, const int32_t *col, int64_t rows, int64_t step,
                 const unsigned *least, const unsigned *owner, kinship *sum)
{
    for (int64_t s = first_item(); s * step < rows; s += grid_size()) {
        const int64_t i = s * step + sp_hash((unsigned)s, SP_SEED_SECOND) % step;
        if (i >= rows) continue;
        const int64_t length = row_start[i + 1] - row_start[i];
        if (length < 2 || length > SP_CHAIN) continue;
        const int64_t partner = sp_unhash(owner[sp_unhash(least[i], SP_SEED_ROWS)], SP_SEED_ROWS);
        atomicAdd(&sum->columns, length);
        if (i + 1 < rows && row_start[i + 2] - row_start[i + 1] <= SP_CHAIN)
            atomicAdd(&sum->with_next, sp_common_columns(row_start, col, i, i + 1));
        if (partner == i) continue;
        atomicAdd(&sum->others, length - 1);
        atomicAdd(&sum->with_partner, sp_common_columns(row_start, col, i, partner) - 1);
    }
}

__global__ void __launch_bounds__(THREADS) hash_clusters(int64_t clusters, unsigned seed, unsigned *least)
{
    for (int64_t i = first_item(); i < clusters; i += grid_size()) least[i] = sp_hash((unsigned)i, seed);
}

/** Computes the minimum hash among each cluster and its neighbors.
 *  \param least [clusters] on entry, the hash of the cluster itself */
__global__ void __launch_bounds__(THREADS)
    find_neighbors(const int64_t *row_start, const int32_t *col, int64_t rows, const int32_t *of_row,
                   const int32_t *of_col, unsigned seed, unsigned *least)
{
    const int64_t padded = (rows + LANES - 1) / LANES * LANES;
    for (int64_t i = first_item() / LANES; i < padded; i += grid_size() / LANES) {
        const own_row own = row_of_lane(row_start, rows, i);
        unsigned hash = NONE;
        for (int64_t e = own.begin; e < own.end; e += LANES)
            hash = min(hash, sp_hash((unsigned)of_col[col[e]], seed));
        hash = subwarp_min(hash);
        if (i < rows && threadIdx.x % LANES == 0 && hash < least[of_row[i]])
            atomicMin(least + of_row[i], hash);
    }
}

/** Follows the neighbors with the minimum hash from each cluster to the last one, its root, and marks the
 *  roots. */
__global__ void __launch_bounds__(THREADS)
    find_roots(const unsigned *least, int64_t clusters, unsigned seed, int32_t *root, int32_t *mark)
{
    for (int64_t i = first_item(); i < clusters; i += grid_size()) {
        int64_t at = i;
        for (int64_t next = sp_unhash(least[at], seed); next != at; next = sp_unhash(least[at], seed))
            at = next;
        root[i] = (int32_t)at;
        mark[i] = at == i;
    }
}

/** Sets label[i] = number[label[i]]. */
__global__ void __launch_bounds__(THREADS) renumber(int32_t *label, const int32_t *number, int64_t n)
{
    for (int64_t i = first_item(); i < n; i += grid_size()) label[i] = number[label[i]];
}

/** Sets the sort key of each item to the position of its cluster and, if `second` is not NULL, to second[i]
 *  in the lower 32 bits.
 *  \param [in] place  position of each cluster; NULL: its number */
__global__ void __launch_bounds__(THREADS)
    cluster_keys(const int32_t *label, const int32_t *place, const unsigned *second, int64_t n, uint64_t *key,
                 int32_t *item)
{
    for (int64_t i = first_item(); i < n; i += grid_size()) {
        const uint64_t at = (uint64_t)(place ? place[label[i]] : label[i]);
        key[i] = second ? at << 32 | second[i] : at;
        item[i] = (int32_t)i;
    }
}

/** Sets place[order[i]] = i. */
__global__ void __launch_bounds__(THREADS) find_places(const int32_t *order, int64_t n, int32_t *place)
{
    for (int64_t i = first_item(); i < n; i += grid_size()) place[order[i]] = (int32_t)i;
}

/** Data of all passes; the arrays are in GPU memory. */
struct clusters {
    const sp_matrix *a;
    cudaStream_t stream;
    unsigned *least, *second, *owner, *hash; /* [rows], [rows], [cols], [most] */
    int32_t *of_row, *of_col;                /* cluster of each row and column */
    int32_t *mark, *number;                  /* [cols + 1] marks, and numbers of marked elements */
    /* [count[l]] for each row (l = 0) or cluster of level l, its cluster of level l + 1 */
    int32_t *label[SP_CLUSTER_LEVELS];
    int64_t count[SP_CLUSTER_LEVELS]; /* number of rows, of clusters of level 1, and so on */
    int levels;
    uint64_t *key, *sorted_key;          /* [rows] */
    int32_t *item, *sorted_item, *place; /* [rows] */
    kinship *shared;
    char *temporary;
    size_t temporary_bytes;
};

/** Requests all arrays; only computes their total size if `memory` is not yet allocated. */
void allocate_arrays(clusters *s, arena *memory, int64_t most)
{
    const int64_t rows = s->a->rows, cols = s->a->cols, marks = cols + 1;
    size_t bytes = 0, scan = 0;
    s->least = take<unsigned>(memory, rows);
    s->second = take<unsigned>(memory, rows);
    s->owner = take<unsigned>(memory, cols);
    s->hash = take<unsigned>(memory, most);
    s->of_row = take<int32_t>(memory, rows);
    s->of_col = take<int32_t>(memory, cols);
    s->mark = take<int32_t>(memory, marks);
    s->number = take<int32_t>(memory, marks);
    /* each level has at most 3/4 of the clusters of the previous level */
    s->label[0] = take<int32_t>(memory, rows + 4 * most);
    s->key = take<uint64_t>(memory, rows);
    s->sorted_key = take<uint64_t>(memory, rows);
    s->item = take<int32_t>(memory, rows);
    s->sorted_item = take<int32_t>(memory, rows);
    s->place = take<int32_t>(memory, rows);
    s->shared = take<kinship>(memory, 1);
    cub::DeviceRadixSort::SortPairs(NULL, bytes, s->key, s->sorted_key, s->item, s->item, rows, 0, 64,
                                    s->stream);
    cub::DeviceScan::ExclusiveSum(NULL, scan, s->mark, s->number, marks, s->stream);
    s->temporary_bytes = bytes > scan ? bytes : scan;
    s->temporary = take<char>(memory, (int64_t)s->temporary_bytes);
}

/** Numbers the marked ones of the first n elements. Waits for the GPU. \param [out] count number of marked
 *  elements */
spmm_status number_marked(clusters *s, int64_t n, int64_t *count)
{
    int32_t last = 0;
    cub::DeviceScan::ExclusiveSum(s->temporary, s->temporary_bytes, s->mark, s->number, n + 1, s->stream);
    TRY(sp_device_launched("numbers of clusters"));
    TRY(sp_device_download(&last, s->number + n, sizeof last));
    *count = last;
    return SPMM_OK;
}

/** Computes the minimum hashes of rows and columns, from which level 1 is made. */
spmm_status minima(clusters *s)
{
    const int64_t rows = s->a->rows, cols = s->a->cols;
    TRY(sp_device_nan(s->owner, cols * (int64_t)sizeof *s->owner));
    find_minima<<<blocks_for(rows * LANES), THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, rows,
                                                                     s->least, s->second, s->owner);
    return sp_device_launched("least hashes");
}

/** Determines whether rows of clusters may share at least `more` times as many columns as consecutive rows
 *  do. Waits for the GPU. */
spmm_status worth_it(clusters *s, double more, int *worth)
{
    /* LEAST: minimum share of the columns of a row that another row of its cluster must have. If rows have
     * columns in common only by chance, as in social networks, clusters save nothing (bench/records). */
    static const double LEAST = 0.1;
    enum { SAMPLES = 4096 };
    kinship k;
    const int64_t rows = s->a->rows, step = (rows - 1) / SAMPLES + 1;
    TRY(sp_device_zero(s->shared, sizeof k));
    compare_rows<<<blocks_for(rows / step), THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, rows, step,
                                                                     s->least, s->owner, s->shared);
    TRY(sp_device_launched("comparison of rows"));
    TRY(sp_device_download(&k, s->shared, sizeof k));
    const double partner = k.others > 0 ? (double)k.with_partner / (double)k.others : 0,
                 next = k.columns > 0 ? (double)k.with_next / (double)k.columns : 0;
    *worth = partner >= LEAST && partner >= more * next;
    return SPMM_OK;
}

/** Creates the clusters of level 1. */
spmm_status first_level(clusters *s)
{
    const int64_t rows = s->a->rows, cols = s->a->cols;
    TRY(sp_device_zero(s->mark, (cols + 1) * (int64_t)sizeof *s->mark));
    mark_columns<<<blocks_for(rows), THREADS, 0, s->stream>>>(s->least, rows, s->mark);
    s->count[0] = rows;
    TRY(number_marked(s, cols, &s->count[1]));
    label_rows<<<blocks_for(rows), THREADS, 0, s->stream>>>(s->least, s->number, rows, s->label[0],
                                                            s->of_row);
    label_columns<<<blocks_for(cols), THREADS, 0, s->stream>>>(s->owner, s->of_row, cols, s->of_col);
    s->levels = 1;
    return sp_device_launched("clusters of rows");
}

/** Creates the clusters of the next level. \param [out] joined 0: there would not be significantly fewer
 *  clusters, and no level was added */
spmm_status next_level(clusters *s, int *joined)
{
    const int level = s->levels;
    const int64_t rows = s->a->rows, cols = s->a->cols, count = s->count[level];
    const unsigned seed = SP_SEED_CLUSTERS + (unsigned)level;
    int64_t after;
    int32_t *const label = s->label[level - 1] + s->count[level - 1];
    hash_clusters<<<blocks_for(count), THREADS, 0, s->stream>>>(count, seed, s->hash);
    find_neighbors<<<blocks_for(rows * LANES), THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, rows,
                                                                        s->of_row, s->of_col, seed, s->hash);
    TRY(sp_device_zero(s->mark + count, sizeof *s->mark));
    find_roots<<<blocks_for(count), THREADS, 0, s->stream>>>(s->hash, count, seed, label, s->mark);
    TRY(number_marked(s, count, &after));
    *joined = sp_clusters_joined(count, after);
    if (!*joined) return SPMM_OK;
    renumber<<<blocks_for(count), THREADS, 0, s->stream>>>(label, s->number, count);
    renumber<<<blocks_for(rows), THREADS, 0, s->stream>>>(s->of_row, label, rows);
    renumber<<<blocks_for(cols), THREADS, 0, s->stream>>>(s->of_col, label, cols);
    s->label[level] = label;
    s->count[++s->levels] = after;
    return sp_device_launched("clusters of clusters");
}

/** Sorts the rows by the clusters of all levels, from the highest level on. */
spmm_status sort_rows(clusters *s, int32_t *order)
{
    const int32_t *place = NULL;
    for (int l = s->levels - 1; l >= 0; l--) {
        const int64_t n = s->count[l];
        const int first = l == 0 ? 16 : 0, end = (l == 0 ? 32 : 0) + bits_of(s->count[l + 1]);
        int32_t *const sorted = l == 0 ? order : s->sorted_item;
        cluster_keys<<<blocks_for(n), THREADS, 0, s->stream>>>(s->label[l], place, l == 0 ? s->second : NULL,
                                                               n, s->key, s->item);
        cub::DeviceRadixSort::SortPairs(s->temporary, s->temporary_bytes, s->key, s->sorted_key, s->item,
                                        sorted, n, first, end, s->stream);
        if (l > 0) find_places<<<blocks_for(n), THREADS, 0, s->stream>>>(sorted, n, s->place);
        place = s->place;
    }
    return sp_device_launched("order of rows");
}

spmm_status cluster(clusters *s, int32_t *order)
{
    TRY(first_level(s));
    int more = s->count[1] > 1;
    while (more && s->levels + 1 < SP_CLUSTER_LEVELS) {
        TRY(next_level(s, &more));
        more &= s->count[s->levels] > 1;
    }
    TRY(sort_rows(s, order));
    return sp_device_sync();
}

/** Orders the rows, if that is worth it. \param [in] more as for worth_it(); 0: always orders the rows */
spmm_status find_order(const sp_matrix *a, double more, int32_t **order)
{
    const int always = more <= 0;
    clusters s = {};
    arena memory = {};
    int worth = 1;
    *order = NULL;
    s.a = a;
    s.stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!s.stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    if (a->rows == 0 || a->cols == 0) return SPMM_OK;
    const int64_t most = a->rows < a->cols ? a->rows : a->cols;
    allocate_arrays(&s, &memory, most);
    spmm_status status = arena_open(&memory, "clusters of rows");
    if (status == SPMM_ERR_MEMORY && !always) return SPMM_OK; /* not enough memory to try clusters */
    TRY(status);
    allocate_arrays(&s, &memory, most);
    status = minima(&s);
    if (status == SPMM_OK && !always) status = worth_it(&s, more, &worth);
    if (status == SPMM_OK && worth)
        status = sp_device_alloc((void **)order, a->rows * (int64_t)sizeof **order, "order of rows");
    if (status == SPMM_OK && worth) status = cluster(&s, *order);
    arena_close(&memory);
    if (status == SPMM_OK) return SPMM_OK;
    sp_device_free(*order);
    *order = NULL;
    return status;
}

} // namespace

spmm_status sp_cuda_cluster_rows(const sp_matrix *a, int32_t **order) { return find_order(a, 0, order); }

spmm_status sp_cuda_row_order(const sp_matrix *a, double more, int32_t **order)
{
    *order = NULL;
    return a->rows < SP_ORDERED_ROWS ? SPMM_OK : find_order(a, more, order);
}
