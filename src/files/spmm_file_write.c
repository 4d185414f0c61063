/** Writes a matrix in memory to a binary matrix file (`.spmm`). */
#include <stdio.h>
#include <string.h>

#include "base/output_file.h"
#include "files/spmm_file_layout.h"

static void set_text(char *to, size_t n, const char *text) { snprintf(to, n, "%s", text); }

static spmm_status make_header(const spmm_csr *a, const sp_csr_file_facts *facts, int64_t chunk_bytes,
                               sp_spmm_file_header *h)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, SP_FILE_MAGIC, sizeof h->magic);
    h->mark = SP_FILE_MARK;
    h->version = SP_FILE_VERSION;
    h->rows = a->rows;
    h->cols = a->cols;
    h->nnz = a->nnz;
    h->precision = a->precision;
    set_text(h->format, sizeof h->format, facts->info.format);
    set_text(h->field, sizeof h->field, facts->info.field);
    set_text(h->symmetry, sizeof h->symmetry, facts->info.symmetry);
    h->stored = facts->info.stored;
    h->text_bytes = facts->info.bytes;
    h->duplicates = facts->duplicates;
    h->chunk_bytes = chunk_bytes ? chunk_bytes : SP_FILE_CHUNK;
    const char *const field = sp_spmm_file_lay_out(h);
    if (!field) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "a .spmm file cannot hold a matrix of %lld x %lld in chunks of %lld bytes: %s is out of range",
        (long long)a->rows, (long long)a->cols, (long long)h->chunk_bytes, field);
}

static void make_table(sp_spmm_file_header *h, const void *const *data, int threads, uint32_t *table)
{
    for (int s = 0; s < SP_FILE_SECTIONS; s++) {
        uint32_t *const check = table + sp_spmm_file_chunks_before(h, s);
        const int64_t chunks = sp_spmm_file_chunks(h, s);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t c = 0; c < chunks; c++)
            check[c] = sp_spmm_file_check((const char *)data[s] + c * h->chunk_bytes,
                                          sp_spmm_file_chunk_size(h, s, c));
    }
    const int64_t bytes = sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS) * (int64_t)sizeof *table;
    h->table_check = (uint32_t)crc32_z(0, (const Bytef *)table, (size_t)bytes);
    h->check = sp_spmm_file_check(h, offsetof(sp_spmm_file_header, check));
}

/** Writes the header, the checksums and the sections. Writes sequentially, also the gaps before sections,
 *  because f may be a pipe. Does not report errors: the caller detects them when it closes f. */
static void write_contents(FILE *f, const sp_spmm_file_header *h, const uint32_t *table,
                           const void *const *data)
{
    static const char gap[SP_FILE_ALIGN];
    const int64_t chunks = sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS);
    int64_t at = (int64_t)sizeof *h + chunks * (int64_t)sizeof *table;
    fwrite(h, sizeof *h, 1, f);
    fwrite(table, sizeof *table, (size_t)chunks, f);
    for (int s = 0; s < SP_FILE_SECTIONS && !ferror(f); s++) {
        fwrite(gap, 1, (size_t)(h->offset[s] - at), f);
        fwrite(data[s], 1, (size_t)h->bytes[s], f);
        at = h->offset[s] + h->bytes[s];
    }
}

spmm_status sp_spmm_file_write(const char *path, const spmm_csr *a, const sp_csr_file_facts *facts,
                               int64_t chunk_bytes, int threads)
{
    const void *const data[SP_FILE_SECTIONS] = {a->irp, a->ja, a->as};
    sp_spmm_file_header header;
    sp_output_file out;
    uint32_t *table = NULL;
    TRY(make_header(a, facts, chunk_bytes, &header));
    TRY(sp_alloc((void **)&table, sp_spmm_file_chunks_before(&header, SP_FILE_SECTIONS), sizeof *table,
                 "the checksums of a matrix file"));
    make_table(&header, data, threads, table);
    spmm_status status = sp_output_file_open(path, NULL, &out);
    if (status == SPMM_OK) {
        write_contents(out.file, &header, table, data);
        status = sp_output_file_close(&out, SPMM_OK); /* also reports failed writes */
    }
    sp_free(table);
    return status;
}
