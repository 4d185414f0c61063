/** Operators with which CUDA kernels reduce the values of a series: one struct for each sp_operator. The
 *  struct is a template parameter of the kernels.
 *
 *  An operator O has: value, the type of the values; element, the type that is combined; identity(); from(x),
 *  the element of a value; join(a, b), the element of a followed by b; put(), which stores the
 *  components of a result. A shared-memory array of elements needs no alignment beyond that of a double. */
#ifndef SP_CUDA_OPERATORS_CUH
#define SP_CUDA_OPERATORS_CUH

#define BOTH __host__ __device__ static inline

namespace {

/** The common members of the operators whose elements are values. */
template <typename T> struct plain_operator {
    typedef T value;
    typedef T element;
    BOTH T from(T x) { return x; }
    BOTH void put(T result, T divisor, double *at, int64_t count)
    {
        (void)divisor, (void)count;
        *at = (double)result;
    }
};

template <typename T> struct sum_of : plain_operator<T> {
    BOTH T identity() { return 0; }
    BOTH T join(T a, T b) { return a + b; }
    BOTH void put(T result, T divisor, double *at, int64_t count)
    {
        (void)count;
        *at = (double)(result / divisor);
    }
};

template <typename T> struct dot_of : plain_operator<T> {
    BOTH T identity() { return 0; }
    BOTH T from(T x) { return x * x; }
    BOTH T join(T a, T b) { return a + b; }
};

template <typename T> struct minimum_of : plain_operator<T> {
    BOTH T identity() { return (T)INFINITY; }
    BOTH T join(T a, T b) { return b < a ? b : a; }
};

template <typename T> struct maximum_of : plain_operator<T> {
    BOTH T identity() { return -(T)INFINITY; }
    BOTH T join(T a, T b) { return b > a ? b : a; }
};

/** The number mantissa * 2^exponent; |mantissa| is 0 or from 0.5 up to 1. */
template <typename T> struct scaled {
    T mantissa;
    int64_t exponent;
};

template <typename T> struct product_of {
    typedef T value;
    typedef scaled<T> element;
    BOTH element identity() { return {(T)0.5, 1}; }
    BOTH element from(T x)
    {
        int exponent;
        const T mantissa = frexp(x, &exponent);
        return {mantissa, exponent};
    }
    BOTH element join(element a, element b)
    {
        const T mantissa = a.mantissa * b.mantissa;
        const bool small = mantissa < (T)0.5 && mantissa > (T)-0.5;
        return {small ? 2 * mantissa : mantissa, a.exponent + b.exponent - small};
    }
    BOTH void put(element result, T divisor, double *at, int64_t count)
    {
        (void)divisor;
        at[0] = (double)result.mantissa;
        at[count] = result.mantissa == 0 ? 0 : (double)result.exponent;
    }
};

template <typename T> struct matrix_of {
    typedef T value;
    typedef sp_square element;
    BOTH element identity() { return {1, 0, 0, 1}; }
    BOTH element from(T x) { return sp_square_of((double)x); }
    BOTH element join(element a, element b) { return sp_square_product(a, b); }
    BOTH void put(element result, T divisor, double *at, int64_t count)
    {
        (void)divisor;
        at[0] = result.a;
        at[count] = result.b;
        at[2 * count] = result.c;
        at[3 * count] = result.d;
    }
};

/** Returns the element of the lane that is `away` lanes further on; the lane's own element if there is no
 *  such lane. All lanes of the warp must call this. */
template <typename T> __device__ inline T lane_down(T mine, int away)
{
    return __shfl_down_sync(ALL_LANES, mine, away);
}
template <typename T> __device__ inline scaled<T> lane_down(scaled<T> mine, int away)
{
    return {lane_down(mine.mantissa, away), lane_down(mine.exponent, away)};
}
__device__ inline sp_square lane_down(sp_square mine, int away)
{
    return {lane_down(mine.a, away), lane_down(mine.b, away), lane_down(mine.c, away),
            lane_down(mine.d, away)};
}

/** Calls K::run<O>(), where O is operator l->op for values of type T. If `any` is false, K changes
 *  the order of values: K::run<O>() does not exist for SP_MATRIX, and SP_MATRIX is an error. */
template <typename K, typename T, bool any>
spmm_status by_operator(const sp_series_launch *l, cudaStream_t stream)
{
    switch (l->op) {
    case SP_SUM: return K::template run<sum_of<T>>(l, stream);
    case SP_MINIMUM: return K::template run<minimum_of<T>>(l, stream);
    case SP_MAXIMUM: return K::template run<maximum_of<T>>(l, stream);
    case SP_PRODUCT: return K::template run<product_of<T>>(l, stream);
    case SP_DOT: return K::template run<dot_of<T>>(l, stream);
    case SP_MATRIX:
        if constexpr (any) return K::template run<matrix_of<T>>(l, stream);
    case SP_OPERATORS: break;
    }
    return sp_fail(SPMM_ERR_INTERNAL,
                   "the kernel changes the order of values, on which the operator depends");
}

} // namespace

#undef BOTH

#endif
