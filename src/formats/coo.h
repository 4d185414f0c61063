/** The coordinate format (COO): a matrix as a list of triplets (row, column, value), as the file reader
 *  produces it. */
#ifndef SP_COO_H
#define SP_COO_H

#include "base/status.h"
#include "base/value_type.h"

typedef enum sp_symmetry { SP_GENERAL = 0, SP_SYMMETRIC = 1, SP_SKEW = 2, SP_HERMITIAN = 3 } sp_symmetry;

/** The value of the mirror image of an entry with the value v. */
typedef enum sp_image {
    SP_IMAGE_NONE,      /**< there is no image */
    SP_IMAGE_SAME,      /**< v */
    SP_IMAGE_NEGATED,   /**< -v */
    SP_IMAGE_CONJUGATED /**< the complex conjugate of v */
} sp_image;

/** Returns the mirror images that a symmetry implies for the entries off the diagonal. */
static inline sp_image sp_image_of(sp_symmetry symmetry) { return (sp_image)symmetry; }

/** The value of an image; v is of any type of values, and is evaluated several times. */
#define SP_VALUE_OF_IMAGE(v, image) \
    ((image) == SP_IMAGE_NEGATED ? -(v) : (image) == SP_IMAGE_CONJUGATED ? SP_CONJUGATE(v) : (v))

/** Sizes of a matrix that are known before the matrix is read or generated. */
typedef struct sp_sizes {
    int64_t rows, cols;
    int64_t entries; /**< lower bound of the number of entries; may exclude those that symmetry implies */
} sp_sizes;

/** A matrix as triplets with 0-based indices. The arrays are in host memory, allocated by sp_alloc(). If the
 *  matrix is not general, only one triangle is stored, the lower or the upper one: each stored entry (i, j),
 *  i != j, implies an entry (j, i). The implied entry has the same value if the matrix is symmetric, the
 *  negated value if it is skew-symmetric, and the conjugate if it is Hermitian. */
typedef struct sp_coo {
    int64_t rows, cols; /**< rows and columns of the matrix, each at most 2^31 - 1 */
    int64_t nnz;        /**< number of stored triplets */
    sp_symmetry symmetry;
    spmm_precision precision;
    int32_t *I; /**< row indices, [nnz] */
    int32_t *J; /**< column indices, [nnz] */
    void *val;  /**< values, [nnz]; NULL in a pattern matrix: all values are 1.0 */
} sp_coo;

/** Creates a matrix of nnz triplets. Its arrays are allocated but not set. Local.
 *  \param [in]  with_values  0: coo->val stays NULL, as for a pattern matrix
 *  \param [out] coo          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a negative size), SPMM_ERR_LIMIT (2^31 or more rows or columns),
 *          SPMM_ERR_MEMORY */
spmm_status sp_coo_create(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry,
                          spmm_precision precision, int with_values, sp_coo *coo);

/** Frees the arrays and zeroes *coo; accepts NULL and zeroed objects. Local. */
void sp_coo_destroy(sp_coo *coo);

/** Copies a matrix into one without symmetry: entries that symmetry implies are stored explicitly, and so are
 *  the values 1.0 of a pattern matrix. Local.
 *  \param [out] general  the copy; the caller destroys it
 *  \return the errors of sp_coo_create() */
spmm_status sp_coo_expand(const sp_coo *coo, sp_coo *general);

#endif
