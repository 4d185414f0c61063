/** COO: triplets in file order, as the reader leaves them. */
#ifndef SP_COO_H
#define SP_COO_H

#include "base/status.h"

typedef enum sp_symmetry { SP_GENERAL = 0, SP_SYMMETRIC = 1, SP_SKEW = 2 } sp_symmetry;

/** What is known of a matrix before it is made. */
typedef struct sp_sizes {
    int64_t rows, cols;
    int64_t entries; /**< at least so many, symmetric parts written out or not */
} sp_sizes;

/** A matrix as triplets, 0-based, in host memory (sp_alloc). With symmetry, only one triangle is
 *  stored (either one) and (j, i) is implied for each stored (i, j), i != j: negated for skew. */
typedef struct sp_coo {
    int64_t rows, cols; /**< both <= 2^31 - 1 */
    int64_t nnz;        /**< stored triplets */
    sp_symmetry symmetry;
    spmm_precision precision;
    int32_t *I; /**< row indices, [nnz] */
    int32_t *J; /**< column indices, [nnz] */
    void *val;  /**< values, [nnz]; NULL: all are 1.0 (pattern) */
} sp_coo;

/** Allocates the arrays. \param [in] with_values  0: val stays NULL (pattern). */
spmm_status sp_coo_create(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry,
                          spmm_precision precision, int with_values, sp_coo *coo);
void sp_coo_destroy(sp_coo *coo);

/** A general copy with the implied entries and values written out; the caller destroys it. */
spmm_status sp_coo_expand(const sp_coo *coo, sp_coo *general);

#endif
