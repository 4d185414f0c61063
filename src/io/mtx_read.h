/** Reads a Matrix Market file into COO, CSR or a dense multivector, using all threads. */
#ifndef SP_MTX_READ_H
#define SP_MTX_READ_H

#include "formats/coo.h"

/** A callback for progress reports. The thread that called the reader calls it at most ten times a second
 *  with the fraction of the work done so far, 0 to 1, and once with 1 at the end. */
typedef void (*sp_progress_fn)(void *context, double fraction);

typedef struct sp_read_options {
    spmm_precision precision; /**< precision of the values in memory */
    int threads;              /**< OpenMP threads, >= 1 */
    int allow_nonfinite;      /**< 1: accept inf, nan and values beyond the range of `precision` */
    sp_progress_fn progress;  /**< NULL: progress is not reported */
    void *progress_context;
    int edges; /**< used by matrix_file.h. 0: not an edge list; else an edge list, and `edges` is 1 + the
                    smallest possible vertex id */
} sp_read_options;

/** Data from the header of a file (Matrix Market: from the banner and the size line), and the file's
 *  length. */
typedef struct sp_mtx_info {
    char format[16];   /**< "coordinate", "array" or "edges", or another format: "npz", "petsc" or
                            "harwell-boeing" */
    char field[16];    /**< "real", "integer" or "pattern" */
    char symmetry[20]; /**< "general", "symmetric" or "skew-symmetric" */
    int64_t stored;    /**< number of entries in the file */
    int64_t bytes;     /**< length in bytes; of a compressed text, after decompression */
} sp_mtx_info;

/** Reads a sparse matrix as triplets. Explicit zeros of a coordinate file are kept; from an array file, only
 *  nonzeros are kept. If the file is symmetric or skew-symmetric, coo holds the stored triangle only, and
 *  coo->symmetry implies the other one. For a skew-symmetric pattern, coo->val holds explicit ones, because
 *  the implied entries are -1.
 *
 *  Local. Error messages read "FILE:LINE: found ..., expected ...". If the file has several errors, the first
 *  one in the file is reported, whatever the number of threads. A file that stores both triangles of a
 *  symmetric matrix is refused. The file is read in chunks of 256 KiB, or of SPMM_READ_CHUNK_BYTES if that
 *  environment variable is set (tests make chunks tiny).
 *  \param [out] coo   triplets in the order of the file; the caller destroys it
 *  \param [out] info  may be NULL
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED (also for more than 2^31 - 1 rows or columns),
 *          _MEMORY */
spmm_status sp_read_coo(const char *path, const sp_read_options *options, sp_coo *coo, sp_mtx_info *info);

/** Reads only the header of a file and sets *sizes to the sizes of the matrix. sizes->entries is the number
 *  in the size line, or a smaller number if the file is too short for so many entries. For an array file,
 *  sizes->entries is 0, because the number of nonzeros is not known yet. Local.
 *  \return as sp_read_coo() */
spmm_status sp_read_sizes(const char *path, sp_sizes *sizes);

/** Like sp_read_sizes(), for a file that is already open. Local.
 *  \param [in] fd  what sp_input_descriptor(path) returned; the function owns it, also on failure */
spmm_status sp_read_sizes_of(const char *path, int fd, sp_sizes *sizes);

/** Reads a sparse matrix as CSR. Both triangles of a symmetric matrix are stored, rows are sorted by column,
 *  and duplicates are summed in increasing order of value (see sp_csr_sort_sum_duplicates()). The result is
 *  bit for bit that of sp_read_coo() followed by sp_csr_from_coo().
 *
 *  Local. Errors are those of sp_read_coo(). A plain file of more than a few chunks that is not sorted by row
 *  or by column is parsed twice: first for the row lengths, then for the entries, which are written directly
 *  to their final positions. If the file changes between the two passes, this is detected and SPMM_ERR_SYNTAX
 *  is returned. Progress covers both passes.
 *
 *  Memory: the peak is the CSR matrix before duplicates are summed, and about 3 MB per thread. In f64, the
 *  matrix takes 8 bytes per row and 12 bytes per entry of the file, 24 if the file is symmetric. For files
 *  that are read through triplets (arrays, compressed files that are not sorted, files of few chunks or few
 *  entries per row) the peak is 2.0 times the CSR matrix. For files that are sorted by column, or sorted and
 *  symmetric, the peak is at most 2.0 times the CSR matrix.
 *  \param [out] a           the caller destroys it
 *  \param [out] info        may be NULL
 *  \param [out] stored      number of entries in the file (for an array file, of nonzeros); may be NULL
 *  \param [out] duplicates  number of entries that were added to another entry; may be NULL
 *  \return as sp_read_coo() */
spmm_status sp_read_csr(const char *path, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates);

/** Reads a dense multivector from an array or coordinate file into host memory. Entries missing in a
 *  coordinate file are 0, duplicates are summed in the order of the file, and both triangles of a symmetric
 *  file are stored.
 *
 *  Local. Errors are those of sp_read_coo().
 *  \param [out] x  [rows x cols], as the size line says; the caller destroys it
 *  \return as sp_read_coo(); a file with 0 columns is SPMM_ERR_SYNTAX */
spmm_status sp_read_dense(const char *path, const sp_read_options *options, spmm_multivector *x);

/** Like sp_read_dense(), for a file that is already open. Local.
 *  \param [in] fd  what sp_input_descriptor(path) returned; the function owns it, also on failure */
spmm_status sp_read_dense_of(const char *path, int fd, const sp_read_options *options, spmm_multivector *x);

#endif
