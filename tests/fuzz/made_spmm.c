#include "made_spmm.h"

#include <math.h>
#include <string.h>

enum { PATCH = 4 };

static const int64_t odd_chunks[16] = {
    0,         -64,     32,      63,     65,        1 << 30, (1 << 30) + 64, 1 << 20, 1 << 16, INT64_MAX - 63,
    INT64_MIN, 1 << 29, 4 << 20, 3 * 64, 1000 * 64, 128};
static const double values[16] = {1,           -1,   0.5,  2,        -0.1,      1.0 / 3,   1e300,
                                  -0.0,        1e38, 4e38, 0x1p-149, 0x1p-1074, 123456789, (double)INFINITY,
                                  (double)NAN, 0};
static const int64_t odd_numbers[8] = {0, 1, -1, INT32_MAX, INT64_MAX, INT64_MIN, INT64_C(1) << 55, 1 << 30};

/** Returns the input's next byte; `otherwise` at its end. */
static int next(fuzz_input *in, int otherwise)
{
    if (in->size == 0) return otherwise;
    in->size--;
    return *in->data++;
}

static int number(fuzz_input *in, int otherwise) { return (int8_t)(next(in, otherwise) - '0'); }

static void make_pattern(fuzz_input *in, made_spmm *m)
{
    sp_spmm_file_header *const h = &m->header;
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

static void make_values(fuzz_input *in, made_spmm *m)
{
    for (int64_t e = 0; e < m->entries; e++) {
        const double v = values[next(in, 0) % 16];
        m->value[e] = m->header.precision == SPMM_F32 ? (float)v : v;
    }
}

/** Returns one of the fields, of 8 bytes each, that patches can set. */
static void *field(sp_spmm_file_header *h, int which)
{
    static const size_t at[] = {
        offsetof(sp_spmm_file_header, rows),        offsetof(sp_spmm_file_header, cols),
        offsetof(sp_spmm_file_header, nnz),         offsetof(sp_spmm_file_header, precision),
        offsetof(sp_spmm_file_header, stored),      offsetof(sp_spmm_file_header, text_bytes),
        offsetof(sp_spmm_file_header, duplicates),  offsetof(sp_spmm_file_header, chunk_bytes),
        offsetof(sp_spmm_file_header, offset),      offsetof(sp_spmm_file_header, offset) + 8,
        offsetof(sp_spmm_file_header, offset) + 16, offsetof(sp_spmm_file_header, bytes),
        offsetof(sp_spmm_file_header, bytes) + 8,   offsetof(sp_spmm_file_header, bytes) + 16,
        offsetof(sp_spmm_file_header, file_bytes),  offsetof(sp_spmm_file_header, version),
        offsetof(sp_spmm_file_header, mark),        offsetof(sp_spmm_file_header, magic),
        offsetof(sp_spmm_file_header, format),      offsetof(sp_spmm_file_header, format) + 8,
        offsetof(sp_spmm_file_header, field),       offsetof(sp_spmm_file_header, field) + 8,
        offsetof(sp_spmm_file_header, symmetry),    offsetof(sp_spmm_file_header, symmetry) + 12,
    };
    return (char *)h + at[which % (int)(sizeof at / sizeof *at)];
}

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/** Applies the patches of one kind. */
static void apply(made_spmm *m, const fuzz_input *patches, patch_kind kind)
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

/** Writes the sections at their places in the layout. */
static void put_sections(made_spmm *m, const sp_spmm_file_header *h)
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

static void put_checksums(made_spmm *m, const sp_spmm_file_header *h)
{
    uint32_t *const table = (uint32_t *)(void *)(m->bytes + sizeof *h);
    for (int s = 0; s < SP_FILE_SECTIONS; s++)
        for (int64_t c = 0; c < sp_spmm_file_chunks(h, s); c++)
            table[sp_spmm_file_chunks_before(h, s) + c] = sp_spmm_file_check(
                m->bytes + h->offset[s] + c * h->chunk_bytes, sp_spmm_file_chunk_size(h, s, c));
    m->header.table_check = (uint32_t)crc32_z(
        0, (const Bytef *)table, (size_t)sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS) * sizeof *table);
}

static void make_header(fuzz_input *in, sp_spmm_file_header *h, made_spmm *m)
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

void made_spmm_make(const fuzz_input *input, made_spmm *m)
{
    fuzz_input rest = *input, *const in = &rest;
    memset(m, 0, offsetof(made_spmm, bytes));
    m->start[0] = m->entries = m->patched = 0;
    make_header(in, &m->header, m);
    make_pattern(in, m);
    make_values(in, m);
    apply(m, in, PATCH_FIELD);
    sp_spmm_file_header laid_out = m->header;
    if (sp_spmm_file_lay_out(&laid_out) || laid_out.file_bytes > MOST_FILE || laid_out.nnz > MOST_ENTRIES ||
        laid_out.rows > 256) {
        /* invalid sizes: a header, followed by zeros in place of the data */
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
    m->header.check = sp_spmm_file_check(&m->header, offsetof(sp_spmm_file_header, check));
    memcpy(m->bytes, &m->header, sizeof m->header);
    apply(m, in, PATCH_DAMAGE);
    apply(m, in, PATCH_LENGTH);
}

int made_spmm_acceptable(const fuzz_input *in, const made_spmm *m)
{
    sp_spmm_file_header h = m->header;
    int finite = 1;
    for (int64_t e = 0; e < m->entries; e++)
        finite &= isfinite(in->read.precision == SPMM_F32 ? (float)m->value[e] : m->value[e]);
    return m->right && !sp_spmm_file_lay_out(&h) && (finite || in->read.allow_nonfinite);
}
