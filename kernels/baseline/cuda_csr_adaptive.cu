/** The kernel csr_adaptive (CSR-Adaptive): X is transposed first, then one block of threads computes one
 *  column of a row block of Y. If the row block has several rows, they are computed by CSR-Stream: each
 *  thread writes one product to shared memory, then one thread per row adds the products of its row. If the
 *  row block is a single row, it is computed by CSR-Vector: each thread sums a part of the row, then the sums
 *  of the threads are added in shared memory.
 *
 *  local_size() is the number of threads per block. It is also the number of products that fit into the
 *  shared memory of a block, and hence the maximum number of entries, and of rows, in a row block of several
 *  rows. It is the mean number of entries per row, rounded up to whole warps, at most 1024. If the user sets
 *  a block size, that is used instead. */
#include "kernels/baseline/cuda_baseline_blocks.cuh"
#include "kernels/baseline/cuda_baseline_columns.cuh"

namespace {

/** CSR-Stream: computes rows begin .. end - 1 of one column of Y. The rows have at most blockDim.x entries in
 *  all. */
template <typename T>
__device__ inline void stream_rows(const product<T> &a, int64_t begin, int64_t end, const T *x, T *y)
{
    T *const part = shared_memory<T>();
    const int64_t start = a.row_start[begin], j = start + threadIdx.x;
    if (j < a.row_start[end]) part[threadIdx.x] = a.val[j] * x[a.col[j]];
    __syncthreads();
    for (int64_t row = begin + threadIdx.x; row < end; row += blockDim.x) {
        T sum = T(0);
        for (int64_t e = a.row_start[row]; e < a.row_start[row + 1]; e++) sum += part[e - start];
        y[row * a.ldy] = sum;
    }
    __syncthreads(); /* part[] has been read; the next call may overwrite it */
}

/** CSR-Vector: computes one element of Y with all threads of the block. */
template <typename T> __device__ inline void vector_row(const product<T> &a, int64_t row, const T *x, T *y)
{
    T *const part = shared_memory<T>();
    const int64_t end = a.row_start[row + 1];
    T sum = T(0);
    for (int64_t j = a.row_start[row] + threadIdx.x; j < end; j += blockDim.x)
        multiply_add(sum, a.val[j], x[a.col[j]]);
    part[threadIdx.x] = sum;
    block_sum(part, (int)blockDim.x, 1);
    if (threadIdx.x == 0) y[row * a.ldy] = part[0];
}

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    adaptive_kernel(const product<T> a, const int64_t *first_row, int64_t row_blocks)
{
    for (int64_t n = blockIdx.x; n < row_blocks * a.k; n += gridDim.x) {
        const position p = position_of(n, a.k);
        const int64_t begin = first_row[p.row], end = first_row[p.row + 1];
        const T *const x = a.x + p.column * a.ldx;
        if (end - begin > 1)
            stream_rows(a, begin, end, x, a.y + p.column);
        else
            vector_row(a, begin, x, a.y + p.column);
    }
}

int local_size(const sp_matrix *a)
{
    const int64_t mean = a->rows > 0 ? a->nnz / a->rows + (a->nnz % a->rows != 0) : 0;
    return mean <= WARP ? WARP : mean >= MAX_BLOCK ? MAX_BLOCK : (int)(mean + WARP - 1) / WARP * WARP;
}

spmm_status fill(const sp_setup *setup, baseline_state *s)
{
    s->block = setup->shape.block ? setup->shape.block : local_size(setup->a);
    TRY(make_row_blocks(setup, {s->block, s->block, s->block}, s));
    return make_transposed(setup, s);
}

template <typename T> void launch(const sp_launch *l, cudaStream_t stream)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const product<T> a = transpose_x<T>(l, stream);
    const unsigned grid = grid_of(s->row_blocks * a.k, 1);
    const size_t shared = s->block * sizeof(T);
    sp_device_note_launch((const void *)adaptive_kernel<T>, launch_shape(grid, s->block, shared));
    adaptive_kernel<T><<<grid, s->block, shared, stream>>>(a, s->first_row, s->row_blocks);
}

spmm_status run(const sp_launch *l)
{
    return launch_transposed<launch<double>, launch<float>>(l, "csr_adaptive");
}

} // namespace

SP_KERNEL(csr_adaptive) = {run, baseline_prepare<fill>, baseline_release, NULL, NULL, NULL};
