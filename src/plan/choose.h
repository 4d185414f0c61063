/** Which kernel `auto` is: a rule over facts of the matrix, K, precision and device. Pure, local. */
#ifndef SP_CHOOSE_H
#define SP_CHOOSE_H

#include <stddef.h>

#include "kernels/kernel.h"

/** Facts of a matrix, of one block or of all (sp_plan_features). */
typedef struct sp_features {
    /** What adds up over blocks, all double: sums of a handful of ranks are made in one reduction. */
    struct sp_feature_sums {
        double rows, nnz;
        double squares;       /**< sum of the squares of the rows' lengths */
        double long_entries;  /**< entries in rows of more than SP_ROW_SEGMENT */
        double panel_columns; /**< see sp_panel_columns(): estimated on a sample of panels */
    } sum;
    double longest; /**< entries of the longest row */
} sp_features;

/** Facts of a block. \param [in] threads  OpenMP threads */
void sp_features_of(const spmm_csr *block, int threads, sp_features *f);

/** Standard deviation of the rows' lengths over their mean; 0 without entries. */
double sp_features_variation(const sp_features *f);

/** How often a row of X that was fetched for a panel of SP_PANEL rows is used there; 0 without entries. */
double sp_features_reuse(const sp_features *f);

/** The kernel for products with K columns.
 *
 *  \param [in]  format  the kernels of one format, or of any: SPMM_FORMAT_AUTO
 *  \param [out] kernel  static storage; NULL on failure
 *  \param [out] why     the reason in a few words; may be NULL. \param [in] n  its size
 *  \return SPMM_OK, SPMM_ERR_USAGE (no kernel has that device and format) */
spmm_status sp_choose(const sp_features *f, int64_t k, spmm_precision precision, spmm_device device,
                      spmm_format format, const sp_kernel **kernel, char *why, size_t n);

enum { SP_MAX_CANDIDATES = 16 };

/** What sp_choose() may return for that device and format, whatever the matrix: what --autotune times.
 *  \return how many; 0: none. */
int sp_candidates(spmm_device device, spmm_format format, const sp_kernel *list[SP_MAX_CANDIDATES]);

#endif
