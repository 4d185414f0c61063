/** Sets of columns as bitmaps: column j is in the set if bit j % 64 of word j / 64 is 1. */
#ifndef SP_COLUMN_SET_H
#define SP_COLUMN_SET_H

#include <stdint.h>

enum { SP_SET_WORD = 64 }; /**< bits per word */

/** Returns the number of words of a set of columns 0 to cols - 1; at least 1. Local. */
static inline int64_t sp_set_words(int64_t cols) { return cols / SP_SET_WORD + 1; }

/** Adds column j. Local; several threads may add to the same set concurrently. */
static inline void sp_set_add(uint64_t *set, int64_t j)
{
    const uint64_t bit = UINT64_C(1) << (j % SP_SET_WORD);
    uint64_t *const word = &set[j / SP_SET_WORD];
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/** Adds the columns of a row that are not in low .. high - 1. Local; several threads may add to the same set
 *  concurrently.
 *  \param [in] any_order  0: the columns increase, so those in low .. high - 1 are not read; 1: any order */
static inline void sp_set_add_outside(uint64_t *set, const int32_t *ja, int64_t n, int64_t low, int64_t high,
                                      int any_order)
{
    int64_t e = 0;
    for (; e < n && (any_order || ja[e] < low); e++)
        if (ja[e] < low || ja[e] >= high) sp_set_add(set, ja[e]);
    for (; n > e && ja[n - 1] >= high; n--) sp_set_add(set, ja[n - 1]);
}

/** Sets before[w], for w from 0 to `words`, to the number of columns in the words before word w. Local. */
static inline void sp_set_count(const uint64_t *set, int64_t words, int32_t *before)
{
    before[0] = 0;
    for (int64_t w = 0; w < words; w++) before[w + 1] = before[w] + __builtin_popcountll(set[w]);
}

/** Returns the number of columns in the set before column j. Local.
 *  \param [in] before  from sp_set_count() */
static inline int64_t sp_set_before(const uint64_t *set, const int32_t *before, int64_t j)
{
    const uint64_t low = set[j / SP_SET_WORD] & ((UINT64_C(1) << (j % SP_SET_WORD)) - 1);
    return before[j / SP_SET_WORD] + __builtin_popcountll(low);
}

#endif
