/** Compares a matrix in the caller's arrays with the CSR of a block. */
#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "device/device_ops.h"
}

namespace {

/** Returns element i of an array of integers of 4 or 8 bytes. The branch costs no time: it is the same for
 *  all threads, and memory bandwidth limits the kernel. */
__device__ int64_t integer_at(const void *array, int bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/** B: an unsigned integer with the size of a value */
template <typename B>
__global__ void __launch_bounds__(THREADS)
    compare_rows(const __grid_constant__ spmm_csr block, const __grid_constant__ spmm_rows a, uint32_t mark,
                 volatile uint32_t *found)
{
    /* if the last row start differs, ja and as may have fewer elements than the block */
    if (a.irp && integer_at(a.irp, a.irp_bytes, block.rows) != block.nnz) {
        if (first_item() == 0) found[0] = mark;
        return;
    }
    bool pattern = false, values = false;
    if (a.irp)
        for (int64_t i = first_item(); i < block.rows; i += grid_size())
            pattern |= integer_at(a.irp, a.irp_bytes, i) != block.irp[i];
    for (int64_t e = first_item(); e < block.nnz; e += grid_size()) {
        if (a.irp) pattern |= integer_at(a.ja, a.ja_bytes, e) != block.ja[e];
        if (a.as) values |= ((const B *)a.as)[e] != ((const B *)block.as)[e];
    }
    if (pattern) found[0] = mark;
    if (values) found[1] = mark;
}

} // namespace

extern "C" spmm_status sp_cuda_compare_rows(const spmm_csr *block, const spmm_rows *a, uint32_t mark,
                                            uint32_t *found, void *stream)
{
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    const int64_t items = block->nnz > block->rows ? block->nnz : block->rows + 1;
    with_type(block->precision, [&](auto value) {
        compare_rows<unsigned_of<decltype(value)>>
            <<<blocks_for(items), THREADS, 0, (cudaStream_t)stream>>>(*block, *a, mark, found);
    });
    return sp_device_launched("compare_rows");
}
