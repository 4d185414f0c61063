/** A layout of a matrix's graph in space: coordinates for each row, such that rows that share columns are
 *  close to one another. If the rows are sorted along a curve through the layout, consecutive rows share
 *  columns. If planes cut the layout into parts, the rows of different parts share few columns.
 *
 *  Clusters of rows (row_clusters.h) are compact, but consecutive clusters need not be neighbors. Chunks of
 *  consecutive rows, in the order of the clusters, are the vertices of a small graph. Their distances from
 *  some vertices, computed by breadth-first search, give coordinates with Pivot MDS (Brandes and Pich:
 *  Eigensolver methods for progressive multidimensional scaling of large data, Graph Drawing 2006). The
 *  coordinates are smoothed by repeated means over neighbors: first of the chunks, then of smaller chunks
 *  (pieces), then of the rows.
 *
 *  This suits connected graphs of two- or three-dimensional meshes. Components of a graph that is not
 *  connected may overlap in space. A row's neighbors are the rows that its columns name, and rows of an
 *  unsymmetric matrix drift toward these. */
#ifndef SP_ROW_LAYOUT_H
#define SP_ROW_LAYOUT_H

#include "order/row_clusters.h"

enum {
    SP_LAYOUT_CHUNK = 64,    /**< maximum number of rows of a chunk */
    SP_LAYOUT_PIECE = 8,     /**< maximum number of rows of a piece */
    SP_LAYOUT_PIVOTS = 32,   /**< vertices from which distances are computed */
    SP_LAYOUT_AXES = 3,      /**< coordinates of a row */
    SP_LAYOUT_EDGES = 2,     /**< entries of a row that become edges; more for small chunks on the host */
    SP_LAYOUT_NEIGHBORS = 8, /**< a row moves to the mean of about this many neighbors at most; in the last
                                  passes (SP_LAYOUT_WHOLE_PASSES), of all */
    SP_LAYOUT_CHUNK_PASSES = 10, /**< number of times that chunks move to the mean of their neighbors */
    SP_LAYOUT_PIECE_PASSES = 60, /**< number of times that pieces do so */
    SP_LAYOUT_ROW_PASSES = 10,   /**< number of times that rows do so */
    SP_LAYOUT_WHOLE_PASSES = 2,  /**< the last passes over rows: these use all entries */
    SP_LAYOUT_UNKNOWNS = 8,      /**< maximum number of rows with equal columns that are placed together */
    SP_LAYOUT_BITS = 10          /**< bits per coordinate on the curve */
};

/** Returns the vertex that is pivot number `pivot`. The n vertices are divided into SP_LAYOUT_PIVOTS equal
 *  ranges, and the pivot is a random vertex of range number `pivot`. */
SP_HOST_DEVICE static inline int32_t sp_layout_pivot(int pivot, int32_t n)
{
    const int32_t share = n / SP_LAYOUT_PIVOTS;
    const uint32_t hash = sp_hash((uint32_t)pivot, SP_SEED_SECOND);
    return (int32_t)((int64_t)n * pivot / SP_LAYOUT_PIVOTS) +
           (share > 0 ? (int32_t)(hash % (uint32_t)share) : 0);
}

/** Returns the index of a cell on the Hilbert curve through the cube of 2^SP_LAYOUT_BITS cells per edge
 *  (Skilling: Programming the Hilbert curve, AIP Conference Proceedings 707, 2004).
 *  \param [in,out] x  [SP_LAYOUT_AXES] coordinates of the cell; changed */
SP_HOST_DEVICE static inline uint32_t sp_on_curve(uint32_t *x)
{
    const uint32_t top = UINT32_C(1) << (SP_LAYOUT_BITS - 1);
    for (uint32_t q = top; q > 1; q >>= 1)
        for (int i = 0; i < SP_LAYOUT_AXES; i++) {
            if (x[i] & q) {
                x[0] ^= q - 1;
            } else {
                const uint32_t t = (x[0] ^ x[i]) & (q - 1);
                x[0] ^= t;
                x[i] ^= t;
            }
        }
    for (int i = 1; i < SP_LAYOUT_AXES; i++) x[i] ^= x[i - 1];
    uint32_t t = 0;
    for (uint32_t q = top; q > 1; q >>= 1)
        if (x[SP_LAYOUT_AXES - 1] & q) t ^= q - 1;
    uint32_t key = 0;
    for (int bit = SP_LAYOUT_BITS - 1; bit >= 0; bit--)
        for (int i = 0; i < SP_LAYOUT_AXES; i++) key = key << 1 | ((x[i] ^ t) >> bit & 1);
    return key;
}

/** Computes the eigenvectors of the largest eigenvalues of a symmetric matrix by subspace iteration. Local.
 *  \param [in]  gram  [SP_LAYOUT_PIVOTS x SP_LAYOUT_PIVOTS]
 *  \param [out] axis  orthonormal eigenvectors, the largest eigenvalue first */
void sp_layout_axes(const double *gram, float axis[SP_LAYOUT_AXES][SP_LAYOUT_PIVOTS]);

/** Coordinates of a row; the fourth number only aligns. */
typedef struct sp_point {
    float at[SP_LAYOUT_AXES + 1];
} sp_point;

/** Lays out the rows of a matrix. If the rows of a cluster share few columns, as in a random graph, no row is
 *  laid out: all coordinates are 0.
 *
 *  Local. Takes time proportional to the entries. Temporary memory: about 65 bytes per row, 4 per entry.
 *  \param [in]  a         square, with fewer than 2^31 rows; columns in any order; values are not read
 *  \param [in]  threads   OpenMP threads, >= 1; the layout does not depend on the number of threads
 *  \param [in]  clusters  [a->rows] the order from sp_cluster_rows()
 *  \param [out] at        [a->rows]
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_lay_out_rows(const spmm_csr *a, int threads, const int32_t *clusters, sp_point *at);

#endif
