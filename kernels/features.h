/** Features of a matrix, which the conditions of kernels (SP_SUITS()) and the decision trees compare. They
 *  determine which kernels `--kernel auto` lists. */
#ifndef SP_FEATURES_H
#define SP_FEATURES_H

#include "kernels/kernel.h"
#include "order/row_clusters.h"

enum { SP_LENGTH_BOUNDS = 6 };

/** Features of a matrix that the choice of a kernel depends on. They describe one rank's block, or the whole
 *  matrix if they come from sp_features_of_blocks(). */
typedef struct sp_features {
    /** Features that are summed over the blocks of the ranks to get the features of the whole matrix. All
     *  members are double, so that one MPI reduction sums the whole struct. */
    struct sp_feature_sums {
        double blocks; /**< 1 for one rank's block */
        double rows, nnz;
        double squares;                /**< sum of the squared row lengths */
        double over[SP_LENGTH_BOUNDS]; /**< over[i]: number of entries in rows of more than 4 << i entries */
        double panel_columns; /**< estimated number of distinct columns per panel, summed over panels */
        /* From a sample of rows i, each with a random column c of the row: the number of columns of row i
         * other than c, and how many of these are also in row c of the matrix. Only rows of the block are
         * compared. */
        double columns, shared;
        double changes; /**< number of rows whose length differs from that of the previous row */
        /** sum over long rows (formats/summation.h) of (number of entries) * (last column - first column +
         *  1) */
        double reach;
    } sum;
    /* The following members are reduced by maximum over all ranks, so that all ranks choose the same
     * kernel. */
    double longest;  /**< number of entries of the longest row */
    double cache;    /**< bytes of the processor's last-level cache */
    double unstaged; /**< 1: no GPU is open, or the open GPU cannot keep rows of X in shared memory for
                          panel_staged */
    double f64_slow; /**< 1: the open GPU has few f64 units, so that sums in f64 are slow */
} sp_features;

/** The numbers that the decision tree compares, with their names in bench_gpu's CSV files and in messages:
 *  F(identifier, column, phrase). */
#define SP_TRAIT_LIST(F)                                                  \
    F(SP_X_BYTES, "x_bytes", "bytes of X per entry")                      \
    F(SP_MEAN, "mean", "entries per row")                                 \
    F(SP_VARIATION, "variation", "relative deviation of the row lengths") \
    F(SP_OVER_4, "over_4", "of the entries in rows longer than 4")        \
    F(SP_OVER_8, "over_8", "of the entries in rows longer than 8")        \
    F(SP_OVER_16, "over_16", "of the entries in rows longer than 16")     \
    F(SP_OVER_32, "over_32", "of the entries in rows longer than 32")     \
    F(SP_OVER_64, "over_64", "of the entries in rows longer than 64")     \
    F(SP_OVER_128, "over_128", "of the entries in rows longer than 128")  \
    F(SP_REUSE, "reuse", "entries per fetched row of X")                  \
    F(SP_SHARED, "shared", "of its columns shared with a neighbor")       \
    F(SP_ENTRIES, "entries", "entries per block")
#define SP_TRAIT_NAME(id, column, phrase) id,
typedef enum sp_trait { SP_TRAIT_LIST(SP_TRAIT_NAME) SP_TRAITS } sp_trait;
#undef SP_TRAIT_NAME

/** Returns a number that the decision tree compares, for products with k columns of X. Local. */
double sp_trait_of(const sp_features *f, sp_trait trait, int64_t k, spmm_precision precision);

/** Computes the features of one rank's block. Local.
 *  \param [in] diagonal  column of the block, possibly outside the block, in which row 0 has its diagonal
 *                        entry
 *  \param [in] any_order 1: the columns of a row may be in any order
 *  \param [in] threads   number of OpenMP threads to use */
void sp_features_of(const spmm_csr *block, int64_t diagonal, int any_order, int threads, sp_features *f);

/** As sp_features_of(), on the GPU, of a matrix in GPU memory whose columns increase within a row. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_features(const spmm_csr *a, int64_t diagonal, sp_features *f);

/** Sets the block's numbers of rows and entries, and the features of the machine. Local. */
void sp_features_finish(const spmm_csr *a, sp_features *f);

/** Maximum numbers of entries per row with which csr_rows computes runs of 4 and of 2 rows, and with which it
 *  uses its variant for the shortest rows. */
static const double SP_RUN_OF_4 = 5.5, SP_RUN_OF_2 = 8, SP_SHORTEST = 3.25;

enum { SP_PANEL_SAMPLES = 512, SP_ROW_SAMPLES = 2048 }; /* panels and rows that are examined */

/* The random numbers of the sampled rows: sp_next_sample() returns the number after `last`, initially 1. The
 * other functions select one of `step` rows, and one entry of a row, by such a number. */
SP_HOST_DEVICE static inline uint64_t sp_next_sample(uint64_t last)
{
    return last * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}
SP_HOST_DEVICE static inline int64_t sp_sampled_row(uint64_t at_random, int64_t step)
{
    return (int64_t)((at_random >> 40) % (uint64_t)step);
}
SP_HOST_DEVICE static inline int64_t sp_sampled_entry(uint64_t at_random, int64_t length)
{
    return (int64_t)((at_random >> 33) % (uint64_t)length);
}

/** Returns the coefficient of variation of the row lengths (standard deviation over mean); 0 if the matrix
 *  has no entries. Local. */
double sp_features_variation(const sp_features *f);

/** Returns how often a row of X is used, on average, once it has been fetched for a panel of SP_PANEL rows or
 *  leaves of long rows: the number of entries divided by sum.panel_columns. Local. */
double sp_features_reuse(const sp_features *f);

/** Returns a / b; 0 if b is 0. Local. */
static inline double sp_ratio(double a, double b) { return b > 0 ? a / b : 0; }

/** The products for which kernels are listed, with traits of the matrix. */
struct sp_question {
    const sp_features *f;
    int64_t k, products; /**< number of columns of X; expected number of products; both > 0 */
    spmm_precision precision;
    int many_rows;                /**< 1: a rank may have too many rows for an order of rows */
    double row_bytes;             /**< size of a row of X in bytes */
    double x_bytes;               /**< size of a rank's X, assuming that X has as many rows as A */
    double shared, reuse;         /**< SP_SHARED, SP_REUSE */
    double changes, in_long_rows; /**< share of the rows whose length changes; share of the entries that are
                                       in long rows */
};

/** Returns 1 if rows share columns with rows whose numbers are far away, else 0. The share of columns that
 *  rows have in common with neighbors in the graph shows whether clusters would help. The number of times
 *  that a panel uses a row of X shows whether such rows are adjacent already. Local. */
static inline int sp_is_scattered(const sp_question *q)
{
    return q->shared >= 0.1 && q->reuse - 1 < q->shared / 2;
}

/** Begins the definition of the conditions of kernel `id`; the body of a function (sp_suits) follows. Those
 *  of CUDA kernels are in kernels/cuda_suits.c, which all builds compile. */
#define SP_SUITS(id)        \
    sp_suits sp_suits_##id; \
    sp_suitability sp_suits_##id(const sp_question *q, char *why, size_t n)

#endif
