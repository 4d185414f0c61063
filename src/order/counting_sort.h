/** Sorts items by small integer keys. */
#ifndef SP_COUNTING_SORT_H
#define SP_COUNTING_SORT_H

#include "base/memory.h"

/** Sorts items by their keys; items with equal keys keep their order. Takes time proportional to n + keys.
 *
 *  Local.
 *  \param [in]  from  [n] item numbers
 *  \param [in]  key   key[i] is the key of item i, from 0 to keys - 1
 *  \param [out] to    [n] the sorted item numbers; must not overlap `from`
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
static inline spmm_status sp_sort_by_key(const int32_t *from, const int32_t *key, int64_t n, int64_t keys,
                                         int32_t *to)
{
    int64_t *first;
    TRY(sp_alloc_zero((void **)&first, keys + 1, sizeof *first, "counts of keys"));
    for (int64_t i = 0; i < n; i++) first[key[from[i]] + 1]++;
    for (int64_t k = 0; k < keys; k++) first[k + 1] += first[k];
    for (int64_t i = 0; i < n; i++) to[first[key[from[i]]]++] = from[i];
    sp_free(first);
    return SPMM_OK;
}

#endif
