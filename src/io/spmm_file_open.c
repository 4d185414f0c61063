/** Opens a binary matrix file and checks its header and its table of checksums. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/input.h"
#include "io/matrix_format.h"
#include "io/spmm_file_layout.h"

spmm_status sp_spmm_file_read_at(const sp_spmm_file *f, void *to, int64_t bytes, int64_t offset)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done, piece = left < 1 << 30 ? left : 1 << 30;
        const ssize_t n = pread(f->fd, (char *)to + done, (size_t)piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sp_fail(SPMM_ERR_OPEN, "%s: cannot be read: %s", f->path, strerror(errno));
        if (n == 0) {
            const long long end = offset + done;
            return sp_fail(SPMM_ERR_SYNTAX, "%s: ends at byte %lld, expected %lld more: it is cut short",
                           f->path, end, (long long)left);
        }
        done += n;
    }
    return SPMM_OK;
}

/** Checks the header's magic, byte order, version and checksum. The other fields are meaningful only if these
 *  are right. */
static spmm_status check_kind(const sp_spmm_file *f)
{
    const sp_spmm_file_header *const h = &f->header;
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
static spmm_status check_header(const sp_spmm_file *f)
{
    sp_spmm_file_header same;
    struct stat info;
    const char *const field = find_nonsense(&f->header, &same);
    if (field) return sp_fail(SPMM_ERR_SYNTAX, "%s: its header makes no sense (%s)", f->path, field);
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

static spmm_status read_table(sp_spmm_file *f)
{
    const int64_t chunks = sp_spmm_file_chunks_before(&f->header, SP_FILE_SECTIONS);
    const int64_t bytes = chunks * (int64_t)sizeof *f->table;
    TRY(sp_alloc((void **)&f->table, chunks, sizeof *f->table, "the checksums of a matrix file"));
    TRY(sp_spmm_file_read_at(f, f->table, bytes, sizeof f->header));
    if ((uint32_t)crc32_z(0, (const Bytef *)f->table, (size_t)bytes) != f->header.table_check)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: its table of checksums is damaged", f->path);
    return SPMM_OK;
}

static void set_facts(sp_spmm_file *f)
{
    const sp_spmm_file_header *const h = &f->header;
    f->facts = (sp_spmm_file_facts){.rows = h->rows,
                                    .cols = h->cols,
                                    .nnz = h->nnz,
                                    .precision = (spmm_precision)h->precision,
                                    .info = {.stored = h->stored, .bytes = h->text_bytes},
                                    .duplicates = h->duplicates};
    sp_mtx_info *const info = &f->facts.info;
    memcpy(info->format, h->format, sizeof info->format);
    memcpy(info->field, h->field, sizeof info->field);
    memcpy(info->symmetry, h->symmetry, sizeof info->symmetry);
}

static spmm_status open_file(sp_spmm_file *f)
{
    struct stat info;
    if (f->fd < 0) return sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened: %s", f->path, strerror(-f->fd));
    if (fstat(f->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return sp_fail(SPMM_ERR_OPEN, "%s: is not a regular file", f->path);
    if (info.st_size < (off_t)sizeof f->header) {
        const int begins = info.st_size >= 8 && sp_spmm_file_read_at(f, f->header.magic, 8, 0) == SPMM_OK &&
                           memcmp(f->header.magic, SP_FILE_MAGIC, 8) == 0;
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld bytes, expected %zu of header: %s", f->path,
                       (long long)info.st_size, sizeof f->header,
                       begins ? "it is cut short" : "it is not a .spmm file");
    }
    TRY(sp_spmm_file_read_at(f, &f->header, sizeof f->header, 0));
    TRY(check_kind(f));
    TRY(check_header(f));
    TRY(read_table(f));
    set_facts(f);
    return SPMM_OK;
}

spmm_status sp_spmm_file_open(const char *path, sp_spmm_file **file)
{
    return sp_spmm_file_of(path, sp_input_descriptor(path), file);
}

spmm_status sp_spmm_file_of(const char *path, int fd, sp_spmm_file **file)
{
    sp_spmm_file *f;
    *file = NULL;
    spmm_status status = sp_alloc_zero((void **)&f, 1, sizeof *f, "a matrix file");
    if (status != SPMM_OK && fd >= 0) close(fd);
    if (status != SPMM_OK) return status;
    f->path = path;
    f->fd = fd;
    status = open_file(f);
    if (status != SPMM_OK) {
        sp_spmm_file_close(f);
        return status;
    }
    *file = f;
    return SPMM_OK;
}

const sp_spmm_file_facts *sp_spmm_file_facts_of(const sp_spmm_file *file) { return &file->facts; }

void sp_spmm_file_close(sp_spmm_file *f)
{
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    sp_free(f->table);
    sp_free(f);
}

int sp_spmm_file_is(int fd)
{
    char magic[8] = "";
    const ssize_t n = fd < 0 ? -1 : pread(fd, magic, sizeof magic, 0);
    return n == (ssize_t)sizeof magic && memcmp(magic, SP_FILE_MAGIC, sizeof magic) == 0;
}

/* ---- as a format of matrix files ---- */

static int is_spmm(int fd, const sp_read_options *options)
{
    (void)options;
    return sp_spmm_file_is(fd);
}

static spmm_status open_spmm(const char *path, int fd, const sp_read_options *options, void **file)
{
    sp_spmm_file *f;
    (void)options;
    const spmm_status status = sp_spmm_file_of(path, fd, &f);
    *file = f;
    return status;
}

static sp_sizes sizes_of_spmm(const void *file)
{
    const sp_spmm_file_facts *const facts = sp_spmm_file_facts_of(file);
    return (sp_sizes){facts->rows, facts->cols, facts->nnz};
}

static spmm_status read_spmm(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                             int64_t *stored, int64_t *duplicates)
{
    const sp_spmm_file_facts *const facts = sp_spmm_file_facts_of(file);
    *info = facts->info;
    *stored = facts->info.stored;
    *duplicates = facts->duplicates;
    return sp_spmm_file_whole(file, options, a);
}

static void close_spmm(void *file) { sp_spmm_file_close(file); }

const sp_matrix_format sp_format_spmm = {.name = ".spmm",
                                         .way = SP_FILE_CSR,
                                         .binary = 1,
                                         .is = is_spmm,
                                         .open = open_spmm,
                                         .sizes = sizes_of_spmm,
                                         .read = read_spmm,
                                         .close = close_spmm};
