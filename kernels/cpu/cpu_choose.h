/** What the products by rows choose: the width of vectors, blocks of columns, how far to fetch X prefetch, and
 *  whether Y goes past the caches. */
#ifndef SP_CPU_CHOOSE_H
#define SP_CPU_CHOOSE_H

#include "base/cpu_isa.h"
#include "kernels/cpu/cpu_loops.h"

/** The narrowest width that takes k columns at once. Beyond that the widest whose last vector needs no
 *  mask, because the padding of X and Y (leading dimensions of at least ld) has room for its lanes, and
 *  that holds a row's sums in registers: vectors of 32 bytes beat those of 64 that straddle cache
 *  lines and end in a mask. Else the widest there is. */
const sp_width *sp_choose_width(sp_isa isa, spmm_precision precision, int64_t k, int64_t ld);

/** Blocks that the `total` vectors of a row are cut into. \param [in] grouped  most rows are in SP_RUN_BLOCKs,
 *  which have loops for fewer vectors */
int64_t sp_choose_blocks(const sp_launch *l, const sp_width *w, int64_t total, int grouped);

/** How many entries ahead rows of X are to be fetched, 0 for not at all: see sp_block. \param [in] bytes  of the
 *  k columns of a row of X */
int64_t sp_choose_prefetch(const sp_matrix *a, const int64_t *begin, const int64_t *end, int64_t bytes);

/** 1 where Y is large, and aligned for storing it past the caches. */
int sp_choose_stream(const spmm_multivector *y, const sp_width *w);

#endif
