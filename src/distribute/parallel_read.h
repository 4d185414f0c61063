/** Reads a matrix from a file into the blocks of a P x Q grid. All ranks read. A rank never stores more than
 *  its own block and small buffers. */
#ifndef SP_PARALLEL_READ_H
#define SP_PARALLEL_READ_H

#include "comm/grid.h"
#include "order/partition.h"
#include "formats/csr.h"
#include "io/mtx_read.h"

/** A rank's block of a matrix, and facts about the whole matrix, which are the same on every rank. */
typedef struct sp_load {
    spmm_csr csr;       /**< this rank's block; its indices are relative to row_begin[p] and col_begin[q] */
    int64_t *row_begin; /**< [P + 1], boundaries of the row blocks */
    int64_t *col_begin; /**< [Q + 1], boundaries of the column blocks */
    int64_t rows, cols; /**< size of the whole matrix; all members below are facts about the whole matrix */
    int64_t nnz;        /**< number of entries after duplicates were summed */
    int64_t stored;     /**< number of entries in the file */
    int64_t duplicates; /**< number of entries that were added to another entry */
    int64_t longest;    /**< number of entries of the longest row */
    int64_t empty;      /**< number of rows without entries */
    sp_mtx_info info;
} sp_load;

/** Reads a plain (not compressed) coordinate file of Matrix Market format.
 *
 *  Collective over grid->comm; every rank must be able to open the file. The blocks are the same, bit for
 *  bit, as those cut out of the matrix that sp_read_csr() returns.
 *
 *  Every rank parses its part of the text twice: first to count the entries per row, then to store the
 *  entries. If blocks are balanced by entries, one more pass is needed if Q > 1, and two more if summing
 *  duplicates moves the boundaries.
 *
 *  The stage passed to sp_agree() is "read" while the header is read, then "load".
 *
 *  Memory per rank: the CSR arrays of the rank's block before duplicates are summed, 8 MiB, and about 3 MB
 *  per thread.
 *  \param [in]  options    the same on every rank, except threads and progress; progress may be set on one
 *                          rank only
 *  \param [in]  partition  SP_PARTITION_ROWS: even blocks (sp_partition_even()); otherwise rows are balanced
 *                          as by sp_partition_entries() and, if Q > 1, columns as by sp_partition_columns()
 *  \param [out] out        the caller destroys it, also on failure (it is then empty)
 *  \return the same status on every rank: SPMM_OK, or the errors of sp_read_csr() (the message names file and
 *          line); SPMM_ERR_UNSUPPORTED also for compressed files, array files, pipes and devices: one rank
 *          can read these and scatter the matrix */
spmm_status sp_load_text(const sp_grid *grid, const char *path, const sp_read_options *options,
                         sp_partition partition, sp_load *out);

/** Reads a file from which a range of rows can be read (files/csr_file.h); otherwise like sp_load_text().
 *  Collective over grid->comm.
 *
 *  Every rank reads only the rows that it needs. With Q > 1 the ranks of a process row read the same rows,
 *  and each keeps its columns. Damage is detected only in the parts of the file that are read. A file with
 *  duplicates is read once more if summing the duplicates moves the boundaries.
 *  \return the same status on every rank: SPMM_OK, or the errors of sp_matrix_file_open() and
 *          sp_csr_file_block(); SPMM_ERR_UNSUPPORTED also for files of other formats */
spmm_status sp_load_csr(const sp_grid *grid, const char *path, const sp_read_options *options,
                        sp_partition partition, sp_load *out);

/** Frees the arrays of *load; accepts NULL and zeroed or partly filled objects. Local. */
void sp_load_destroy(sp_load *load);

#endif
