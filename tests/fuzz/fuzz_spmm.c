/** .spmm files, with corrected checksums, so that readers get as far as the data that these protect.
 *
 *  Bit 0 of extra: an accepted matrix is written and read again; bit 1: the input is the file itself, in
 *  which the header's checksum is corrected; otherwise the file is made from the input as described in
 *  made_spmm.h. */
#include <string.h>

#include "formats/csr.h"
#include "made_spmm.h"
#include "faults.h"

enum { MOST_RAW = 1 << 15, MOST_MEMORY = 1 << 20 };

typedef struct outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    spmm_csr a;
    sp_csr_file_facts facts;
} outcome;

static void read_file(const char *path, const sp_read_options *options, outcome *o)
{
    *o = (outcome){.status = SPMM_OK};
    o->status = sp_spmm_file_read(path, options, &o->a, &o->facts);
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

/** Checks that an accepted matrix is the one that the file was made from. */
static void check_contents(const made_spmm *m, const spmm_csr *a)
{
    FUZZ_CHECK(a->rows == m->header.rows && a->cols == m->header.cols && a->nnz == m->entries);
    FUZZ_CHECK(memcmp(a->irp, m->start, (size_t)(a->rows + 1) * sizeof *a->irp) == 0);
    FUZZ_CHECK(memcmp(a->ja, m->column, (size_t)a->nnz * sizeof *a->ja) == 0);
    for (int64_t e = 0; e < a->nnz; e++) {
        const double expected = a->precision == SPMM_F32 ? (float)m->value[e] : m->value[e];
        FUZZ_CHECK(value_at(a, e) == expected || (expected != expected && value_at(a, e) != value_at(a, e)));
    }
}

/** Checks row i of a block against that row of the whole matrix `all`. */
static void check_block_row(const spmm_csr *all, const sp_csr_file_range *r, const spmm_csr *block, int64_t i)
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

/** Checks a block: of an accepted file it equals that part of the matrix; of a refused one it is refused or
 *  valid. */
static void check_block(const fuzz_input *in, const char *path, const int choice[3], const outcome *whole,
                        int faults)
{
    sp_csr_file *f;
    spmm_csr block = {0};
    if (faults) fuzz_fault_on(in);
    spmm_status status = sp_spmm_file_open(path, &f);
    if (status == SPMM_OK) {
        const sp_csr_file_facts *const facts = sp_csr_file_facts_of(f);
        sp_csr_file_range r = {.row_begin = choice[0] % (facts->rows + 1),
                               .row_end = facts->rows,
                               .col_begin = choice[1] % (facts->cols + 1),
                               .precision = in->read.precision,
                               .allow_nonfinite = in->read.allow_nonfinite,
                               .threads = in->read.threads};
        r.col_end = r.col_begin + choice[2] % (facts->cols - r.col_begin + 1);
        if (r.row_begin & 1) r.row_end = r.row_begin + (r.row_end - r.row_begin) / 2;
        status = sp_csr_file_block(f, &r, &block, NULL);
        if (status == SPMM_OK) FUZZ_CHECK(sp_csr_check(&block) == SPMM_OK);
        for (int64_t i = r.row_begin;
             i < r.row_end && status == SPMM_OK && whole->status == SPMM_OK && !faults; i++)
            check_block_row(&whole->a, &r, &block, i);
        spmm_csr_destroy(&block);
        r.row_end = facts->rows + 1;
        if (status == SPMM_OK) FUZZ_CHECK(sp_csr_file_block(f, &r, &block, NULL) == SPMM_ERR_USAGE);
        r.row_end = r.row_begin;
        r.col_begin = r.col_end + 1;
        if (status == SPMM_OK) FUZZ_CHECK(sp_csr_file_block(f, &r, &block, NULL) == SPMM_ERR_USAGE);
    }
    fuzz_fault_off();
    if (status != SPMM_OK) fuzz_refused(status, path, FUZZ_PATH);
    if (!faults && whole->status == SPMM_OK) FUZZ_CHECK(status == SPMM_OK);
    sp_csr_file_close(f);
}

/** Checks that ranges outside of the file are refused. */
static void check_ranges(const char *path)
{
    sp_csr_file *f;
    int64_t start[4];
    int32_t column[4];
    if (sp_spmm_file_open(path, &f) != SPMM_OK) return;
    const sp_csr_file_facts *const facts = sp_csr_file_facts_of(f);
    FUZZ_CHECK(sp_csr_file_row_starts(f, facts->rows, facts->rows + 1, start) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_csr_file_row_starts(f, -1, 0, start) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_csr_file_columns(f, facts->nnz, facts->nnz + 1, 1, column) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_csr_file_columns(f, 1, 0, 1, column) == SPMM_ERR_USAGE);
    sp_csr_file_close(f);
}

static void check_written(const fuzz_input *in, const outcome *whole, int chunk)
{
    const sp_read_options options = {.precision = whole->a.precision, .threads = 2, .allow_nonfinite = 1};
    outcome again;
    const char *const path = fuzz_folder_file("a.spmm");
    const int64_t bytes = chunk % 16 < 8 ? 0 : 64 * (chunk % 16);
    FUZZ_CHECK(sp_spmm_file_write(path, &whole->a, &whole->facts, 63, 1) == SPMM_ERR_USAGE);
    FUZZ_CHECK(sp_spmm_file_write(path, &whole->a, &whole->facts, bytes, in->read.threads) == SPMM_OK);
    read_file(path, &options, &again);
    FUZZ_CHECK(again.status == SPMM_OK);
    fuzz_same_csr(&whole->a, &again.a);
    spmm_csr_destroy(&again.a);
    FUZZ_CHECK(fuzz_folder_clean(path));
    fuzz_fault_on(in);
    const spmm_status status = sp_spmm_file_write(path, &whole->a, &whole->facts, bytes, in->read.threads);
    fuzz_fault_off();
    if (status != SPMM_OK)
        fuzz_refused(status, path, FUZZ_ANY);
    else
        read_file(path, &options, &again);
    if (status == SPMM_OK) fuzz_same_csr(&whole->a, &again.a);
    if (status == SPMM_OK) spmm_csr_destroy(&again.a);
    FUZZ_CHECK(fuzz_folder_clean(path) == (status == SPMM_OK)); /* the file is complete, or does not exist */
    FUZZ_CHECK(sp_spmm_file_write("/dev/full", &whole->a, &whole->facts, bytes, 1) == SPMM_ERR_OUTPUT);
    fuzz_refused(SPMM_ERR_OUTPUT, "/dev/full", FUZZ_PATH);
}

static void check_faults(const fuzz_input *in, const char *path, const outcome *expected)
{
    outcome o;
    fuzz_fault_on(in);
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

int fuzz_spmm(const uint8_t *data, size_t size)
{
    static made_spmm m;
    fuzz_input in;
    outcome whole;
    if (!fuzz_begin(&in, "spmm", data, size)) return 0;
    if (in.extra & 2) {
        const int choice[3] = {3, 2, 5};
        if (in.size > MOST_RAW) return 0;
        memcpy(m.bytes, in.data, in.size);
        const uint32_t check = sp_spmm_file_check(m.bytes, offsetof(sp_spmm_file_header, check));
        if (in.size >= sizeof m.header)
            memcpy(m.bytes + offsetof(sp_spmm_file_header, check), &check, sizeof check);
        check_file(&in, fuzz_file(m.bytes, in.size), choice, &whole);
    } else {
        made_spmm_make(&in, &m);
        check_file(&in, fuzz_file(m.bytes, (size_t)m.size), m.block, &whole);
        if (!m.patched)
            FUZZ_CHECK(whole.status == (made_spmm_acceptable(&in, &m) ? SPMM_OK : SPMM_ERR_SYNTAX));
        if (!m.patched && whole.status == SPMM_OK) check_contents(&m, &whole.a);
    }
    spmm_csr_destroy(&whole.a);
    if (faults_largest() > MOST_MEMORY) fuzz_fail("asked for %lld bytes", (long long)faults_largest());
    return fuzz_end();
}
