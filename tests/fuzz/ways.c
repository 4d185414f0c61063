#include "ways.h"

#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "../same_info.h"

enum { MOST_ROWS = 20000, MOST_DENSE = 40000 };

void ways_destroy(ways_outcome *o)
{
    spmm_csr_destroy(&o->a);
    spmm_multivector_destroy(&o->x);
}

static void set_status(ways_outcome *o, spmm_status status)
{
    o->status = status;
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
}

/** Checks that progress never decreases and is at most 1. */
static void progress(void *context, double fraction)
{
    double *const last = context;
    FUZZ_CHECK(fraction >= *last && fraction <= 1.0);
    *last = fraction;
}

void ways_by_triplets(const char *path, const sp_read_options *options, ways_outcome *o)
{
    sp_coo coo;
    set_status(o, sp_read_coo(path, options, &coo, &o->info));
    if (o->status != SPMM_OK) return;
    o->stored = coo.nnz;
    if (coo.rows > MOST_ROWS) {
        o->a.rows = -1;
        sp_coo_destroy(&coo);
        return;
    }
    FUZZ_CHECK(sp_csr_from_coo(&coo, options->threads, &o->a, &o->duplicates) == SPMM_OK);
}

static void as_csr(const char *path, const sp_read_options *options, ways_outcome *o)
{
    set_status(o, sp_read_csr(path, options, &o->a, &o->info, &o->stored, &o->duplicates));
}

/** Returns 1 if two messages are equal, except for the amount of available memory in them. */
static int alike(const char *a, const char *b)
{
    static const char limit[] = "data that take more than ";
    const char *const from_a = strstr(a, limit), *const from_b = strstr(b, limit);
    if (!from_a || !from_b || from_a - a != from_b - b || strncmp(a, b, (size_t)(from_a - a)) != 0)
        return strcmp(a, b) == 0;
    const char *const unit_a = strstr(from_a, " of memory"), *const unit_b = strstr(from_b, " of memory");
    return unit_a && unit_b && strcmp(unit_a, unit_b) == 0;
}

void ways_same_refusal(const ways_outcome *a, const ways_outcome *b)
{
    if (a->status != b->status || !alike(a->message, b->message))
        fuzz_fail("%d \"%s\" and %d \"%s\"", (int)a->status, a->message, (int)b->status, b->message);
}

static void same_multivector(const spmm_multivector *a, const spmm_multivector *b)
{
    const size_t size = sp_value_size(a->precision);
    FUZZ_CHECK(a->rows == b->rows && a->k == b->k && a->precision == b->precision);
    for (int64_t i = 0; i < a->rows; i++)
        FUZZ_CHECK(memcmp((char *)a->data + (size_t)(i * a->ld) * size,
                          (char *)b->data + (size_t)(i * b->ld) * size, (size_t)a->k * size) == 0);
}

void ways_same(const ways_outcome *a, const ways_outcome *b, int info)
{
    if (a->status != SPMM_OK || b->status != SPMM_OK) {
        ways_same_refusal(a, b);
        return;
    }
    FUZZ_CHECK(!a->a.irp == !b->a.irp && a->stored == b->stored && a->duplicates == b->duplicates);
    if (a->a.irp)
        fuzz_same_csr(&a->a, &b->a);
    else
        same_multivector(&a->x, &b->x);
    if (info) FUZZ_CHECK(same_info(&a->info, &b->info));
}

/* ---- dense ---- */

/** Returns element (i, j) of a CSR matrix as it is in a dense one. */
static sp_c128 element(const spmm_csr *a, int64_t i, int64_t j)
{
    for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
        if (a->ja[e] == j) return sp_value_at(a->as, a->precision, e);
    return 0;
}

static void same_elements(const spmm_multivector *x, const spmm_csr *a)
{
    FUZZ_CHECK(x->rows == a->rows && x->k == a->cols);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->k; j++) {
            const sp_c128 found = sp_value_at(x->data, x->precision, i * x->ld + j);
            const sp_c128 expected = element(a, i, j);
            FUZZ_CHECK(found == expected || (found != found && expected != expected));
        }
    }
}

/** Checks that reading as a dense matrix, in pieces or at once, yields the CSR matrix, or is refused like
 *  it. */
static void check_dense(const fuzz_input *in, const char *path, const sp_read_options *plain,
                        const ways_outcome *expected)
{
    ways_outcome whole = {0}, pieces = {0};
    const int accepted = expected->status == SPMM_OK;
    if (accepted && (expected->a.rows < 0 || expected->a.rows * expected->a.cols > MOST_DENSE)) return;
    fuzz_chunk(FUZZ_WHOLE);
    set_status(&whole, sp_read_dense(path, plain, &whole.x));
    fuzz_chunk(in->chunk);
    set_status(&pieces, sp_read_dense(path, &in->read, &pieces.x));
    if (whole.status != SPMM_OK || pieces.status != SPMM_OK) {
        ways_same_refusal(&whole, &pieces);
        fuzz_refused(whole.status, path, FUZZ_LINE);
        FUZZ_CHECK(!accepted || expected->a.cols == 0);
    } else {
        FUZZ_CHECK(accepted);
        same_multivector(&whole.x, &pieces.x);
        /* (duplicates are summed in another order) */
        if (expected->duplicates == 0) same_elements(&whole.x, &expected->a);
    }
    ways_destroy(&whole);
    ways_destroy(&pieces);
}

/* ---- faults ---- */

/** Reads with the input's fault: the outcome must be the expected one, or a refusal. */
static void check_faults(const fuzz_input *in, const char *path, const ways_outcome *expected)
{
    ways_outcome o = {0};
    if (expected->a.rows < 0) return;
    const int dense = in->extra & 1 && expected->a.rows * expected->a.cols <= MOST_DENSE;
    fuzz_fault_on(in);
    if (dense)
        set_status(&o, sp_read_dense(path, &in->read, &o.x));
    else
        as_csr(path, &in->read, &o);
    fuzz_fault_off();
    sp_set_message(o.message);
    if (o.status != SPMM_OK)
        fuzz_refused(o.status, path, FUZZ_PATH);
    else if (o.a.irp && in->fault == FUZZ_CHANGE)
        FUZZ_CHECK(sp_csr_check(&o.a, 1) == SPMM_OK);
    else if (o.a.irp && in->fault != FUZZ_CUT)
        ways_same(expected, &o, 1);
    if (fuzz_harmless(in) && o.a.irp) ways_same(expected, &o, 1);
    /* (Not for dense reading, whose message may differ: it refuses a matrix without columns at the size line,
     * while the other ways of reading report an error after that line.) */
    if (!dense && fuzz_harmless(in) && o.status != SPMM_OK && expected->status != SPMM_OK)
        ways_same_refusal(expected, &o);
    ways_destroy(&o);
}

/* ---- all ways of reading ---- */

/** Checks the sizes read from the header alone, and the library's public function. */
static void check_public(const fuzz_input *in, const char *path, const ways_outcome *expected)
{
    sp_sizes sizes;
    spmm_csr a = {0};
    const spmm_status status = sp_read_sizes(path, &sizes);
    if (status != SPMM_OK) fuzz_refused(status, path, FUZZ_LINE);
    if (expected->status != SPMM_OK || expected->a.rows < 0 || in->read.allow_nonfinite) return;
    FUZZ_CHECK(status == SPMM_OK && sizes.rows == expected->a.rows && sizes.cols == expected->a.cols);
    FUZZ_CHECK(sizes.entries == 0 || sizes.entries >= expected->stored);
    FUZZ_CHECK(spmm_csr_read(path, in->read.precision, &a) == SPMM_OK);
    fuzz_same_csr(&expected->a, &a);
    spmm_csr_destroy(&a);
}

/** Returns 1 if the header has more rows than a target allocates row starts for. */
static int has_many_rows(const char *path)
{
    sp_sizes sizes;
    return sp_read_sizes(path, &sizes) == SPMM_OK && sizes.rows > MOST_ROWS;
}

void ways_check(const fuzz_input *in, const char *path, ways_outcome *o)
{
    const sp_read_options plain = {
        .precision = in->read.precision, .threads = 1, .allow_nonfinite = in->read.allow_nonfinite};
    sp_read_options options = in->read;
    double last = 0;
    ways_outcome other = {0};
    fuzz_chunk(FUZZ_WHOLE);
    ways_by_triplets(path, &plain, o);
    if (o->status != SPMM_OK) fuzz_refused(o->status, path, FUZZ_LINE);
    /* (With rows = -1 the file is not read as CSR below: reading it may allocate gigabytes of row starts
     * before the file is refused at its first entry.) */
    if (o->status != SPMM_OK && has_many_rows(path)) o->a.rows = -1;
    if (o->a.irp) FUZZ_CHECK(sp_csr_check(&o->a, 1) == SPMM_OK);
    fuzz_chunk(in->chunk);
    if (in->extra & 4) {
        options.progress = progress;
        options.progress_context = &last;
    }
    if (in->extra & 2 || o->a.rows < 0)
        ways_by_triplets(path, &options, &other);
    else
        as_csr(path, &options, &other);
    if (o->a.rows >= 0 || o->status != SPMM_OK) ways_same(o, &other, 1);
    if (options.progress && other.status == SPMM_OK) FUZZ_CHECK(last == 1.0);
    ways_destroy(&other);
    if (in->extra & 1) check_dense(in, path, &plain, o);
    if (in->extra & 4) check_public(in, path, o);
    if (in->fault != FUZZ_NO_FAULT) check_faults(in, path, o);
}
