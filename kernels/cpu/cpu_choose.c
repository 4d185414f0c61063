/** Chooses the vector width, the column blocks and the prefetch distance of a CPU product, and whether it
 *  writes Y by streaming stores. */
#include "kernels/cpu/cpu_choose.h"

#include <stdatomic.h>

#include "device/topology.h"
#include "formats/multivector.h"
#include "kernels/cpu/cpu_rows.h"

enum {
    L1_BYTES = 40 << 10, /* assumed size of the L1 cache; current cores have 32 to 48 KiB */
    /* maximum size of prefetched rows of X; more rows would evict one another from L1 */
    PREFETCHED_BYTES = 18 << 10,
    MOST_PREFETCH = 128, /* maximum prefetch distance, in entries of A; more gains little */
};

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/** Chooses the vector width for products with k columns. If one vector can hold all k columns, chooses the
 *  narrowest such width. Otherwise chooses the widest width that meets two conditions: the sums of a row of Y
 *  fit into registers; and the last vector of a row needs no mask, because its unused lanes fall into the
 *  padding of X and Y. If no width meets both, chooses the widest width of the processor.
 *  (32-byte vectors are faster than 64-byte vectors that straddle cache lines and end in a mask.)
 *  \param [in] ld  the smaller of the leading dimensions of X and Y, in elements */
static const sp_width *choose_width(sp_isa isa, spmm_precision precision, int64_t k, int64_t ld)
{
    const sp_width *narrow = NULL, *wide = NULL;
    int fits = 0;
    /* The list of AVX2 precedes the list of AVX-512. A width that is in both is taken from the later list. */
    for (int list = isa == SP_ISA_GENERIC ? 0 : 1; list <= (int)isa; list++) {
        int count;
        const sp_width *const width = list == SP_ISA_GENERIC ? sp_widths_generic(&count)
                                      : list == SP_ISA_AVX2  ? sp_widths_avx2(&count)
                                                             : sp_widths_avx512(&count);
        for (int i = 0; i < count; i++) {
            const sp_width *const w = &width[i];
            if (w->precision != precision) continue;
            if (w->lanes >= k && (!narrow || w->lanes <= narrow->lanes)) narrow = w;
            const int64_t vectors = ceil_div(k, w->lanes);
            const int fit = vectors * w->lanes <= ld && vectors <= w->vectors;
            if (fit || !fits) wide = w;
            fits |= fit;
        }
    }
    return narrow ? narrow : wide;
}

/** Returns the maximum number of vectors per row for which width w has loops for SP_RUN_BLOCK2 and
 *  SP_RUN_BLOCK3. */
static int64_t most_blocked(const sp_width *w)
{
    int64_t most = w->vectors;
    while (!w->loops[most - 1][0][SP_RUN_BLOCK3]) most--;
    return most;
}

static int64_t choose_blocks(const sp_matrix *a, const sp_vectors *v)
{
    const sp_width *const w = v->width;
    const int64_t size = sp_value_size(a->precision), vector = w->lanes * size, stride = v->x_ld * size;
    int64_t most = v->grouped ? most_blocked(w) : w->vectors;
    /* If the column block is narrow enough, the rows of X that one row of A reads stay in the L1 cache for
     * the next row of A. This fails if rows of X are a power of two apart, because a column block then maps
     * to few cache sets. */
    if ((stride & (stride - 1)) != 0) {
        const int64_t fit = L1_BYTES * a->rows / (a->nnz + 1) / vector;
        if (fit < most) most = fit > 4 ? fit : most < 4 ? most : 4;
    }
    return ceil_div(ceil_div(v->k, w->lanes), most);
}

sp_vectors sp_choose_vectors(const sp_matrix *a, int64_t k, int64_t x_ld, int64_t ld, int grouped)
{
    sp_vectors v = {.isa = sp_cpu_isa(), .grouped = grouped, .k = k, .x_ld = x_ld, .ld = ld};
    v.width = choose_width(v.isa, a->precision, k, ld);
    v.blocks = choose_blocks(a, &v);
    return v;
}

sp_vectors sp_vectors_of(const sp_vectors *planned, const sp_launch *l)
{
    const int64_t ld = l->x->ld < l->y->ld ? l->x->ld : l->y->ld;
    if (planned->k == l->x->k && planned->x_ld == l->x->ld && planned->ld == ld) return *planned;
    return sp_choose_vectors(l->a, l->x->k, l->x->ld, ld, planned->grouped);
}

const sp_loop *sp_choose_loops(const sp_launch *l, const sp_width *w, int64_t blocks, int64_t n, sp_block *b)
{
    const spmm_multivector *const x = l->x, *const y = l->y;
    const int64_t size = sp_value_size(x->precision), total = ceil_div(x->k, w->lanes);
    const int64_t first = total * n / blocks, vectors = total * (n + 1) / blocks - first;
    const int64_t ld = x->ld < y->ld ? x->ld : y->ld;
    b->x = (const char *)x->data + first * w->lanes * size;
    b->y = (char *)y->data + first * w->lanes * size;
    b->tail = (int)(x->k - (total - 1) * w->lanes);
    const sp_loops loops = vectors > 1                    ? w->loops
                           : b->common && w->equal_values ? w->equal_values
                           : b->narrow && w->narrow       ? w->narrow
                                                          : w->loops;
    return loops[vectors - 1][n == blocks - 1 && total * w->lanes > ld];
}

/* ---- prefetch distance in X ---- */

/** Model of a direct-mapped L1 cache that holds rows of X. A line of the model is a cache line with several
 *  short rows of X, or one longer row. */
typedef struct cache {
    int32_t slots, line; /* slots: number of slots for lines; line: number of rows of X per line */
    int32_t slot[512];   /* number of the line in each slot; -1: empty slot */
} cache;

static int in_cache(const cache *c, int32_t line) { return line >= 0 && c->slot[line % c->slots] == line; }

/** Counts how many of the entries `from` .. `to` - 1 of A need a row of X that is not in the model cache, and
 *  puts these rows into the cache. If `long_rows` is 0, a row of X whose predecessor is in the cache is not
 *  counted, because the hardware prefetches it by itself. */
static int64_t count_misses(cache *c, const int32_t *col, int64_t from, int64_t to, int long_rows)
{
    int64_t misses = 0;
    for (int64_t e = from; e < to; e++) {
        const int32_t line = col[e] / c->line;
        misses += !in_cache(c, line) && (long_rows || !in_cache(c, line - 1));
        c->slot[line % c->slots] = line;
    }
    return misses;
}

int64_t sp_choose_prefetch(const sp_matrix *a, const int64_t *begin, const int64_t *end, int64_t bytes,
                           int brief)
{
    enum {
        SAMPLES = 16,
        BRIEF_SAMPLES = 4,
        ENTRIES = 4096,
        BRIEF_ENTRIES = 512,
        CACHE_BYTES = 32 << 10,
        LINE = 64,
        LONG_ROW = 256,
        FEW = 5
    };
    cache c = {
        .slots = (int32_t)(bytes > CACHE_BYTES / 16 ? 16 : CACHE_BYTES / (bytes > LINE ? bytes : LINE)),
        .line = (int32_t)(bytes < LINE ? LINE / bytes : 1)};
    const int64_t samples = brief ? BRIEF_SAMPLES : SAMPLES, entries = brief ? BRIEF_ENTRIES : ENTRIES;
    int64_t misses = 0, all = 0;
    if (bytes < SP_PREFETCH_BYTES) return 0;
    for (int64_t s = 0; s < samples; s++) {
        int64_t i = a->rows / samples * s, seen = 0;
        for (int32_t n = 0; n < c.slots; n++) c.slot[n] = -1;
        /* The first half of the entries of a sample only fills the cache; misses are counted in the second
         * half. */
        for (; i < a->rows && seen < entries; i++) {
            const int64_t length = end[i] - begin[i], some = length < entries ? length : entries;
            const int64_t m = count_misses(&c, a->col, begin[i], begin[i] + some, bytes >= LONG_ROW);
            if (2 * seen >= entries) {
                misses += m;
                all += some;
            }
            seen += some;
        }
    }
    if (FEW * misses < all || all == 0) return 0;
    const int64_t prefetch = PREFETCHED_BYTES / (bytes > LINE ? bytes : LINE);
    return prefetch < MOST_PREFETCH ? (prefetch > 8 ? prefetch : 8) : MOST_PREFETCH;
}

int64_t sp_choose_run_prefetch(sp_isa isa, sp_run_kind kind, const int32_t *list, int64_t n, int64_t prefetch)
{
    if (isa == SP_ISA_AVX512 || kind != SP_RUN_SHIFT || prefetch == 0 || n == 0) return prefetch;
    int64_t newly = 1; /* number of columns that the previous row does not have: one per range of columns */
    for (int64_t e = 1; e < n; e++) newly += list[e] != list[e - 1] + 1;
    return 2 * newly > n ? prefetch : 0;
}

/* ---- streaming stores of Y ---- */

static atomic_llong forced_stream_from = -1;

void sp_rows_stream_from(int64_t bytes) { forced_stream_from = bytes; }

int sp_choose_stream(const spmm_multivector *y, const sp_width *w)
{
    const int64_t vector = w->lanes * sp_value_size(y->precision);
    const int64_t bytes = sp_multivector_bytes(y);
    const int64_t from = forced_stream_from;
    return bytes >= (from < 0 ? sp_last_cache_bytes() : from) &&
           (uintptr_t)y->data % (uintptr_t)vector == 0 && y->ld % w->lanes == 0;
}
