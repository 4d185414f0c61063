/** Writes and reads binary matrix files, `.spmm`: the arrays of a CSR matrix as in memory, in chunks that can
 *  be read and checked independently. Does not use MPI.
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

#include "files/csr_file.h"

/** Writes the matrix `a` to a file sequentially. The file appears complete or not at all (see
 *  base/output_file.h) and replaces an existing file of that name. If path is a device or a pipe, the data is
 *  written into it.
 *
 *  Local.
 *  \param [in] facts        only facts->info and facts->duplicates are used; the rest is taken from `a`
 *  \param [in] chunk_bytes  size of the chunks, a multiple of 64; 0: 4 MiB
 *  \param [in] threads      number of OpenMP threads that compute checksums, >= 1
 *  \return SPMM_OK, SPMM_ERR_OUTPUT, SPMM_ERR_MEMORY, SPMM_ERR_USAGE */
spmm_status sp_spmm_file_write(const char *path, const spmm_csr *a, const sp_csr_file_facts *facts,
                               int64_t chunk_bytes, int threads);

/** Returns 1 if the file `fd` begins like a `.spmm` file; 0 if it does not, or if fd < 0. Local. */
int sp_spmm_file_is(int fd);

/** Opens a `.spmm` file; reads and checks its header and its chunk table.
 *
 *  Local. Error messages name the file and what is wrong with it.
 *  \param [in]  path  must remain valid until sp_csr_file_close()
 *  \param [out] file  closed by sp_csr_file_close()
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX: not a `.spmm` file, cut short, or damaged;
 *          SPMM_ERR_UNSUPPORTED: a newer version, another byte order; SPMM_ERR_MEMORY */
spmm_status sp_spmm_file_open(const char *path, sp_csr_file **file);

/** Like sp_spmm_file_open(), for a file that is already open. Local.
 *  \param [in] fd  the result of sp_input_descriptor(path); *file owns it; closed on failure */
spmm_status sp_spmm_file_of(const char *path, int fd, sp_csr_file **file);

/** Opens a `.spmm` file, reads the whole matrix and closes the file. Local.
 *  \param [out] a      the caller destroys it
 *  \param [out] facts  the data from the header; may be NULL
 *  \return as sp_spmm_file_open() and sp_csr_file_block() */
spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_csr_file_facts *facts);

#endif
