/** Reads a rank's part of a Matrix Market file. Rank 0 reads the header and locates errors. */
#include "distribute/file_part.h"

#include <sys/stat.h>

/* maximum size in bytes of an array file that is checked for syntax errors before it is rejected */
enum { ARRAY_LOOKED_AT = 64 << 20 };

/* ---- rank 0 only ---- */

static spmm_status check_kind(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: is a pipe or a device, which ranks cannot read in parts: copy it to a file first",
                       path);
    return SPMM_OK;
}

/** Fails because the file is an array file. If the file is small enough to be checked first, a syntax error
 *  in it is reported instead. */
static spmm_status refuse_array(sp_reading *r)
{
    sp_coo coo = {0};
    r->options.progress = NULL;
    if (r->header.bytes <= ARRAY_LOOKED_AT) sp_reading_coo(r, &coo);
    sp_coo_destroy(&coo);
    if (r->error.status == SPMM_ERR_SYNTAX) return SPMM_ERR_SYNTAX;
    r->error = (sp_read_error){0};
    return sp_fail(
        SPMM_ERR_UNSUPPORTED,
        "%s: is of format array, which ranks cannot read in parts: let one rank read it (--io root)",
        r->path);
}

static spmm_status check_parts(sp_reading *r)
{
    const sp_codec *const codec = sp_input_codec(r->whole.stream.source);
    if (codec)
        return sp_fail(
            SPMM_ERR_UNSUPPORTED,
            "%s: is compressed by %s, and ranks cannot read parts of it: unpack it first (%s FILE), or let "
            "one rank read it (--io root)",
            r->path, codec->name, codec->unpack);
    if (!sp_reading_repeatable(r))
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: is a tar archive, and ranks cannot read parts of it: unpack it first (tar -xf "
                       "FILE), or let one rank read it (--io root)",
                       r->path);
    if (r->header.array) return refuse_array(r);
    /* fail early if the file is too short for the number of entries on its size line */
    return sp_reading_capacity(r) < r->header.entries ? sp_reading_explain(r) : SPMM_OK;
}

static spmm_status open_first(const char *path, const sp_read_options *options, sp_reading *r)
{
    TRY(check_kind(path));
    spmm_status status = sp_reading_begin(r, path, options, NULL);
    if (status == SPMM_OK) status = check_parts(r);
    return sp_reading_status(r, status);
}

spmm_status sp_file_part_explain(const sp_grid *grid, sp_file_part *p)
{
    sp_reading *const r = &p->reading;
    return sp_agree(grid->comm, "read",
                    grid->rank == 0 ? sp_reading_status(r, sp_reading_explain(r)) : SPMM_OK);
}

/* ---- the part of a rank ---- */

/** Reports the error that this rank has found in the file, without a line number, because the number of
 *  the line in the whole file is not known here. Returns the status of the error, or `status` if there is
 *  none. */
static spmm_status fail_without_line(sp_reading *r, spmm_status status)
{
    r->error.line = 0;
    status = sp_reading_status(r, status);
    /* rank 0 may replace the message by its own; closing the file must not overwrite that message */
    r->error = (sp_read_error){0};
    return status;
}

static spmm_status open_part(const sp_grid *grid, const char *path, const sp_read_options *options,
                             const sp_header *header, sp_reading *r)
{
    if (grid->rank > 0) TRY(sp_reading_begin(r, path, options, header));
    return fail_without_line(r, sp_reading_split(r, grid->rank, grid->size));
}

spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              sp_file_part *p)
{
    sp_header header;
    memset(p, 0, sizeof *p);
    TRY(sp_agree(grid->comm, "read", grid->rank == 0 ? open_first(path, options, &p->reading) : SPMM_OK));
    header = p->reading.header;
    TRY(SP_MPI(MPI_Bcast(&header, sizeof header, MPI_BYTE, 0, grid->comm)));
    const spmm_status status = sp_agree(grid->comm, "load",
                                        open_part(grid, path, options, &header, &p->reading));
    return status == SPMM_ERR_SYNTAX ? sp_file_part_explain(grid, p) : status;
}

void sp_file_part_close(sp_file_part *p) { sp_reading_end(&p->reading, SPMM_OK); }

/** Callback of sp_load_source: delivers the entries of one thread after another. */
static spmm_status next_entries(void *context, sp_entries *entries)
{
    sp_file_part *const p = context;
    sp_reading *const r = &p->reading;
    int more = 1;
    *entries = (sp_entries){0};
    while (entries->n == 0 && more) {
        if (p->worker == r->splits) {
            if (sp_reading_next(r, p->wanted, &more) != SPMM_OK) return fail_without_line(r, SPMM_OK);
            p->worker = 0;
        }
        *entries = r->worker[p->worker++].entries;
    }
    return SPMM_OK;
}

sp_load_source sp_file_part_begin_pass(sp_file_part *p, sp_wanted wanted)
{
    sp_reading *const r = &p->reading;
    const sp_header *const h = &r->header;
    const double from = (double)p->pass++ / p->passes, to = (double)p->pass / p->passes;
    r->progress_from = from < 0.99 ? from : 0.99;
    r->progress_to = to < 0.99 ? to : 0.99;
    sp_reading_restart(r);
    p->wanted = wanted;
    p->worker = r->splits;
    return (sp_load_source){next_entries, p, h->symmetry,
                            h->field != SP_FIELD_PATTERN || h->symmetry == SP_SKEW};
}

spmm_status sp_file_part_end_pass(const sp_grid *grid, sp_file_part *p)
{
    sp_reading *const r = &p->reading;
    int64_t entries = sp_reading_entries(r);
    int found[2] = {r->first.lower_line != INT64_MAX, r->first.upper_line != INT64_MAX};
    sp_reading_report_end(r);
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &entries, 1, MPI_INT64_T, MPI_SUM, grid->comm)));
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, found, 2, MPI_INT, MPI_MAX, grid->comm)));
    if (entries != r->header.entries || (found[0] && found[1]))
        return sp_fail(SPMM_ERR_SYNTAX,
                       "%s: found fewer or more entries than the header says, or entries of both triangles",
                       r->path);
    return SPMM_OK;
}
