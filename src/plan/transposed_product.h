/** Products with the transpose of a plan's matrix. */
#ifndef SP_TRANSPOSED_PRODUCT_H
#define SP_TRANSPOSED_PRODUCT_H

#include "product/product.h"

/** Products with the transpose of a matrix. X is distributed like the Y of a product with the matrix, and Y
 *  like its X. */
typedef struct sp_transposed sp_transposed;

/** Returns 1 if the matrix of the product is in GPU memory and is converted and transposed there, without a
 *  copy in host memory. Local. */
int sp_product_is_there(const sp_product *of);

/** Transposes the block of a product on every rank, chooses a kernel for it, and converts it.
 *
 *  Collective over the product's grid.
 *  \param [in]  of          the product with the matrix; must outlive the result. The values are read from
 *                           its block
 *  \param [out] transposed  the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (a block has 2^31 rows or more),
 *          _DEVICE, _MPI */
spmm_status sp_transposed_create(const sp_product *of, sp_transposed **transposed);

/** As sp_product_set_k() and sp_product_converts(); the values are read from the block of the product with
 *  the matrix. */
spmm_status sp_transposed_set_k(sp_transposed *transposed, int64_t k);
int sp_transposed_converts(const sp_transposed *transposed, int64_t k);

/** Computes Y := alpha A^T X + beta Y, or with A^H in place of A^T if `conjugate` is 1; status and operands
 *  as for spmm_apply_transposed(). Collective as spmm_apply() is, and over the process row. */
spmm_status sp_transposed_apply(sp_transposed *transposed, int conjugate, sp_value alpha,
                                const spmm_multivector *x, sp_value beta, spmm_multivector *y);

/** Waits for the products that are queued, and makes later ones use the stream. Local. */
spmm_status sp_transposed_use_stream(sp_transposed *transposed, void *stream);

/** Returns the product of the transposed block. Local. */
const sp_product *sp_transposed_product(const sp_transposed *transposed);

/** Returns 1 if only the first rank of each process row is given X, which the hosts then broadcast over the
 *  process row. Local. */
int sp_transposed_shares_x(const sp_transposed *transposed);

/** As sp_row_blocks_map(), for all values of the transpose of a product on a GPU. Local. */
spmm_status sp_transposed_map_values(sp_transposed *transposed, int *all);

/** Updates the transpose with the current values of the product's block. Local.
 *  \param [in] on_gpu  the values in GPU memory, in the order of the product's block; only if
 *                      sp_transposed_map_values() set *all to 1. NULL: the values are read from the block, in
 *                      host memory
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _DEVICE */
spmm_status sp_transposed_update(sp_transposed *transposed, const void *on_gpu);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the product's grid; after
 *  MPI_Finalize it only frees memory. */
void sp_transposed_destroy(sp_transposed *transposed);

#endif
