#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spmm_file_layout.h"

/** A file being written: errors come from errno. */
typedef struct writing {
    const char *path;
    char *part; /* "PATH.part" */
    int fd;
    const sp_file_header *header;
    const uint32_t *table;
    const void *data[SP_FILE_SECTIONS];
} writing;

static spmm_status cannot_write(const writing *w)
{
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", w->part, strerror(errno));
}

static spmm_status write_at(const writing *w, const void *data, int64_t bytes, int64_t offset)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done, piece = left < 1 << 30 ? left : 1 << 30;
        const ssize_t n = pwrite(w->fd, (const char *)data + done, (size_t)piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot_write(w);
        done += n;
    }
    return SPMM_OK;
}

static void set_text(char *to, size_t n, const char *text) { snprintf(to, n, "%s", text); }

static spmm_status make_header(const spmm_csr *a, const sp_file_facts *facts, int64_t chunk_bytes,
                               sp_file_header *h)
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
    if (sp_file_lay_out(h))
        return sp_fail(SPMM_ERR_USAGE, "a matrix of %lld x %lld in chunks of %lld bytes cannot be written",
                       (long long)a->rows, (long long)a->cols, (long long)chunk_bytes);
    return SPMM_OK;
}

static void make_table(sp_file_header *h, const void *const *data, int threads, uint32_t *table)
{
    for (int s = 0; s < SP_FILE_SECTIONS; s++) {
        uint32_t *const check = table + sp_file_chunks_before(h, s);
        const int64_t chunks = sp_file_chunks(h, s);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t c = 0; c < chunks; c++)
            check[c] = sp_file_check((const char *)data[s] + c * h->chunk_bytes, sp_file_chunk_size(h, s, c));
    }
    const int64_t bytes = sp_file_chunks_before(h, SP_FILE_SECTIONS) * (int64_t)sizeof *table;
    h->table_check = (uint32_t)crc32_z(0, (const Bytef *)table, (size_t)bytes);
    h->check = sp_file_check(h, offsetof(sp_file_header, check));
}

/** Writes all there is into the open file. */
static spmm_status write_contents(const writing *w)
{
    const sp_file_header *const h = w->header;
    TRY(write_at(w, h, sizeof *h, 0));
    TRY(write_at(w, w->table, sp_file_chunks_before(h, SP_FILE_SECTIONS) * (int64_t)sizeof *w->table,
                 sizeof *h));
    for (int s = 0; s < SP_FILE_SECTIONS; s++) TRY(write_at(w, w->data[s], h->bytes[s], h->offset[s]));
    /* a matrix without entries ends in sections of no bytes, which begin behind a gap */
    return ftruncate(w->fd, (off_t)h->file_bytes) == 0 ? SPMM_OK : cannot_write(w);
}

static spmm_status write_part(writing *w)
{
    w->fd = open(w->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) return cannot_write(w);
    spmm_status status = write_contents(w);
    /* a full disk may show as late as here */
    if (status == SPMM_OK && fsync(w->fd) != 0) status = cannot_write(w);
    if (close(w->fd) != 0 && status == SPMM_OK) status = cannot_write(w);
    if (status == SPMM_OK && rename(w->part, w->path) != 0)
        status = sp_fail(SPMM_ERR_OUTPUT, "%s: cannot be put in place: %s", w->path, strerror(errno));
    if (status != SPMM_OK) (void)unlink(w->part);
    return status;
}

spmm_status sp_file_write(const char *path, const spmm_csr *a, const sp_file_facts *facts,
                          int64_t chunk_bytes, int threads)
{
    sp_file_header header;
    uint32_t *table = NULL;
    const size_t length = strlen(path) + sizeof ".part";
    writing w = {.path = path, .header = &header, .data = {a->irp, a->ja, a->as}};
    TRY(make_header(a, facts, chunk_bytes, &header));
    spmm_status status = sp_alloc((void **)&w.part, (int64_t)length, 1, "a file's name");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&table, sp_file_chunks_before(&header, SP_FILE_SECTIONS), sizeof *table,
                          "the checksums of a matrix file");
    if (status == SPMM_OK) {
        snprintf(w.part, length, "%s.part", path);
        make_table(&header, w.data, threads, table);
        w.table = table;
        status = write_part(&w);
    }
    sp_free(table);
    sp_free(w.part);
    return status;
}
