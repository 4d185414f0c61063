/** Orders rows along a curve through a layout of the matrix's graph, on the GPU: order/row_layout.h
 *  describes the algorithm; order/row_layout.c lays out rows on the host. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/cuda/cuda_passes.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "base/search.h"
#include "order/row_layout.h"
}

namespace {

/* PARTS: number of partial sums of the Gram matrix. */
enum {
    CHUNK = SP_LAYOUT_CHUNK,
    PIECE = SP_LAYOUT_PIECE,
    PIVOTS = SP_LAYOUT_PIVOTS,
    DIMENSIONS = SP_LAYOUT_AXES,
    NEIGHBORS = SP_LAYOUT_NEIGHBORS,
    EDGES = SP_LAYOUT_EDGES,
    PASSES = SP_LAYOUT_ROW_PASSES,
    PARTS = 64,
    SEARCH_THREADS = 512
};

/** Coordinates of a row or chunk: 16 bytes, which a GPU loads in one access. */
struct alignas(16) point {
    float at[DIMENSIONS + 1];
};

struct small_graph {
    int chunk; /* rows per vertex */
    int32_t vertices;
    int bits;          /* bits of a vertex number */
    uint64_t *edge;    /* the numbers of both vertices of each edge; edges are sorted */
    int64_t *start;    /* [vertices + 1] */
    int32_t *distance; /* [PIVOTS x vertices] */
    int32_t *queue;    /* [PIVOTS x vertices] */
};

__global__ void __launch_bounds__(THREADS)
    number_chunks(const int32_t *order, int64_t rows, int size, int32_t *chunk)
{
    for (int64_t i = first_item(); i < rows; i += grid_size()) chunk[order[i]] = (int32_t)(i / size);
}

/** Creates edges between chunks, in both directions, from EDGES random entries of each row. An entry within
 *  a chunk, or a row without entries, yields an edge of vertex number g.vertices. There is no such vertex, so
 *  the edge is never used. */
__global__ void __launch_bounds__(THREADS) take_edges(const int64_t *row_start, const int32_t *col,
                                                      int64_t rows, const int32_t *chunk, small_graph g)
{
    for (int64_t i = first_item(); i < rows * EDGES; i += grid_size()) {
        const int64_t row = i / EDGES, length = row_start[row + 1] - row_start[row];
        uint64_t from = (uint64_t)g.vertices, to = from;
        if (length > 0) {
            const uint32_t at = sp_hash((uint32_t)i, SP_SEED_ROWS);
            const int32_t other = chunk[col[row_start[row] + (int64_t)(at % (uint64_t)length)]];
            if (other != chunk[row]) {
                from = (uint64_t)chunk[row];
                to = (uint64_t)other;
            }
        }
        g.edge[2 * i] = from << g.bits | to;
        g.edge[2 * i + 1] = to << g.bits | from;
    }
}

/** Determines the first edge of each vertex. */
__global__ void __launch_bounds__(THREADS) find_starts(const int64_t *edges, small_graph g)
{
    for (int64_t v = first_item(); v <= g.vertices; v += grid_size()) {
        g.start[v] = sp_lower_bound_u64(g.edge, 0, *edges, (uint64_t)v << g.bits);
    }
}

/** Computes the distances of all vertices from the pivot of this thread block by breadth-first search.
 *  Unreachable vertices get the largest distance plus 2. */
__global__ void __launch_bounds__(SEARCH_THREADS) search(small_graph g)
{
    __shared__ int end;
    const int n = g.vertices, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t *const distance = g.distance + (int64_t)blockIdx.x * n, *const queue = g.queue +
                                                                                   (int64_t)blockIdx.x * n;
    const int pivot = sp_layout_pivot((int)blockIdx.x, n);
    for (int v = threadIdx.x; v < n; v += SEARCH_THREADS) distance[v] = -1;
    __syncthreads();
    if (threadIdx.x == 0) {
        distance[pivot] = 0;
        queue[0] = pivot;
        end = 1;
    }
    __syncthreads();
    int first = 0, level = 1;
    for (int last = end; first < last; level++) {
        __syncthreads();
        for (int q = first + warp; q < last; q += SEARCH_THREADS / 32) {
            const int v = queue[q];
            for (int64_t e = g.start[v] + lane; e < g.start[v + 1]; e += 32) {
                const int w = (int)(g.edge[e] & ((1ull << g.bits) - 1));
                if (distance[w] < 0 && atomicCAS(distance + w, -1, level) < 0) queue[atomicAdd(&end, 1)] = w;
            }
        }
        __syncthreads();
        first = last;
        last = end;
    }
    for (int v = threadIdx.x; v < n; v += SEARCH_THREADS)
        if (distance[v] < 0) distance[v] = level;
}

__device__ inline double squared(const small_graph &g, int pivot, int v)
{
    const double d = g.distance[(int64_t)pivot * g.vertices + v];
    return d * d;
}

/** Computes the mean of the squared distances of all vertices from the pivot of this thread block. */
__global__ void __launch_bounds__(THREADS) find_means(small_graph g, double *mean)
{
    __shared__ double part[THREADS];
    double sum = 0;
    for (int v = threadIdx.x; v < g.vertices; v += THREADS) sum += squared(g, blockIdx.x, v);
    part[threadIdx.x] = sum;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0) mean[blockIdx.x] = part[0] / g.vertices;
}

/** Returns the squared distance of a vertex from pivot `lane`, minus the means for that pivot and that
 *  vertex; all lanes of a warp must call it. */
__device__ inline double centered(const small_graph &g, const double *mean, int v)
{
    const int lane = threadIdx.x % 32;
    double value = squared(g, lane, v) - mean[lane], sum = value;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    return value - sum / PIVOTS;
}

/** Computes the Gram matrix of the pivots, whose element (p, q) is the sum over all vertices of the products
 *  of their centered() values for pivots p and q; one partial sum per block. Each warp computes a row. */
__global__ void __launch_bounds__(PIVOTS * 32)
    multiply_columns(small_graph g, const double *mean, double *part)
{
    __shared__ double tile[32][PIVOTS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = 0;
    for (int first = blockIdx.x * 32; first < g.vertices; first += PARTS * 32) {
        const int v = first + warp;
        /* v is the same for all lanes of a warp */
        tile[warp][lane] = v < g.vertices ? centered(g, mean, v) : 0;
        __syncthreads();
        for (int i = 0; i < 32; i++) sum += tile[i][warp] * tile[i][lane];
        __syncthreads();
    }
    part[((int64_t)blockIdx.x * PIVOTS + warp) * PIVOTS + lane] = sum;
}

__global__ void __launch_bounds__(THREADS) add_parts(const double *part, double *gram)
{
    for (int64_t i = first_item(); i < PIVOTS * PIVOTS; i += grid_size()) {
        double sum = 0;
        for (int p = 0; p < PARTS; p++) sum += part[(int64_t)p * PIVOTS * PIVOTS + i];
        gram[i] = sum;
    }
}

/** The axes: the eigenvectors of the largest eigenvalues of the Gram matrix. */
struct axes {
    float of[DIMENSIONS][PIVOTS];
};

__global__ void __launch_bounds__(THREADS)
    place_vertices(small_graph g, const double *mean, const __grid_constant__ axes axis, point *at)
{
    const int lane = threadIdx.x % 32;
    for (int64_t v = first_item() / 32; v < g.vertices; v += grid_size() / 32) {
        const float value = (float)centered(g, mean, (int)v);
        point p = {};
        for (int d = 0; d < DIMENSIONS; d++) {
            float sum = value * axis.of[d][lane];
#pragma unroll
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
            p.at[d] = sum;
        }
        if (lane == 0) at[v] = p;
    }
}

/** Returns the mean of the points of a sub-warp of NEIGHBORS lanes, each of which passes the sum of `count`
 *  points; returns `own` if there are no points. */
__device__ inline point mean_of(point sum, float count, const point &own)
{
#pragma unroll
    for (int step = NEIGHBORS / 2; step > 0; step /= 2) {
        count += __shfl_xor_sync(~0u, count, step);
#pragma unroll
        for (int d = 0; d < DIMENSIONS; d++) sum.at[d] += __shfl_xor_sync(~0u, sum.at[d], step);
    }
    for (int d = 0; d < DIMENSIONS; d++) sum.at[d] = count > 0 ? sum.at[d] / count : own.at[d];
    return sum;
}

/** Moves each vertex to a mean of its neighbors: each lane computes the mean of every NEIGHBORS-th neighbor,
 *  and the vertex moves to the mean of these means. */
__global__ void __launch_bounds__(THREADS) smooth_vertices(small_graph g, const point *from, point *to)
{
    const int64_t padded = (g.vertices + NEIGHBORS - 1) / NEIGHBORS * NEIGHBORS;
    for (int64_t v = first_item() / NEIGHBORS; v < padded; v += grid_size() / NEIGHBORS) {
        const bool is = v < g.vertices;
        point sum = {};
        float count = 0;
        if (is)
            for (int64_t e = g.start[v] + threadIdx.x % NEIGHBORS; e < g.start[v + 1]; e += NEIGHBORS) {
                const point p = from[g.edge[e] & ((1ull << g.bits) - 1)];
                for (int d = 0; d < DIMENSIONS; d++) sum.at[d] += p.at[d];
                count++;
            }
        for (int d = 0; d < DIMENSIONS; d++) sum.at[d] /= fmaxf(count, 1);
        const point mean = mean_of(sum, count > 0 ? 1 : 0, is ? from[v] : sum);
        if (is && threadIdx.x % NEIGHBORS == 0) to[v] = mean;
    }
}

/** Places each vertex at the position of its first row. */
__global__ void __launch_bounds__(THREADS)
    place_pieces(small_graph g, const int32_t *order, const point *row, point *at)
{
    for (int64_t v = first_item(); v < g.vertices; v += grid_size()) at[v] = row[order[v * g.chunk]];
}

__global__ void __launch_bounds__(THREADS)
    place_rows(const int32_t *chunk, const point *vertex, int64_t rows, point *at)
{
    for (int64_t i = first_item(); i < rows; i += grid_size()) at[i] = vertex[chunk[i]];
}

/** Returns the mean of the points of a row's neighbors. Their numbers are the column indices of the `length`
 *  entries from `begin` on; if there are none, returns `own`. */
__device__ inline point mean_of_row(const int32_t *col, int64_t begin, int64_t length, const point *from,
                                    const point &own)
{
    point sum = {};
    float count = 0;
    for (int64_t e = threadIdx.x % NEIGHBORS; e < length; e += NEIGHBORS) {
        const point p = from[col[begin + e]];
        for (int d = 0; d < DIMENSIONS; d++) sum.at[d] += p.at[d];
        count++;
    }
    return mean_of(sum, count, own);
}

/** Moves the point of each row to the mean of the points of its neighbors, the rows that its column indices
 *  name. Most passes use some of the neighbors, which differ from pass to pass; the last passes use all. */
__global__ void __launch_bounds__(THREADS) smooth_rows(const int64_t *row_start, const int32_t *col,
                                                       int64_t rows, int pass, const point *from, point *to)
{
    const int lane = threadIdx.x % NEIGHBORS;
    const int64_t padded = (rows + NEIGHBORS - 1) / NEIGHBORS * NEIGHBORS;
    for (int64_t i = first_item() / NEIGHBORS; i < padded; i += grid_size() / NEIGHBORS) {
        const int64_t begin = i < rows ? row_start[i] : 0, length = i < rows ? row_start[i + 1] - begin : 0;
        const point own = i < rows ? from[i] : point();
        point mean;
        if (pass >= PASSES - SP_LAYOUT_WHOLE_PASSES) {
            mean = mean_of_row(col, begin, length, from, own);
        } else {
            const bool has = lane < length;
            point p = {};
            if (has) {
                /* A random entry of this lane's part of the row. If the same entries were used in all rows,
                 * e.g. of a stencil, all rows would move in one direction. */
                const unsigned first = (unsigned)lane * (unsigned)length / NEIGHBORS,
                               next = (unsigned)(lane + 1) * (unsigned)length / NEIGHBORS,
                               hash = sp_hash((unsigned)i * NEIGHBORS + (unsigned)lane, (unsigned)pass);
                p = from[col[begin + (length <= NEIGHBORS ? (unsigned)lane : first + hash % (next - first))]];
            }
            mean = mean_of(p, has ? 1 : 0, own);
        }
        if (i < rows && lane == 0) to[i] = mean;
    }
}

/** Maps floats to unsigned integers, preserving the order. */
__device__ inline unsigned ordered_bits(float f)
{
    const unsigned u = __float_as_uint(f);
    return u >> 31 ? ~u : u | 1u << 31;
}

__device__ inline float from_ordered_bits(unsigned u)
{
    return __uint_as_float(u >> 31 ? u & ~(1u << 31) : ~u);
}

/** The smallest and the largest coordinates, as ordered_bits(). */
struct box {
    unsigned low[DIMENSIONS], high[DIMENSIONS];
};

__global__ void __launch_bounds__(THREADS) find_box(const point *at, int64_t rows, box *b)
{
    unsigned low[DIMENSIONS], high[DIMENSIONS];
    for (int d = 0; d < DIMENSIONS; d++) low[d] = ~0u, high[d] = 0;
    for (int64_t i = first_item(); i < rows; i += grid_size())
        for (int d = 0; d < DIMENSIONS; d++) {
            low[d] = min(low[d], ordered_bits(at[i].at[d]));
            high[d] = max(high[d], ordered_bits(at[i].at[d]));
        }
    for (int d = 0; d < DIMENSIONS; d++) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            low[d] = min(low[d], __shfl_xor_sync(~0u, low[d], step));
            high[d] = max(high[d], __shfl_xor_sync(~0u, high[d], step));
        }
        if (threadIdx.x % 32 > 0) continue;
        atomicMin(&b->low[d], low[d]);
        atomicMax(&b->high[d], high[d]);
    }
}

/** Returns true if two rows appear to have the same columns. */
__device__ inline bool alike(const int64_t *row_start, const int32_t *col, int64_t i, int64_t j)
{
    const int64_t length = row_start[i + 1] - row_start[i];
    return length > 0 && row_start[j + 1] - row_start[j] == length &&
           col[row_start[i]] == col[row_start[j]] &&
           col[row_start[i] + length - 1] == col[row_start[j] + length - 1];
}

/** Sets key[i], the sort key of row order[i], to the index of its cell on the curve. `order` is that of the
 *  clusters; the sort keeps it for rows in the same cell. Consecutive rows with the same columns, i.e. the
 *  unknowns of a point, get the same key and so stay together. */
__global__ void __launch_bounds__(THREADS)
    find_keys(const int64_t *row_start, const int32_t *col, const point *at, const int32_t *order,
              int64_t rows, const box *b, unsigned *key)
{
    float low[DIMENSIONS], edge = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        low[d] = from_ordered_bits(b->low[d]);
        edge = fmaxf(edge, from_ordered_bits(b->high[d]) - low[d]);
    }
    const float scale = edge > 0 ? ((1 << SP_LAYOUT_BITS) - 1) / edge : 0;
    for (int64_t i = first_item(); i < rows; i += grid_size()) {
        int64_t leader = i;
        while (leader > 0 && i - leader < SP_LAYOUT_UNKNOWNS - 1 &&
               alike(row_start, col, order[leader - 1], order[leader]))
            leader--;
        const point p = at[order[leader]];
        unsigned x[DIMENSIONS];
        for (int d = 0; d < DIMENSIONS; d++) x[d] = (unsigned)fmaxf((p.at[d] - low[d]) * scale, 0);
        key[i] = sp_on_curve(x);
    }
}

/** Data of all passes; the arrays are in GPU memory. */
struct layout {
    const sp_matrix *a;
    cudaStream_t stream;
    small_graph g;
    int32_t *chunk;
    uint64_t *taken; /* [2 * EDGES * rows] edges before duplicates are removed */
    int64_t *edges;  /* [1] number of edges */
    double *mean, *part, *gram;
    point *vertex[2], *row[2];
    box *bounds;
    unsigned *key, *sorted_key;
    char *temporary;
    size_t temporary_bytes;
};

void set_chunk(layout *s, int rows)
{
    s->g.chunk = rows;
    s->g.vertices = (int32_t)((s->a->rows + rows - 1) / rows);
    s->g.bits = bits_of(s->g.vertices + 1LL);
}

void allocate_arrays(layout *s, arena *memory)
{
    const int64_t rows = s->a->rows, chunks = rows / CHUNK + 1, pieces = rows / PIECE + 1,
                  edges = 2 * EDGES * rows;
    size_t sort = 0, pairs = 0, unique = 0;
    s->chunk = take<int32_t>(memory, rows);
    s->taken = take<uint64_t>(memory, edges);
    s->g.edge = take<uint64_t>(memory, edges);
    s->g.start = take<int64_t>(memory, pieces + 1);
    s->g.distance = take<int32_t>(memory, PIVOTS * chunks);
    s->g.queue = take<int32_t>(memory, PIVOTS * chunks);
    s->edges = take<int64_t>(memory, 1);
    s->mean = take<double>(memory, PIVOTS);
    s->part = take<double>(memory, PARTS * PIVOTS * PIVOTS);
    s->gram = take<double>(memory, PIVOTS * PIVOTS);
    for (int i = 0; i < 2; i++) s->vertex[i] = take<point>(memory, pieces);
    for (int i = 0; i < 2; i++) s->row[i] = take<point>(memory, rows);
    s->bounds = take<box>(memory, 1);
    s->key = take<unsigned>(memory, rows);
    s->sorted_key = take<unsigned>(memory, rows);
    cub::DeviceRadixSort::SortKeys(NULL, sort, s->g.edge, s->taken, edges, 0, 64, s->stream);
    cub::DeviceRadixSort::SortPairs(NULL, pairs, s->key, s->sorted_key, s->chunk, s->chunk, rows, 0,
                                    DIMENSIONS * SP_LAYOUT_BITS, s->stream);
    cub::DeviceSelect::Unique(NULL, unique, s->taken, s->g.edge, s->edges, edges, s->stream);
    s->temporary_bytes = sort > pairs ? sort : pairs;
    if (unique > s->temporary_bytes) s->temporary_bytes = unique;
    s->temporary = take<char>(memory, (int64_t)s->temporary_bytes);
}

/** Creates the graph of chunks of `chunk` rows. */
spmm_status make_graph(layout *s, const int32_t *order, int chunk)
{
    const int64_t rows = s->a->rows, edges = 2 * EDGES * rows;
    set_chunk(s, chunk);
    number_chunks<<<blocks_for(rows), THREADS, 0, s->stream>>>(order, rows, chunk, s->chunk);
    take_edges<<<blocks_for(rows * EDGES), THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, rows,
                                                                    s->chunk, s->g);
    cub::DeviceRadixSort::SortKeys(s->temporary, s->temporary_bytes, s->g.edge, s->taken, edges, 0,
                                   2 * s->g.bits, s->stream);
    cub::DeviceSelect::Unique(s->temporary, s->temporary_bytes, s->taken, s->g.edge, s->edges, edges,
                              s->stream);
    find_starts<<<blocks_for(s->g.vertices + 1LL), THREADS, 0, s->stream>>>(s->edges, s->g);
    return sp_device_launched("graph of chunks");
}

/** Moves the vertices of the graph to the means of their neighbors, and then their rows to the vertices.
 *  `passes` is even, so that the last pass writes s->vertex[0]. */
spmm_status smooth_graph(layout *s, int passes)
{
    for (int pass = 0; pass < passes; pass++)
        smooth_vertices<<<blocks_for(s->g.vertices * (int64_t)NEIGHBORS), THREADS, 0, s->stream>>>(
            s->g, s->vertex[pass % 2], s->vertex[(pass + 1) % 2]);
    place_rows<<<blocks_for(s->a->rows), THREADS, 0, s->stream>>>(s->chunk, s->vertex[0], s->a->rows,
                                                                  s->row[0]);
    return sp_device_launched("layout of chunks");
}

/** Places the chunks in space. Waits for the GPU. */
spmm_status place_chunks(layout *s)
{
    double gram[PIVOTS * PIVOTS];
    axes axis;
    search<<<PIVOTS, SEARCH_THREADS, 0, s->stream>>>(s->g);
    find_means<<<PIVOTS, THREADS, 0, s->stream>>>(s->g, s->mean);
    multiply_columns<<<PARTS, PIVOTS * 32, 0, s->stream>>>(s->g, s->mean, s->part);
    add_parts<<<blocks_for(PIVOTS * PIVOTS), THREADS, 0, s->stream>>>(s->part, s->gram);
    TRY(sp_device_launched("distances of chunks"));
    TRY(sp_device_download(gram, s->gram, sizeof gram));
    sp_layout_axes(gram, axis.of);
    place_vertices<<<blocks_for(s->g.vertices * 32LL), THREADS, 0, s->stream>>>(s->g, s->mean, axis,
                                                                                s->vertex[0]);
    return smooth_graph(s, SP_LAYOUT_CHUNK_PASSES);
}

/** Smooths the positions of pieces; each piece starts at the position of its first row. */
spmm_status smooth_pieces(layout *s, const int32_t *order)
{
    TRY(make_graph(s, order, PIECE));
    place_pieces<<<blocks_for(s->g.vertices), THREADS, 0, s->stream>>>(s->g, order, s->row[0], s->vertex[0]);
    return smooth_graph(s, SP_LAYOUT_PIECE_PASSES);
}

/** Smooths the positions of the rows, and sorts the rows along the curve. */
spmm_status sort_along_curve(layout *s, const int32_t *order, int32_t *sorted)
{
    const int64_t rows = s->a->rows;
    for (int pass = 0; pass < PASSES; pass++)
        smooth_rows<<<blocks_for(rows * NEIGHBORS), THREADS, 0, s->stream>>>(
            s->a->row_start, s->a->col, rows, pass, s->row[pass % 2], s->row[(pass + 1) % 2]);
    TRY(sp_device_zero(s->bounds->high, sizeof s->bounds->high));
    TRY(sp_device_nan(s->bounds->low, sizeof s->bounds->low));
    find_box<<<blocks_for(rows), THREADS, 0, s->stream>>>(s->row[PASSES % 2], rows, s->bounds);
    find_keys<<<blocks_for(rows), THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, s->row[PASSES % 2],
                                                           order, rows, s->bounds, s->key);
    cub::DeviceRadixSort::SortPairs(s->temporary, s->temporary_bytes, s->key, s->sorted_key, order, sorted,
                                    rows, 0, DIMENSIONS * SP_LAYOUT_BITS, s->stream);
    TRY(sp_device_launched("order along a curve"));
    return sp_device_sync();
}

} // namespace

spmm_status sp_cuda_lay_out_rows(const sp_matrix *a, const int32_t *clusters, int32_t **order)
{
    layout s = {};
    arena memory = {};
    *order = NULL;
    s.a = a;
    s.stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!s.stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    allocate_arrays(&s, &memory);
    TRY(arena_open(&memory, "layout of rows"));
    allocate_arrays(&s, &memory);
    spmm_status status = sp_device_alloc((void **)order, a->rows * (int64_t)sizeof **order, "order of rows");
    if (status == SPMM_OK) status = make_graph(&s, clusters, CHUNK);
    if (status == SPMM_OK) status = place_chunks(&s);
    if (status == SPMM_OK) status = smooth_pieces(&s, clusters);
    if (status == SPMM_OK) status = sort_along_curve(&s, clusters, *order);
    arena_close(&memory);
    if (status == SPMM_OK) return SPMM_OK;
    sp_device_free(*order);
    *order = NULL;
    return status;
}
