/* Products by rows on the CPU, for one storage format; included once per format, with
 *   ROW_BEGIN(a, i)         position of row i's first entry in col and val
 *   ROW_END(a, i, begin)    position after its last one
 * and gives `static void run_rows(const sp_launch *)`.
 *
 * The sums of a row and a block of columns stay in registers from the first entry to the last; the
 * block is as many vectors as registers allow. X's row is loaded, A's value spread. */
#ifndef SP_CPU_ROWS_IMPL_H
#define SP_CPU_ROWS_IMPL_H

#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu_isa.h"
#include "kernel.h"

#define SP_INLINE __attribute__((always_inline)) inline
#if defined(__clang__)
#define SP_UNROLL _Pragma("unroll")
#else
#define SP_UNROLL _Pragma("GCC unroll 16")
#endif

enum {
    CACHE_LINE = 64,
    CHUNK_ENTRIES = 2048, /* of A, treated for all blocks of columns before the next ones */
    L1_BYTES = 40 << 10,  /* between the 32 and the 48 KiB of today's cores */
    PREFETCH_BYTES = 256, /* of a block's row of X: below, out-of-order execution hides the misses */
    AHEAD_ENTRIES = 16
};

/** A block of columns for some rows. */
typedef struct block {
    const sp_matrix *a;
    const void *x; /* X's row 0, at the block's first column */
    void *y;       /* Y's row 0, likewise */
    int64_t ldx, ldy;
    int64_t begin, end; /* rows */
    int64_t ahead;      /* entries to prefetch X's rows ahead; 0: none */
    int64_t last;       /* the last position of col that may be read for that */
    int tail;           /* columns in the last vector if it is masked */
} block;

typedef void (*rows_fn)(const block *b);

/** Fetches the lines of `bytes` bytes from x + offset; a padding column's -1 gives an address before
 *  x, harmless as it is never dereferenced. */
SP_INLINE static void prefetch(const void *x, int64_t offset, int bytes)
{
    const uintptr_t p = (uintptr_t)x + (uintptr_t)offset;
    SP_UNROLL for (int i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch((const void *)(p + (uintptr_t)i));
}

#if defined(__x86_64__)
/* The first n lanes of an AVX2 mask are those before the zeros. */
static const int64_t window64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t window32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#define WINDOW_128(window, lanes, n) _mm_loadu_si128((const __m128i *)(const void *)(window + lanes - (n)))
#define WINDOW_256(window, lanes, n) _mm256_loadu_si256((const __m256i *)(const void *)(window + lanes - (n)))
#define BITS(n) ((1u << (n)) - 1)
#define AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
#endif

#endif

#if defined(__x86_64__)
#define BIT_MASKS
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_avx512_64
#define LANES 8
#define VECTORS 16
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_avx512_64
#define LANES 16
#define VECTORS 16
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(n))
#include "cpu_rows_vector.h"

#undef BIT_MASKS

#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_avx2_32
#define LANES 4
#define VECTORS 8
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#include "cpu_rows_vector.h"

#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_avx2_16
#define LANES 2
#define VECTORS 1
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window64, 4, n)
#include "cpu_rows_vector.h"

#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_avx2_32
#define LANES 8
#define VECTORS 8
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, n)
#include "cpu_rows_vector.h"

#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_avx2_16
#define LANES 4
#define VECTORS 1
#define VECTOR __m128
#define INTRINSIC(op) _mm_##op##_ps
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window32, 8, n)
#include "cpu_rows_vector.h"

#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_fma_8
#define VECTORS 1
#define FMA(a, x, c) __builtin_fma(a, x, c)
#include "cpu_rows_vector.h"

#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_fma_4
#define VECTORS 1
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#include "cpu_rows_vector.h"
#endif

#define TARGET
#define VALUE double
#define NAME(name) name##_f64_generic_8
#define VECTORS 8
#define FMA(a, x, c) __builtin_fma(a, x, c)
#include "cpu_rows_vector.h"

#define TARGET
#define VALUE float
#define NAME(name) name##_f32_generic_4
#define VECTORS 8
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#include "cpu_rows_vector.h"

/** One width of vectors for an instruction set and a type. */
typedef struct width {
    sp_isa isa;
    spmm_precision precision;
    int lanes, vectors;
    const rows_fn (*table)[2]; /* [vectors - 1][masked] */
} width;

/* within an instruction set and a type: the narrow ones first */
static const width widths[] = {
#if defined(__x86_64__)
    {SP_ISA_AVX512, SPMM_F64, 1, 1, table_f64_fma_8},
    {SP_ISA_AVX512, SPMM_F64, 2, 1, table_f64_avx2_16},
    {SP_ISA_AVX512, SPMM_F64, 4, 8, table_f64_avx2_32},
    {SP_ISA_AVX512, SPMM_F64, 8, 16, table_f64_avx512_64},
    {SP_ISA_AVX512, SPMM_F32, 1, 1, table_f32_fma_4},
    {SP_ISA_AVX512, SPMM_F32, 4, 1, table_f32_avx2_16},
    {SP_ISA_AVX512, SPMM_F32, 8, 8, table_f32_avx2_32},
    {SP_ISA_AVX512, SPMM_F32, 16, 16, table_f32_avx512_64},
    {SP_ISA_AVX2, SPMM_F64, 1, 1, table_f64_fma_8},
    {SP_ISA_AVX2, SPMM_F64, 2, 1, table_f64_avx2_16},
    {SP_ISA_AVX2, SPMM_F64, 4, 8, table_f64_avx2_32},
    {SP_ISA_AVX2, SPMM_F32, 1, 1, table_f32_fma_4},
    {SP_ISA_AVX2, SPMM_F32, 4, 1, table_f32_avx2_16},
    {SP_ISA_AVX2, SPMM_F32, 8, 8, table_f32_avx2_32},
#endif
    {SP_ISA_GENERIC, SPMM_F64, 1, 8, table_f64_generic_8},
    {SP_ISA_GENERIC, SPMM_F32, 1, 8, table_f32_generic_4},
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/** The narrowest width that takes k columns at once. Beyond that the widest whose last vector needs no
 *  mask, because the padding of X and Y (leading dimensions of at least ld) has room for its lanes, and
 *  that holds a row's sums in registers: vectors of 32 bytes beat those of 64 that straddle cache
 *  lines and end in a mask. Else the widest there is. */
static const width *find_width(sp_isa isa, spmm_precision precision, int64_t k, int64_t ld)
{
    const width *found = NULL;
    int fits = 0;
    for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++) {
        const width *const w = &widths[i];
        if (w->isa != isa || w->precision != precision) continue;
        if (w->lanes >= k) return w;
        const int64_t vectors = ceil_div(k, w->lanes);
        const int fit = vectors * w->lanes <= ld && vectors <= w->vectors;
        if (fit || !fits) found = w;
        fits |= fit;
    }
    return found;
}

/** Blocks that the `total` vectors of a row are cut into: one while registers suffice, more when
 *  that lets the rows of X that a row of A needs stay in the L1 cache for the next row of A.
 *  Not where rows of X are a power of two apart: a part of each maps to as small a part of the cache. */
static int64_t count_blocks(const sp_launch *l, const width *w, int64_t total)
{
    const int64_t vector = w->lanes * (l->a->precision == SPMM_F64 ? 8 : 4),
                  stride = l->x->ld * vector / w->lanes;
    int64_t most = w->vectors;
    if ((stride & (stride - 1)) != 0) {
        const int64_t fit = L1_BYTES * l->a->rows / (l->a->nnz + 1) / vector;
        if (fit < most) most = fit > 4 ? fit : most < 4 ? most : 4;
    }
    return ceil_div(total, most);
}

/** Whether the columns of row `below` mostly lie apart from one another and from those of the row above
 *  it: judged by counting those with a neighbour; adds to both counts. */
static void count_near(const sp_matrix *a, int64_t below, int64_t *near, int64_t *all)
{
    enum { DISTANCE = 4, ENTRIES = 32 };
    int64_t up = ROW_BEGIN(a, below - 1), first = ROW_BEGIN(a, below);
    const int64_t up_end = ROW_END(a, below - 1, up);
    int64_t end = ROW_END(a, below, first);
    if (end - first > ENTRIES) end = first + ENTRIES;
    for (int64_t e = first; e < end; e++) {
        while (up < up_end && a->col[up] < a->col[e] - DISTANCE) up++;
        *near += (up < up_end && a->col[up] <= a->col[e] + DISTANCE) ||
                 (e > first && a->col[e] - a->col[e - 1] <= DISTANCE);
        ++*all;
    }
}

/** How far to fetch X's rows ahead on rows [begin, end), in entries. Where columns repeat from row to
 *  row, as in a stencil, the caches have them and prefetching costs 10 %; where they are scattered it
 *  gains up to 50 % (bench: uniform, R-MAT; rows of X of PREFETCH_BYTES and more). A sample tells. */
static int64_t find_ahead(const sp_matrix *a, int64_t begin, int64_t end)
{
    enum { SAMPLES = 16, WORTH_A_LOOK = 1 << 15 };
    if (ROW_BEGIN(a, end - 1) - ROW_BEGIN(a, begin) < WORTH_A_LOOK || end - begin < 2 * SAMPLES) return 0;
    int64_t near = 0, all = 0;
    for (int s = 0; s < SAMPLES; s++) count_near(a, begin + 1 + (end - begin - 1) / SAMPLES * s, &near, &all);
    return 2 * near < all ? AHEAD_ENTRIES : 0;
}

/** The product on rows [begin, end), columns cut into equal blocks. Rows are treated in chunks, so that
 *  A's entries come from the cache for all blocks but the first. */
static void run_range(const sp_launch *l, const width *w, int64_t begin, int64_t end)
{
    if (begin == end) return;
    const sp_matrix *const a = l->a;
    const int64_t k = l->x->k, size = a->precision == SPMM_F64 ? 8 : 4;
    const int64_t total = ceil_div(k, w->lanes), blocks = count_blocks(l, w, total);
    const int masked = total * w->lanes > smaller(l->x->ld, l->y->ld);
    const int64_t chunk = blocks == 1 ? end - begin : 1 + CHUNK_ENTRIES * a->rows / (a->nnz + 1);
    const int prefetched = total / blocks * w->lanes * size >= PREFETCH_BYTES;
    block b = {.a = a,
               .ldx = l->x->ld,
               .ldy = l->y->ld,
               .tail = (int)(k - (total - 1) * w->lanes),
               .last = ROW_END(a, end - 1, ROW_BEGIN(a, end - 1)) - 1,
               .ahead = prefetched ? find_ahead(a, begin, end) : 0};
    for (b.begin = begin; b.begin < end; b.begin = b.end) {
        b.end = b.begin + smaller(chunk, end - b.begin);
        for (int64_t n = 0; n < blocks; n++) {
            const int64_t first = total * n / blocks, vectors = total * (n + 1) / blocks - first;
            b.x = (const char *)l->x->data + first * w->lanes * size;
            b.y = (char *)l->y->data + first * w->lanes * size;
            w->table[vectors - 1][masked && n == blocks - 1](&b);
        }
    }
}

static void run_rows(const sp_launch *l)
{
    const width *const w = find_width(sp_cpu_isa(), l->a->precision, l->x->k, smaller(l->x->ld, l->y->ld));
    const sp_work *const work = l->work;
    /* by stride: right also where fewer threads come than were asked for */
#pragma omp parallel num_threads(work->threads)
    for (int t = omp_get_thread_num(); t < work->threads; t += omp_get_num_threads())
        run_range(l, w, work->begin[t], work->begin[t + 1]);
}
