/** Writes and reads binary matrix files, `.spmm`: a CSR matrix as it lies in memory, in chunks that can be
 *  read and checked independently. Does not use MPI.
 *
 *  Layout of a file, with numbers in the byte order of the machine that wrote it:
 *
 *      header         512 bytes; the last 4 are the CRC-32 (zlib) of the first 508
 *      chunk table    uint32 [chunks]    CRC-32 of each chunk: row starts, then columns, then values
 *      row starts     int64 [rows + 1]
 *      columns        int32 [nnz]
 *      values         f64 or f32 [nnz]
 *
 *  The sections row starts, columns and values each begin at a multiple of 4096 bytes and are cut into chunks
 *  of chunk_bytes (4 MiB); the last chunk of a section may be shorter. The entries of a row are sorted by
 *  column, without duplicates; both triangles of a symmetric matrix are stored. */
#ifndef SP_SPMM_FILE_H
#define SP_SPMM_FILE_H

#include "io/mtx_read.h"

/** What the header of a `.spmm` file says about the matrix. */
typedef struct sp_spmm_file_facts {
    int64_t rows, cols, nnz;
    spmm_precision precision; /**< precision of the values in the file */
    sp_mtx_info info;         /**< header of the text file that the matrix was read from */
    int64_t duplicates;       /**< number of entries of that text file that were summed into others */
} sp_spmm_file_facts;

typedef struct sp_spmm_file sp_spmm_file;

/** Writes the matrix `a` to a file sequentially. The file appears complete or not at all (see
 *  base/output_file.h) and replaces an existing file of that name. If path is a device or a pipe, the data is
 *  written into it.
 *
 *  Local.
 *  \param [in] facts        only facts->info and facts->duplicates are used; the rest is taken from `a`
 *  \param [in] chunk_bytes  size of the chunks, a multiple of 64; 0: 4 MiB
 *  \param [in] threads      number of OpenMP threads that compute checksums, >= 1
 *  \return SPMM_OK, SPMM_ERR_OUTPUT, SPMM_ERR_MEMORY, SPMM_ERR_USAGE */
spmm_status sp_spmm_file_write(const char *path, const spmm_csr *a, const sp_spmm_file_facts *facts,
                               int64_t chunk_bytes, int threads);

/** Returns 1 if the file with that descriptor begins like a `.spmm` file; 0 if it does not, or fd < 0. Local. */
int sp_spmm_file_is(int fd);

/** Opens a `.spmm` file; reads and checks its header and its chunk table.
 *
 *  Local. Error messages name the file and what is wrong with it.
 *  \param [in]  path  must remain valid until sp_spmm_file_close()
 *  \param [out] file  closed by sp_spmm_file_close()
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX: not a `.spmm` file, cut short, or damaged;
 *          SPMM_ERR_UNSUPPORTED: a newer version, another byte order; SPMM_ERR_MEMORY */
spmm_status sp_spmm_file_open(const char *path, sp_spmm_file **file);

/** Like sp_spmm_file_open(), of a file that is open. Local.
 *  \param [in] fd  what sp_input_descriptor(path) returned; *file owns it, also on failure */
spmm_status sp_spmm_file_of(const char *path, int fd, sp_spmm_file **file);

/** Returns what the header of an open file says; valid until the file is closed. Local. */
const sp_spmm_file_facts *sp_spmm_file_facts_of(const sp_spmm_file *file);

/** Closes the file and frees it; accepts NULL. */
void sp_spmm_file_close(sp_spmm_file *file);

/** Reads and checks elements `first` to `end`, both included, of the array of row starts. Local.
 *  \param [out] irp  [end - first + 1]; a row start is the number of the row's first entry in the whole file
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged), SPMM_ERR_MEMORY, SPMM_ERR_USAGE (no such
 *          rows) */
spmm_status sp_spmm_file_row_starts(const sp_spmm_file *file, int64_t first, int64_t end, int64_t *irp);

/** Reads the column indices of entries [first, end) of the file and checks their range. Local.
 *  \param [in]  first, end  entry numbers in the whole file, as sp_spmm_file_row_starts() returns them
 *  \param [out] ja          column indices, [end - first]
 *  \return as sp_spmm_file_row_starts() */
spmm_status sp_spmm_file_columns(const sp_spmm_file *file, int64_t first, int64_t end, int threads,
                                 int32_t *ja);

/** The block of rows and columns to read from a `.spmm` file, and how to read its values. */
typedef struct sp_spmm_file_range {
    int64_t row_begin, row_end, col_begin, col_end;
    /** Precision of the matrix in memory: f32 values are widened to f64, f64 values are rounded to f32. (If
     *  the text file that the `.spmm` file was made from had duplicates, rounding their f64 sum to f32
     *  differs from reading the text as f32, which rounds the duplicates before it sums them.) */
    spmm_precision precision;
    int allow_nonfinite; /**< 0: inf, nan and values beyond the range of `precision` are errors */
    int threads;
} sp_spmm_file_range;

/** Reads a block of rows and columns as a CSR matrix; column 0 of *a is column range->col_begin of the file.
 *
 *  Local. Memory: the block, and up to one chunk per thread. If the block has only some of the columns, the
 *  function also needs up to 3 chunks and the row starts of up to 2^20 rows (8 MiB); it then reads the column
 *  indices of all entries in the block's rows twice, and their values once. A buffer for a chunk is never
 *  longer than the section that the chunk belongs to.
 *  \param [out] a  the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged, or a value that range->allow_nonfinite forbids),
 *          SPMM_ERR_MEMORY, SPMM_ERR_USAGE (no such rows or columns) */
spmm_status sp_spmm_file_block(const sp_spmm_file *file, const sp_spmm_file_range *range, spmm_csr *a);

/** Reads the whole matrix of an open file. Local.
 *  \param [out] a  the caller destroys it
 *  \return as sp_spmm_file_block() */
spmm_status sp_spmm_file_whole(const sp_spmm_file *file, const sp_read_options *options, spmm_csr *a);

/** Opens a `.spmm` file, reads the whole matrix and closes the file. Local.
 *  \param [out] a      the caller destroys it
 *  \param [out] facts  what the header says; may be NULL
 *  \return as sp_spmm_file_open() and sp_spmm_file_block() */
spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_spmm_file_facts *facts);

#endif
