/** The fast reader: reads a Matrix Market file into COO, CSR or a dense multivector, using all threads. */
#ifndef SP_MTX_READ_H
#define SP_MTX_READ_H

#include "formats/coo.h"

/** Called by the thread that called the reader, at most ten times a second, with the fraction of the work that is
 *  done, 0 to 1; and once with 1 at the end. */
typedef void (*sp_progress_fn)(void *context, double fraction);

typedef struct sp_read_options {
    spmm_precision precision; /**< of the values in memory */
    int threads;              /**< OpenMP threads, >= 1 */
    int allow_nonfinite;      /**< accept inf, nan and values beyond the range of `precision` */
    sp_progress_fn progress;  /**< NULL: none */
    void *progress_context;
} sp_read_options;

/** What the banner and the size line said. */
typedef struct sp_mtx_info {
    char format[16];   /**< coordinate, array */
    char field[16];    /**< real, integer, pattern */
    char symmetry[20]; /**< general, symmetric, skew-symmetric */
    int64_t stored;    /**< number of entries in the file */
    int64_t bytes;     /**< bytes of text, after decompression */
} sp_mtx_info;

/** Reads a sparse matrix. Explicit zeros of coordinate files are kept; of array files only the nonzeros are. Of a
 *  symmetric array file, coo holds the stored triangle and its symmetry. A skew-symmetric pattern has its ones
 *  written out in coo->val, because the entries that they imply are -1.
 *
 *  Local. Error messages read "FILE:LINE: found ..., expected ..."; of several errors the first in the file is
 *  reported, for any number of threads. Files with both triangles of a symmetric matrix are refused. The file is
 *  read in chunks of SPMM_READ_CHUNK_BYTES (environment; default 256 KiB; tests make it tiny).
 *  \param [out] coo   in file order; the caller destroys it
 *  \param [out] info  may be NULL
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED (also for more than 2^31 - 1 rows or columns), _MEMORY */
spmm_status sp_read_coo(const char *path, const sp_read_options *options, sp_coo *coo, sp_mtx_info *info);

/** Reads the sizes of the matrix from the header of a file, the entries bounded by what the file's length allows; for
 *  an array file, entries is 0, because only nonzeros are kept. Reads and allocates nothing else. Local.
 *  \return as sp_read_coo() */
spmm_status sp_read_sizes(const char *path, sp_sizes *sizes);

/** Reads a sparse matrix as CSR, symmetric parts written out, rows in column order, duplicates summed in
 *  increasing order of value (see sp_csr_sort_sum_duplicates): bit for bit what sp_csr_from_coo() makes of
 *  sp_read_coo().
 *
 *  Local. Errors as sp_read_coo(). A file of more than a few chunks is parsed twice, first for the row lengths,
 *  then for the entries, which are written directly to their final positions. If the file changes in between, this
 *  is detected and is SPMM_ERR_SYNTAX. Progress covers both passes.
 *
 *  Memory: at its peak the CSR of the stored entries (12 bytes per entry in f64, twice that with symmetry, 8 bytes
 *  per row) and about 3 MB per thread. Files that are read once (gzip, arrays, few entries) take 2.0 times the
 *  CSR.
 *  \param [out] a           the caller destroys it
 *  \param [out] info        may be NULL
 *  \param [out] stored      number of entries in the file (of an array file: nonzeros); may be NULL
 *  \param [out] duplicates  number of entries that were added onto another one; may be NULL
 *  \return as sp_read_coo() */
spmm_status sp_read_csr(const char *path, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates);

/** Reads a dense multivector from an array or coordinate file (missing entries are 0, duplicates are summed in file
 *  order, symmetry is expanded) into host memory.
 *
 *  Local. Errors as sp_read_coo().
 *  \param [out] x  [rows x cols of the file]; the caller destroys it
 *  \return as sp_read_coo(); a file of 0 columns is SPMM_ERR_SYNTAX */
spmm_status sp_read_dense(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
