/** What a CPU product by rows chooses: the width of its vectors, its column blocks, its prefetch distance in X, and
 *  whether it writes Y by streaming stores. */
#ifndef SP_CPU_CHOOSE_H
#define SP_CPU_CHOOSE_H

#include "base/cpu_isa.h"
#include "kernels/cpu/cpu_loops.h"

/** Chooses the width of vectors for k columns: the narrowest that takes all of them in one vector; else the widest
 *  that holds a row's sums in registers and whose last vector needs no mask, because its lanes fit into the
 *  padding of X and Y; else the widest there is. (Vectors of 32 bytes beat those of 64 that straddle cache lines
 *  and end in a mask.)
 *  \param [in] ld  elements, the lesser of the leading dimensions of X and Y */
const sp_width *sp_choose_width(sp_isa isa, spmm_precision precision, int64_t k, int64_t ld);

/** Chooses the number of column blocks that the `total` vectors of a row are divided into.
 *  \param [in] grouped  1: most rows are in SP_RUN_BLOCKs, which have loops for fewer vectors */
int64_t sp_choose_blocks(const sp_launch *l, const sp_width *w, int64_t total, int grouped);

/** Chooses the prefetch distance in X (see sp_block), in entries, from the column indices of some rows; 0: X need not
 *  be prefetched.
 *  \param [in] begin, end  as in sp_rows_create()
 *  \param [in] bytes       of the k columns of a row of X */
int64_t sp_choose_prefetch(const sp_matrix *a, const int64_t *begin, const int64_t *end, int64_t bytes);

/** Returns 1 if Y is to be written by streaming stores: it has at least the size that sp_rows_stream_from() sets,
 *  and is aligned for vectors of width w. */
int sp_choose_stream(const spmm_multivector *y, const sp_width *w);

#endif
