/** Choices made for a CPU product: the vector width, the number of column blocks, the prefetch distance in X,
 *  and whether Y is written by streaming stores. */
#ifndef SP_CPU_CHOOSE_H
#define SP_CPU_CHOOSE_H

#include "base/cpu_isa.h"
#include "kernels/loops/cpu_loops.h"

/** How a product with k columns is cut into vectors. */
typedef struct sp_vectors {
    sp_isa isa;
    int grouped;
    int64_t k, x_ld,
        ld; /**< the arguments of the choice; ld: the smaller leading dimension of X and Y, in elements */
    const sp_width *width;
    int64_t blocks; /**< number of column blocks into which the vectors of a row of X are divided */
} sp_vectors;

/** Chooses the vector width and the number of column blocks. Reads the environment (sp_cpu_isa()), so kernels
 *  call it in prepare().
 *  \param [in] x_ld, ld  leading dimension of X, and the smaller one of X and Y, in elements
 *  \param [in] grouped   1: most rows of A are in runs of kind SP_RUN_BLOCK2 or SP_RUN_BLOCK3, whose loops
 *                        handle fewer vectors per row than the other loops do */
sp_vectors sp_choose_vectors(const sp_matrix *a, int64_t k, int64_t x_ld, int64_t ld, int grouped);

/** Returns `planned` if it was chosen for the shapes of this X and Y, which is so if a plan created them;
 *  otherwise chooses anew for this X and Y. */
sp_vectors sp_vectors_of(const sp_vectors *planned, const sp_launch *l);

/** Points b->x and b->y to column block n of `blocks`, sets b->tail, and returns the loops for this column
 *  block, indexed by run kind. b->common and b->narrow decide whether these are the loops for equal values or
 *  for values in f32. */
const sp_loop *sp_choose_loops(const sp_launch *l, const sp_width *w, int64_t blocks, int64_t n, sp_block *b);

/** Chooses the prefetch distance in X: a row of X is prefetched this many entries of A before it is used. The
 *  choice depends on the column indices of some rows of A.
 *  \param [in] begin, end  positions of the entries of each row of A, as for sp_rows_create()
 *  \param [in] bytes       size in bytes of the k columns of a row of X
 *  \param [in] brief       1: examine a few rows only
 *  \return the prefetch distance in entries of A; 0: X need not be prefetched */
int64_t sp_choose_prefetch(const sp_matrix *a, const int64_t *begin, const int64_t *end, int64_t bytes,
                           int brief);

/** Chooses the prefetch distance in X within a run. If each row of A has the columns of the previous row,
 *  each plus 1, the hardware prefetches as well, and most rows of X are in the cache already. Then
 *  prefetching in the loops costs more than it gains, except with AVX-512 (bench/records/HISTORY.md).
 *  \param [in] list      [n], the column indices of the run's first row
 *  \param [in] prefetch  the distance for the whole matrix, from sp_choose_prefetch()
 *  \return `prefetch` or 0 */
int64_t sp_choose_run_prefetch(sp_isa isa, sp_run_kind kind, const int32_t *list, int64_t n,
                               int64_t prefetch);

/** Returns 1 if Y should be written by streaming stores: if Y is at least as large as the last-level cache
 *  (or the size set by sp_rows_stream_from()), and is aligned for vectors of width w. */
int sp_choose_stream(const spmm_multivector *y, const sp_width *w);

#endif
