/** A rank's part of a Matrix Market file, as a source of entries. All parts have about the same number of
 *  bytes and begin at the start of a line. */
#ifndef SP_FILE_PART_H
#define SP_FILE_PART_H

#include "io/mtx_body.h"
#include "distribute/shuffle_entries.h"

typedef struct sp_file_part {
    sp_reading reading;
    sp_wanted wanted;
    int worker;       /* the thread whose entries are delivered next */
    int pass, passes; /* for progress reports; pass: number of passes begun; passes: set by the caller */
} sp_file_part;

/** Opens the file, whose header rank 0 reads, and finds the lines that form this rank's part. On success,
 *  part->reading.header is the same on every rank.
 *
 *  Collective over grid->comm. The stage passed to sp_agree() is "read" while the header is read, then
 *  "load".
 *  \param [in]  path  must outlive the part
 *  \param [out] part  the caller closes it with sp_file_part_close(), also on failure
 *  \return the same status on every rank: SPMM_OK, or the errors of sp_read_csr(); SPMM_ERR_UNSUPPORTED also
 *          for compressed files, array files, pipes and devices */
spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              sp_file_part *part);

/** Closes the file and frees the buffers; accepts zeroed objects. Local. */
void sp_file_part_close(sp_file_part *part);

/** Begins a pass over the part. Local.
 *  \param [in] wanted  the data to deliver for each entry: row index, both indices, or indices and value
 *  \return the source of the entries; it may fail with SPMM_ERR_SYNTAX, whose message does not name the line
 *          (sp_file_part_explain() finds the line), SPMM_ERR_OPEN or SPMM_ERR_MEMORY */
sp_load_source sp_file_part_begin_pass(sp_file_part *part, sp_wanted wanted);

/** Ends a pass: checks that all ranks together have read as many entries as the size line says and that a
 *  symmetric matrix has entries in one triangle only. Collective over grid->comm.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_SYNTAX (see sp_file_part_explain()),
 *          SPMM_ERR_MPI */
spmm_status sp_file_part_end_pass(const sp_grid *grid, sp_file_part *part);

/** Finds the cause of SPMM_ERR_SYNTAX. Call it once all ranks have this status: rank 0 reads the whole file
 *  and reports the first error with its line. Collective over grid->comm.
 *  \return the same status on every rank: SPMM_ERR_SYNTAX, or another error that rank 0 encounters */
spmm_status sp_file_part_explain(const sp_grid *grid, sp_file_part *part);

#endif
