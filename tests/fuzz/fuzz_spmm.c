/** .spmm files: made of the input, their checksums put right, so that what they protect is looked at.
 *
 *  Bit 0 of extra: what is accepted is written and read again; bit 1: the input is the file itself, of which
 *  the header's checksum is put right. Else it is, byte by byte,
 *
 *      f32 in the file ('1') or f64 ('0')
 *      the size of chunks: 64 * (1 + byte % 16), from 0xf0 on one of odd_chunks
 *      rows, columns
 *      entries beyond those that the rows have, from '0'
 *      three that choose the block: the first row, the first column, the columns
 *      for each row its length, from '0'
 *      for each entry the distance from the column before, from '0'
 *      for each entry one of 16 values
 *
 *  and then patches of 4 bytes, see patch_kind. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csr.h"
#include "faults.h"
#include "spmm_file_layout.h"

enum { MOST_ENTRIES = 3000, MOST_FILE = 1 << 17, MOST_RAW = 1 << 15, PATCH = 4, MOST_MEMORY = 1 << 20 };

static const int64_t odd_chunks[16] = {
    0,         -64,     32,      63,     65,        1 << 30, (1 << 30) + 64, 1 << 20, 1 << 16, INT64_MAX - 63,
    INT64_MIN, 1 << 29, 4 << 20, 3 * 64, 1000 * 64, 128};
static const double values[16] = {1,           -1,   0.5,  2,        -0.1,      1.0 / 3,   1e300,
                                  -0.0,        1e38, 4e38, 0x1p-149, 0x1p-1074, 123456789, (double)INFINITY,
                                  (double)NAN, 0};
static const int64_t odd_numbers[8] = {0, 1, -1, INT32_MAX, INT64_MAX, INT64_MIN, INT64_C(1) << 55, 1 << 30};

/** What a patch does; its first byte % 8. */
typedef enum patch_kind {
    PATCH_FIELD, /**< a field of the header, before the file is laid out: which, one of odd_numbers, what is added */
    PATCH_LAID_OUT, /**< the same, behind that */
    PATCH_BYTE,     /**< a byte before checksums are made: where (2 bytes), which */
    PATCH_DAMAGE,   /**< the same, behind that */
    PATCH_LENGTH,   /**< the file's length: 2 bytes, what is added, the third: its sign */
    PATCH_NONE
} patch_kind;

/** The file that an input stands for. */
typedef struct made {
    sp_file_header header;
    uint8_t bytes[MOST_FILE];
    int64_t size;
    int64_t start[257];
    int32_t column[MOST_ENTRIES];
    double value[MOST_ENTRIES];
    int64_t entries;
    int block[3];
    int patched; /* there are patches: whether it is right is not known */
    int right;   /* row starts and columns are */
} made;

/** The input's next byte; `otherwise` at its end. */
static int next(fuzz_input *in, int otherwise)
{
    if (in->size == 0) return otherwise;
    in->size--;
    return *in->data++;
}

static int number(fuzz_input *in, int otherwise) { return (int8_t)(next(in, otherwise) - '0'); }

static void make_pattern(fuzz_input *in, made *m)
{
    sp_file_header *const h = &m->header;
    m->right = 1;
    for (int64_t i = 0; i < h->rows; i++) {
        const int length = number(in, '0');
        m->start[i + 1] = m->start[i] + length;
        m->right &= length >= 0;
        if (m->start[i + 1] > MOST_ENTRIES) m->start[i + 1] = MOST_ENTRIES;
        m->entries = m->start[i + 1] > m->entries ? m->start[i + 1] : m->entries;
    }
    for (int64_t e = 0, i = 0, column = -1; e < m->entries; e++) {
        while (i < h->rows && m->start[i + 1] <= e) i++, column = -1;
        const int step = number(in, '1');
        column += step;
        m->column[e] = (int32_t)column;
        m->right &= step > 0 && column >= 0 && column < h->cols;
    }
    h->nnz += m->entries;
    if (h->nnz > MOST_ENTRIES) h->nnz = MOST_ENTRIES;
    m->right &= m->start[h->rows] == h->nnz;
}

static void make_values(fuzz_input *in, made *m)
{
    for (int64_t e = 0; e < m->entries; e++) {
        const double v = values[next(in, 0) % 16];
        m->value[e] = m->header.precision == SPMM_F32 ? (float)v : v;
    }
}

/** The fields that patches can set, each 8 bytes. */
static void *field(sp_file_header *h, int which)
{
    static const size_t at[] = {
        offsetof(sp_file_header, rows),        offsetof(sp_file_header, cols),
        offsetof(sp_file_header, nnz),         offsetof(sp_file_header, precision),
        offsetof(sp_file_header, stored),      offsetof(sp_file_header, text_bytes),
        offsetof(sp_file_header, duplicates),  offsetof(sp_file_header, chunk_bytes),
        offsetof(sp_file_header, offset),      offsetof(sp_file_header, offset) + 8,
        offsetof(sp_file_header, offset) + 16, offsetof(sp_file_header, bytes),
        offsetof(sp_file_header, bytes) + 8,   offsetof(sp_file_header, bytes) + 16,
        offsetof(sp_file_header, file_bytes),  offsetof(sp_file_header, version),
        offsetof(sp_file_header, mark),        offsetof(sp_file_header, magic),
        offsetof(sp_file_header, format),      offsetof(sp_file_header, format) + 8,
        offsetof(sp_file_header, field),       offsetof(sp_file_header, field) + 8,
        offsetof(sp_file_header, symmetry),    offsetof(sp_file_header, symmetry) + 12,
    };
    return (char *)h + at[which % (int)(sizeof at / sizeof *at)];
}

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/** Those patches that are of one kind. */
static void apply(made *m, const fuzz_input *patches, patch_kind kind)
{
    for (size_t at = 0; at + PATCH <= patches->size; at += PATCH) {
        const uint8_t *const p = patches->data + at;
        m->patched |= p[0] % 8 < PATCH_NONE;
        if (p[0] % 8 != (int)kind) continue;
        const int64_t where = p[1] | p[2] << 8;
        switch (kind) {
        case PATCH_FIELD:
        case PATCH_LAID_OUT: {
            void *const f = field(&m->header, p[1]);
            int64_t value;
            memcpy(&value, f, sizeof value);
            value = plus(p[2] % 16 < 8 ? value : odd_numbers[p[2] % 8], (int8_t)p[3]);
            memcpy(f, &value, sizeof value);
            break;
        }
        case PATCH_BYTE:
        case PATCH_DAMAGE: m->bytes[where % m->size] = p[3]; break;
        case PATCH_LENGTH: {
            const int64_t size = p[3] & 1 ? m->size + where % 256 : m->size - where;
            m->size = size < 0 ? 0 : size > MOST_FILE ? MOST_FILE : size;
            break;
        }
        case PATCH_NONE: break;
        }
    }
}

/** Puts the sections where the layout wants them. */
static void put_sections(made *m, const sp_file_header *h)
{
    const int64_t rows = h->bytes[0] < (int64_t)sizeof m->start ? h->bytes[0] : (int64_t)sizeof m->start;
    memcpy(m->bytes + h->offset[SP_FILE_ROWS], m->start, (size_t)rows);
    memcpy(m->bytes + h->offset[SP_FILE_COLUMNS], m->column, (size_t)h->bytes[SP_FILE_COLUMNS]);
    for (int64_t e = 0; e < h->nnz; e++) {
        const float narrow = (float)m->value[e];
        uint8_t *const to = m->bytes + h->offset[SP_FILE_VALUES];
        if (h->precision == SPMM_F32)
            memcpy(to + e * 4, &narrow, sizeof narrow);
        else
            memcpy(to + e * 8, &m->value[e], sizeof m->value[e]);
    }
}

static void put_checksums(made *m, const sp_file_header *h)
{
    uint32_t *const table = (uint32_t *)(void *)(m->bytes + sizeof *h);
    for (int s = 0; s < SP_FILE_SECTIONS; s++)
        for (int64_t c = 0; c < sp_file_chunks(h, s); c++)
            table[sp_file_chunks_before(h, s) + c] = sp_file_check(
                m->bytes + h->offset[s] + c * h->chunk_bytes, sp_file_chunk_size(h, s, c));
    m->header.table_check = (uint32_t)crc32_z(
        0, (const Bytef *)table, (size_t)sp_file_chunks_before(h, SP_FILE_SECTIONS) * sizeof *table);
}

static void make_header(fuzz_input *in, sp_file_header *h, made *m)
{
    memcpy(h->magic, SP_FILE_MAGIC, sizeof h->magic);
    h->mark = SP_FILE_MARK;
    h->version = SP_FILE_VERSION;
    h->precision = next(in, '0') & 1 ? SPMM_F32 : SPMM_F64;
    const int chunk = next(in, 0);
    h->chunk_bytes = chunk < 0xf0 ? SP_FILE_CHUNK_STEP * (1 + chunk % 16) : odd_chunks[chunk % 16];
    h->rows = next(in, 0);
    h->cols = next(in, 0);
    h->nnz = number(in, '0');
    if (h->nnz < 0) h->nnz = 0;
    for (int k = 0; k < 3; k++) m->block[k] = next(in, 0);
    memcpy(h->format, "coordinate", 10);
    memcpy(h->field, "real", 4);
    memcpy(h->symmetry, "general", 7);
}

/** Returns 0 where the input stands for no file that is small enough. */
static int make(fuzz_input *in, made *m)
{
    memset(m, 0, offsetof(made, bytes));
    m->start[0] = m->entries = m->patched = 0;
    make_header(in, &m->header, m);
    make_pattern(in, m);
    make_values(in, m);
    apply(m, in, PATCH_FIELD);
    sp_file_header laid_out = m->header;
    if (sp_file_lay_out(&laid_out) || laid_out.file_bytes > MOST_FILE || laid_out.nnz > MOST_ENTRIES ||
        laid_out.rows > 256) {
        /* nonsense: a header, and what a reader may take for all that it promises */
        m->right = 0;
        m->size = 2 * sizeof m->header;
        memset(m->bytes, 0, (size_t)m->size);
    } else {
        m->header = laid_out;
        m->size = laid_out.file_bytes;
        memset(m->bytes, 0, (size_t)m->size);
        put_sections(m, &laid_out);
        apply(m, in, PATCH_BYTE);
        put_checksums(m, &laid_out);
    }
    apply(m, in, PATCH_LAID_OUT);
    m->header.check = sp_file_check(&m->header, offsetof(sp_file_header, check));
    memcpy(m->bytes, &m->header, sizeof m->header);
    apply(m, in, PATCH_DAMAGE);
    apply(m, in, PATCH_LENGTH);
    return 1;
}

/* ---- reading it ---- */

typedef struct outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    spmm_csr a;
    sp_file_facts facts;
} outcome;

static void read_file(const char *path, const sp_read_options *options, outcome *o)
{
    *o = (outcome){.status = SPMM_OK};
    o->status = sp_file_read(path, options, &o->a, &o->facts);
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
    if (o->status == SPMM_OK) {
        FUZZ_CHECK(sp_csr_check(&o->a) == SPMM_OK && o->a.precision == options->precision);
        FUZZ_CHECK(o->facts.rows == o->a.rows && o->facts.cols == o->a.cols && o->facts.nnz == o->a.nnz);
    } else {
        FUZZ_CHECK(!o->a.irp && !o->a.ja && !o->a.as);
    }
}

static void same_outcome(const outcome *a, const outcome *b)
{
    if (a->status != b->status || (a->status != SPMM_OK && strcmp(a->message, b->message) != 0))
        fuzz_fail("%d \"%s\" and %d \"%s\"", (int)a->status, a->message, (int)b->status, b->message);
    if (a->status == SPMM_OK) fuzz_same_csr(&a->a, &b->a);
}

static double value_at(const spmm_csr *a, int64_t e)
{
    return a->precision == SPMM_F64 ? ((double *)a->as)[e] : ((float *)a->as)[e];
}

/** What is accepted is what the file was made of. */
static void check_contents(const made *m, const spmm_csr *a)
{
    FUZZ_CHECK(a->rows == m->header.rows && a->cols == m->header.cols && a->nnz == m->entries);
    FUZZ_CHECK(memcmp(a->irp, m->start, (size_t)(a->rows + 1) * sizeof *a->irp) == 0);
    FUZZ_CHECK(memcmp(a->ja, m->column, (size_t)a->nnz * sizeof *a->ja) == 0);
    for (int64_t e = 0; e < a->nnz; e++) {
        const double expected = a->precision == SPMM_F32 ? (float)m->value[e] : m->value[e];
        FUZZ_CHECK(value_at(a, e) == expected || (expected != expected && value_at(a, e) != value_at(a, e)));
    }
}

/** Entries of the block in row i of all, from e on. */
static void check_block_row(const spmm_csr *all, const sp_file_range *r, const spmm_csr *block, int64_t i)
{
    int64_t e = block->irp[i - r->row_begin];
    for (int64_t k = all->irp[i]; k < all->irp[i + 1]; k++) {
        if (all->ja[k] < r->col_begin || all->ja[k] >= r->col_end) continue;
        const double expected = value_at(all, k), found = value_at(block, e);
        FUZZ_CHECK(e < block->irp[i - r->row_begin + 1] && block->ja[e] == all->ja[k] - r->col_begin);
        FUZZ_CHECK(found == expected || (expected != expected && found != found));
        e++;
    }
    FUZZ_CHECK(e == block->irp[i - r->row_begin + 1]);
}

/** A block of an accepted file is that part of it; of another one it may be accepted, and is then in order. */
static void check_block(const fuzz_input *in, const char *path, const int choice[3], const outcome *whole,
                        int faults)
{
    sp_file *f;
    spmm_csr block = {0};
    if (faults) fuzz_fault_on(in);
    spmm_status status = sp_file_open(path, &f);
    if (status == SPMM_OK) {
        const sp_file_facts *const facts = sp_file_facts_of(f);
        sp_file_range r = {.row_begin = choice[0] % (facts->rows + 1),
                           .row_end = facts->rows,
                           .col_begin = choice[1] % (facts->cols + 1),
                           .precision = in->read.precision,
                           .allow_nonfinite = in->read.allow_nonfinite,
                           .threads = in->read.threads};
        r.col_end = r.col_begin + choice[2] % (facts->cols - r.col_begin + 1);
        if (r.row_begin & 1) r.row_end = r.row_begin + (r.row_end - r.row_begin) / 2;
        status = sp_file_block(f, &r, &block);
        if (status == SPMM_OK) FUZZ_CHECK(sp_csr_check(&block) == SPMM_OK);
        for (int64_t i = r.row_begin;
             i < r.row_end && status == SPMM_OK && whole->status == SPMM_OK && !faults; i++)
            check_block_row(&whole->a, &r, &block, i);
        spmm_csr_destroy(&block);
        r.row_end = facts->rows + 1;
        if (status == SPMM_OK) FUZZ_CHECK(sp_file_block(f, &r, &block) == SPMM_ERR_USAGE);
        r.row_end = r.row_begin;
        r.col_begin = r.col_end + 1;
        if (status == SPMM_OK) FUZZ_CHECK(sp_file_block(f, &r, &block) == SPMM_ERR_USAGE);
    }
    fuzz_fault_off();
    if (status != SPMM_OK) fuzz_refused(status, path, FUZZ_PATH);
    if (!faults && whole->status == SPMM_OK) FUZZ_CHECK(status == SPMM_OK);
    sp_file_close(f);
}

/** Parts that are not of the file are refused. */
static void check_ranges(const char *path)
{
    sp_file *f;
    int64_t start[4];
    int32_t column[4];
    if (sp_file_open(path, &f) != SPMM_OK) return;
    const sp_file_facts *const facts = sp_file_facts_of(f);
    FUZZ_CHECK(sp_file_row_starts(f, facts->rows, facts->rows + 1, start) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_file_row_starts(f, -1, 0, start) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_file_columns(f, facts->nnz, facts->nnz + 1, 1, column) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_file_columns(f, 1, 0, 1, column) == SPMM_ERR_USAGE);
    sp_file_close(f);
}

static void check_written(const fuzz_input *in, const outcome *whole, int chunk)
{
    const sp_read_options options = {.precision = whole->a.precision, .threads = 2, .allow_nonfinite = 1};
    outcome again;
    const char *const path = fuzz_folder_file("a.spmm");
    const int64_t bytes = chunk % 16 < 8 ? 0 : 64 * (chunk % 16);
    FUZZ_CHECK(sp_file_write(path, &whole->a, &whole->facts, 63, 1) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_file_write(path, &whole->a, &whole->facts, bytes, in->read.threads) == SPMM_OK);
    FUZZ_CHECK(sp_file_is(path));
    read_file(path, &options, &again);
    FUZZ_CHECK(again.status == SPMM_OK);
    fuzz_same_csr(&whole->a, &again.a);
    spmm_csr_destroy(&again.a);
    FUZZ_CHECK(fuzz_folder_clean(path));
    fuzz_fault_on(in);
    const spmm_status status = sp_file_write(path, &whole->a, &whole->facts, bytes, in->read.threads);
    fuzz_fault_off();
    if (status != SPMM_OK)
        fuzz_refused(status, path, FUZZ_ANY);
    else
        read_file(path, &options, &again);
    if (status == SPMM_OK) fuzz_same_csr(&whole->a, &again.a);
    if (status == SPMM_OK) spmm_csr_destroy(&again.a);
    FUZZ_CHECK(fuzz_folder_clean(path) == (status == SPMM_OK)); /* complete, or not at all */
    FUZZ_CHECK(sp_file_write("/dev/full", &whole->a, &whole->facts, bytes, 1) == SPMM_ERR_OUTPUT);
    fuzz_refused(SPMM_ERR_OUTPUT, "/dev/full", FUZZ_PATH);
}

static void check_faults(const fuzz_input *in, const char *path, const outcome *expected)
{
    outcome o;
    fuzz_fault_on(in);
    (void)sp_file_is(path);
    read_file(path, &in->read, &o);
    fuzz_fault_off();
    sp_set_message(o.message);
    if (o.status != SPMM_OK) fuzz_refused(o.status, path, FUZZ_PATH);
    if (o.status == SPMM_OK || fuzz_harmless(in)) same_outcome(expected, &o);
    spmm_csr_destroy(&o.a);
}

static void check_file(const fuzz_input *in, const char *path, const int choice[3], outcome *whole)
{
    outcome other;
    sp_read_options options = in->read;
    options.threads = 1;
    read_file(path, &options, whole);
    if (whole->status != SPMM_OK) fuzz_refused(whole->status, path, FUZZ_PATH);
    read_file(path, &in->read, &other);
    same_outcome(whole, &other);
    spmm_csr_destroy(&other.a);
    check_block(in, path, choice, whole, 0);
    check_ranges(path);
    if (in->fault != FUZZ_NO_FAULT) {
        check_faults(in, path, whole);
        check_block(in, path, choice, whole, 1);
    }
    if (whole->status == SPMM_OK && in->extra & 1) check_written(in, whole, choice[0]);
}

/** Whether a file without patches must be accepted. */
static int acceptable(const fuzz_input *in, const made *m)
{
    sp_file_header h = m->header;
    int finite = 1;
    for (int64_t e = 0; e < m->entries; e++)
        finite &= isfinite(in->read.precision == SPMM_F32 ? (float)m->value[e] : m->value[e]);
    return m->right && !sp_file_lay_out(&h) && (finite || in->read.allow_nonfinite);
}

int fuzz_spmm(const uint8_t *data, size_t size)
{
    static made m;
    fuzz_input in;
    outcome whole;
    if (!fuzz_begin(&in, "spmm", data, size)) return 0;
    if (in.extra & 2) {
        const int choice[3] = {3, 2, 5};
        if (in.size > MOST_RAW) return 0;
        memcpy(m.bytes, in.data, in.size);
        const uint32_t check = sp_file_check(m.bytes, offsetof(sp_file_header, check));
        if (in.size >= sizeof m.header)
            memcpy(m.bytes + offsetof(sp_file_header, check), &check, sizeof check);
        check_file(&in, fuzz_file(m.bytes, in.size), choice, &whole);
    } else {
        fuzz_input rest = in;
        make(&rest, &m);
        check_file(&in, fuzz_file(m.bytes, (size_t)m.size), m.block, &whole);
        if (!m.patched) FUZZ_CHECK(whole.status == (acceptable(&in, &m) ? SPMM_OK : SPMM_ERR_SYNTAX));
        if (!m.patched && whole.status == SPMM_OK) check_contents(&m, &whole.a);
    }
    spmm_csr_destroy(&whole.a);
    if (faults_largest() > MOST_MEMORY) fuzz_fail("asked for %lld bytes", (long long)faults_largest());
    return fuzz_end();
}
