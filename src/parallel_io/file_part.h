/** A rank's part of a Matrix Market file: whole lines, read by MPI-IO and parsed by the rank's threads. */
#ifndef SP_FILE_PART_H
#define SP_FILE_PART_H

#include "comm/grid.h"
#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** What one rank found out about a file for all. */
typedef struct sp_opening {
    sp_header header;
    sp_mtx_info info;
    int64_t body, file_bytes; /* the lines of entries are bytes [body, file_bytes) */
} sp_opening;

/** Reads the header.
 *  Local. \return SPMM_OK, or sp_read_csr()'s errors; SPMM_ERR_UNSUPPORTED for what cannot be read in parts */
spmm_status sp_opening_read(const char *path, const sp_read_options *options, sp_opening *opening);

typedef struct sp_file_part {
    const char *path;
    const sp_opening *opening;
    sp_read_options options;
    MPI_File file;
    int64_t begin, end; /* this rank's lines, in bytes */
    int64_t at;         /* what is read next */
    int64_t round;      /* bytes of text at a time */
    char *text;         /* [round + a line + a pad] */
    int64_t *cut; /* [threads + 1] each: where the threads' pieces of it begin, and their first entries */
    int64_t *first;
    int32_t *I, *J; /* [room] */
    void *val;
    int64_t room;
    int64_t entries;    /* that were parsed since the last rewind */
    sp_triangles found; /* INT64_MAX: no entry of the triangle yet */
} sp_file_part;

/** Opens the file and finds out which lines are this rank's.
 *  Collective; returns the same on every rank. opening must outlive the part; closed by sp_file_part_close(), also on
 *  failure. */
spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              const sp_opening *opening, sp_file_part *part);

/** Local. */
void sp_file_part_close(sp_file_part *part);
void sp_file_part_rewind(sp_file_part *part);

/** The entries of the next lines, valid until the next call; n is 0 at the end.
 *  Local. \return SPMM_OK; SPMM_ERR_SYNTAX with a message of little use: which line it is only sp_file_part_explain() knows;
 *          SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_file_part_next(sp_file_part *part, sp_wanted wanted, sp_entries *entries);

/** After SPMM_ERR_SYNTAX on every rank: rank 0 reads the whole file to say what is wrong first, and where.
 *  Collective. \return SPMM_ERR_SYNTAX, or what rank 0 finds instead */
spmm_status sp_file_part_explain(const sp_grid *grid, const char *path, const sp_read_options *options);

#endif
