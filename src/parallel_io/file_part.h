/** A rank's part of a Matrix Market file: whole lines, read with MPI-IO and parsed by the rank's threads. */
#ifndef SP_FILE_PART_H
#define SP_FILE_PART_H

#include "comm/grid.h"
#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** What rank 0 reads of a file's header on behalf of all ranks. */
typedef struct sp_opening {
    sp_header header;
    sp_mtx_info info;
    int64_t body, file_bytes; /* bytes [body, file_bytes) are the lines of entries */
} sp_opening;

/** Reads the header and checks that the file can be read in parts. Local.
 *  \return SPMM_OK, or the errors of sp_read_csr(); SPMM_ERR_UNSUPPORTED also for gzip, arrays, pipes and devices */
spmm_status sp_opening_read(const char *path, const sp_read_options *options, sp_opening *opening);

/** An open file and the state of a pass over this rank's lines. */
typedef struct sp_file_part {
    const char *path;
    const sp_opening *opening;
    sp_read_options options;
    MPI_File file;
    int64_t begin, end; /* this rank's lines: bytes [begin, end) of the file */
    int64_t at;         /* byte of the file that is read next */
    int64_t round;      /* bytes of text that are read at a time */
    char *text;         /* [round + SP_LINE_MAX + SP_CHUNK_PAD + 1] */
    int64_t *cut;       /* [threads + 1], where each thread's share of the text begins */
    int64_t *first;     /* [threads + 1], number of the first entry of each share */
    int32_t *I, *J;     /* [room], the parsed entries; val too */
    void *val;
    int64_t room;
    int64_t entries;    /* number of entries parsed since the last rewind */
    sp_triangles found; /* INT64_MAX: no entry of that triangle so far */
} sp_file_part;

/** Opens the file and determines which lines are this rank's.
 *
 *  Collective over grid->comm.
 *  \param [in]  path, opening  must outlive the part; opening is the same on every rank
 *  \param [out] part           the caller closes it with sp_file_part_close(), also on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (a line is too long, or the file has become
 *          shorter), _MEMORY, _MPI */
spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              const sp_opening *opening, sp_file_part *part);

/** Closes the file and frees the buffers. Local. */
void sp_file_part_close(sp_file_part *part);

/** Returns to this rank's first line, for another pass. Local. */
void sp_file_part_rewind(sp_file_part *part);

/** Reads and parses the next lines. Local.
 *  \param [in]  wanted   which parts of the entries are needed
 *  \param [out] entries  valid until the next call; n is 0 at the end of the part
 *  \return SPMM_OK; SPMM_ERR_SYNTAX, whose message does not name the line: only sp_file_part_explain() finds it;
 *          SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_file_part_next(sp_file_part *part, sp_wanted wanted, sp_entries *entries);

/** After SPMM_ERR_SYNTAX on every rank: has rank 0 read the whole file to report the first error and its line.
 *  Collective over grid->comm.
 *  \return the same status on every rank: SPMM_ERR_SYNTAX, or another error that rank 0 comes across */
spmm_status sp_file_part_explain(const sp_grid *grid, const char *path, const sp_read_options *options);

#endif
