/** Conditions of CUDA kernels. All builds contain them, because a build without CUDA also lists these
 *  kernels. */
#include <math.h>
#include <stdio.h>

#include "formats/panel.h"
#include "kernels/features.h"

/** Suits runs of short rows if a row of X has 128 bytes or more. csr_rows takes 0.5 to 0.9 of the time of the
 *  next kernel with up to 3 entries per row and, below 256 bytes, with up to 8 in rows of similar lengths
 *  (bench/records/2026-11-29-short-rows-H200.csv). For rows of similar lengths and 512 bytes or more, it
 *  takes 0.8 to 1.2 of the time of the next kernel. */
SP_SUITS(csr_rows)
{
    const double UNEVEN = 0.5, mean = sp_trait_of(q->f, SP_MEAN, q->k, q->precision);
    const int even = mean <= SP_RUN_OF_2 && sp_features_variation(q->f) <= UNEVEN;
    if (q->row_bytes < 128 || (mean > SP_SHORTEST && !even)) return SP_SUITS_NOT;
    if (mean > SP_SHORTEST && q->row_bytes >= 256) return q->row_bytes >= 512 ? SP_SUITS_JOIN : SP_SUITS_NOT;
    snprintf(why, n, "short rows, %.3g entries per row", mean);
    return SP_SUITS_FIRST;
}

/** Suits a large X if rows that share columns are numbered far apart. Above these bounds csr_clustered was
 *  the fastest in about 1 of 9 cases on an H200. */
SP_SUITS(csr_clustered)
{
    (void)why, (void)n;
    return sp_is_scattered(q) && q->row_bytes >= 128 && q->x_bytes >= 8e6 ? SP_SUITS_TRIAL : SP_SUITS_LAST;
}

/** Returns 1 if panels of leaves are worth a trial: most entries are in long rows, and the products repay the
 *  trial. With 32 columns of f64 or more, they were the fastest, by up to 1.9 times, for 16 of 25 such
 *  matrices, which no feature tells apart. With fewer entries in long rows, they were never the fastest
 *  (bench/records/2026-11-30-long-rows-H200.csv.gz). */
static int has_leaves(const sp_question *q) { return q->in_long_rows >= 0.6 && q->products >= 130; }

/** Joins a trial that has_leaves() recommends, if rows of X are too short for panel_staged. */
SP_SUITS(panel_mma)
{
    (void)why, (void)n;
    const int between = q->row_bytes >= 32 && q->row_bytes < SP_STAGED_BYTES;
    return between && has_leaves(q) ? SP_SUITS_JOIN : SP_SUITS_TRIAL;
}

/** Suits if a row of X takes about a whole number of tiles and 130 or more products repay the milliseconds of
 *  the set-up. If the last tile is mostly padding, so that 1.25 times as many columns are computed as X has,
 *  panel_staged was the fastest kernel in only 1 of 11 cases (bench/records/HISTORY.md). */
SP_SUITS(panel_staged)
{
    const double tiles = q->row_bytes / SP_STAGED_BYTES;
    (void)why, (void)n;
    if (q->f->unstaged > 0 || tiles < 1 || tiles > SP_STAGED_TILES || q->products < 130) return SP_SUITS_NOT;
    return ceil(tiles) / tiles > 1.25 ? SP_SUITS_LAST : has_leaves(q) ? SP_SUITS_JOIN : SP_SUITS_TRIAL;
}
