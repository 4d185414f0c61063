/** Chooses the kernel that `auto` stands for, by a rule over features of the matrix, K, precision and device. */
#ifndef SP_CHOOSE_H
#define SP_CHOOSE_H

#include <stddef.h>

#include "kernels/kernel.h"

/** Features of one block, or of the whole matrix (sp_plan_features()). */
typedef struct sp_features {
    /** The features that add up over blocks; all double, so that one reduction sums them over the ranks. */
    struct sp_feature_sums {
        double rows, nnz;
        double squares;       /**< sum of the squared row lengths */
        double long_entries;  /**< entries in rows of more than SP_ROW_SEGMENT */
        double panel_columns; /**< sp_panel_columns(), estimated from a sample of panels */
    } sum;
    double longest; /**< number of entries of the longest row */
} sp_features;

/** Determines the features of a block. Local.
 *  \param [in] threads  OpenMP threads */
void sp_features_of(const spmm_csr *block, int threads, sp_features *f);

/** Returns the coefficient of variation of the row lengths (standard deviation over mean); 0 without entries.
 *  Local. */
double sp_features_variation(const sp_features *f);

/** Returns how often, on average, a panel of SP_PANEL rows uses a row of X that was fetched for it; 0 without
 *  entries. Local. */
double sp_features_reuse(const sp_features *f);

/** Chooses the kernel for products with K columns. Local.
 *
 *  \param [in]  format  considers the kernels of this format only; SPMM_FORMAT_AUTO: of every format
 *  \param [out] kernel  in static storage; NULL on failure
 *  \param [out] why     the reason in a few words; may be NULL
 *  \param [in]  n       bytes of why
 *  \return SPMM_OK, SPMM_ERR_USAGE (no kernel has that device and format) */
spmm_status sp_choose(const sp_features *f, int64_t k, spmm_precision precision, spmm_device device,
                      spmm_format format, const sp_kernel **kernel, char *why, size_t n);

enum { SP_MAX_CANDIDATES = 16 };

/** Lists the kernels that sp_choose() may return for that device and format, whatever the matrix: --autotune times
 *  these. Local.
 *  \return the number of kernels; 0 if there is none */
int sp_candidates(spmm_device device, spmm_format format, const sp_kernel *list[SP_MAX_CANDIDATES]);

#endif
