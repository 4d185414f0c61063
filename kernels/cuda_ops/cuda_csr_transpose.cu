/** Transposes a CSR matrix in GPU memory: a stable radix sort (CUB) of its entries by column. */
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/cuda_passes.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "base/search.h"
#include "device/device_ops.h"
}

namespace {

/** Sets start[c] to the number of entries in columns below c; `column` is sorted. */
__global__ void __launch_bounds__(THREADS)
    find_starts(const int32_t *column, int64_t nnz, int64_t columns, int64_t *start)
{
    for (int64_t c = first_item(); c <= columns; c += grid_size())
        start[c] = sp_lower_bound_i32(column, 0, nnz, c);
}

/** Changes entry numbers from 1-based to 0-based, and finds the rows of the entries. */
__global__ void __launch_bounds__(THREADS)
    find_rows(const int64_t *irp, int64_t rows, int64_t nnz, uint32_t *from, int32_t *row)
{
    for (int64_t j = first_item(); j < nnz; j += grid_size()) {
        const int64_t number = from[j]--; /* 1-based: at most the start of the next row */
        row[j] = (int32_t)sp_lower_bound(irp, 1, rows, number) - 1;
    }
}

/** Sorts the entries. If no memory has been allocated yet, only computes its size.
 *  \param [out] sorted  [nnz] the columns
 *  \param [out] from    [nnz] the numbers of the entries, from 1 on */
spmm_status sort(const spmm_csr *a, arena *memory, int32_t **sorted, uint32_t *from, cudaStream_t stream)
{
    const int bits = bits_of(a->cols);
    size_t bytes = 0;
    *sorted = take<int32_t>(memory, a->nnz);
    uint32_t *const number = take<uint32_t>(memory, a->nnz);
    cub::DeviceRadixSort::SortPairs(NULL, bytes, a->ja, *sorted, number, from, a->nnz, 0, bits, stream);
    void *const temporary = take<char>(memory, (int64_t)bytes);
    if (!memory->base) return SPMM_OK;
    TRY(sp_cuda_number(a->nnz, sizeof *number, number));
    cub::DeviceRadixSort::SortPairs(temporary, bytes, a->ja, *sorted, number, from, a->nnz, 0, bits, stream);
    return sp_device_launched("sort of entries");
}

spmm_status transpose(const spmm_csr *a, arena *memory, spmm_csr *t, uint32_t *from)
{
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    int32_t *sorted;
    TRY(sort(a, memory, &sorted, from, stream));
    TRY(arena_open(memory, "the transpose"));
    TRY(sort(a, memory, &sorted, from, stream));
    find_starts<<<blocks_for(a->cols + 1), THREADS, 0, stream>>>(sorted, a->nnz, a->cols, t->irp);
    find_rows<<<blocks_for(a->nnz), THREADS, 0, stream>>>(a->irp, a->rows, a->nnz, from, t->ja);
    TRY(sp_device_launched("find_rows"));
    TRY(sp_cuda_gather(from, a->nnz, (int)sp_value_size(a->precision), a->as, t->as, stream));
    return sp_device_sync();
}

} // namespace

extern "C" spmm_status sp_cuda_csr_transpose(const spmm_csr *a, spmm_csr *t, uint32_t **from)
{
    arena memory = {};
    *t = {a->cols, a->rows, a->nnz, a->precision, NULL, NULL, NULL};
    *from = NULL;
    TRY(sp_device_alloc((void **)&t->irp, (a->cols + 1) * (int64_t)sizeof *t->irp, "the transpose"));
    TRY(sp_device_alloc((void **)&t->ja, a->nnz * (int64_t)sizeof *t->ja, "the transpose"));
    TRY(sp_device_alloc(&t->as, a->nnz * sp_value_size(a->precision), "the transpose"));
    TRY(sp_device_alloc((void **)from, a->nnz * (int64_t)sizeof **from, "places of values"));
    const spmm_status status = transpose(a, &memory, t, *from);
    arena_close(&memory);
    return status;
}
