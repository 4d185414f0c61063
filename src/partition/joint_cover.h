/** Decides for the joint exchange, per pair of ranks, which rows of X travel to the rank whose rows of Y need
 *  them, and for which rows of Y a partial sum travels from the rank that owns the rows of X: the fewest rows
 *  in all, a minimum vertex cover of the graph of the block's entries (as in SHIRO, arXiv 2512.20178). No
 *  MPI. */
#ifndef SP_JOINT_COVER_H
#define SP_JOINT_COVER_H

#include "base/status.h"

/** The entries of some rows of A whose columns other ranks own, by owner. A pair is an owner and a row that
 *  has entries in the owner's columns. The pairs of one owner are consecutive, in increasing order of rows,
 *  and so are the pairs of owners 0, 1, ... */
typedef struct sp_joint_cover {
    int parts;            /**< number of owners */
    int64_t *pair;        /**< [parts + 1] the first pair of each owner */
    int32_t *row;         /**< [pairs] the pair's row, from the first row that was asked for */
    unsigned char *moved; /**< [pairs] 1: the owner computes the partial sum; 0: rows of X come */
    int64_t *start;       /**< [pairs + 1] the first of the pair's entries in `entry` */
    int64_t *entry;       /**< [entries] indices into the CSR's arrays, increasing in each pair */
    int32_t *col;    /**< [entries] the column's number among the columns of its owner that have entries */
    int64_t *needed; /**< [parts + 1] the first of each owner's columns that have entries in `comes` */
    unsigned char *comes; /**< [columns that have entries] 1: the row of X comes */
} sp_joint_cover;

/** Finds the covers of rows [row_begin, row_end) of a. An entry is served by the row of X if that comes, else
 *  by the partial sum of its row. The result does not depend on the number of threads.
 *
 *  Local. Memory: 4 bytes per column, 16 per entry that others own, 17 per pair,
 *  and 36 per column of the owners that are being covered.
 *  \param [in]  a        its values are not read; its column indices increase in each row
 *  \param [in]  bound    [parts + 1] owner p has columns bound[p] to bound[p + 1] - 1; entries in columns of
 *                        none are left out
 *  \param [in]  me       the owner whose entries are left out, because it asks
 *  \param [in]  threads  OpenMP threads, among which the owners are divided
 *  \param [out] cover    the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_joint_cover_create(const spmm_csr *a, int64_t row_begin, int64_t row_end, const int64_t *bound,
                                  int parts, int me, int threads, sp_joint_cover *cover);

/** Frees the arrays and zeroes *cover; accepts a zeroed object. Local. */
void sp_joint_cover_destroy(sp_joint_cover *cover);

/** Counts what owner p sends: rows of X and partial rows of Y. Local. */
void sp_joint_cover_count(const sp_joint_cover *cover, int p, int64_t *x_rows, int64_t *y_rows);

#endif
