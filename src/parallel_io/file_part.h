/** A rank's part of a Matrix Market file: whole lines, read with MPI-IO and parsed by the rank's threads. */
#ifndef SP_FILE_PART_H
#define SP_FILE_PART_H

#include "comm/grid.h"
#include "io/mtx_body.h"

/** What rank 0 learns from the header of the file and broadcasts to all ranks. */
typedef struct sp_opening {
    sp_header header;
    sp_mtx_info info;
    int64_t body, file_bytes; /* bytes [body, file_bytes) of the file are the lines with entries */
} sp_opening;

/** Reads the header of a Matrix Market file and checks that the file can be read in parts. Local.
 *  \return SPMM_OK, or the errors of sp_read_csr(); SPMM_ERR_UNSUPPORTED also for gzipped files, array
 *          files, pipes and devices */
spmm_status sp_opening_read(const char *path, const sp_read_options *options, sp_opening *opening);

/** An open file and the state of a pass over this rank's lines. */
typedef struct sp_file_part {
    const char *path;
    const sp_opening *opening;
    sp_read_options options;
    MPI_File file;
    int64_t begin, end; /* this rank's lines: bytes [begin, end) of the file */
    int64_t at;         /* position in the file of the next byte to read */
    int64_t round;      /* number of bytes read at a time */
    char *text;         /* buffer for text, [round + SP_LINE_MAX + SP_CHUNK_PAD + 1] */
    int64_t *cut;       /* [threads + 1], where each thread's share of the text begins */
    int64_t *first;     /* [threads + 1], index of the first entry in each thread's share of the text */
    sp_batch batch;     /* the parsed entries */
    int64_t entries;    /* number of entries parsed since the last rewind */
    sp_triangles found; /* lower_line or upper_line is INT64_MAX if no entry of that triangle was found */
} sp_file_part;

/** Opens the file and determines which lines form this rank's part.
 *
 *  Collective over grid->comm.
 *  \param [in]  path, opening  must outlive the part; opening is the same on every rank
 *  \param [out] part           the caller closes it with sp_file_part_close(), also on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (a line is too long, or the file
 *          has become shorter), _MEMORY, _MPI */
spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              const sp_opening *opening, sp_file_part *part);

/** Closes the file and frees the buffers. Local. */
void sp_file_part_close(sp_file_part *part);

/** Goes back to the first line of the part, for another pass over it. Local. */
void sp_file_part_rewind(sp_file_part *part);

/** Reads and parses the next lines of the part. Local.
 *  \param [in]  wanted   what is needed of each entry: row index, both indices, or also the value
 *  \param [out] entries  the entries of these lines, valid until the next call; entries->n is 0 at the end of
 *                        the part
 *  \return SPMM_OK; SPMM_ERR_SYNTAX, whose message does not name the line: only sp_file_part_explain() finds
 *          it; SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_file_part_next(sp_file_part *part, sp_wanted wanted, sp_entries *entries);

/** Finds the cause of SPMM_ERR_SYNTAX, to be called once all ranks have this status: rank 0 reads the whole
 *  file and reports the first error with its line.
 *  Collective over grid->comm.
 *  \return the same status on every rank: SPMM_ERR_SYNTAX, or another error that rank 0 encounters */
spmm_status sp_file_part_explain(const sp_grid *grid, const char *path, const sp_read_options *options);

#endif
