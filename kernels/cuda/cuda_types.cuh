/** Chooses code by the type of values in CUDA code. */
#ifndef SP_CUDA_TYPES_CUH
#define SP_CUDA_TYPES_CUH

#include <type_traits>

extern "C" {
#include "base/value_type.h"
}

/** Returns f(T()), where T is the C type of values of type p, a real type. */
template <typename F> auto with_type(spmm_precision p, F f)
{
#define CASE(f, word, id, T, ...) \
    case id: return f(T());
    switch (p) {
        SP_REAL_TYPES(CASE, f)
    default: break;
    }
#undef CASE
    __builtin_unreachable();
}

/** Returns the one of `all` for values of type p, a real type; they have the same type and the
 *  order of value_type.def. */
template <auto... all> auto of_type(spmm_precision p)
{
    constexpr std::common_type_t<decltype(all)...> list[] = {all...};
    static_assert(sizeof...(all) == SP_REALS, "one for each type");
    return list[p];
}

/** An unsigned integer with the size of T, for values that are compared bit by bit. */
template <typename T> using unsigned_of = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

#endif
