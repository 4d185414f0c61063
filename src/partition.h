/** Rows -> consecutive blocks. Pure functions. */
#ifndef SP_PARTITION_H
#define SP_PARTITION_H

#include <stdint.h>

typedef enum sp_partition { SP_PARTITION_NNZ, SP_PARTITION_ROWS } sp_partition;

/** Even blocks: the first rows mod parts get one row more. begin [parts + 1]. */
void sp_partition_even(int64_t rows, int parts, int64_t *begin);

/** Entries before part p of `parts`, if entries were all that counted: p/parts of nnz. */
int64_t sp_partition_share(int64_t nnz, int parts, int p);

/** Blocks balanced by entries: block p begins at the row whose start is nearest to p/parts of the
 *  entries, so that no block exceeds its share by more than one row's entries. Without entries:
 *  even blocks. \param [in] irp  row starts, [rows + 1] */
void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin);

#endif
