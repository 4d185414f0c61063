/** Orders the rows of the matrix of a structured grid (order/grid_order.h) on the GPU: the GPU reads a
 *  sample of rows, and the host evaluates it. */
#include "kernels/cuda/cuda_block.cuh"
#include "kernels/cuda/cuda_passes.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "order/row_clusters.h"
#include "order/grid_order.h"
}

namespace {

constexpr int WARP_THREADS = 32;

__global__ void __launch_bounds__(WARP_THREADS)
    ask_rows(const int64_t *row_start, const int32_t *col, int64_t rows, sp_stencil_sample *sample)
{
    sp_stencil_ask(row_start, col, rows, sp_stencil_sampled_row(rows, (int)blockIdx.x, SP_STENCIL_SAMPLES),
                   (int)threadIdx.x, WARP_THREADS, sample + blockIdx.x);
}

__global__ void __launch_bounds__(THREADS)
    place_rows(const __grid_constant__ sp_stencil_grid grid, int64_t rows, int32_t *order)
{
    for (int64_t row = first_item(); row < rows; row += grid_size())
        order[sp_stencil_grid_position(&grid, row)] = (int32_t)row;
}

/** Checks whether the matrix is that of a grid. Waits for the GPU. \param [out] found 0: it is not */
spmm_status find_grid(const sp_matrix *a, cudaStream_t stream, sp_stencil_grid *grid, int *found)
{
    sp_stencil_sample *gpu, *host;
    int device, blocks;
    TRY(cuda_check(cudaGetDevice(&device), "the current GPU"));
    TRY(cuda_check(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device),
                   "multiprocessors"));
    const int64_t bytes = SP_STENCIL_SAMPLES * (int64_t)sizeof *host;
    TRY(sp_alloc((void **)&host, SP_STENCIL_SAMPLES, sizeof *host, "a sample of rows"));
    spmm_status status = sp_device_alloc((void **)&gpu, bytes, "a sample of rows");
    if (status == SPMM_OK) {
        ask_rows<<<SP_STENCIL_SAMPLES, WARP_THREADS, 0, stream>>>(a->row_start, a->col, a->rows, gpu);
        status = sp_device_launched("sample of rows");
    }
    if (status == SPMM_OK) status = sp_device_download(host, gpu, bytes);
    *found = status == SPMM_OK && sp_stencil_grid_find(host, SP_STENCIL_SAMPLES, a->rows, blocks, grid);
    sp_device_free(gpu);
    sp_free(host);
    return status;
}

} // namespace

spmm_status sp_cuda_grid_order(const sp_matrix *a, sp_stencil_grid *grid, int32_t **order)
{
    int found;
    *order = NULL;
    if (a->rows < SP_ORDERED_ROWS) return SPMM_OK;
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    TRY(find_grid(a, stream, grid, &found));
    if (!found) return SPMM_OK;
    int32_t *rows;
    spmm_status status = sp_device_alloc((void **)&rows, a->rows * (int64_t)sizeof *rows, "order of rows");
    if (status != SPMM_OK) return status;
    place_rows<<<blocks_for(a->rows), THREADS, 0, stream>>>(*grid, a->rows, rows);
    status = sp_device_launched("order of a grid's rows");
    if (status == SPMM_OK)
        *order = rows;
    else
        sp_device_free(rows);
    return status;
}
