/** Transposes a dense matrix in device memory. */
#ifndef SP_CUDA_TRANSPOSE_CUH
#define SP_CUDA_TRANSPOSE_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { TILE = 32, TILE_ROWS = 8 };

/** Computes xt := X^T for a matrix X of `rows` rows and k columns, tile by tile through shared memory, so
 *  that adjacent threads access adjacent elements of a row both in X and in xt. The rows of `tile` have an
 *  odd length, so that the elements of a column of `tile` are in different banks. */
template <typename T>
__global__ void __launch_bounds__(TILE *TILE_ROWS)
    transpose_kernel(const T *x, int64_t ldx, int64_t rows, int64_t k, T *xt, int64_t ldxt)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t across = (k + TILE - 1) / TILE, tiles = across * ((rows + TILE - 1) / TILE);
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const int64_t row = t / across * TILE, column = t % across * TILE;
        for (int r = (int)threadIdx.y; r < TILE; r += TILE_ROWS)
            if (row + r < rows && column + threadIdx.x < k)
                tile[r][threadIdx.x] = x[(row + r) * ldx + column + threadIdx.x];
        __syncthreads();
        for (int r = (int)threadIdx.y; r < TILE; r += TILE_ROWS)
            if (column + r < k && row + threadIdx.x < rows)
                xt[(column + r) * ldxt + row + threadIdx.x] = tile[threadIdx.x][r];
        __syncthreads();
    }
}

/** Queues transpose_kernel(). */
template <typename T>
void launch_transpose(const T *x, int64_t ldx, int64_t rows, int64_t k, T *xt, int64_t ldxt,
                      cudaStream_t stream)
{
    const int64_t tiles = ((rows + TILE - 1) / TILE) * ((k + TILE - 1) / TILE);
    const dim3 block(TILE, TILE_ROWS);
    if (tiles > 0) transpose_kernel<<<grid_of(tiles, 1), block, 0, stream>>>(x, ldx, rows, k, xt, ldxt);
}

} // namespace

#endif
