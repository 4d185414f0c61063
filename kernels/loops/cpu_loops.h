/** Interface to the inner loops of the CPU products: their arguments, and for each instruction set a table of
 *  loops. */
#ifndef SP_CPU_LOOPS_H
#define SP_CPU_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu_isa.h"
#include "formats/summation.h"
#include "kernels/kernel.h"

#define SP_INLINE __attribute__((always_inline)) inline
#define SP_NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define SP_UNROLL _Pragma("unroll")
#else
#define SP_UNROLL _Pragma("GCC unroll 16")
#endif

/** Run kinds. A run is a range of consecutive rows of A; its kind states a property of these rows. */
typedef enum sp_run_kind {
    SP_RUN_ANY,    /**< no known property */
    SP_RUN_EQUAL,  /**< the rows have equal numbers of entries */
    SP_RUN_SHIFT,  /**< each row has the column indices of the previous row, each plus 1 */
    SP_RUN_BLOCK2, /**< the two rows of each pair have the same column indices */
    SP_RUN_BLOCK3, /**< the three rows of each triple have the same column indices */
    SP_RUN_KINDS
} sp_run_kind;

/** Number of rows that the loop for a run kind computes at a time. */
#define SP_HEIGHT(kind) \
    ((kind) == SP_RUN_ANY ? 1 : (kind) == SP_RUN_BLOCK2 ? 2 : (kind) == SP_RUN_BLOCK3 ? 3 : 4)

enum {
    SP_TOGETHER = 4,        /**< the largest value of SP_HEIGHT */
    SP_FEW_VECTORS = 2,     /**< maximum vectors per row in the loops for SP_RUN_EQUAL and SP_RUN_SHIFT */
    SP_PREFETCH_BYTES = 16, /**< X is prefetched only if its rows have at least this many bytes */
    SP_FETCH_VECTORS = 4,   /**< maximum vectors per row for which A is prefetched; for more, prefetching
                                 gains little */
    SP_FETCH_ENTRIES = 512, /**< prefetch distance in A: number of entries */
    SP_NEWLY_TOUCHED = 96   /**< maximum number of rows of X that sp_find_newly_touched() selects */
};

/** Arguments of a loop: rows of A that are in one run, and a column block of cpu_rows.c, which is a range of
 *  adjacent columns of X and Y. */
typedef struct sp_block {
    const int64_t *begin, *end; /**< row i of A has the entries begin[i] .. end[i] - 1 of col and val */
    const int32_t *col;
    const void *val;
    const void *common;  /**< the value that all entries have; NULL: values differ, or may differ */
    const float *narrow; /**< the values of an f64 matrix in f32, which represents them exactly; NULL: there
                              is no such copy */
    const int32_t *row;  /**< [rows] the row of Y for each row of A; NULL: row i of A is row i of Y */
    const void *x;       /**< address of X's row 0 at the first column of the column block */
    void *y;             /**< address of Y's row 0 at the first column of the column block */
    int64_t ldx, ldy;
    int64_t first, last; /**< rows to compute: first .. last - 1; their number is a multiple of the kind's
                              SP_HEIGHT */
    int64_t chain; /**< maximum length of a row that is summed in one chain: SP_CHAIN, or SP_LEAF if the rows
                        are parts of rows */
    /** >= 0: row i of A has the column indices of row `origin`, each plus i - origin; for SP_RUN_BLOCK2 and
     *  SP_RUN_BLOCK3 this holds for the first row of each pair or triple. Never negative for SP_RUN_SHIFT.
     *  -1: each group of SP_HEIGHT rows has its own column indices. */
    int64_t origin;
    int64_t prefetch;   /**< prefetch distance in X, in entries of A; 0: X is not prefetched */
    int64_t last_entry; /**< last position of col that may be read in order to prefetch X */
    int64_t fetched;    /**< col and val are prefetched up to this position; -1: A is not prefetched */
    int tail;           /**< number of columns in the last vector of a row, if that vector is masked */
    int newly;          /**< 1: loops for SP_RUN_BLOCK2 and _BLOCK3 call sp_find_newly_touched() */
    int conjugate;      /**< 1: the loops for complex values multiply by the conjugates of the values of A */
    int stream;         /**< 1: write Y by streaming stores; the rows of Y are aligned for them */
} sp_block;

/** A loop: computes rows of Y in the columns of the column block b, from row b->first on. Sets b->first to
 *  the first row that it did not compute: b->last, or a long row (of more than b->chain entries) after rows
 *  that are not long, or the reverse. Long rows have separate loops, so that the other loops can use all
 *  registers. */
typedef void (*sp_loop)(sp_block *b);

/** Table of the loops for one vector width, indexed [vectors per row - 1][1 if the last vector is masked,
 *  else 0][run kind]. If an element is NULL, use the loop for SP_RUN_ANY. */
typedef const sp_loop (*sp_loops)[2][SP_RUN_KINDS];

/** A vector width of an instruction set, and the table of the loops that use vectors of this width. */
typedef struct sp_width {
    spmm_precision precision;
    int lanes;   /**< elements per vector */
    int vectors; /**< maximum number of vectors per row for which `loops` contains loops */
    sp_loops loops;
    sp_loops equal_values; /**< the loops for one vector per row and matrices whose values are all equal
                                (b->common); NULL: none */
    sp_loops narrow;       /**< the loops for one vector per row and values in f32 (b->narrow); NULL: none */
} sp_width;

/** Returns the vector widths that every processor supports, narrower ones first within a precision; *count is
 *  their number. */
const sp_width *sp_widths_generic(int *count);

/** Returns the vector widths of AVX2 with FMA, narrower ones first within a precision; *count is their
 *  number, 0 if this build is not for x86-64. */
const sp_width *sp_widths_avx2(int *count);

/** Returns the vector widths of AVX-512, narrower ones first within a precision; *count is their number, 0 if
 *  this build is not for x86-64. Narrow widths for which the loops of AVX2 are equally fast are omitted. */
const sp_width *sp_widths_avx512(int *count);

/** Prefetches the cache lines that hold the `bytes` bytes at address x + offset. For the column index -1 of a
 *  padding entry the address lies before x, which is harmless, as a prefetch does not dereference it. */
SP_INLINE static void sp_fetch_row(const void *x, int64_t offset, int bytes)
{
    enum { LINE = 64 };
    const uintptr_t p = (uintptr_t)x + (uintptr_t)offset;
    SP_UNROLL for (int i = 0; i < bytes; i += LINE) __builtin_prefetch((const void *)(p + (uintptr_t)i));
}

/** Prefetches the entries of A up to SP_FETCH_ENTRIES positions beyond `end`. Without this, the hardware
 *  loses track of the entries if several rows are read side by side, or between scattered reads of X. Each
 *  entry is used only once, but the prefetch is not non-temporal: Intel's prefetchnta bypasses the L2 and
 *  loads entries into a small part of the L1, from which many are evicted too early
 *  (bench/records/HISTORY.md).
 *  \param [in] values   address of value 0 of A
 *  \param [in] size     size in bytes of a value of A; 0: prefetch no values
 *  \param [in] columns  1: prefetch values and column indices; 0: prefetch only values */
SP_INLINE static void sp_fetch_entries(sp_block *b, const void *values, int64_t end, int size, int columns)
{
    enum { STEP = 16 }; /* entries per step: one cache line of column indices, and one to four of values */
    const int64_t stop = end + SP_FETCH_ENTRIES;
    if (!size && !columns && b->fetched < stop) b->fetched = stop;
    for (; b->fetched < stop; b->fetched += STEP) {
        const uintptr_t val = (uintptr_t)values + (uintptr_t)(b->fetched * size);
        for (int at = 0; at < STEP * size; at += 64) __builtin_prefetch((const void *)(val + (uintptr_t)at));
        if (columns) __builtin_prefetch(b->col + b->fetched);
    }
}

/** Selects the rows of X to prefetch for a later group of rows of A. The rows of A must be in a run where
 *  each group of `height` rows has the column indices of the previous group, each plus `height`. Selected are
 *  the newly touched columns, i.e. those of the later group that the group just before it does not have.
 *  \param [in]  list   [n], the column indices of the current group, increasing
 *  \param [in]  bytes  size in bytes of a row of X in the column block; the larger it is, the closer the
 *                      later group is to the current one
 *  \param [out] newly  [SP_NEWLY_TOUCHED], the newly touched columns of the later group
 *  \return the number of columns in `newly`; columns beyond SP_NEWLY_TOUCHED are omitted */
int sp_find_newly_touched(const int32_t *list, int64_t n, int height, int bytes, int64_t *newly);

/** Returns the loop for rows of n entries each, which begin at equal distances, and one contiguous column of
 *  X and Y; NULL if there is none for this n or processor.
 *  \param [in] b  only b->common and b->narrow are read */
sp_loop sp_choose_short(sp_isa isa, spmm_precision precision, int64_t n, const sp_block *b);

#endif
