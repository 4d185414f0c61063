/** Decides for the joint exchange which rows of X, and which partial rows of Y, each pair of ranks exchanges.
 *  A row of X is sent to the rank whose rows of Y need it. A partial row of Y is sent by the rank that owns
 *  the rows of X. The total number of rows is the minimum: the size of a minimum vertex cover of the graph of
 *  the block's entries (as in SHIRO, arXiv 2512.20178). Uses no MPI. */
#ifndef SP_JOINT_COVER_H
#define SP_JOINT_COVER_H

#include "base/status.h"

/** The entries of some rows of A whose columns other ranks own, sorted by owner. A pair consists of an owner
 *  and a row that has entries in the owner's columns. The pairs of an owner are consecutive, in increasing
 *  order of rows, and owners are in increasing order. */
typedef struct sp_joint_cover {
    int parts;            /**< number of owners */
    int64_t *pair;        /**< [parts + 1] index of the first pair of each owner */
    int32_t *row;         /**< [pairs] the pair's row, relative to row_begin */
    unsigned char *moved; /**< [pairs] 1: the owner computes the partial sum of this row; 0: the owner sends
                               rows of X */
    int64_t *start;       /**< [pairs + 1] index in `entry` of the first entry of each pair */
    int64_t *entry;       /**< [entries] indices into the CSR's arrays, increasing in each pair */
    int32_t *col;    /**< [entries] number of the entry's column among its owner's columns with entries */
    int64_t *needed; /**< [parts + 1] index in `comes` of the first column of each owner */
    unsigned char *comes; /**< [columns that have entries] 1: this row of X is sent */
} sp_joint_cover;

/** Computes the covers of rows [row_begin, row_end) of a. An entry is covered by the row of X of its column
 *  if that row is sent, else by the partial sum of its row. The result does not depend on the number of
 *  threads.
 *
 *  Local. Memory: 4 bytes per column, 16 per entry in columns of other ranks, 17 per pair, 1 per
 *  column that has entries, and 28 per such column of the owners that are processed concurrently.
 *  \param [in]  a        its values are not read; its column indices increase in each row
 *  \param [in]  bound    [parts + 1] owner p owns columns bound[p] to bound[p + 1] - 1; entries in other
 *                        columns are skipped
 *  \param [in]  me       the owner for whose rows the cover is computed; entries in its columns are skipped
 *  \param [in]  threads  OpenMP threads, among which the owners are divided
 *  \param [out] cover    the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_joint_cover_create(const spmm_csr *a, int64_t row_begin, int64_t row_end, const int64_t *bound,
                                  int parts, int me, int threads, sp_joint_cover *cover);

/** Frees the arrays and zeroes *cover; accepts a zeroed object. Local. */
void sp_joint_cover_destroy(sp_joint_cover *cover);

/** Counts the rows that owner p sends: rows of X and partial rows of Y. Local. */
void sp_joint_cover_count(const sp_joint_cover *cover, int p, int64_t *x_rows, int64_t *y_rows);

#endif
