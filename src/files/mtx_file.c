/** Matrix Market text, and edge lists, as formats of matrix files. */
#include <unistd.h>

#include "base/memory.h"
#include "files/matrix_format.h"
#include "io/edges.h"

static int is_text(int fd, const sp_read_options *options)
{
    (void)fd, (void)options;
    return 1;
}

static int is_edges(int fd, const sp_read_options *options)
{
    (void)fd;
    return options->edges > 0;
}

static spmm_status open_text(const char *path, int fd, const sp_read_options *options, void **file)
{
    sp_reading *r;
    spmm_status status = sp_alloc_zero((void **)&r, 1, sizeof *r, "a matrix file");
    *file = NULL;
    if (status != SPMM_OK && fd >= 0) close(fd);
    if (status != SPMM_OK) return status;
    status = options->edges ? sp_edges_begin_open(r, path, fd, options)
                            : sp_reading_begin_open(r, path, fd, options, NULL);
    if (status == SPMM_OK) {
        *file = r;
        return SPMM_OK;
    }
    status = sp_reading_end(r, status);
    sp_free(r);
    return status;
}

static sp_sizes sizes_of_text(const void *file) { return sp_reading_sizes(file); }

static spmm_status read_text(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                             int64_t *stored, int64_t *duplicates)
{
    (void)options; /* the sp_reading contains them */
    return sp_reading_status(file, sp_reading_csr(file, a, info, stored, duplicates));
}

static void close_text(void *file)
{
    (void)sp_reading_end(file, SPMM_OK);
    sp_free(file);
}

const sp_matrix_format sp_file_format_mtx = {.name = "Matrix Market",
                                             .way = SP_FILE_TEXT,
                                             .is = is_text,
                                             .open = open_text,
                                             .sizes = sizes_of_text,
                                             .read = read_text,
                                             .close = close_text};

const sp_matrix_format sp_file_format_edges = {.name = "edges",
                                               .way = SP_FILE_WHOLE,
                                               .is = is_edges,
                                               .open = open_text,
                                               .sizes = sizes_of_text,
                                               .read = read_text,
                                               .close = close_text};
