/** The options of both programs: an argument per line.
 *
 *  Bit 0 of extra: options of series_mpi, else of spmm_mpi. If they name a small generated matrix, it is
 *  made. */
#include "fuzz.h"

#include <string.h>

#include "formats/csr.h"
#include "io/generators.h"
#include "spmm_mpi/options.h"

enum { MOST_ARGUMENTS = 24, MOST_BYTES = 2000, MOST_NUMBER = 12 };

/** A program's arguments, copied from the input's lines for each parsing, which reorders them. */
typedef struct arguments {
    char text[MOST_BYTES + 1];
    char *argv[MOST_ARGUMENTS + 2];
    int argc;
} arguments;

static void split(const fuzz_input *in, arguments *a)
{
    memcpy(a->text, in->data, in->size);
    a->text[in->size] = '\0';
    a->argc = 0;
    a->argv[a->argc++] = "program";
    for (char *p = in->size ? a->text : NULL; p && a->argc <= MOST_ARGUMENTS;) {
        char *const newline = strchr(p, '\n');
        a->argv[a->argc++] = p;
        if (newline) *newline = '\0';
        p = newline && newline[1] ? newline + 1 : NULL;
    }
    a->argv[a->argc] = NULL;
}

static void parsed(spmm_status status)
{
    FUZZ_CHECK(status == SPMM_OK || status == SPMM_ERR_USAGE || status == SPMM_ERR_LIMIT ||
               status == SPMM_ERR_NO_DEVICE);
    if (status != SPMM_OK) fuzz_refused(status, NULL, FUZZ_ANY);
}

/** Returns whether all numbers in a generator's specification are small. */
static int small(const char *spec)
{
    int number = 0;
    for (const char *p = strchr(spec, ':'); *p; p++) {
        number = *p >= '0' && *p <= '9' ? 10 * number + *p - '0' : 0;
        if (number > MOST_NUMBER) return 0;
    }
    return 1;
}

static void generate(const fuzz_input *in, const char *spec)
{
    spmm_csr a, b;
    const spmm_status status = sp_gen_csr(spec, in->read.precision, 1, &a);
    FUZZ_CHECK(status == SPMM_OK && sp_csr_check(&a, 1) == SPMM_OK);
    FUZZ_CHECK(sp_gen_csr(spec, in->read.precision, in->read.threads, &b) == SPMM_OK);
    fuzz_same_csr(&a, &b);
    spmm_csr_destroy(&b);
    fuzz_fault_on(in);
    const spmm_status other = sp_gen_csr(spec, in->read.precision, in->read.threads, &b);
    fuzz_fault_off();
    if (other != SPMM_OK)
        fuzz_refused(other, NULL, FUZZ_ANY);
    else
        fuzz_same_csr(&a, &b);
    spmm_csr_destroy(&a);
    spmm_csr_destroy(&b);
}

static void spmm_mpi(const fuzz_input *in, arguments *a)
{
    sp_options o, again;
    const spmm_status status = sp_options_parse(a->argc, a->argv, &o);
    parsed(status);
    if (status == SPMM_OK) {
        FUZZ_CHECK(o.matrix && o.columns.count >= 1 && o.columns.count <= SP_MAX_COLUMNS &&
                   o.plan_count <= SP_MAX_COLUMNS);
        for (int k = 0; k < o.columns.count; k++) FUZZ_CHECK(o.columns.k[k] >= 1);
        FUZZ_CHECK(o.threads >= 0 && o.repeat >= 1 && o.warmup >= 0 && o.column_blocks >= 0 &&
                   o.ell_limit > 0);
        FUZZ_CHECK((o.p >= 1 && o.q >= 1) || (o.p == 0 && o.q == 0));
        FUZZ_CHECK(!sp_options_round(&o) || o.bits != SP_BITS_EXACT);
        if (o.action == SP_ACTION_HELP) fuzz_help(sp_options_help);
        if (sp_gen_is_spec(o.matrix) && small(o.matrix)) generate(in, o.matrix);
    }
    split(in, a);
    FUZZ_CHECK(sp_options_parse(a->argc, a->argv, &again) == status);
}

static void series_mpi(const fuzz_input *in, arguments *a)
{
    const spmm_status status = fuzz_series_options(a->argc, a->argv);
    parsed(status);
    split(in, a);
    FUZZ_CHECK(fuzz_series_options(a->argc, a->argv) == status);
}

int fuzz_options(const uint8_t *data, size_t size)
{
    fuzz_input in;
    static arguments a;
    if (!fuzz_begin(&in, "options", data, size)) return 0;
    if (in.size > MOST_BYTES || memchr(in.data, '\0', in.size)) return 0;
    split(&in, &a);
    if (in.extra & 1)
        series_mpi(&in, &a);
    else
        spmm_mpi(&in, &a);
    return fuzz_end();
}
