/** The kernels csr_scalar1, csr_scalar2, csr_scalar3 and ell_scalar: one thread per element of Y. Element n
 *  of Y is in row n / K and column n % K, so that adjacent threads compute adjacent columns of a row. */
#include "kernels/baseline/cuda_baseline.cuh"

namespace {

/** csr_scalar1: the thread keeps its running sum in Y itself, in global memory. It accesses Y and the row
 *  starts as volatile data for each entry; otherwise the compiler would turn this kernel into csr_scalar3. */
struct in_memory {
    template <typename T>
    static __device__ void element(const product<T> &a, int64_t row, const T *x, volatile T *y)
    {
        const volatile int64_t *const row_start = a.row_start;
        *y = T(0);
        for (int64_t j = row_start[row]; j < row_start[row + 1]; j++) {
            T sum = *y;
            multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
            *y = sum;
        }
    }
};

/** csr_scalar2: the sum is in a register. The end of the row is still read again for each entry: row_start is
 *  volatile, or the compiler would read it once. */
struct in_register {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const volatile int64_t *const row_start = a.row_start;
        T sum = T(0);
        for (int64_t j = row_start[row]; j < row_start[row + 1]; j++)
            multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
        *y = sum;
    }
};

/** csr_scalar3: like csr_scalar2, but the begin and end of the row are read only once. */
struct bounds_once {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const int64_t begin = a.row_start[row], end = a.row_start[row + 1];
        T sum = T(0);
        for (int64_t j = begin; j < end; j++) multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
        *y = sum;
    }
};

/** ell_scalar: padded ELLPACK, with the sum in a register. */
struct ell_row {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const int64_t begin = row * a.width, end = begin + a.width;
        T sum = T(0);
        for (int64_t j = begin; j < end; j++) {
            const int32_t col = a.col[j];
            if (col < 0) break; /* the rest of the row is padding; 0 times an infinite x would be NaN */
            multiply_add(sum, a.val[j], x[col * a.ldx]);
        }
        *y = sum;
    }
};

/** Computes each element of Y by Sum::element(). */
template <class Sum, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) scalar_kernel(const product<T> a)
{
    const int64_t elements = a.rows * a.k, stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; n < elements; n += stride) {
        const position p = position_of(n, a.k);
        Sum::element(a, p.row, a.x + p.column, a.y + p.row * a.ldy + p.column);
    }
}

template <class Sum> spmm_status fill_scalar(const sp_setup *setup, baseline_state *s)
{
    return choose_typed_block(setup, scalar_kernel<Sum, double>, scalar_kernel<Sum, float>, false, MAX_BLOCK,
                              &s->block);
}

template <class Sum, typename T> void launch_scalar(const sp_launch *l, cudaStream_t stream)
{
    const int block = ((const baseline_state *)l->state)->block;
    const product<T> a = product_of<T>(l);
    const unsigned grid = grid_of(a.rows * a.k, block);
    sp_device_note_launch((const void *)scalar_kernel<Sum, T>, launch_shape(grid, block, 0));
    scalar_kernel<Sum, T><<<grid, block, 0, stream>>>(a);
}

} // namespace

#define SCALAR_KERNEL(id, sum)                                                                \
    static spmm_status run_##id(const sp_launch *l)                                           \
    {                                                                                         \
        return launch_product<launch_scalar<sum, double>, launch_scalar<sum, float>>(l, #id); \
    }                                                                                         \
    SP_KERNEL(id) = {run_##id, baseline_prepare<fill_scalar<sum>>, baseline_release, NULL, NULL, NULL};
SCALAR_KERNEL(csr_scalar1, in_memory)
SCALAR_KERNEL(csr_scalar2, in_register)
SCALAR_KERNEL(csr_scalar3, bounds_once)
SCALAR_KERNEL(ell_scalar, ell_row)
