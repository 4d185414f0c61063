#include "kernels/cpu/cpu_values.h"

#include "base/memory.h"

/** Returns 1 if the values at positions begin .. end - 1 have the bits of the value at `at`. */
static int are_equal(const void *val, spmm_precision precision, int64_t begin, int64_t end, int64_t at)
{
    uint64_t differ = 0;
    if (precision == SPMM_F64)
        for (int64_t e = begin; e < end; e++)
            differ |= ((const uint64_t *)val)[e] ^ ((const uint64_t *)val)[at];
    else
        for (int64_t e = begin; e < end; e++)
            differ |= ((const uint32_t *)val)[e] ^ ((const uint32_t *)val)[at];
    return differ == 0;
}

/* Examines the first row with entries before the others: if values differ, this row usually shows it. */
const void *sp_common_value(const void *val, spmm_precision precision, const int64_t *begin,
                            const int64_t *end, int64_t rows, int threads)
{
    int64_t first = 0;
    while (first < rows && begin[first] == end[first]) first++;
    if (first == rows) return NULL;
    const int64_t at = begin[first];
    int equal = are_equal(val, precision, at, end[first], at);
    /* a thread may read `equal` late, which only costs time */
#pragma omp parallel for schedule(static) num_threads(threads) if (equal)
    for (int64_t i = first; i < rows; i++) {
        int so_far;
#pragma omp atomic read
        so_far = equal;
        if (!so_far || are_equal(val, precision, begin[i], end[i], at)) continue;
#pragma omp atomic write
        equal = 0;
    }
    return equal ? (const char *)val + at * sp_value_size(precision) : NULL;
}
