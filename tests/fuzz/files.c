#include "files.h"

#include <string.h>

#include "files/matrix_file.h"
#include "formats/csr.h"

void files_read(const char *path, const sp_read_options *options, const char *format, int64_t most,
                sp_sizes *sizes, ways_outcome *o)
{
    sp_matrix_file f;
    *sizes = (sp_sizes){0};
    *o = (ways_outcome){.status = sp_matrix_file_open(path, options, &f)};
    if (o->status == SPMM_OK) {
        *sizes = sp_matrix_file_sizes(&f);
        if (format && strcmp(f.format->name, format) != 0) {
            sp_matrix_file_close(&f);
            return;
        }
        if (sizes->rows > most || sizes->cols > most) { /* files without entries may have many rows */
            sp_matrix_file_close(&f);
            o->status = sp_fail(SPMM_ERR_MEMORY, "%s: too large for a target", path);
        } else {
            o->status = sp_matrix_file_read(&f, &o->a, NULL, &o->stored, &o->duplicates);
        }
    }
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
    if (o->status != SPMM_OK) {
        FUZZ_CHECK(!o->a.irp && !o->a.ja && !o->a.as);
        return;
    }
    FUZZ_CHECK(sp_csr_check(&o->a, 1) == SPMM_OK && o->a.precision == options->precision);
    FUZZ_CHECK(sizes->rows == o->a.rows && sizes->cols == o->a.cols);
}

void files_check(const fuzz_input *in, const char *path, files_reader read, ways_outcome *o)
{
    ways_outcome other;
    sp_read_options alone = in->read;
    alone.threads = 1;
    fuzz_chunk(FUZZ_WHOLE);
    read(path, &alone, o);
    if (o->status != SPMM_OK) fuzz_refused(o->status, path, FUZZ_PATH);
    fuzz_chunk(in->chunk);
    read(path, &in->read, &other);
    ways_same(o, &other, 0);
    ways_destroy(&other);
    if (in->fault == FUZZ_NO_FAULT) return;
    fuzz_fault_on(in);
    read(path, &in->read, &other);
    fuzz_fault_off();
    sp_set_message(other.message);
    if (other.status != SPMM_OK) fuzz_refused(other.status, path, FUZZ_PATH);
    if (fuzz_harmless(in)) ways_same(o, &other, 0);
    ways_destroy(&other);
}
