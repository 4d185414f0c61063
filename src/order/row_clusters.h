/** Clusters of rows that share columns. They determine an order in which a kernel can process the rows of a
 *  matrix so that rows of X, once fetched, are reused from a cache, whatever the numbering of the rows. A is
 *  not permuted, and neither are X and Y.
 *
 *  The order is derived from minima of hashes. Let h map column numbers one to one to pseudo-random numbers.
 *  The probability that two rows have their minimum h(column) in the same column is the share of columns that
 *  they have in common (Broder: On the resemblance and containment of documents, 1997). Rows with the same
 *  minimum form a cluster of level 1. Each column belongs to the cluster of one of the rows that have an
 *  entry in it: the row with the minimum hash. So the matrix becomes a matrix of clusters by clusters,
 *  whether it is square or not. On the next levels, each cluster points to its neighbor with the minimum
 *  hash, unless its own hash is less. The clusters from which these pointers lead to the same last cluster,
 *  about ten connected clusters, form a cluster of the next level. Levels are added until there is only one
 *  cluster, or a level would join only few. In the resulting order, clusters of every level are contiguous.
 *
 *  All of these steps are passes over the entries; no graph is stored. The result does not depend on the
 *  number of threads. */
#ifndef SP_ROW_CLUSTERS_H
#define SP_ROW_CLUSTERS_H

#include "base/search.h" /* SP_HOST_DEVICE */
#include "formats/matrix.h"

enum {
    SP_CLUSTER_LEVELS = 24, /**< maximum number of levels of clusters */
    SP_ORDERED_ROWS =
        1 << 14 /**< minimum number of rows of a matrix to be ordered: the X of a smaller matrix fits into the
                     caches in any order */
};

/** Returns the hash of x: one to one for each seed (Wellons: Prospecting for hash functions, 2018,
 *  "lowbias32"). */
SP_HOST_DEVICE static inline uint32_t sp_hash(uint32_t x, uint32_t seed)
{
    x ^= seed * 0x9e3779b9u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/** Returns the x whose sp_hash() is h. */
SP_HOST_DEVICE static inline uint32_t sp_unhash(uint32_t h, uint32_t seed)
{
    h ^= h >> 16;
    h *= 0x43021123u;
    h ^= h >> 15 ^ h >> 30;
    h *= 0x1d69e2a5u;
    h ^= h >> 16;
    return h ^ seed * 0x9e3779b9u;
}

enum {
    SP_SEED_ROWS = 0,     /**< seed of the hashes of columns, and of rows as the owners of columns */
    SP_SEED_SECOND = 1,   /**< seed of a second hash of columns, which orders the rows within a cluster of
                               level 1 */
    SP_SEED_CLUSTERS = 16 /**< plus the level: seed of the hashes of clusters */
};

/** The argument `more` of sp_cuda_row_order() for kernels that process one row at a time. It rejects the
 *  order for a stencil matrix numbered by lines: there the next row shares about as many columns as a row of
 *  the same cluster, and Y is written in order. */
#define SP_CLUSTERS_MORE 2.0

/** Returns 1 if `after` clusters, joined from `before` clusters, are few enough for another level. */
SP_HOST_DEVICE static inline int sp_clusters_joined(int64_t before, int64_t after)
{
    return after > 0 && 4 * after <= 3 * before;
}

/** Returns the number of columns that rows i and j of a CSR matrix have in common. Columns may be in any
 *  order, as in a renumbered matrix. Takes time proportional to the product of the rows' lengths. Local. */
SP_HOST_DEVICE static inline int sp_common_columns(const int64_t *row_start, const int32_t *col, int64_t i,
                                                   int64_t j)
{
    int common = 0;
    for (int64_t p = row_start[i]; p < row_start[i + 1]; p++)
        for (int64_t q = row_start[j]; q < row_start[j + 1]; q++) common += col[p] == col[q];
    return common;
}

/** Orders the rows of a block by clusters. Rows of more than SP_CHAIN entries are not clustered; their
 *  positions are arbitrary. Local.
 *
 *  \param [in]  a      in host memory, with fewer than 2^31 rows
 *  \param [out] order  [a->rows]: the row number of each position
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_cluster_rows(const spmm_csr *a, int threads, int32_t *order);

/** Like sp_cluster_rows(), on the GPU, with the same result. Local; complete on return.
 *
 *  \param [in]  a      SPMM_CSR in GPU memory
 *  \param [out] order  [a->rows] in GPU memory; the caller frees it with sp_device_free(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_cluster_rows(const sp_matrix *a, int32_t **order);

/** Like sp_cuda_cluster_rows(), but *order is NULL if the order is not worthwhile. This is the case for small
 *  matrices, if there is too little memory to determine the order, if rows have few columns in common, and if
 *  rows of the same cluster do not have at least `more` times as many columns in common as consecutive rows
 *  have. This is decided from a sample of the rows, in a fraction of the time.
 *  \param [in] more  > 0 */
spmm_status sp_cuda_row_order(const sp_matrix *a, double more, int32_t **order);

/** Orders the rows of a square block along a curve through a layout of its graph in space, on the GPU. For
 *  randomly numbered meshes, consecutive rows then need fewer columns than in the order of clusters
 *  (bench/records/HISTORY.md). Local; complete on return.
 *
 *  \param [in]  a         SPMM_CSR in GPU memory, as many columns as rows, at least one
 *  \param [in]  clusters  [a->rows] in GPU memory: the order from sp_cuda_cluster_rows(); the caller keeps it
 *  \param [out] order     as sp_cuda_cluster_rows()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_lay_out_rows(const sp_matrix *a, const int32_t *clusters, int32_t **order);

#endif
