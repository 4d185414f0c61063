/** The inner loops of the CPU products by rows: the interface of the tables of all instruction sets. */
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
    SP_RUN_SHIFT,  /**< their columns, shifted: each row's are those of the row before, + 1 */
    SP_RUN_BLOCK2, /**< their columns within each pair of rows */
    SP_RUN_BLOCK3, /**< their columns within each triple of rows */
    SP_RUN_KINDS
} sp_run_kind;

/** Rows that a kind's loop computes together. */
#define SP_HEIGHT(kind) \
    ((kind) == SP_RUN_ANY ? 1 : (kind) == SP_RUN_BLOCK2 ? 2 : (kind) == SP_RUN_BLOCK3 ? 3 : 4)

enum {
    SP_TOGETHER = 4,        /**< the largest SP_HEIGHT */
    SP_FEW_VECTORS = 2,     /**< EQUAL and SHIFT have loops for up to this many vectors of sums per row */
    SP_PREFETCH_BYTES = 16, /**< X is prefetched if its rows have at least so many bytes in the block */
    SP_FETCH_VECTORS = 4,   /**< most vectors per row for which A is prefetched: beyond, A is a small share */
    SP_FETCH_ENTRIES = 512, /**< prefetch distance in A, in entries */
    SP_NEWLY_TOUCHED = 96   /**< the most newly touched columns that are prefetched per group of rows */
};

/** A column block of X for some rows of one kind. */
typedef struct sp_block {
    const int64_t *begin, *end; /**< row i's entries are begin[i] .. end[i] - 1 of col and val */
    const int32_t *col;
    const void *val;
    const void *x; /**< row 0 of X, at the block's first column */
    void *y;       /**< row 0 of Y, likewise */
    int64_t ldx, ldy;
    int64_t first, last; /**< rows first .. last - 1: a positive multiple of the kind's height */
    /** >= 0: row i (of BLOCKs the first of a group) has the columns of row origin, + i - origin; always so for SHIFT.
     *  -1: each group has columns of its own. */
    int64_t origin;
    int64_t prefetch;   /**< prefetch distance in X, in entries of A; 0: X is not prefetched */
    int64_t last_entry; /**< the last position of col that may be read to prefetch X */
    int64_t fetched;    /**< end of A's prefetched entries, which loops advance; -1: A is not prefetched */
    int tail;           /**< columns in the last vector if that is masked */
    int newly;          /**< 1: X is large: BLOCKs prefetch its newly touched rows */
    int stream;         /**< 1: Y, whose rows are aligned for it, is written by streaming stores */
} sp_block;

/** Computes the block's columns of its rows of Y. */
typedef void (*sp_loop)(sp_block *b);

/** The loops of one vector width: [vectors of sums per row - 1][1: the last one is masked][kind]; NULL where
 *  SP_RUN_ANY's loop is to be used. */
typedef const sp_loop (*sp_loops)[2][SP_RUN_KINDS];

/** A vector width of an instruction set, and its loops. */
typedef struct sp_width {
    spmm_precision precision;
    int lanes;   /**< elements per vector */
    int vectors; /**< the most vectors of sums per row */
    sp_loops loops;
} sp_width;

/** Returns the *count widths for any processor, narrow ones first within a precision. */
const sp_width *sp_widths_generic(int *count);

/** Returns the *count widths for AVX2 with FMA, in the same order; none on other architectures. */
const sp_width *sp_widths_avx2(int *count);

/** Returns the *count widths for AVX-512, in the same order and without the narrow ones for which AVX2's loops are as
 *  good; none on other architectures. */
const sp_width *sp_widths_avx512(int *count);

/** Prefetches the cache lines of `bytes` bytes at x + offset. A padding column's -1 gives an address before x,
 *  which is harmless, as a prefetch does not dereference it. */
SP_INLINE static void sp_fetch_row(const void *x, int64_t offset, int bytes)
{
    enum { LINE = 64 };
    const uintptr_t p = (uintptr_t)x + (uintptr_t)offset;
    SP_UNROLL for (int i = 0; i < bytes; i += LINE) __builtin_prefetch((const void *)(p + (uintptr_t)i));
}

/** Prefetches A's entries up to SP_FETCH_ENTRIES beyond position `end`, marked as used once. The hardware loses track
 *  of them if several rows are read side by side, or among scattered reads of X.
 *  \param [in] size     bytes of a value
 *  \param [in] columns  0: column indices are not needed */
SP_INLINE static void sp_fetch_entries(sp_block *b, int64_t end, int size, int columns)
{
    enum { STEP = 16 }; /* entries: one cache line of column indices, one or two of values */
    for (const int64_t stop = end + SP_FETCH_ENTRIES; b->fetched < stop; b->fetched += STEP) {
        const uintptr_t val = (uintptr_t)b->val + (uintptr_t)(b->fetched * size);
        __builtin_prefetch((const void *)val, 0, 0);
        if (size > 4) __builtin_prefetch((const void *)(val + 64), 0, 0);
        if (columns) __builtin_prefetch(b->col + b->fetched, 0, 0);
    }
}

/** Finds the newly touched columns of a later group of `height` rows: those that it has and the group before it does
 *  not. They are the ones to prefetch for it.
 *  \param [in]  list   [n], the columns of the current group, increasing; each next group's are these + height
 *  \param [in]  bytes  of a row of X in the column block: the larger, the nearer the later group
 *  \param [out] newly  [SP_NEWLY_TOUCHED], those columns
 *  \return their number; what exceeds SP_NEWLY_TOUCHED is left out */
int sp_find_newly_touched(const int32_t *list, int64_t n, int height, int bytes, int64_t *newly);

#endif
