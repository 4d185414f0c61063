/** Lists the kernels that may be the fastest for a matrix (`--kernel auto`), in the order in which a trial
 *  times them. On the CPU, rules select the first one: cpu_clustered for a large X if rows that share columns
 *  are numbered far from each other, cpu_segmented if rows are long and span much of X, cpu_sell for one
 *  column and cpu_sorted for few columns if row lengths vary between adjacent rows, else cpu_csr. On a GPU,
 *  the order is taken from a leaf of a decision tree, which bench/calibrate.py makes from measurements. */
#ifndef SP_CHOOSE_H
#define SP_CHOOSE_H

#include <stddef.h>

#include "comm/comm.h"
#include "kernels/kernel.h"
#include "product/row_blocks.h"
#include "spmm_extended.h"

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
    /* Of the following members, the maximum over all ranks is used, so that all ranks choose the same
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

/** Computes the features of the whole matrix from the blocks of all ranks, for sp_choose().
 *
 *  Collective over comm.
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] f        equal on all ranks
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_features_of_blocks(MPI_Comm comm, const spmm_block *block, int threads, sp_features *f);

/** Returns the coefficient of variation of the row lengths (standard deviation over mean); 0 if the matrix
 *  has no entries. Local. */
double sp_features_variation(const sp_features *f);

/** Returns how often a row of X is used, on average, once it has been fetched for a panel of SP_PANEL rows:
 *  the number of entries in panels (long rows are not in panels) divided by sum.panel_columns. Returns 0 if
 *  there are no panels, or if more than 2 % of the entries are in long rows, for which the panel kernel needs
 *  a second launch. Local. */
double sp_features_reuse(const sp_features *f);

enum { SP_PRODUCTS_EXPECTED = 1000 };

/** Number of expected products that repay a trial of kernels, exchanges or reductions. */
enum { SP_PRODUCTS_TIMED = 100 };

/** Returns the expected number of products; asked <= 0: SP_PRODUCTS_EXPECTED. Local. */
static inline int64_t sp_products_of(int64_t asked) { return asked > 0 ? asked : SP_PRODUCTS_EXPECTED; }

/** Returns 1 if enough products are expected for a plan to time its candidates. Local. */
static inline int sp_plan_tries(const spmm_plan_options *options, const spmm_plan_study *study)
{
    return !study->quick_plan && sp_products_of(options->products) >= SP_PRODUCTS_TIMED;
}

enum { SP_MAX_CANDIDATES = 16 };

/** On GPUs: number of kernels that a trial takes from a leaf of the decision tree, unless all kernels are
 *  timed; csr_clustered may be added. */
enum { SP_TRIED = 3 };

/** Lists kernels for products with k columns. The kernel that is expected to be the fastest comes first.
 *  Local.
 *
 *  \param [in]  products  expected number of products; <= 0: SP_PRODUCTS_EXPECTED. Kernels whose set-up would
 *                         not be repaid come last, or are not listed
 *  \param [in]  format  only kernels of this format are listed; SPMM_FORMAT_AUTO: kernels of all formats
 *  \param [in]  all     0: only kernels that are worth a trial; 1: all kernels that suit some matrix, those
 *                       that are worth a trial first
 *  \param [out] list    in static storage, all different
 *  \param [out] why     why the first kernel is expected to be the fastest, in a few words; may be NULL
 *  \param [in]  n       size of the buffer `why` in bytes
 *  \return the number of kernels in `list`, with `all` 0 at most SP_TRIED + 1; 0: no kernel supports that
 *          device and format */
int sp_order_kernels(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                     spmm_device device, spmm_format format, int all,
                     const sp_kernel *list[SP_MAX_CANDIDATES], char *why, size_t n);

/** Removes from a list the kernels that do not give the bits of the serial product. Keeps the order. Local.
 *  \return the number of remaining kernels */
int sp_keep_exact(spmm_precision precision, const sp_kernel **list, int count);

/** Chooses the kernel for products with k columns without a trial: the first one that sp_order_kernels()
 *  lists with `all` 0. Local.
 *
 *  \param [in]  products, format  as for sp_order_kernels()
 *  \param [out] kernel  the chosen kernel, in static storage; NULL on failure
 *  \param [out] why     the reason for the choice, in a few words; may be NULL
 *  \param [in]  n       size of the buffer `why` in bytes
 *  \return SPMM_OK, SPMM_ERR_USAGE (no kernel supports that device and format) */
spmm_status sp_choose(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                      spmm_device device, spmm_format format, const sp_kernel **kernel, char *why, size_t n);

/** Parameters that all candidates of a trial of kernels have in common. */
typedef struct sp_kernel_trial {
    MPI_Comm comm;                /**< communicator of all ranks that choose the same kernel */
    const spmm_csr *a;            /**< the block with local column indices */
    const sp_kernel *const *list; /**< [count] candidates, the one expected to be the fastest first */
    int count;
    int64_t k;    /**< columns of X in a kernel launch */
    int64_t most; /**< maximum k of later launches, see sp_row_blocks_create() */
    sp_padding padding;
    int threads;
    sp_shape shape;
    double products; /**< expected number of products: candidates are timed if this number repays a trial;
                          infinity: always */
} sp_kernel_trial;

/** Times the candidate kernels on an X of t->k columns, and converts the row blocks for the fastest kernel.
 *  The timed products are local: no rank exchanges rows. If the first kernel is so fast that the expected
 *  products do not repay a trial, the other kernels are neither converted nor timed. If there is not enough
 *  memory for X and Y, the first kernel is selected.
 *
 *  Collective over t->comm.
 *  \param [in,out] parts  as for sp_row_blocks_create(); destroyed by the caller, also on failure
 *  \param [out]    trial  the timed candidates
 *  \return the same status on every rank, that of sp_row_blocks_create() or of a kernel's run() */
spmm_status sp_kernel_trial_run(const sp_kernel_trial *t, sp_row_blocks *parts, sp_trial *trial);

/** Times the kernel of converted row blocks as sp_kernel_trial_run() does; t->list is not read.
 *
 *  Collective over t->comm.
 *  \param [out] seconds  time of a product, the same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, or the status of a kernel's run() */
spmm_status sp_kernel_trial_time(const sp_kernel_trial *t, sp_row_blocks *parts, double *seconds);

/** Returns 1 if products of `seconds` repay a trial. Local. */
int sp_kernel_trial_pays(const sp_kernel_trial *t, double seconds);

#endif
