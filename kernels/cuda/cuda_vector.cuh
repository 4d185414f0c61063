/** Helpers that the CUDA kernels share: queueing of products, and vectors of adjacent columns of X and Y. */
#ifndef SP_CUDA_VECTOR_CUH
#define SP_CUDA_VECTOR_CUH

#include <type_traits>

#include "kernels/cuda/cuda_types.cuh"
#include "spmm_types.h"
extern "C" {
#include "base/memory.h"
#include "device/device.h"
#include "formats/sell.h"
#include "formats/summation.h"
#include "kernels/kernel.h"
}

/* The launchers for complex values: for csr_rows; for csr_balanced and csr_clustered, or csr_deep; for
 * sell_rows, or sell_deep. T is c128 or c64. The files of kernels/cuda_complex define them: in one file with
 * the kernels for real values, the compiler would give the real ones other registers. Files also compile in
 * parallel. */
template <typename T> void sp_cuda_rows_complex(const sp_launch *l, cudaStream_t stream);
template <bool deep, typename T> void sp_cuda_lists_complex(const sp_launch *l, cudaStream_t stream);
template <bool deep, typename T> void sp_cuda_sell_complex(const sp_launch *l, cudaStream_t stream);

namespace {

enum { WARP = 32, VECTOR_BYTES = 16, MAX_TILES = 65535 };

/** Maximum number of columns of X for which kernels have variants for equal and narrow values. Beyond it,
 *  values are a small part of the memory traffic. */
enum { SP_MOST_EQUAL = 8 };
constexpr unsigned ALL_LANES = 0xffffffffu;

/** How a variant of a kernel gets the values of A. OWN: it reads them. EQUAL: all entries have one value.
 *  NARROW: it reads f64 values in f32, which represents all of them exactly. */
enum values_policy { OWN, EQUAL, NARROW };

/** The type in which values of T are read. */
template <int values, typename T> using stored = std::conditional_t<values == NARROW, float, T>;

/** Returns the number of blocks for `work` items if each block computes `per_block` items; at least 1, and at
 *  most 2^31 - 1, the limit of a grid. */
inline unsigned grid_of(int64_t work, int64_t per_block)
{
    const int64_t blocks = (work - 1) / per_block + 1;
    return (unsigned)(blocks < 1 ? 1 : blocks < INT32_MAX ? blocks : INT32_MAX);
}

/** Returns the launch shape for sp_device_note_launch(). Only the members that are known at launch are set.
 *  \param [in] lanes  number of lanes that share an element or a row; 0: the kernel has no sub-warps */
inline sp_launch_shape launch_shape(dim3 grid, int block, size_t shared, int lanes = 0)
{
    sp_launch_shape shape = {};
    shape.blocks = (int64_t)grid.x * grid.y * grid.z;
    shape.block = block;
    shape.subwarp = lanes;
    shape.dynamic_shared = (int64_t)shared;
    return shape;
}

/** Queues a kernel that takes one argument. On GPUs of compute capability 9.0 and more, its blocks may start
 *  before the previous kernel of the stream has completed, so the kernel must call wait_for_previous(). The
 *  early start hides the time to start a kernel, which is significant for small matrices. See the CUDA C++
 *  Programming Guide, "Programmatic Dependent Launch".
 *  \param [in] lanes  number of lanes that share a row; 0: the kernel has no sub-warps */
template <typename A>
void launch_early(void (*kernel)(A), dim3 grid, unsigned block, size_t shared, cudaStream_t stream,
                  const A &a, int lanes = 0)
{
    sp_device_note_launch((const void *)kernel, launch_shape(grid, (int)block, shared, lanes));
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = sp_device_starts_early();
    (void)cudaLaunchKernelEx(&config, kernel, a); /* sp_device_launched() checks for errors */
}

/** Lets the next kernel of the stream start its blocks when all blocks of this one have called this function
 *  or have ended. It should be called when the sums are complete: blocks that start while others still run
 *  are spread unevenly over the multiprocessors, which is slow if several long rows are on the same one. */
__device__ inline void let_next_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** Waits until the previous kernel of the stream has completed. Before this call, a kernel may read only the
 *  matrix and its lists, because code that changes these waits for the stream. */
__device__ inline void wait_for_previous()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/** Sets column indices to themselves. After wait_for_previous(), this prevents the compiler from moving the
 *  loads of rows of X before the wait: it may move __ldg() loads across anything on which they do not
 *  depend. */
template <int N> __device__ inline void use_after(int32_t (&col)[N])
{
#pragma unroll
    for (int n = 0; n < N; n++) asm volatile("" : "+r"(col[n])::"memory");
}

/** Queues a product, in one precision, for a matrix that has rows. */
using product_launcher = void (*)(const sp_launch *, cudaStream_t);

/** Implements sp_kernel_ops.run for the kernel named `id`: calls the launcher for the type of the matrix's
 *  values. `launchers` are in the order of value_type.def, for the types that the kernel takes. */
template <product_launcher... launchers> spmm_status launch_product(const sp_launch *l, const char *id)
{
    if (!l->stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    if (l->a->rows == 0) return SPMM_OK;
    of_type<launchers...>(l->a->precision)(l, (cudaStream_t)l->stream);
    return sp_device_launched(id);
}

template <typename T, int V> struct vector_of;
template <> struct vector_of<double, 1> {
    using type = double;
};
template <> struct vector_of<double, 2> {
    using type = double2;
};
template <> struct vector_of<float, 1> {
    using type = float;
};
template <> struct vector_of<float, 2> {
    using type = float2;
};
template <> struct vector_of<float, 4> {
    using type = float4;
};
struct alignas(16) c64x2 {
    c64 x, y;
};
template <> struct vector_of<c128, 1> {
    using type = c128;
};
template <> struct vector_of<c64, 1> {
    using type = c64;
};
template <> struct vector_of<c64, 2> {
    using type = c64x2;
};

/** A vector type of CUDA's own with the size of the type X, for loads and stores of values of type X. */
template <typename X>
using native =
    std::conditional_t<std::is_same_v<X, c128>, double2,
                       std::conditional_t<std::is_same_v<X, c64>, float2,
                                          std::conditional_t<std::is_same_v<X, c64x2>, float4, X>>>;

/** Returns a vector of CUDA's own type as a complex one. */
__device__ inline c128 own(const double2 &v, c128) { return {v.x, v.y}; }
__device__ inline c64 own(const float2 &v, c64) { return {v.x, v.y}; }
__device__ inline c64x2 own(const float4 &v, c64x2) { return {{v.x, v.y}, {v.z, v.w}}; }
template <typename X> __device__ inline X own(const X &v, X) { return v; }

/** Load by __ldg(), __ldcs() and __ldcg(), and store by __stcs(). */
template <typename X> __device__ inline X load_cached(const X *p)
{
    return own(__ldg((const native<X> *)p), X{});
}
template <typename X> __device__ inline X load_once(const X *p)
{
    return own(__ldcs((const native<X> *)p), X{});
}
template <typename X> __device__ inline X load_shared(const X *p)
{
    return own(__ldcg((const native<X> *)p), X{});
}
template <typename X> __device__ inline void store_once(X *p, const X &v)
{
    __stcs((native<X> *)p, *(const native<X> *)&v);
}

/** Returns the number of blocks that must fit on a multiprocessor: `blocks` for real values, and fewer for
 *  complex values, which take twice as many registers. */
template <typename T> constexpr int blocks_for_type(int blocks)
{
    return is_complex<T> ? blocks * 3 / 4 : blocks;
}

/** Base of a kernel's arguments: whether the values of A are conjugated. Empty for real values. */
template <typename T> struct conjugation {
    void set_conjugate(bool) {}
    /* Returns the factor for the value v of A. */
    template <typename S> __device__ S factor(S v) const { return v; }
};
template <typename T> struct complex_conjugation {
    bool conjugate;
    void set_conjugate(bool on) { conjugate = on; }
    __device__ T factor(T v) const { return {v.re, conjugate ? -v.im : v.im}; }
};
template <> struct conjugation<c128> : complex_conjugation<c128> {
};
template <> struct conjugation<c64> : complex_conjugation<c64> {
};

__device__ inline void multiply_add(double &sum, double a, double x) { sum = fma(a, x, sum); }
__device__ inline void multiply_add(float &sum, float a, float x) { sum = fmaf(a, x, sum); }
__device__ inline void multiply_add(double2 &sum, double a, const double2 &x)
{
    multiply_add(sum.x, a, x.x);
    multiply_add(sum.y, a, x.y);
}
__device__ inline void multiply_add(float2 &sum, float a, const float2 &x)
{
    multiply_add(sum.x, a, x.x);
    multiply_add(sum.y, a, x.y);
}
__device__ inline void multiply_add(float4 &sum, float a, const float4 &x)
{
    multiply_add(sum.x, a, x.x);
    multiply_add(sum.y, a, x.y);
    multiply_add(sum.z, a, x.z);
    multiply_add(sum.w, a, x.w);
}

/* the order of summation.h */
template <typename T>
__device__ inline std::enable_if_t<is_complex<T>> multiply_add(T &sum, const T &a, const T &x)
{
    multiply_add(sum.re, a.re, x.re);
    multiply_add(sum.re, -a.im, x.im);
    multiply_add(sum.im, a.re, x.im);
    multiply_add(sum.im, a.im, x.re);
}
__device__ inline void multiply_add(c64x2 &sum, const c64 &a, const c64x2 &x)
{
    multiply_add(sum.x, a, x.x);
    multiply_add(sum.y, a, x.y);
}

template <typename T> __device__ inline std::enable_if_t<is_complex<T>> add(T &sum, const T &x)
{
    sum.re += x.re;
    sum.im += x.im;
}
__device__ inline void add(c64x2 &sum, const c64x2 &x)
{
    add(sum.x, x.x);
    add(sum.y, x.y);
}
__device__ inline void add(double &sum, double x) { sum += x; }
__device__ inline void add(float &sum, float x) { sum += x; }
__device__ inline void add(double2 &sum, const double2 &x)
{
    sum.x += x.x;
    sum.y += x.y;
}
__device__ inline void add(float2 &sum, const float2 &x)
{
    sum.x += x.x;
    sum.y += x.y;
}
__device__ inline void add(float4 &sum, const float4 &x)
{
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
}

/** Elements of the result of sp_cuda_find_common(): the bits that are set in some value, the bits that are
 *  clear in some value, and, for f64, a number other than 0 if f32 does not represent some value exactly. */
enum { SP_HAS, SP_LACKS, SP_WIDE, SP_FOUND };

/** Returns true if f32 represents all values exactly. */
__device__ inline bool are_narrow(const double *p)
{
    return __ldg((const unsigned long long *)p + SP_WIDE) == 0;
}
__device__ inline bool are_narrow(const float *) { return false; }

/** What all values of A have in common: `all` is true if all have the bits of `value`. */
template <typename T> struct common_value {
    T value;
    bool all;
};

/** Loads what sp_cuda_find_common() has found about equal values. */
__device__ inline common_value<double> load_common(const double *p)
{
    const double2 bits = __ldg((const double2 *)p);
    return {bits.x, (__double_as_longlong(bits.x) & __double_as_longlong(bits.y)) == 0};
}
__device__ inline common_value<float> load_common(const float *p)
{
    const float2 bits = __ldg((const float2 *)p);
    return {bits.x, (__float_as_uint(bits.x) & __float_as_uint(bits.y)) == 0};
}

/** Sets all elements of an array to `value`. */
template <typename T, int N> __device__ inline void set_all(T (&array)[N], T value)
{
#pragma unroll
    for (int n = 0; n < N; n++) array[n] = value;
}

/** 1 if kernels have variants for equal and narrow values for this shape: L lanes per row, each with N
 *  vectors of V columns. Other shapes are for more than SP_MOST_EQUAL columns, or for an X that is not
 *  aligned. */
template <typename T, int V, int L, int N>
constexpr bool has_few = !is_complex<T> && N == 1 &&
                         (L == 1 || (V * sizeof(T) == VECTOR_BYTES && V * L <= SP_MOST_EQUAL));

/** Returns the address of row `col` of X, x + col * pitch, computed by one instruction. For a C++ expression
 *  the compiler would generate two. */
__device__ inline const char *row_of(const char *x, int32_t col, uint32_t pitch)
{
    const char *address;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(address) : "r"(col), "r"(pitch), "l"(x));
    return address;
}

/** Returns the leading dimension for partial sums of k columns: k rounded up, so that each row is aligned for
 *  any vector of columns and can store the whole last vector. */
inline int64_t partial_ld(int64_t k) { return k == 1 ? 1 : (k + 3) / 4 * 4; }

/** Returns the number of elements per vector of columns, for elements of `size` bytes. The vector is the
 *  widest one of up to 16 bytes for which all rows of X and Y are aligned. But if a vector of half the width
 *  holds all k columns, that is used. A vector that begins before column k ends within the leading dimension,
 *  which is a multiple of the width of the vector. */
inline int vector_width(const sp_launch *l, int size)
{
    const uintptr_t mixed = (uintptr_t)l->x->data | (uintptr_t)l->y->data | (uintptr_t)(l->x->ld * size) |
                            (uintptr_t)(l->y->ld * size);
    int bytes = VECTOR_BYTES;
    while (bytes > size && (mixed % (uintptr_t)bytes != 0 || bytes / size >= 2 * l->x->k)) bytes /= 2;
    return bytes / size;
}

/** Returns SPMM_ERR_LIMIT if a row of X is longer than 4 GB, because row_of() takes the length as a 32-bit
 *  number; otherwise SPMM_OK. */
inline spmm_status check_pitch(const sp_launch *l, const char *id)
{
    if (l->x->ld <= (int64_t)(UINT32_MAX / sp_value_size(l->a->precision))) return SPMM_OK;
    return sp_fail(SPMM_ERR_LIMIT, "kernel %s: a row of X of %lld elements is longer than 4 GB", id,
                   (long long)l->x->ld);
}

/** Returns a kernel's arguments. Sets the members that are common to all kernels with vectors of columns; the
 *  other members are 0. */
template <template <typename> class A, typename T> A<T> vector_args(const sp_launch *l)
{
    A<T> a = {};
    a.col = l->a->col;
    a.val = (const T *)l->a->val;
    a.x = (const T *)l->x->data;
    a.y = (T *)l->y->data;
    a.ldy = l->y->ld;
    a.x_pitch = (uint32_t)(l->x->ld * sizeof(T));
    a.columns = (int)l->x->k;
    return a;
}

/** Queues a product for all columns by calls of launch(rest, V). `rest` has the kernel's arguments for the
 *  columns that are left. Each call queues the product for the first of these columns and returns their
 *  number. V is the integral constant 1, 2 or, in f32, 4: the columns per vector (in c128, only 1). */
template <typename T, template <typename> class A, typename F>
void launch_vectors(const sp_launch *l, A<T> rest, F launch)
{
    const int width = vector_width(l, (int)sizeof(T));
    while (rest.columns > 0) {
        int done;
        if constexpr (sizeof(T) == VECTOR_BYTES) {
            done = launch(rest, std::integral_constant<int, 1>());
        } else {
            if (width == 1)
                done = launch(rest, std::integral_constant<int, 1>());
            else if (sizeof(T) == 8 || width == 2)
                done = launch(rest, std::integral_constant<int, 2>());
            else
                done = launch(rest, std::integral_constant<int, VECTOR_BYTES / (int)sizeof(T)>());
        }
        rest.x += done;
        rest.y += done;
        if (rest.partial) rest.partial += done;
        rest.columns -= done;
    }
}

} // namespace

#endif
