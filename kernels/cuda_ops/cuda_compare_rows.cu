/** Compares a matrix in the caller's arrays with the CSR of a block, and checks one that has no block. */
#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "device/device_ops.h"
}

namespace {

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

/** Returns element i of an array of integers of 4 or 8 bytes. The branch costs no time: it is the same for
 *  all threads, and memory bandwidth limits the kernel. */
__device__ int64_t integer_at(const void *array, int bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/** B: a type with the size of a value, bit_pattern */
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

/** Results of check_rows(), in GPU memory; which the caller zeroes. */
struct facts {
    unsigned long long nnz, longest, wrong_starts, wrong_columns;
    /** Number of entries whose column is not above the column of the previous entry, and how many of these
     *  are the first of their row. If the numbers are equal, columns increase within all rows. */
    unsigned long long descents, at_starts;
};

/** \param [out] irp  [rows + 1] row starts of 8 bytes; may be NULL */
__global__ void __launch_bounds__(THREADS)
    check_rows(const __grid_constant__ spmm_rows a, int64_t rows, int64_t cols, int64_t *irp, facts *found)
{
    const auto start_at = [&](int64_t i) { return integer_at(a.irp, a.irp_bytes, i); };
    const auto column_at = [&](int64_t e) { return integer_at(a.ja, a.ja_bytes, e); };
    const int64_t nnz = start_at(rows), columns = !a.ja || (a.nnz > 0 && nnz > a.nnz) ? 0 : nnz;
    unsigned wrong_starts = 0, wrong_columns = 0, descents = 0, at_starts = 0;
    int64_t longest = 0;
    for (int64_t i = first_item(); i <= rows; i += grid_size()) {
        const int64_t begin = start_at(i), length = i < rows ? start_at(i + 1) - begin : 0;
        wrong_starts += length < 0 || begin < 0 || begin > nnz || (i == 0 && begin != 0);
        longest = max(longest, length);
        if (irp) irp[i] = begin;
        if (length > 0 && begin > 0 && begin < columns) at_starts += column_at(begin) <= column_at(begin - 1);
    }
    for (int64_t e = first_item(); e < columns; e += grid_size()) {
        const int64_t column = column_at(e);
        wrong_columns += column < 0 || column >= cols;
        if (e > 0) descents += column <= column_at(e - 1);
    }
    for (int d = WARP / 2; d > 0; d /= 2) longest = max(longest, __shfl_xor_sync(ALL_LANES, longest, d));
    if (threadIdx.x % WARP == 0 && longest > 0) atomicMax(&found->longest, (unsigned long long)longest);
    add_up(&found->wrong_starts, wrong_starts);
    add_up(&found->wrong_columns, wrong_columns);
    add_up(&found->descents, descents);
    add_up(&found->at_starts, at_starts);
    if (first_item() == 0) found->nnz = (unsigned long long)nnz;
}

__global__ void __launch_bounds__(THREADS) narrow_columns(const int64_t *from, int64_t nnz, int32_t *to)
{
    for (int64_t e = first_item(); e < nnz; e += grid_size()) to[e] = (int32_t)from[e];
}

spmm_status check(const spmm_rows *a, int64_t rows, int64_t cols, int64_t *irp, facts *there, facts *here)
{
    enum { ENTRIES = 8 }; /* entries of a row of a typical matrix */
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    TRY(sp_device_zero(there, sizeof *there));
    /* (only the GPU knows the number of entries at this point) */
    check_rows<<<blocks_for((rows + 1) * ENTRIES), THREADS, 0, stream>>>(*a, rows, cols, irp, there);
    TRY(sp_device_launched("check_rows"));
    return sp_device_download(here, there, sizeof *here);
}

} // namespace

extern "C" spmm_status sp_cuda_compare_rows(const spmm_csr *block, const spmm_rows *a, uint32_t mark,
                                            uint32_t *found, void *stream)
{
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    const int64_t items = block->nnz > block->rows ? block->nnz : block->rows + 1;
    with_type(block->precision, [&](auto value) {
        compare_rows<bit_pattern<decltype(value)>>
            <<<blocks_for(items), THREADS, 0, (cudaStream_t)stream>>>(*block, *a, mark, found);
    });
    return sp_device_launched("compare_rows");
}

extern "C" spmm_status sp_cuda_check_rows(const spmm_rows *a, int64_t rows, int64_t cols, int64_t *irp,
                                          sp_rows_facts *found)
{
    facts here = {}, *there = NULL;
    TRY(sp_device_alloc((void **)&there, sizeof *there, "a check of a matrix"));
    const spmm_status status = check(a, rows, cols, irp, there, &here);
    sp_device_free(there);
    *found = {(int64_t)here.nnz, (int64_t)here.longest, here.wrong_starts == 0, here.wrong_columns == 0,
              here.descents == here.at_starts};
    return status;
}

extern "C" spmm_status sp_cuda_narrow_columns(const int64_t *from, int64_t nnz, int32_t *to)
{
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    narrow_columns<<<blocks_for(nnz), THREADS, 0, stream>>>(from, nnz, to);
    return sp_device_launched("narrow_columns");
}
