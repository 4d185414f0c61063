/** For --pair: Y := A X, then Z := A^T Y, as solvers of linear programs by PDHG compute them. The ranks have
 *  the rows of Z that they have of X. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "../common/own.h"
#include "../common/bench.h"

/** The transpose of this rank's rows of A, [columns of A] x [its rows]; NULL: single products are timed. */
extern const spmm_csr *pair_transpose;

/** Makes pair_transpose. Collective. */
spmm_status pair_load(const spmm_csr *a);
void pair_unload(void);

/** A pair of products by one plan. If its form has a stream, they are queued there. */
typedef struct own_pair {
    own_product own; /**< the first member */
    spmm_multivector z;
} own_pair;

/** Creates a stream and the adaptor, which closes the stream. Local. */
spmm_status pair_open(void **stream, const peer_adaptor **adaptor);

/** The products of a pair of ours, each complete on return. */
const char *pair_forward(void *of);
const char *pair_back(void *of);

/** Compares this rank's rows of Z with sums in double over all ranks. Collective.
 *  \param [in] z  in GPU memory, row- or column-major  \param [in] first  A's column of row 0 of z
 *  \return NULL or a problem, the same on every rank; counts wrong elements in *c and *r */
const char *pair_check(run *r, contender *c, const spmm_multivector *z, int64_t first);

/** Returns Z of a pair by NCCL and cuSPARSE: all rows, on every rank (theirs.c). Local. */
const spmm_multivector *theirs_z(const void *product);

#endif
