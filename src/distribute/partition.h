/** Partitions rows, columns and the rows of X into consecutive blocks. Pure functions. */
#ifndef SP_PARTITION_H
#define SP_PARTITION_H

#include "base/status.h"

/** How rows are partitioned: by entries, evenly, or by a graph partitioner (reorder.h). */
typedef enum sp_partition { SP_PARTITION_NNZ, SP_PARTITION_ROWS, SP_PARTITION_GRAPH } sp_partition;

/** Partitions rows evenly: the first `rows mod parts` blocks get one row more than the others.
 *  \param [out] begin  [parts + 1] */
void sp_partition_even(int64_t rows, int parts, int64_t *begin);

/** Returns p/parts of nnz, rounded down: the number of entries before part p in an ideal partition by entries. */
int64_t sp_partition_share(int64_t nnz, int parts, int p);

/** Balances blocks of rows by entries: block p begins at the row whose start is nearest to p/parts of the entries, so
 *  that no block exceeds its share by more than the entries of one row. Even blocks if there are no entries.
 *  \param [in]  irp    row starts, [rows + 1]
 *  \param [out] begin  [parts + 1] */
void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin);

/** Balances blocks of columns by the entries of whole columns, as sp_partition_entries() does with rows. Takes 8
 *  bytes of scratch per column.
 *
 *  \param [in]  a        only its pattern is read
 *  \param [in]  threads  OpenMP threads, >= 1; the blocks do not depend on their number
 *  \param [out] begin    [parts + 1]
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_partition_columns(const spmm_csr *a, int threads, int parts, int64_t *begin);

/** Determines the owners of the rows of X on a P x Q grid: x_begin[q*(P+1) + p] is the first row that rank (p, q)
 *  owns, and x_begin[q*(P+1) + P] the end of column block q. For a square matrix on a P x 1 grid the ranges are those
 *  of the rows, so that the Y of one product can be the X of the next; otherwise each column block is divided evenly.
 *
 *  \param [in]  row_begin  [P + 1], from 0 to rows
 *  \param [in]  col_begin  [Q + 1], from 0 to cols
 *  \param [out] x_begin    [Q * (P + 1)] */
void sp_x_ranges(int64_t rows, int64_t cols, int P, int Q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin);

#endif
