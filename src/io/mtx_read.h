/** The fast reader: a Matrix Market file -> COO or CSR, by all threads. */
#ifndef SP_MTX_READ_H
#define SP_MTX_READ_H

#include "formats/coo.h"

/** Called by the thread that called the reader, at most ten times a second, with the share of the file
 *  that is read, 0 to 1; and once with 1 when all of it is. */
typedef void (*sp_progress_fn)(void *context, double fraction);

typedef struct sp_read_options {
    spmm_precision precision; /**< of coo->val */
    int threads;              /**< OpenMP threads, >= 1 */
    int allow_nonfinite;      /**< accept inf and nan (and values that overflow f64) */
    sp_progress_fn progress;  /**< NULL: none */
    void *progress_context;
} sp_read_options;

/** What the banner and the size line said. */
typedef struct sp_mtx_info {
    char format[16];   /**< coordinate, array */
    char field[16];    /**< real, integer, pattern */
    char symmetry[20]; /**< general, symmetric, skew-symmetric */
    int64_t stored;    /**< entries of the file */
    int64_t bytes;     /**< of text, after decompression */
} sp_mtx_info;

/** Reads a sparse matrix. Coordinate files keep explicit zeros; of array files the nonzeros are kept.
 *  Array files with symmetry keep the stored triangle and coo->symmetry. A skew-symmetric pattern gets
 *  its ones in coo->val, because the entries they imply are -1.
 *
 *  Local. Errors carry "FILE:LINE: found ..., expected ..."; of several the first in the file counts,
 *  for any number of threads. Files with both triangles of a symmetric matrix are refused. The file is
 *  read in pieces of SPMM_READ_CHUNK_BYTES (environment; default 256 KiB; tests make it tiny).
 *  \param [out] coo   in file order; the caller destroys it
 *  \param [out] info  may be NULL
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED (a size beyond 2^31 - 1 too), _MEMORY */
spmm_status sp_read_coo(const char *path, const sp_read_options *options, sp_coo *coo, sp_mtx_info *info);

/** What the header of a file says of the matrix, as far as the file's length can bear it; the entries of an array are 0:
 *  only nonzeros are kept. Nothing else is read or allocated. Local.
 *  \return as sp_read_coo() */
spmm_status sp_read_sizes(const char *path, sp_sizes *sizes);

/** Reads a sparse matrix as CSR, symmetric parts written out, rows in column order, duplicates summed in
 *  increasing order of value (see sp_csr_sort_sum_duplicates): what sp_csr_from_coo() makes of sp_read_coo(), bit for bit.
 *
 *  Local. Errors as above. A file of more than a few chunks is parsed twice, for the lengths of the rows and
 *  then for the entries, which go straight to their places. If it changes meanwhile that is found out, and
 *  is SPMM_ERR_SYNTAX. Progress is that of both.
 *
 *  Memory: at its peak the CSR of the stored entries (12 bytes each in f64, twice that with symmetry, 8 a
 *  row) and about 3 MB a thread. Files that are read once take 2.0 times the CSR: gzip, arrays, few entries.
 *  \param [out] a           the caller destroys it
 *  \param [out] info        may be NULL
 *  \param [out] stored      entries of the file (of an array its nonzeros); may be NULL
 *  \param [out] duplicates  entries that were added onto another one; may be NULL */
spmm_status sp_read_csr(const char *path, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates);

/** Reads a dense multivector from an array or coordinate file (missing entries 0, duplicates summed,
 *  symmetry expanded) into host memory.
 *
 *  Local. \param [out] x  [rows x cols of the file]; the caller destroys it */
spmm_status sp_read_dense(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
