/** Opens a matrix file of any format by one descriptor, and reads it. */
#include "files/matrix_file.h"

#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/environment.h"
#include "base/fp_environment.h"
#include "base/threads.h"
#include "files/harwell_boeing.h"
#include "files/petsc_file.h"
#include "io/input.h"

/** All formats in the order in which they are tried. The first one is used if the options request it. The
 *  last one is tried for all other files, and reports what is wrong if no format can read a file. */
static const sp_matrix_format *const formats[] = {&sp_file_format_edges, &sp_file_format_petsc,
                                                  &sp_file_format_npz, &sp_file_format_harwell_boeing,
                                                  &sp_file_format_mtx};

static const sp_matrix_format *format_of(int fd, const sp_read_options *options)
{
    const size_t last = sizeof formats / sizeof *formats - 1;
    size_t k = 0;
    while (k < last && (fd < 0 || !formats[k]->is(fd, options))) k++;
    return formats[k];
}

/** Fails if the first bytes of a file that should be an edge list are those of another format. Closes the
 *  file on failure. */
static spmm_status check_edges(const char *path, int fd)
{
    const sp_read_options none = {.edges = 0};
    const sp_matrix_format *const format = format_of(fd, &none);
    if (format == &sp_file_format_mtx) return SPMM_OK;
    close(fd);
    return sp_fail(SPMM_ERR_SYNTAX,
                   "%s: found a file of the format %s, expected an edge list: omit --read-as", path,
                   format->name);
}

spmm_status sp_matrix_file_open(const char *path, const sp_read_options *options, sp_matrix_file *f)
{
    const int fd = sp_input_descriptor(path);
    *f = (sp_matrix_file){.format = format_of(fd, options), .path = path, .options = *options};
    if (options->edges) TRY(check_edges(path, fd));
    return sp_fail_in(path, f->format->open(path, fd, options, &f->file));
}

sp_sizes sp_matrix_file_sizes(const sp_matrix_file *f) { return f->format->sizes(f->file); }

spmm_status sp_matrix_file_read(sp_matrix_file *f, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                                int64_t *duplicates)
{
    sp_mtx_info of_file = {.stored = 0};
    int64_t entries = 0, summed = 0;
    const spmm_status status = sp_fail_in(
        f->path, f->format->read(f->file, &f->options, a, &of_file, &entries, &summed));
    if (info) *info = of_file;
    if (stored) *stored = entries;
    if (duplicates) *duplicates = summed;
    sp_matrix_file_close(f);
    return status;
}

int sp_matrix_file_binary(const sp_matrix_file *f) { return f->format && f->format->binary; }

sp_file_way sp_matrix_file_way(const sp_matrix_file *f) { return f->format ? f->format->way : SP_FILE_TEXT; }

void sp_matrix_file_close(sp_matrix_file *f)
{
    if (f->file) f->format->close(f->file);
    f->file = NULL;
}

static spmm_status read_csr(const char *path, const sp_read_options *options, spmm_csr *a)
{
    sp_matrix_file f;
    TRY(sp_matrix_file_open(path, options, &f));
    return sp_matrix_file_read(&f, a, NULL, NULL, NULL);
}

/** Checks the arguments of a public function and reads the matrix. */
static spmm_status read_checked(const char *function, const char *path, const sp_read_options *options,
                                spmm_csr *a)
{
    TRY(sp_given(function, "a", a, "a place for the matrix"));
    memset(a, 0, sizeof *a);
    TRY(sp_fork_check(function));
    TRY(sp_given(function, "path", path, "the name of a file"));
    TRY(sp_precision_check(function, options->precision));
    TRY(sp_environment_check());
    return read_csr(path, options, a);
}

spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a)
{
    SP_DEFAULT_FP;
    const sp_read_options options = {.precision = precision, .threads = sp_threads_default()};
    return read_checked(__func__, path, &options, a);
}

spmm_status spmm_csr_read_edges(const char *path, int base, spmm_precision precision, spmm_csr *a)
{
    SP_DEFAULT_FP;
    const sp_read_options options = {
        .precision = precision, .threads = sp_threads_default(), .edges = base == 1 ? 2 : 1};
    if (a) memset(a, 0, sizeof *a);
    if (base != 0 && base != 1)
        return sp_fail(SPMM_ERR_USAGE, "%s: base is %d, expected 0 or 1, the number of the first vertex",
                       __func__, base);
    return read_checked(__func__, path, &options, a);
}
