/** COO: triplets in file order, as the reader makes them. */
#ifndef SP_COO_H
#define SP_COO_H

#include "base/status.h"

typedef enum sp_symmetry { SP_GENERAL = 0, SP_SYMMETRIC = 1, SP_SKEW = 2 } sp_symmetry;

/** What is known of a matrix before it is read or generated. */
typedef struct sp_sizes {
    int64_t rows, cols;
    int64_t entries; /**< lower bound; those implied by symmetry may be counted or not */
} sp_sizes;

/** A matrix as triplets, 0-based, in host memory (sp_alloc). With symmetry, only one triangle (either one) is stored,
 *  and each stored entry (i, j), i != j, implies an entry (j, i) of the same value, negated where it is skew. */
typedef struct sp_coo {
    int64_t rows, cols; /**< both <= 2^31 - 1 */
    int64_t nnz;        /**< stored triplets */
    sp_symmetry symmetry;
    spmm_precision precision;
    int32_t *I; /**< row indices, [nnz] */
    int32_t *J; /**< column indices, [nnz] */
    void *val;  /**< values, [nnz]; NULL: all are 1.0 (pattern) */
} sp_coo;

/** Allocates the arrays, without setting them. Local.
 *  \param [in]  with_values  0: val stays NULL (pattern)
 *  \param [out] coo          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a negative size), SPMM_ERR_LIMIT (2^31 rows or columns), SPMM_ERR_MEMORY */
spmm_status sp_coo_create(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry,
                          spmm_precision precision, int with_values, sp_coo *coo);

/** Frees the arrays and zeroes *coo; accepts NULL and zeroed objects. Local. */
void sp_coo_destroy(sp_coo *coo);

/** Makes a general copy, in which implied entries and the values of a pattern are stored. Local.
 *  \param [out] general  the caller destroys it
 *  \return as sp_coo_create() */
spmm_status sp_coo_expand(const sp_coo *coo, sp_coo *general);

#endif
