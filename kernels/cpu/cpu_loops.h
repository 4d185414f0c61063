/** The inner loops of the products by rows: what the tables of all instruction sets have in common. */
#ifndef SP_CPU_LOOPS_H
#define SP_CPU_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

#define SP_INLINE __attribute__((always_inline)) inline
#if defined(__clang__)
#define SP_UNROLL _Pragma("unroll")
#else
#define SP_UNROLL _Pragma("GCC unroll 16")
#endif

/** What consecutive rows have in common. */
typedef enum sp_run_kind {
    SP_RUN_ANY,    /**< nothing */
    SP_RUN_EQUAL,  /**< the number of their entries */
    SP_RUN_SHIFT,  /**< their columns, but each row's are those of the row before + 1 */
    SP_RUN_BLOCK2, /**< the columns of pairs of rows */
    SP_RUN_BLOCK3, /**< the columns of triples of rows */
    SP_RUN_KINDS
} sp_run_kind;

/** Rows that a kind's loop treats together. */
#define SP_HEIGHT(kind) \
    ((kind) == SP_RUN_ANY ? 1 : (kind) == SP_RUN_BLOCK2 ? 2 : (kind) == SP_RUN_BLOCK3 ? 3 : 4)

enum {
    SP_TOGETHER = 4,        /**< the most of them */
    SP_FEW_VECTORS = 2,     /**< up to this many vectors of sums a row, EQUAL and SHIFT have loops */
    SP_PREFETCH_BYTES = 16, /**< of a row's columns of X from which `ahead` matters */
    SP_FETCH_VECTORS = 4,   /**< up to this many, A is fetched ahead: with more, its share is small */
    SP_FETCH_ENTRIES = 512,
    SP_NEWLY_TOUCHED = 96 /**< columns that are fetched ahead of a block of rows */
};

/** A block of columns of X for some rows of one kind. */
typedef struct sp_block {
    const int64_t *begin, *end; /**< row i's entries are begin[i] .. end[i] - 1 of col and val */
    const int32_t *col;
    const void *val;
    const void *x; /**< X's row 0, at the block's first column */
    void *y;       /**< Y's row 0, likewise */
    int64_t ldx, ldy;
    int64_t first, last; /**< rows first .. last - 1: a multiple of the kind's height, not none */
    int64_t origin;   /**< row i's columns are those of row origin, + i - origin; -1: its own. SHIFT: >= 0 */
    int64_t prefetch; /**< entries to fetch rows of X prefetch; 0: none */
    int64_t last_entry; /**< the last position of col that may be read for that */
    int64_t fetched;    /**< A is fetched up to there; -1: A is not fetched prefetch. Moves on. */
    int tail;           /**< columns in the last vector where that is masked */
    int newly;          /**< 1: X is large: blocks of rows fetch ahead what they are the first to read */
    int stream;         /**< 1: Y is stored past the caches: its rows are aligned for that */
} sp_block;

typedef void (*sp_loop)(sp_block *b);

/** The loops for one width of vectors: [vectors of sums of a row - 1][the last one is masked][kind], NULL
 *  where SP_RUN_ANY does it. */
typedef const sp_loop (*sp_loops)[2][SP_RUN_KINDS];

typedef struct sp_width {
    spmm_precision precision;
    int lanes;   /**< elements of a vector */
    int vectors; /**< of sums of a row, at most */
    sp_loops loops;
} sp_width;

/** The widths that need no more than an instruction set, narrow ones first within a precision; *count of
 *  them. AVX-512's list has no narrow ones that are as good as AVX2's. */
const sp_width *sp_widths_generic(int *count);
const sp_width *sp_widths_avx2(int *count);
const sp_width *sp_widths_avx512(int *count);

/** Fetches the lines of `bytes` bytes from x + offset. A padding column's -1 gives an address before x:
 *  harmless, as it is not dereferenced. */
SP_INLINE static void sp_fetch_row(const void *x, int64_t offset, int bytes)
{
    enum { LINE = 64 };
    const uintptr_t p = (uintptr_t)x + (uintptr_t)offset;
    SP_UNROLL for (int i = 0; i < bytes; i += LINE) __builtin_prefetch((const void *)(p + (uintptr_t)i));
}

/** Fetches A's entries up to SP_FETCH_ENTRIES beyond position `end`. The hardware loses track of them where
 *  rows are read side by side, or among scattered reads of X; they are not needed again. */
SP_INLINE static void sp_fetch_entries(sp_block *b, int64_t end, int size, int columns)
{
    enum { STEP = 16 }; /* a line of columns, one or two of values */
    for (const int64_t stop = end + SP_FETCH_ENTRIES; b->fetched < stop; b->fetched += STEP) {
        const uintptr_t val = (uintptr_t)b->val + (uintptr_t)(b->fetched * size);
        __builtin_prefetch((const void *)val, 0, 0);
        if (size > 4) __builtin_prefetch((const void *)(val + 64), 0, 0);
        if (columns) __builtin_prefetch(b->col + b->fetched, 0, 0);
    }
}

/** The columns of a list that the rows `height` before do not have, some groups of rows prefetch.
 *  \param [out] fresh  [SP_NEWLY_TOUCHED]; \return how many */
int sp_find_newly_touched(const int32_t *list, int64_t n, int height, int bytes, int64_t *newly);

#endif
