/** A matrix from a file to the blocks of a P x Q grid, read by all ranks: none ever holds more than its block. */
#ifndef SP_PARALLEL_READ_H
#define SP_PARALLEL_READ_H

#include "comm/grid.h"
#include "distribute/partition.h"
#include "formats/csr.h"
#include "io/mtx_read.h"

/** What a rank has of a matrix, and what all know about it. */
typedef struct sp_load {
    spmm_csr csr;       /**< this rank's block: rows count from row_begin[p], columns from col_begin[q] */
    int64_t *row_begin; /**< [P + 1], the same on every rank */
    int64_t *col_begin; /**< [Q + 1], the same on every rank */
    int64_t rows, cols; /**< of the matrix, as is all that follows */
    int64_t nnz;        /**< after duplicates were summed */
    int64_t stored;     /**< entries of the text */
    int64_t duplicates; /**< that were summed */
    int64_t longest;    /**< entries of the longest row */
    int64_t empty;      /**< rows without entries */
    sp_mtx_info info;
} sp_load;

/** Reads a plain coordinate file of Matrix Market format.
 *
 *  Collective over grid->comm; every rank must see the file. Rows are cut by sp_partition_entries() or
 *  sp_partition_even(), columns likewise by the entries of each column; with Q = 1 they are not cut. The outcome is,
 *  bit for bit, what cutting up the matrix of sp_read_csr() gives.
 *
 *  The text is parsed twice: for the lengths of rows, then for the entries, each time every rank its part of it. Cuts
 *  by entries take one pass more with Q > 1, and two more if summing duplicates moves them.
 *
 *  Ranks agree (sp_agree) in stage "read" on the file, and then in stage "load".
 *
 *  Memory of a rank: the CSR of its block's stored entries and 10 to 20 MiB.
 *  \param [in]  options  the same on every rank but for threads and progress, which may be set on one rank only
 *  \param [out] out      the caller destroys it, also on failure (it is then empty)
 *  \return the same on every rank: SPMM_OK, the errors of sp_read_csr(), file and line named; SPMM_ERR_UNSUPPORTED
 *          for gzip, arrays and pipes, which one rank can read and scatter */
spmm_status sp_load_text(const sp_grid *grid, const char *path, const sp_read_options *options,
                         sp_partition partition, sp_load *out);

/** Reads a `.spmm` file (spmm_file.h); otherwise like sp_load_text(). Every rank reads what it needs; with Q > 1 the
 *  ranks of a process row read the same rows, and each keeps its columns. Damage is noticed in the parts that are
 *  read. stored, duplicates and info are those of the text that the file was made from. */
spmm_status sp_load_spmm(const sp_grid *grid, const char *path, const sp_read_options *options,
                         sp_partition partition, sp_load *out);

/** Accepts NULL and what is half made. Local. */
void sp_load_destroy(sp_load *load);

#endif
