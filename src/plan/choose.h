/** Chooses a kernel if the caller names none (`--kernel auto`): the first of a list of rules that fits the
 *  features of the matrix, K, the precision and the device. */
#ifndef SP_CHOOSE_H
#define SP_CHOOSE_H

#include <stddef.h>

#include "kernels/kernel.h"

/** Features of a matrix that the choice of a kernel depends on. They describe one rank's block, or the whole
 *  matrix if they come from sp_plan_features(). */
typedef struct sp_features {
    /** Features that are summed over the ranks' blocks to get those of the whole matrix. All members are
     *  double, so that one MPI reduction sums the whole struct. */
    struct sp_feature_sums {
        double rows, nnz;
        double squares;       /**< sum of the squared row lengths */
        double long_entries;  /**< number of entries in rows that have more than SP_CHAIN entries */
        double panel_columns; /**< estimated number of distinct columns per panel, summed over panels */
    } sum;
    double longest; /**< number of entries of the longest row */
} sp_features;

/** Computes the features of one rank's block. Local.
 *  \param [in] threads  number of OpenMP threads to use */
void sp_features_of(const spmm_csr *block, int threads, sp_features *f);

/** Returns the coefficient of variation of the row lengths (standard deviation over mean); 0 if the matrix
 *  has no entries. Local. */
double sp_features_variation(const sp_features *f);

/** Returns how often a row of X is used, on average, once it has been fetched for a panel of SP_PANEL rows:
 *  the number of entries divided by sum.panel_columns; 0 if the matrix has no entries. Local. */
double sp_features_reuse(const sp_features *f);

/** Chooses the kernel for products with K columns. Local.
 *
 *  \param [in]  format  only kernels of this format are considered; SPMM_FORMAT_AUTO: kernels of all formats
 *  \param [out] kernel  the chosen kernel, in static storage; NULL on failure
 *  \param [out] why     the reason for the choice, in a few words; may be NULL
 *  \param [in]  n       size of the buffer `why` in bytes
 *  \return SPMM_OK, SPMM_ERR_USAGE (no kernel has that device and format) */
spmm_status sp_choose(const sp_features *f, int64_t k, spmm_precision precision, spmm_device device,
                      spmm_format format, const sp_kernel **kernel, char *why, size_t n);

enum { SP_MAX_CANDIDATES = 16 };

/** Lists all kernels that sp_choose() can return for the given device and format, over all matrices and K.
 *  Option --autotune times these kernels. Local.
 *  \return the number of kernels in `list`; 0 if there is none */
int sp_candidates(spmm_device device, spmm_format format, const sp_kernel *list[SP_MAX_CANDIDATES]);

#endif
