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

enum { CACHE_LINE = 64, CHUNK_ENTRIES = 2048 };

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
    SP_UNROLL for (int i = 0; i < bytes; i += CACHE_LINE) __builtin_prefetch((const void *)(p + (uintptr_t)i));
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
#define VECTORS 8
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_avx512_32
#define LANES 4
#define VECTORS 1
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_avx512_16
#define LANES 2
#define VECTORS 1
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_avx512_64
#define LANES 16
#define VECTORS 8
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_avx512_32
#define LANES 8
#define VECTORS 1
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "cpu_rows_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_avx512_16
#define LANES 4
#define VECTORS 1
#define VECTOR __m128
#define INTRINSIC(op) _mm_##op##_ps
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
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
    {SP_ISA_AVX512, SPMM_F64, 2, 1, table_f64_avx512_16},
    {SP_ISA_AVX512, SPMM_F64, 4, 1, table_f64_avx512_32},
    {SP_ISA_AVX512, SPMM_F64, 8, 8, table_f64_avx512_64},
    {SP_ISA_AVX512, SPMM_F32, 1, 1, table_f32_fma_4},
    {SP_ISA_AVX512, SPMM_F32, 4, 1, table_f32_avx512_16},
    {SP_ISA_AVX512, SPMM_F32, 8, 1, table_f32_avx512_32},
    {SP_ISA_AVX512, SPMM_F32, 16, 8, table_f32_avx512_64},
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

/** The narrowest width that takes k columns at once, else the widest there is. */
static const width *find_width(sp_isa isa, spmm_precision precision, int64_t k)
{
    const width *found = 0;
    for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++) {
        if (widths[i].isa != isa || widths[i].precision != precision) continue;
        if (found && found->lanes >= k) break;
        found = &widths[i];
    }
    return found;
}

/** The product on rows [begin, end), columns cut into equal blocks of at most w->vectors vectors. Rows
 *  are treated in chunks, so that A's entries come from the cache for all blocks but the first. */
static void run_range(const sp_launch *l, const width *w, int64_t begin, int64_t end)
{
    const sp_matrix *const a = l->a;
    const int64_t k = l->x->k, size = a->precision == SPMM_F64 ? 8 : 4;
    const int64_t total = (k + w->lanes - 1) / w->lanes;
    const int64_t blocks = (total + w->vectors - 1) / w->vectors;
    /* where the padding of X and Y has room for the last vector's lanes, it needs no mask */
    const int masked = total * w->lanes > (l->x->ld < l->y->ld ? l->x->ld : l->y->ld);
    const int64_t chunk = blocks == 1 ? end - begin : 1 + CHUNK_ENTRIES * a->rows / (a->nnz + 1);
    if (begin == end) return;
    block b = {.a = a, .ldx = l->x->ld, .ldy = l->y->ld,
               .last = ROW_END(a, end - 1, ROW_BEGIN(a, end - 1)) - 1, .ahead = 0,
               .tail = (int)(k - (total - 1) * w->lanes)};
    for (b.begin = begin; b.begin < end; b.begin = b.end) {
        b.end = end - b.begin < chunk ? end : b.begin + chunk;
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
    const width *const w = find_width(sp_cpu_isa(), l->a->precision, l->x->k);
    const sp_work *const work = l->work;
    /* by stride: right also where fewer threads come than were asked for */
#pragma omp parallel num_threads(work->threads)
    for (int t = omp_get_thread_num(); t < work->threads; t += omp_get_num_threads())
        run_range(l, w, work->begin[t], work->begin[t + 1]);
}
