/** The types of values in CUDA code, and the choice of code by type. */
#ifndef SP_CUDA_TYPES_CUH
#define SP_CUDA_TYPES_CUH

#include <type_traits>

extern "C" {
#include "base/value_type.h"
}

/** Complex values, as sp_c128 and sp_c64 are stored. */
struct alignas(16) c128 {
    using real = double;
    double re, im;
};
struct alignas(8) c64 {
    using real = float;
    float re, im;
};

template <typename T> constexpr bool is_complex = std::is_same_v<T, c128> || std::is_same_v<T, c64>;

/** The type in CUDA code for a type of value_type.def. */
template <typename T> struct value_in_cuda {
    using type = T;
};
template <> struct value_in_cuda<sp_c128> {
    using type = c128;
};
template <> struct value_in_cuda<sp_c64> {
    using type = c64;
};

#define SP_CASE_OF_TYPE(f, word, id, T, ...) \
    case id: return f(typename value_in_cuda<T>::type());

/** Returns f(T()), where T is the type in CUDA code of values of type p. */
template <typename F> auto with_type(spmm_precision p, F f)
{
    switch (p) {
        SP_VALUE_TYPES(SP_CASE_OF_TYPE, f)
    }
    __builtin_unreachable();
}

/** The same for real types only. */
template <typename F> auto with_real(spmm_precision p, F f)
{
    switch (p) {
        SP_REAL_TYPES(SP_CASE_OF_TYPE, f)
    default: __builtin_unreachable();
    }
}

/** Returns the element of `all` for values of type p. The elements are in the order of value_type.def, one
 *  for each real type or one for each type. */
template <auto... all> auto of_type(spmm_precision p)
{
    constexpr std::common_type_t<decltype(all)...> list[] = {all...};
    static_assert(sizeof...(all) == SP_REALS || sizeof...(all) == SP_TYPES, "one for each type");
    return list[p];
}

/** A value of 16 bytes that can be compared bit by bit, or hold a number. */
struct alignas(16) bits_of_16 {
    unsigned long long low, high;
    __host__ __device__ explicit bits_of_16(int64_t number = 0) : low((unsigned long long)number), high(0) {}
    __host__ __device__ explicit operator uint64_t() const { return low; }
    __host__ __device__ bool operator!=(const bits_of_16 &b) const { return low != b.low || high != b.high; }
};

/** A type with the size of T, for values that are compared bit by bit. */
template <typename T>
using bit_pattern = std::conditional_t<sizeof(T) == 16, bits_of_16,
                                       std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>>;

__host__ __device__ inline bool operator==(const c128 &a, int number) { return a.re == number && a.im == 0; }
__host__ __device__ inline bool operator==(const c64 &a, int number)
{
    return a.re == (float)number && a.im == 0;
}

/** The product of a factor and a complex value, as SP_TIMES computes it. */
template <typename T> __host__ __device__ inline std::enable_if_t<is_complex<T>, T> operator*(T a, T v)
{
    if (a.im == 0) return {a.re * v.re, a.re * v.im};
    return {a.re * v.re - a.im * v.im, a.re * v.im + a.im * v.re};
}
template <typename T> __host__ __device__ inline std::enable_if_t<is_complex<T>, T &> operator*=(T &v, T a)
{
    return v = a * v;
}

/** Returns a value as one of T, its type. */
template <typename T> T value_in(const sp_value &v)
{
    T value;
    memcpy(&value, &v, sizeof value);
    return value;
}

/** Returns beta y + ax. */
template <typename T> __device__ inline T scaled_sum(T beta, T y, T ax)
{
    if constexpr (is_complex<T>) {
        const T by = beta * y;
        return {by.re + ax.re, by.im + ax.im};
    } else {
        return fma(beta, y, ax);
    }
}

#endif
