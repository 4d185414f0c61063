/** Opens a matrix file of either format by one descriptor, and reads it. */
#include "io/matrix_file.h"

#include <string.h>

/** Closes the text, if there is one. Returns `status`, or the status of the error in the text, with its
 *  message. */
static spmm_status end_text(sp_matrix_file *f, spmm_status status)
{
    status = sp_reading_end(&f->text, status);
    memset(&f->text, 0, sizeof f->text);
    return status;
}

spmm_status sp_matrix_file_open(const char *path, const sp_read_options *options, sp_matrix_file *f)
{
    const int fd = sp_input_descriptor(path);
    memset(f, 0, sizeof *f);
    f->options = *options;
    f->binary = sp_spmm_file_is(fd);
    if (f->binary) return sp_spmm_file_of(path, fd, &f->spmm);
    const spmm_status status = sp_reading_begin_open(&f->text, path, fd, options, NULL);
    return status == SPMM_OK ? SPMM_OK : end_text(f, status);
}

sp_sizes sp_matrix_file_sizes(const sp_matrix_file *f)
{
    if (!f->binary) return sp_reading_sizes(&f->text);
    const sp_spmm_file_facts *const facts = sp_spmm_file_facts_of(f->spmm);
    return (sp_sizes){facts->rows, facts->cols, facts->nnz};
}

static spmm_status read_spmm(const sp_matrix_file *f, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                             int64_t *duplicates)
{
    const sp_spmm_file_facts *const facts = sp_spmm_file_facts_of(f->spmm);
    if (info) *info = facts->info;
    if (stored) *stored = facts->info.stored;
    if (duplicates) *duplicates = facts->duplicates;
    return sp_spmm_file_whole(f->spmm, &f->options, a);
}

spmm_status sp_matrix_file_read(sp_matrix_file *f, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                                int64_t *duplicates)
{
    spmm_status status;
    if (f->binary)
        status = read_spmm(f, a, info, stored, duplicates);
    else
        status = end_text(f, sp_reading_csr(&f->text, a, info, stored, duplicates));
    sp_matrix_file_close(f);
    return status;
}

void sp_matrix_file_close(sp_matrix_file *f)
{
    sp_spmm_file_close(f->spmm);
    f->spmm = NULL;
    (void)end_text(f, SPMM_OK);
}
