/** Partitions rows, columns and the rows of X into consecutive blocks. Pure functions. */
#ifndef SP_PARTITION_H
#define SP_PARTITION_H

#include "base/status.h"

/** How rows are divided into blocks: SP_PARTITION_NNZ balances entries, SP_PARTITION_ROWS balances rows,
 *  SP_PARTITION_GRAPH uses a graph partitioner (reorder.h), SP_PARTITION_LAYOUT cuts a layout of the graph
 *  in space (layout_order.h). SP_PARTITION_AUTO stands for one of these that is still to be chosen. */
typedef enum sp_partition {
    SP_PARTITION_NNZ,
    SP_PARTITION_ROWS,
    SP_PARTITION_GRAPH,
    SP_PARTITION_LAYOUT,
    SP_PARTITION_AUTO
} sp_partition;

/** Returns 1 if the partition renumbers the rows. Local. */
static inline int sp_partition_renumbers(sp_partition partition)
{
    return partition == SP_PARTITION_GRAPH || partition == SP_PARTITION_LAYOUT;
}

/** Divides rows evenly into consecutive blocks: the first `rows mod parts` blocks have one row more than the
 *  others.
 *  \param [out] begin  first row of each block, [parts + 1]; begin[parts] is `rows` */
void sp_partition_even(int64_t rows, int parts, int64_t *begin);

/** Divides rows into consecutive blocks with about the same number of entries: block p begins at the row
 *  whose start is nearest to p/parts of all entries, so that no block exceeds its share by more than the
 *  entries of one row. If there are no entries, divides rows evenly.
 *  \param [in]  irp    row starts, [rows + 1]
 *  \param [out] begin  first row of each block, [parts + 1] */
void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin);

/** Like sp_partition_entries(); start(of, i) returns the start of row i instead of irp[i]. */
void sp_partition_starts(int64_t (*start)(const void *of, int64_t row), const void *of, int64_t rows,
                         int parts, int64_t *begin);

/** Divides columns into consecutive blocks with about the same number of entries, as sp_partition_entries()
 *  divides rows. Needs 8 bytes of temporary memory per column.
 *
 *  \param [in]  a        the matrix; its values are not read
 *  \param [in]  threads  OpenMP threads, >= 1; the blocks do not depend on the number of threads
 *  \param [out] begin    first column of each block, [parts + 1]
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_partition_columns(const spmm_csr *a, int threads, int parts, int64_t *begin);

/** Determines the owners of the rows of X on a P x Q grid: x_begin[q*(P+1) + p] is the first row of X that
 *  rank (p, q) owns, and x_begin[q*(P+1) + P] is the end of column block q. For a square matrix on a P x 1
 *  grid, each rank owns the rows of X with the indices of its rows of A, so that the Y of one product can be
 *  the X of the next. Otherwise each column block is divided evenly among the P ranks of its process column.
 *
 *  \param [in]  row_begin  boundaries of the row blocks, [P + 1], from 0 to `rows`
 *  \param [in]  col_begin  boundaries of the column blocks, [Q + 1], from 0 to `cols`
 *  \param [out] x_begin    [Q * (P + 1)] */
void sp_x_ranges(int64_t rows, int64_t cols, int P, int Q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin);

#endif
