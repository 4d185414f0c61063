/** Rows -> consecutive blocks. Pure functions. */
#ifndef SP_PARTITION_H
#define SP_PARTITION_H

#include "status.h"

typedef enum sp_partition { SP_PARTITION_NNZ, SP_PARTITION_ROWS } sp_partition;

/** Even blocks: the first rows mod parts get one row more. begin [parts + 1]. */
void sp_partition_even(int64_t rows, int parts, int64_t *begin);

/** Blocks balanced by entries: block p begins at the row whose start is nearest to p/parts of the
 *  entries, so that no block exceeds its share by more than one row's entries. Without entries:
 *  even blocks. \param [in] irp  row starts, [rows + 1] */
void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin);

/** Column blocks, balanced by entries or even; parts == 1: [0, cols].
 *  \return SPMM_OK, SPMM_ERR_MEMORY (a count a column) */
spmm_status sp_partition_columns(const spmm_csr *a, sp_partition partition, int parts, int64_t *begin);

/** Owners of X: rank (p, q) of a P x Q grid owns rows [x_begin[q*(P+1)+p], x_begin[q*(P+1)+p+1]), global
 *  indices, of column block q. Q == 1 and rows == cols: the row blocks, so that Y can be the next X; else even
 *  parts of the column block. \param [out] x_begin  [Q * (P+1)] */
void sp_x_ranges(int64_t rows, int64_t cols, int p, int q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin);

#endif
