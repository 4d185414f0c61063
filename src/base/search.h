/** Boundaries of consecutive parts: even shares, and binary searches in sorted arrays. */
#ifndef SP_SEARCH_H
#define SP_SEARCH_H

#include <stdint.h>

/* Qualifiers, in addition to inline, of functions that the GPU calls, too; a .cu file defines the macro
 * before it includes a header with such functions. */
#ifndef SP_HOST_DEVICE
#define SP_HOST_DEVICE
#endif

/** Returns p/parts of n, rounded down: the number of items before part p if n items are divided evenly. Does
 *  not form n * p, which might overflow. Local. */
static inline int64_t sp_partition_share(int64_t n, int64_t parts, int64_t p)
{
    return n / parts * p + n % parts * p / parts;
}

/** Defines sp_lower_bound(sorted, low, high, value), which returns the first i in [low, high) with
 *  sorted[i] >= value, or high if there is none, and the same for 32-bit and unsigned elements. The elements
 *  sorted[low .. high - 1] do not decrease. Local. */
#define SP_LOWER_BOUND(name, T, V)                                                                 \
    SP_HOST_DEVICE static inline int64_t name(const T *sorted, int64_t low, int64_t high, V value) \
    {                                                                                              \
        while (low < high) {                                                                       \
            const int64_t middle = low + (high - low) / 2;                                         \
            if (sorted[middle] < value)                                                            \
                low = middle + 1;                                                                  \
            else                                                                                   \
                high = middle;                                                                     \
        }                                                                                          \
        return low;                                                                                \
    }
SP_LOWER_BOUND(sp_lower_bound, int64_t, int64_t)
SP_LOWER_BOUND(sp_lower_bound_i32, int32_t, int64_t)
SP_LOWER_BOUND(sp_lower_bound_u64, uint64_t, uint64_t)

/** Returns the i in [low, high] where total(of, i) is nearest to `wanted`; of two that are equally near, the
 *  higher one. total() does not decrease. Local. */
static inline int64_t sp_nearest_total(int64_t (*total)(const void *of, int64_t i), const void *of,
                                       int64_t low, int64_t high, int64_t wanted)
{
    int64_t i = low;
    while (i < high) {
        const int64_t middle = i + (high - i) / 2;
        if (total(of, middle) < wanted)
            i = middle + 1;
        else
            high = middle;
    }
    return i > low && wanted - total(of, i - 1) < total(of, i) - wanted ? i - 1 : i;
}

/** Returns the number of the part that contains i: the last p in [0, parts) with begin[p] <= i, so never an
 *  empty part. Local.
 *  \param [in] begin  boundaries of the parts, [parts + 1], with begin[0] <= i < begin[parts] */
static inline int sp_part_of(const int64_t *begin, int parts, int64_t i)
{
    return (int)sp_lower_bound(begin, 1, parts, i + 1) - 1;
}

#endif
