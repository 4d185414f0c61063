/** Conditions of CUDA kernels, in all builds: also a build without CUDA lists these kernels. */
#include <math.h>

#include "formats/panel.h"
#include "kernels/features.h"

/** For a large X, if rows that share columns are numbered far apart. Above these bounds csr_clustered was the
 *  fastest in about 1 of 9 cases on an H200. */
SP_SUITS(csr_clustered)
{
    (void)why, (void)n;
    return sp_is_scattered(q) && q->row_bytes >= 128 && q->x_bytes >= 8e6 ? SP_SUITS_TRIAL : SP_SUITS_LAST;
}

/** For rows of X of one or several whole tiles, and 130 or more products, which repay the milliseconds of the
 *  set-up. Where the last tile is mostly padding, so that 1.25 times as many columns are computed as X has,
 *  panel_staged was the fastest kernel in only 1 of 11 cases (bench/records/HISTORY.md). */
SP_SUITS(panel_staged)
{
    const double tiles = q->row_bytes / SP_STAGED_BYTES;
    (void)why, (void)n;
    if (q->f->unstaged > 0 || tiles < 1 || tiles > SP_STAGED_TILES || q->products < 130) return SP_SUITS_NOT;
    return ceil(tiles) / tiles > 1.25 ? SP_SUITS_LAST : SP_SUITS_TRIAL;
}
