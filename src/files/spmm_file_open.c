/** Opens a binary matrix file and checks its header and its table of checksums. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/input.h"
#include "files/spmm_file_layout.h"

/** Checks the header's magic, byte order, version and checksum. The other fields are meaningful only if these
 *  are right. */
static spmm_status check_kind(const sp_csr_file *f, const sp_spmm_file_header *h)
{
    if (memcmp(h->magic, SP_FILE_MAGIC, sizeof h->magic) != 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: does not begin with \"%s\": it is not a .spmm file", f->path,
                       SP_FILE_MAGIC);
    if (h->mark != SP_FILE_MARK)
        return h->mark == __builtin_bswap64(SP_FILE_MARK)
                   ? sp_fail(SPMM_ERR_UNSUPPORTED,
                             "%s: was written on a machine of the other byte order: make it anew from the "
                             "Matrix Market file",
                             f->path)
                   : sp_fail(SPMM_ERR_SYNTAX, "%s: its header is damaged (byte order mark)", f->path);
    if (h->version > SP_FILE_VERSION)
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: is of version %llu, and this program reads up to version %d", f->path,
                       (unsigned long long)h->version, SP_FILE_VERSION);
    if (h->check != sp_spmm_file_check(h, offsetof(sp_spmm_file_header, check)))
        return sp_fail(SPMM_ERR_SYNTAX, "%s: its header is damaged (checksum)", f->path);
    return SPMM_OK;
}

/** Returns 1 if the field text[bytes] of the header contains printable text with a terminating 0. */
static int is_word(const char *text, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++) {
        if (text[k] == 0) return 1;
        if (text[k] < ' ' || text[k] > '~') return 0;
    }
    return 0;
}

/** Returns the name of a field of header h that is out of range or inconsistent; NULL if all fields are
 *  valid.
 *  \param [out] same  copy of h, with the file layout computed anew from h's matrix sizes */
static const char *find_nonsense(const sp_spmm_file_header *h, sp_spmm_file_header *same)
{
    static const char *const where[] = {"where its row starts lie", "where its columns lie",
                                        "where its values lie"};
    *same = *h;
    if (h->version < 1) return "version";
    const char *const field = sp_spmm_file_lay_out(same);
    if (field) return field;
    for (int s = 0; s < SP_FILE_SECTIONS; s++)
        if (h->offset[s] != same->offset[s] || h->bytes[s] != same->bytes[s]) return where[s];
    if (h->file_bytes != same->file_bytes) return "length of the file";
    if (!is_word(h->format, sizeof h->format)) return "format of the text";
    if (!is_word(h->field, sizeof h->field)) return "field of the text";
    if (!is_word(h->symmetry, sizeof h->symmetry)) return "symmetry of the text";
    if (h->stored < 0) return "entries of the text";
    if (h->text_bytes < 0) return "bytes of the text";
    return h->duplicates < 0 ? "duplicates" : NULL;
}

/** Checks the fields of the header that check_kind() does not check, and the length of the file. The fields
 *  may be wrong even if the checksum is right. */
static spmm_status check_header(const sp_csr_file *f, const sp_spmm_file_header *h)
{
    sp_spmm_file_header same;
    struct stat info;
    const char *const field = find_nonsense(h, &same);
    if (field) return sp_fail(SPMM_ERR_SYNTAX, "%s: wrong field in its header: %s", f->path, field);
    if (fstat(f->fd, &info) != 0)
        return sp_fail(SPMM_ERR_OPEN, "%s: cannot be examined: %s", f->path, strerror(errno));
    if (info.st_size < same.file_bytes)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld bytes, expected %lld: it is cut short", f->path,
                       (long long)info.st_size, (long long)same.file_bytes);
    if (info.st_size > same.file_bytes)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld bytes, expected %lld: something was added", f->path,
                       (long long)info.st_size, (long long)same.file_bytes);
    return SPMM_OK;
}

static spmm_status read_table(sp_csr_file *f, const sp_spmm_file_header *h)
{
    const int64_t chunks = sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS);
    const int64_t bytes = chunks * (int64_t)sizeof *f->table;
    TRY(sp_alloc((void **)&f->table, chunks, sizeof *f->table, "the checksums of a matrix file"));
    TRY(sp_csr_file_read_at(f, f->table, bytes, sizeof *h));
    if ((uint32_t)crc32_z(0, (const Bytef *)f->table, (size_t)bytes) != h->table_check)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: its table of checksums is damaged", f->path);
    return SPMM_OK;
}

static void set_facts(sp_csr_file *f, const sp_spmm_file_header *h)
{
    f->facts = (sp_csr_file_facts){.rows = h->rows,
                                   .cols = h->cols,
                                   .nnz = h->nnz,
                                   .precision = (spmm_precision)h->precision,
                                   .info = {.stored = h->stored, .bytes = h->text_bytes},
                                   .duplicates = h->duplicates};
    sp_mtx_info *const info = &f->facts.info;
    memcpy(info->format, h->format, sizeof info->format);
    memcpy(info->field, h->field, sizeof info->field);
    memcpy(info->symmetry, h->symmetry, sizeof info->symmetry);
    const sp_number types[] = {SP_NUMBER_I64, SP_NUMBER_I32,
                               h->precision == SPMM_F32 ? SP_NUMBER_F32 : SP_NUMBER_F64};
    for (int k = 0; k < SP_FILE_SECTIONS; k++)
        f->section[k] = (sp_csr_section){.type = types[k], .offset = h->offset[k], .bytes = h->bytes[k]};
    f->sorted = 1;
    f->chunk_bytes = h->chunk_bytes;
}

static spmm_status open_file(sp_csr_file *f)
{
    sp_spmm_file_header h;
    struct stat info;
    if (f->fd < 0) return sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened: %s", f->path, strerror(-f->fd));
    if (fstat(f->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return sp_fail(SPMM_ERR_OPEN, "%s: is not a regular file", f->path);
    if (info.st_size < (off_t)sizeof h) {
        const int begins = info.st_size >= 8 && sp_csr_file_read_at(f, h.magic, 8, 0) == SPMM_OK &&
                           memcmp(h.magic, SP_FILE_MAGIC, 8) == 0;
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld bytes, expected %zu of header: %s", f->path,
                       (long long)info.st_size, sizeof h,
                       begins ? "it is cut short" : "it is not a .spmm file");
    }
    TRY(sp_csr_file_read_at(f, &h, sizeof h, 0));
    TRY(check_kind(f, &h));
    TRY(check_header(f, &h));
    TRY(read_table(f, &h));
    set_facts(f, &h);
    return SPMM_OK;
}

spmm_status sp_spmm_file_open(const char *path, sp_csr_file **file)
{
    return sp_spmm_file_of(path, sp_input_descriptor(path), file);
}

spmm_status sp_spmm_file_of(const char *path, int fd, sp_csr_file **file)
{
    sp_csr_file *f;
    *file = NULL;
    spmm_status status = sp_alloc_zero((void **)&f, 1, sizeof *f, "a matrix file");
    if (status != SPMM_OK && fd >= 0) close(fd);
    if (status != SPMM_OK) return sp_fail_in(path, status);
    f->path = path;
    f->fd = fd;
    status = open_file(f);
    if (status != SPMM_OK) {
        sp_csr_file_close(f);
        return sp_fail_in(path, status);
    }
    *file = f;
    return SPMM_OK;
}

spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_csr_file_facts *facts)
{
    sp_csr_file *f;
    *a = (spmm_csr){0};
    TRY(sp_spmm_file_open(path, &f));
    if (facts) *facts = f->facts;
    const spmm_status status = sp_csr_file_whole(f, options, a, NULL);
    sp_csr_file_close(f);
    return status;
}

int sp_spmm_file_is(int fd)
{
    char magic[8] = "";
    return fd >= 0 && sp_file_peek(fd, magic, sizeof magic, 0) == (int64_t)sizeof magic &&
           memcmp(magic, SP_FILE_MAGIC, sizeof magic) == 0;
}

/* ---- as a format of matrix files ---- */

static int is_spmm(int fd, const sp_read_options *options)
{
    (void)options;
    return sp_spmm_file_is(fd);
}

static spmm_status open_spmm(const char *path, int fd, const sp_read_options *options, void **file)
{
    sp_csr_file *f;
    (void)options;
    const spmm_status status = sp_spmm_file_of(path, fd, &f);
    *file = f;
    return status;
}

const sp_matrix_format sp_format_spmm = {.name = ".spmm",
                                         .way = SP_FILE_CSR,
                                         .binary = 1,
                                         .is = is_spmm,
                                         .open = open_spmm,
                                         .sizes = sp_csr_file_sizes,
                                         .read = sp_csr_file_read,
                                         .close = sp_csr_file_end,
                                         .csr = sp_csr_file_itself};
