/** Rows, columns and rows of X -> consecutive blocks. Pure functions. */
#ifndef SP_PARTITION_H
#define SP_PARTITION_H

#include "base/status.h"

typedef enum sp_partition { SP_PARTITION_NNZ, SP_PARTITION_ROWS, SP_PARTITION_GRAPH } sp_partition;

/** Even blocks: the first rows mod parts get one row more. begin [parts + 1]. */
void sp_partition_even(int64_t rows, int parts, int64_t *begin);

/** Entries before part p of `parts`, if entries were all that counted: p/parts of nnz. */
int64_t sp_partition_share(int64_t nnz, int parts, int p);

/** Blocks balanced by entries: block p begins at the row whose start is nearest to p/parts of the
 *  entries, so that no block exceeds its share by more than one row's entries. Without entries:
 *  even blocks. \param [in] irp  row starts, [rows + 1] */
void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin);

/** The same for the columns of a matrix: blocks balanced by the entries of whole columns.
 *
 *  \param [in]  a        its pattern alone is looked at; 8 bytes a column of scratch
 *  \param [in]  threads  OpenMP threads, >= 1; the blocks are the same for any number
 *  \param [out] begin    [parts + 1]
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_partition_columns(const spmm_csr *a, int threads, int parts, int64_t *begin);

/** Who owns which rows of X on a P x Q grid: x_begin[q*(P+1) + p] is the first one of rank (p, q), and
 *  x_begin[q*(P+1) + P] the end of column block q. Of a square matrix on P x 1 they are the row blocks, so that
 *  Y can be the next X; otherwise even parts of each column block.
 *
 *  \param [in]  row_begin  [P + 1], \param [in] col_begin [Q + 1], from 0 to cols
 *  \param [out] x_begin    [Q * (P + 1)] */
void sp_x_ranges(int64_t rows, int64_t cols, int P, int Q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin);

#endif
