/** The binary matrix file, `.spmm`: a CSR matrix as it lies in memory, in parts that can be read and checked
 *  each by itself. No MPI in it.
 *
 *  Layout, numbers as the writing machine stores them:
 *
 *      header         512 bytes; its last 4 are the CRC-32 (zlib) of those before
 *      chunk table    uint32 CRC-32 of each chunk: row starts, then columns, then values
 *      row starts     int64 [rows + 1]   each of the three cut into chunks of chunk_bytes (4 MiB), the last
 *      columns        int32 [nnz]        one shorter; each begins at a multiple of 4096 bytes
 *      values         f64 or f32 [nnz]
 *
 *  Rows are in column order without duplicates, symmetric parts written out. */
#ifndef SP_SPMM_FILE_H
#define SP_SPMM_FILE_H

#include "io/mtx_read.h"

/** What the header says. */
typedef struct sp_spmm_file_facts {
    int64_t rows, cols, nnz;
    spmm_precision precision; /**< of the values in the file */
    sp_mtx_info info;         /**< of the text that it was made from */
    int64_t duplicates;       /**< that were summed when it was */
} sp_spmm_file_facts;

typedef struct sp_spmm_file sp_spmm_file;

/** Writes a whole matrix, from beginning to end. The file appears complete or not at all (output_file.h), and one that has
 *  that name already is replaced; a device or a pipe is written into.
 *
 *  Local. \param [in] facts        info and duplicates are taken from it, the rest from a
 *         \param [in] chunk_bytes  0: 4 MiB; else a multiple of 64
 *  \return SPMM_OK, SPMM_ERR_OUTPUT, SPMM_ERR_MEMORY, SPMM_ERR_USAGE */
spmm_status sp_spmm_file_write(const char *path, const spmm_csr *a, const sp_spmm_file_facts *facts,
                               int64_t chunk_bytes, int threads);

/** Whether the file begins like a `.spmm` file; 0 also when it cannot be opened. */
int sp_spmm_file_is(const char *path);

/** Opens a file, reads and checks header and chunk table.
 *
 *  Local. Errors name the file and what is wrong with it.
 *  \param [in]  path  must outlive the file
 *  \param [out] file  closed by sp_spmm_file_close()
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX: no such file, cut short, or damaged (here and below);
 *          SPMM_ERR_UNSUPPORTED: a newer version, another byte order; SPMM_ERR_MEMORY */
spmm_status sp_spmm_file_open(const char *path, sp_spmm_file **file);
const sp_spmm_file_facts *sp_spmm_file_facts_of(const sp_spmm_file *file);

/** Accepts NULL. */
void sp_spmm_file_close(sp_spmm_file *file);

/** Row starts first to end, both included. \param [out] irp  [end - first + 1], the file's own numbers */
spmm_status sp_spmm_file_row_starts(const sp_spmm_file *file, int64_t first, int64_t end, int64_t *irp);

/** Columns of entries [first, end), numbered as the row starts do. \param [out] ja  [end - first] */
spmm_status sp_spmm_file_columns(const sp_spmm_file *file, int64_t first, int64_t end, int threads,
                                 int32_t *ja);

/** What to read of a file, and as what. */
typedef struct sp_spmm_file_range {
    int64_t row_begin, row_end, col_begin, col_end;
    /** Of the matrix. f32 values are widened for f64; f64 values are rounded for f32 (of a text that has
     *  duplicates this is not what reading it as f32 gives: there they are rounded, then summed). */
    spmm_precision precision;
    int allow_nonfinite; /**< 0: inf, nan and a value beyond the range of `precision` are errors, as in a text */
    int threads;
} sp_spmm_file_range;

/** Reads a block; its columns count from col_begin.
 *
 *  Local. Memory: the block, and 4 chunks per thread, none longer than its section. With part of the columns those of
 *  the rows' entries are read twice, all their values once.
 *  \param [out] a  the caller destroys it */
spmm_status sp_spmm_file_block(const sp_spmm_file *file, const sp_spmm_file_range *range, spmm_csr *a);

/** Opens, reads all of it, closes. \param [out] facts  may be NULL */
spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_spmm_file_facts *facts);

#endif
