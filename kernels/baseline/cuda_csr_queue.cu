/** The kernel csr_queue, CSR with a global work queue: as many blocks as the GPU runs at the same time take
 *  row blocks from the queue, one after another, until none is left. The last block to finish resets the
 *  counters of the queue for the next product.
 *
 *  In a row block of short rows each thread computes whole elements of Y, each as one fma chain in column
 *  order. A row of more than LONG_ROW entries is a row block by itself. For such a row, the threads of the
 *  block form groups with one thread per column of X; with G groups, each sums every G-th entry, and the sums
 *  of the groups are added in shared memory. So the order in which an element is summed depends on its row,
 *  on K and on the block size, but not on which block computes it, or when. */
#include "kernels/baseline/cuda_baseline_blocks.cuh"

namespace {

enum {
    QUEUE_BLOCK = 256,   /* maximum number of threads per block, unless the user sets a block size: small
                            blocks of threads all finish at about the same time */
    ITEM_WORK = 1 << 15, /* work of a row block, its entries times K, which must outweigh the time of a
                            fetch */
    LONG_ROW = 512,      /* maximum number of entries of a row that shares a row block with other rows */
    MAX_ITEM = 1 << 12   /* maximum number of entries in a row block of several rows, whatever ITEM_WORK is */
};

/** Takes the next row block from the queue and returns its number in all threads of the block. */
__device__ inline int64_t fetch(work_queue *queue)
{
    __shared__ unsigned long long item;
    __syncthreads(); /* all threads have read what the previous call stored in `item` */
    if (threadIdx.x == 0) item = atomicAdd(&queue->next, 1ull);
    __syncthreads();
    return (int64_t)item;
}

template <typename T> __device__ inline void short_rows(const product<T> &a, int64_t begin, int64_t end)
{
    const int64_t elements = (end - begin) * a.k;
    for (int64_t n = threadIdx.x; n < elements; n += blockDim.x) {
        const position p = position_of(n, a.k);
        const int64_t row = begin + p.row, stop = a.row_start[row + 1];
        const T *const x = a.x + p.column;
        T sum = T(0);
        for (int64_t j = a.row_start[row]; j < stop; j++) multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
        a.y[row * a.ldy + p.column] = sum;
    }
}

template <typename T> __device__ inline void long_row(const product<T> &a, int64_t row)
{
    T *const part = shared_memory<T>();
    const int threads = (int)blockDim.x, columns = a.k < threads ? (int)a.k : threads,
              groups = threads / columns, group = (int)threadIdx.x / columns;
    const int64_t begin = a.row_start[row], end = a.row_start[row + 1];
    for (int64_t first = 0; first < a.k; first += columns) {
        const int64_t column = first + (int)threadIdx.x % columns;
        const bool busy = group < groups && column < a.k;
        T sum = T(0);
        if (busy)
            for (int64_t j = begin + group; j < end; j += groups)
                multiply_add(sum, a.val[j], a.x[a.col[j] * a.ldx + column]);
        part[threadIdx.x] = sum;
        block_sum(part, groups, columns);
        if (busy && group == 0) a.y[row * a.ldy + column] = part[threadIdx.x];
    }
}

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    queue_kernel(const product<T> a, const int64_t *first_row, int64_t row_blocks, work_queue *queue)
{
    for (int64_t item = fetch(queue); item < row_blocks; item = fetch(queue)) {
        const int64_t begin = first_row[item], end = first_row[item + 1];
        if (end - begin == 1 && a.row_start[end] - a.row_start[begin] > LONG_ROW)
            long_row(a, begin);
        else
            short_rows(a, begin, end);
    }
    if (last_block(&queue->left) && threadIdx.x == 0) {
        queue->next = 0;
        queue->left = 0;
    }
}

spmm_status fill(const sp_setup *setup, baseline_state *s)
{
    const size_t size = sp_value_size(setup->a->precision);
    const void *const kernel = size == sizeof(double) ? (const void *)queue_kernel<double>
                                                      : (const void *)queue_kernel<float>;
    int64_t most = ITEM_WORK / setup->k; /* with fewer columns, a row block has more entries */
    if (most < LONG_ROW) most = LONG_ROW;
    if (most > MAX_ITEM) most = MAX_ITEM;
    TRY(choose_block(setup, kernel, size, QUEUE_BLOCK, &s->block));
    TRY(count_resident(kernel, s->block, s->block * size, &s->resident));
    TRY(make_row_blocks(setup, {most, most, LONG_ROW}, s));
    TRY(sp_device_alloc((void **)&s->queue, sizeof(work_queue), "a work queue"));
    return sp_device_zero(s->queue, sizeof(work_queue));
}

template <typename T> void launch(const sp_launch *l, cudaStream_t stream)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const product<T> a = product_of<T>(l);
    const unsigned grid = (unsigned)(s->row_blocks < s->resident ? s->row_blocks : s->resident);
    const size_t shared = s->block * sizeof(T);
    sp_device_note_launch((const void *)queue_kernel<T>, launch_shape(grid, s->block, shared));
    queue_kernel<T><<<grid, s->block, shared, stream>>>(a, s->first_row, s->row_blocks, s->queue);
}

spmm_status run(const sp_launch *l) { return launch_product<launch<double>, launch<float>>(l, "csr_queue"); }

} // namespace

SP_KERNEL(csr_queue) = {run, baseline_prepare<fill>, baseline_release, NULL, NULL, NULL};
