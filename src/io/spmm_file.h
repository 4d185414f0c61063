/** The binary matrix file, `.spmm`: a CSR matrix as it lies in memory, in chunks that can be read and checked
 *  independently. Does not use MPI.
 *
 *  Layout, numbers as the writing machine stores them:
 *
 *      header         512 bytes; the last 4 are the CRC-32 (zlib) of those before
 *      chunk table    uint32 CRC-32 of each chunk: row starts, then columns, then values
 *      row starts     int64 [rows + 1]   each of the three sections begins at a multiple of 4096 bytes and is cut
 *      columns        int32 [nnz]        into chunks of chunk_bytes (4 MiB), of which the last may be shorter
 *      values         f64 or f32 [nnz]
 *
 *  The entries of a row are in column order without duplicates; symmetric parts are written out. */
#ifndef SP_SPMM_FILE_H
#define SP_SPMM_FILE_H

#include "io/mtx_read.h"

/** What the header says. */
typedef struct sp_spmm_file_facts {
    int64_t rows, cols, nnz;
    spmm_precision precision; /**< of the values in the file */
    sp_mtx_info info;         /**< of the text file that the matrix was read from */
    int64_t duplicates;       /**< number of entries of the text that were summed into others */
} sp_spmm_file_facts;

typedef struct sp_spmm_file sp_spmm_file;

/** Writes a whole matrix sequentially. The file appears complete or not at all (base/output_file.h) and replaces an
 *  existing one of that name; a device or a pipe is written into.
 *
 *  Local.
 *  \param [in] facts        provides info and duplicates; the rest is taken from a
 *  \param [in] chunk_bytes  0: 4 MiB; else a multiple of 64
 *  \param [in] threads      OpenMP threads that compute checksums, >= 1
 *  \return SPMM_OK, SPMM_ERR_OUTPUT, SPMM_ERR_MEMORY, SPMM_ERR_USAGE */
spmm_status sp_spmm_file_write(const char *path, const spmm_csr *a, const sp_spmm_file_facts *facts,
                               int64_t chunk_bytes, int threads);

/** Returns whether the file begins like a `.spmm` file; 0 also if it cannot be opened. Local. */
int sp_spmm_file_is(const char *path);

/** Opens a file, reads and checks the header and the chunk table.
 *
 *  Local. Error messages name the file and what is wrong with it.
 *  \param [in]  path  must outlive the file
 *  \param [out] file  closed by sp_spmm_file_close()
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX: not a `.spmm` file, cut short, or damaged;
 *          SPMM_ERR_UNSUPPORTED: a newer version, another byte order; SPMM_ERR_MEMORY */
spmm_status sp_spmm_file_open(const char *path, sp_spmm_file **file);

/** Returns what the header says; valid until the file is closed. Local. */
const sp_spmm_file_facts *sp_spmm_file_facts_of(const sp_spmm_file *file);

/** Closes the file and frees it; accepts NULL. */
void sp_spmm_file_close(sp_spmm_file *file);

/** Reads and checks the row starts first to end, both included. Local.
 *  \param [out] irp  [end - first + 1], entry numbers of the whole file
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged), SPMM_ERR_MEMORY, SPMM_ERR_USAGE (no such rows) */
spmm_status sp_spmm_file_row_starts(const sp_spmm_file *file, int64_t first, int64_t end, int64_t *irp);

/** Reads the column indices of entries [first, end) of the file and checks their range. Local.
 *  \param [in]  first, end  entry numbers, as the row starts are
 *  \param [out] ja          [end - first]
 *  \return as sp_spmm_file_row_starts() */
spmm_status sp_spmm_file_columns(const sp_spmm_file *file, int64_t first, int64_t end, int threads,
                                 int32_t *ja);

/** What to read of a file, and as what. */
typedef struct sp_spmm_file_range {
    int64_t row_begin, row_end, col_begin, col_end;
    /** Of the matrix in memory: f32 values are widened to f64, f64 values are rounded to f32. (If the text had
     *  duplicates, the latter differs from reading the text as f32, which rounds them before it sums them.) */
    spmm_precision precision;
    int allow_nonfinite; /**< 0: inf, nan and values beyond the range of `precision` are errors, as in text */
    int threads;
} sp_spmm_file_range;

/** Reads a block of rows and columns; its column indices count from col_begin.
 *
 *  Local. Memory: the block, and up to one chunk per thread. If the block has only part of the columns, also up to 3
 *  chunks and the row starts of up to 2^20 rows (8 MiB); then the column indices of all entries of the rows are read
 *  twice, their values once. No chunk buffer is longer than its section.
 *  \param [out] a  the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged, or a value that the range refuses), SPMM_ERR_MEMORY,
 *          SPMM_ERR_USAGE (no such rows or columns) */
spmm_status sp_spmm_file_block(const sp_spmm_file *file, const sp_spmm_file_range *range, spmm_csr *a);

/** Opens a file, reads the whole matrix and closes the file. Local.
 *  \param [out] a      the caller destroys it
 *  \param [out] facts  may be NULL
 *  \return as sp_spmm_file_open() and sp_spmm_file_block() */
spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_spmm_file_facts *facts);

#endif
