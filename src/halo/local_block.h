/** A rank's block of A with local column indices. A local column index is the number of a row of X among the
 *  rows that the rank stores, ghost rows included. */
#ifndef SP_LOCAL_BLOCK_H
#define SP_LOCAL_BLOCK_H

#include "formats/matrix.h"

/** The entries of a block that its rank multiplies. Renumbering the columns keeps their order, so that the
 *  sums that a kernel computes have the same bits. */
typedef struct sp_local_block {
    /** The entries. Row starts and values belong to the matrix whose columns were renumbered, which must
     *  outlive the object. */
    spmm_csr csr;
    int64_t low, own; /**< columns low .. low + own - 1 are owned rows of X, all others ghost rows */
    int renumbered;   /**< 1: the object owns csr.ja; 0: csr.ja belongs to that matrix */
    int any_order;    /**< 1: the columns of a row may be in any order */
} sp_local_block;

/** Local numbers of columns: the columns of a set and columns from .. to - 1, which are not in the set, are
 *  numbered in increasing order. */
typedef struct sp_column_numbers {
    uint64_t *set;   /**< see order/column_set.h */
    int32_t *before; /**< [words of the set + 1] from sp_set_count() */
    int64_t from, to;
} sp_column_numbers;

/** Sets local->csr to `a` with local numbers of columns. Local.
 *  \param [in]     a        all its columns have a number
 *  \param [in]     cols     number of local columns
 *  \param [in]     numbers  NULL: the columns keep their numbers, and local->csr.ja is a->ja
 *  \param [in]     threads  OpenMP threads
 *  \param [in,out] local    the other members are not changed; the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_local_block_number(const spmm_csr *a, int64_t cols, const sp_column_numbers *numbers,
                                  int threads, sp_local_block *local);

/** Frees what the object owns, and zeroes it; accepts zeroed objects. Local. */
void sp_local_block_destroy(sp_local_block *local);

#endif
