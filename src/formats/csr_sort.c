/** Sorts the entries of CSR rows by column and sums duplicates, for all types of values. */
#include "formats/csr_sort.h"

#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "formats/csr.h"
#include "formats/thread_ranges.h"

enum {
    SHORT_ROW = 24, /* insertion sort is fastest for rows of up to this many entries */
    MOVES = 4       /* insertion sort gives up on a longer row after this many moves per entry */
};

/* Defines less_NAME(x, y): whether x comes before y. The keys that are compared are in the order of the
 * values; NaNs are ordered too, and -0 comes before +0. */
#define LESS_REAL(NAME, VALUE, BITS)                        \
    static inline BITS order_##NAME(VALUE value)            \
    {                                                       \
        BITS bits;                                          \
        memcpy(&bits, &value, sizeof bits);                 \
        const BITS sign = (BITS)1 << (8 * sizeof bits - 1); \
        return bits & sign ? ~bits : bits | sign;           \
    }                                                       \
    static inline int less_##NAME(VALUE x, VALUE y) { return order_##NAME(x) < order_##NAME(y); }
/* Defines less_NAME() for complex values, which compares real parts first, then imaginary parts. */
#define LESS_COMPLEX(NAME, VALUE, REAL)                                                                      \
    static inline int less_##NAME(VALUE x, VALUE y)                                                          \
    {                                                                                                        \
        const int before = less_##REAL(__real__ x, __real__ y), after = less_##REAL(__real__ y, __real__ x); \
        return before || (!after && less_##REAL(__imag__ x, __imag__ y));                                    \
    }
LESS_REAL(f64, double, uint64_t)
LESS_REAL(f32, float, uint32_t)
LESS_COMPLEX(c128, sp_c128, f64)
LESS_COMPLEX(c64, sp_c64, f32)

#define VALUE double
#define LESS less_f64
#define NAME(name) name##_f64
#include "formats/csr_sort_impl.h"

#define VALUE float
#define LESS less_f32
#define NAME(name) name##_f32
#include "formats/csr_sort_impl.h"

#define VALUE sp_c128
#define LESS less_c128
#define NAME(name) name##_c128
#include "formats/csr_sort_impl.h"

#define VALUE sp_c64
#define LESS less_c64
#define NAME(name) name##_c64
#include "formats/csr_sort_impl.h"

/** Closes the gaps that summed duplicates left between the threads' ranges of entries: the range of thread t
 *  begins at entry first[t], and kept[t] entries remain in it. */
static void close_gaps(spmm_csr *a, const sp_thread_ranges *w, const int64_t *first, const int64_t *kept)
{
    int64_t to = 0;
    for (int t = 0; t < w->threads; t++) {
        const int64_t shift = first[t] - to;
        memmove(a->ja + to, a->ja + first[t], (size_t)kept[t] * sizeof *a->ja);
        sp_values_copy(a->precision, a->as, first[t], kept[t], a->as, to);
        for (int64_t i = w->begin[t]; i < w->begin[t + 1]; i++) a->irp[i] -= shift;
        to += kept[t];
    }
    a->nnz = a->irp[a->rows] = to;
}

/** Returns unused memory to the system: the arrays were allocated for `entries` entries, of which a->nnz
 *  remain. */
static void release_tails(const spmm_csr *a, int64_t entries)
{
    const int64_t size = sp_value_size(a->precision);
    sp_release_tail(a->ja, (size_t)a->nnz * sizeof *a->ja, (size_t)entries * sizeof *a->ja);
    sp_release_tail(a->as, (size_t)(a->nnz * size), (size_t)(entries * size));
}

spmm_status sp_csr_sort_sum_duplicates(spmm_csr *a, int threads, int64_t *duplicates)
{
    sp_thread_ranges w;
    int64_t *first = NULL, *kept;
    spmm_status status = sp_thread_ranges_create(a->irp, a->rows, threads, &w);
    if (status != SPMM_OK) return status;
    TRY_GOTO(sp_alloc((void **)&first, 2 * (threads + 1), sizeof *first, "row ranges"), done);
    kept = first + threads + 1;
    for (int t = 0; t <= threads; t++) first[t] = a->irp[w.begin[t]];
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++)
        kept[t] = SP_OF_TYPE(sort_rows, a->precision)(a, w.begin[t], w.begin[t + 1], first[t], first[t + 1]);
    *duplicates = a->nnz;
    for (int t = 0; t < threads; t++) *duplicates -= kept[t];
    if (*duplicates > 0) {
        close_gaps(a, &w, first, kept);
        release_tails(a, a->nnz + *duplicates);
    }
done:
    sp_free(first);
    sp_thread_ranges_destroy(&w);
    return status;
}
