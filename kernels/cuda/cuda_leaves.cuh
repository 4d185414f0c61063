/** Leaves of long rows (summation.h) as rows of panels. Leaves of different rows share columns, so that a
 *  panel fetches a row of X once for all of them. The rows are cut when the panels are made. A product stores
 *  the sums of the leaves in memory, and a second kernel adds them. */
#ifndef SP_CUDA_LEAVES_CUH
#define SP_CUDA_LEAVES_CUH

#include <cuda_runtime.h>

extern "C" {
#include "formats/matrix.h"
#include "kernels/kernel.h"
}

/** The rows of a matrix after long rows have been cut into their leaves, in GPU memory. */
struct sp_cut_rows {
    sp_matrix a;     /* SPMM_CSR, the leaves of a row in place of the row; col and val belong to the matrix */
    int32_t *order;  /* [a.rows]: the short rows in a given order, then the leaves by their columns */
    int32_t *target; /* [a.rows]: as in sp_matrix, for each row of a */
};

/** Returns the maximum number of leaves of long rows with so many entries: a long row has more than SP_CHAIN
 *  entries, and all its leaves but the last one have SP_LEAF. */
inline int64_t sp_most_leaves(int64_t entries) { return entries / 25; }

/** Cuts the long rows of a matrix, and lists them in m. Local; complete on return.
 *  \param [in]     a      SPMM_CSR in GPU memory; outlives *c
 *  \param [in]     order  [a->rows] order of the short rows, in GPU memory; NULL: their order in the matrix
 *  \param [out]    c      the caller frees it with sp_cuda_cut_free(); zeroed on failure
 *  \param [in,out] m      its leaves and packs are set; the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_cut_rows(const sp_matrix *a, const int32_t *order, sp_cut_rows *c, sp_matrix *m);

/** Frees the arrays of the rows, and zeroes *c; accepts zeroed objects. Local. */
void sp_cuda_cut_free(sp_cut_rows *c);

/** Allocates memory for the sums of leaves, with setup->most columns; none without leaves. Local.
 *  \param [out] sums  the caller frees it with sp_device_free(); NULL on failure, and without leaves
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_leaf_sums(const sp_setup *setup, void **sums);

/** Queues the addition of the sums of leaves, which stores the long rows of Y. Does nothing if the matrix has
 *  none. Local.
 *  \param [in] sums  [leaves x partial_ld(k)] in GPU memory */
void sp_cuda_add_leaves(const sp_launch *l, const void *sums, cudaStream_t stream);

#endif
