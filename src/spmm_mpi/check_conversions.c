/** Converts a matrix from COO with several algorithms, times them and compares the results. */
#include "spmm_mpi/check_conversions.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/csr.h"
#include "formats/matrix.h"

/** The matrix that an algorithm fills. CSR and ELLPACK without padding use the same arrays. */
typedef struct target {
    const sp_coo *coo;
    int threads;
    int padded;
    int64_t width;       /* if padded: number of entries of the longest row */
    int32_t *nz_per_row; /* [rows] number of entries of each row */
    int64_t *start;      /* if not padded: [rows + 1] row starts */
    int32_t *next;       /* for the single pass: [rows] number of entries inserted into each row so far */
    int32_t *col;
    void *val;
} target;

static int64_t row_position(const target *f, int64_t i) { return f->padded ? i * f->width : f->start[i]; }

#define VALUE double
#define NAME(name) name##_f64
#include "spmm_mpi/baseline_conversions_impl.h"
#undef VALUE
#undef NAME

#define VALUE float
#define NAME(name) name##_f32
#include "spmm_mpi/baseline_conversions_impl.h"
#undef VALUE
#undef NAME

#define LINE "%-22s %-31s %13s %10s %10s  %s\n"

typedef struct algorithm {
    const char *name;
    spmm_format format;
    int single_pass;
} algorithm;

/* The baseline algorithms in the order of the printed table. The table lists the program's own algorithm
 * after the two baseline algorithms of each format. */
static const algorithm algorithms[] = {
    {"coo_to_csr_scan", SPMM_CSR, 0},
    {"coo_to_csr_single_pass", SPMM_CSR, 1},
    {"coo_to_ell_scan", SPMM_ELL, 0},
    {"coo_to_ell_single_pass", SPMM_ELL, 1},
    {"coo_to_ell_nopad_scan", SPMM_ELL_NOPAD, 0},
    {"coo_to_ell_nopad_single_pass", SPMM_ELL_NOPAD, 1},
};

/** Result of a conversion algorithm. */
typedef struct outcome {
    double seconds; /* time of the conversion without sorting; an estimate if `skipped` */
    double sorting; /* seconds of sorting the rows by column afterwards */
    int skipped, same;
} outcome;

/** Arguments and results that are common to the checks of all formats. */
typedef struct checks {
    const sp_coo *coo;
    int threads;
    double ell_limit, seconds_limit;
    FILE *out;
    spmm_csr csr;       /* result of the counting sort; the other results are compared with it */
    double csr_seconds; /* time that the counting sort took */
    int differ;         /* number of results that differ from csr */
} checks;

static void target_destroy(target *f)
{
    sp_free(f->nz_per_row);
    sp_free(f->start);
    sp_free(f->next);
    sp_free(f->col);
    sp_free(f->val);
}

/** Counts the entries of each row and allocates the arrays of *f; the baseline's timings include this step.
 *  The caller destroys *f, also on failure. */
static spmm_status target_create(const checks *c, const algorithm *algo, target *f)
{
    const sp_coo *const coo = c->coo;
    *f = (target){.coo = coo, .threads = c->threads, .padded = algo->format == SPMM_ELL};
    TRY(sp_alloc_zero((void **)&f->nz_per_row, coo->rows, sizeof *f->nz_per_row, "row lengths"));
    for (int64_t t = 0; t < coo->nnz; t++) f->nz_per_row[coo->I[t]]++;
    if (algo->single_pass) TRY(sp_alloc_zero((void **)&f->next, coo->rows, sizeof *f->next, "row cursors"));
    int64_t entries = coo->nnz;
    if (f->padded) {
        for (int64_t i = 0; i < coo->rows; i++)
            if (f->nz_per_row[i] > f->width) f->width = f->nz_per_row[i];
        entries = coo->rows * f->width; /* cannot overflow: run_ours_ell() has checked ell_limit */
    } else {
        TRY(sp_alloc_zero((void **)&f->start, coo->rows + 1, sizeof *f->start, "row starts"));
        for (int64_t i = 0; i < coo->rows; i++) f->start[i + 1] = f->start[i] + f->nz_per_row[i];
    }
    TRY(sp_alloc((void **)&f->col, entries, sizeof *f->col, "column indices"));
    TRY(sp_alloc(&f->val, entries, sp_value_size(coo->precision), "values"));
    if (f->padded) {
        memset(f->col, 0xff, (size_t)entries * sizeof *f->col); /* all -1 */
        memset(f->val, 0, (size_t)(entries * sp_value_size(coo->precision)));
    }
    return SPMM_OK;
}

/** Runs a baseline algorithm in steps, each twice as large as the previous one. Abandons the algorithm if its
 *  total time, extrapolated from the steps so far, would exceed c->seconds_limit. */
static void fill(const checks *c, const algorithm *algo, target *f, outcome *o)
{
    enum { FIRST_ROWS = 4, FIRST_TRIPLETS = 1 << 14 };
    const double believable = 0.05; /* seconds to measure before extrapolating */
    const spmm_precision p = f->coo->precision;
    void (*const piece)(target *, int64_t, int64_t) = algo->single_pass ? SP_OF_TYPE(fill_single_pass, p)
                                                                        : SP_OF_TYPE(fill_scan, p);
    const int64_t total = algo->single_pass ? f->coo->nnz : f->coo->rows;
    int64_t step = algo->single_pass ? FIRST_TRIPLETS : (int64_t)FIRST_ROWS * c->threads;
    double filling = 0;
    for (int64_t done = 0; done < total; step *= 2) {
        const int64_t end = total - done < step ? total : done + step;
        const double begun = omp_get_wtime();
        piece(f, done, end);
        filling += omp_get_wtime() - begun;
        done = end;
        const double estimate = o->seconds + filling / (double)done * (double)total;
        if (done < total && filling > believable && estimate > c->seconds_limit) {
            o->skipped = 1;
            o->seconds = estimate;
            return;
        }
    }
    o->seconds += filling;
}

typedef struct entry {
    int32_t column;
    double value;
} entry;

static int by_column(const void *p, const void *q)
{
    const int32_t a = ((const entry *)p)->column, b = ((const entry *)q)->column;
    return (a > b) - (a < b);
}

static void sort_row(const target *f, int64_t i, entry *scratch)
{
    const int64_t from = row_position(f, i), n = f->nz_per_row[i];
    const spmm_precision precision = f->coo->precision;
    int64_t sorted = 1;
    while (sorted < n && f->col[from + sorted - 1] < f->col[from + sorted]) sorted++;
    if (sorted >= n) return;
    for (int64_t e = 0; e < n; e++)
        scratch[e] = (entry){f->col[from + e], sp_value_get(f->val, precision, from + e)};
    qsort(scratch, (size_t)n, sizeof *scratch, by_column);
    for (int64_t e = 0; e < n; e++) {
        f->col[from + e] = scratch[e].column;
        sp_value_set(f->val, precision, from + e, scratch[e].value);
    }
}

/** Sorts the entries of each row by column, so that results can be compared: the scan leaves the entries of a
 *  row in the order of the triplets, the single pass in an undefined order. */
static spmm_status sort_rows(const target *f, outcome *o)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < f->coo->rows; i++)
        if (f->nz_per_row[i] > longest) longest = f->nz_per_row[i];
    entry *scratch;
    TRY(sp_alloc((void **)&scratch, longest * f->threads, sizeof *scratch, "sorting rows"));
    const double begun = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 64) num_threads(f->threads)
    for (int64_t i = 0; i < f->coo->rows; i++) sort_row(f, i, scratch + omp_get_thread_num() * longest);
    o->sorting = omp_get_wtime() - begun;
    sp_free(scratch);
    return SPMM_OK;
}

/** Returns 1 if the target has the same entries as the matrix a, bit for bit, and all its padding has column
 *  -1 and a value of zero bits. */
static int is_same(const target *f, const spmm_csr *a)
{
    const int64_t size = sp_value_size(a->precision);
    const char *const val = f->val, *const as = a->as;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t at = row_position(f, i), from = a->irp[i], n = a->irp[i + 1] - from;
        if (f->nz_per_row[i] != n || memcmp(f->col + at, a->ja + from, (size_t)n * sizeof *a->ja) != 0 ||
            memcmp(val + at * size, as + from * size, (size_t)(n * size)) != 0)
            return 0;
        for (int64_t e = at + n; f->padded && e < at + f->width; e++)
            if (f->col[e] != -1) return 0;
        for (int64_t b = (at + n) * size; f->padded && b < (at + f->width) * size; b++)
            if (val[b] != 0) return 0;
    }
    return 1;
}

static spmm_status run_seed(const checks *c, const algorithm *algo, outcome *o)
{
    target f;
    *o = (outcome){0};
    const double begun = omp_get_wtime();
    spmm_status status = target_create(c, algo, &f);
    o->seconds = omp_get_wtime() - begun;
    if (status == SPMM_OK) fill(c, algo, &f, o);
    if (status == SPMM_OK && !o->skipped) {
        status = sort_rows(&f, o);
        if (status == SPMM_OK) o->same = is_same(&f, &c->csr);
    }
    target_destroy(&f);
    return status;
}

/** Prints one line of the table. The speed-up is relative to `first`, the baseline's scan for the same
 *  format; ~ marks numbers that are based on an estimate. */
static void print_line(checks *c, const char *conversion, const char *name, const outcome *o,
                       const outcome *first)
{
    char seconds[32], sorting[32] = "-", speed_up[32];
    snprintf(seconds, sizeof seconds, "%s%.6f", o->skipped ? "~" : "", o->seconds);
    if (!o->skipped) snprintf(sorting, sizeof sorting, "%.6f", o->sorting);
    snprintf(speed_up, sizeof speed_up, "%s%.1f", first->skipped ? "~" : "",
             first->seconds / (o->seconds > 0 ? o->seconds : 1e-9));
    fprintf(c->out, LINE, conversion, name, seconds, sorting, speed_up,
            o->skipped ? "skipped (estimate)"
            : o->same  ? "yes"
                       : "NO");
    if (!o->skipped && !o->same) c->differ++;
}

/** Times the program's own conversion of the triplets to CSR. The caller destroys *a. */
static spmm_status run_ours(const checks *c, spmm_csr *a, double *seconds)
{
    sp_coo copy; /* sp_csr_from_coo() consumes its input; making the copy is not timed */
    memset(a, 0, sizeof *a);
    TRY(sp_coo_expand(c->coo, &copy));
    const double begun = omp_get_wtime();
    const spmm_status status = sp_csr_from_coo(&copy, c->threads, a, NULL);
    *seconds = omp_get_wtime() - begun;
    return status;
}

/** Times the program's own conversion to an ELLPACK format, which includes the conversion to CSR, and
 *  compares the result with the CSR. */
static spmm_status run_ours_ell(const checks *c, spmm_format format, outcome *o)
{
    sp_matrix m;
    *o = (outcome){.seconds = c->csr_seconds};
    const double begun = omp_get_wtime();
    TRY(sp_matrix_create(&c->csr, format, SPMM_CPU, c->ell_limit, 0, c->threads, &m));
    o->seconds += omp_get_wtime() - begun;
    target f = {.coo = c->coo,
                .padded = format == SPMM_ELL,
                .width = m.width,
                .start = m.row_start,
                .col = m.col,
                .val = m.val,
                .nz_per_row = m.nz_per_row};
    spmm_status status = SPMM_OK;
    if (f.padded) {
        TRY_GOTO(sp_alloc((void **)&f.nz_per_row, c->coo->rows, sizeof *f.nz_per_row, "row lengths"), done);
        for (int64_t i = 0; i < c->csr.rows; i++)
            f.nz_per_row[i] = (int32_t)(c->csr.irp[i + 1] - c->csr.irp[i]);
    }
    o->same = is_same(&f, &c->csr);
    if (f.padded) sp_free(f.nz_per_row);
done:
    sp_matrix_destroy(&m);
    return status;
}

/** Runs the three algorithms that convert to one format, and prints one line of the table for each. */
static spmm_status check_format(checks *c, spmm_format format)
{
    static const char *const title[] = {
        [SPMM_CSR] = "COO to CSR", [SPMM_ELL] = "COO to ELL", [SPMM_ELL_NOPAD] = "COO to ELL, no padding"};
    outcome ours = {.seconds = c->csr_seconds, .same = 1}, first = {0}, o;
    if (format != SPMM_CSR) {
        const spmm_status status = run_ours_ell(c, format, &ours);
        if (status == SPMM_ERR_LIMIT) {
            fprintf(c->out, "%-22s refused: %s\n", title[format], spmm_error_message());
            return SPMM_OK;
        }
        TRY(status);
    }
    for (int n = 0; n < (int)(sizeof algorithms / sizeof *algorithms); n++) {
        if (algorithms[n].format != format) continue;
        TRY(run_seed(c, &algorithms[n], &o));
        if (!algorithms[n].single_pass) first = o;
        print_line(c, algorithms[n].single_pass ? "" : title[format], algorithms[n].name, &o, &first);
        fflush(c->out);
    }
    print_line(c, "", format == SPMM_CSR ? "counting sort (ours)" : "counting sort, then copy (ours)", &ours,
               &first);
    return SPMM_OK;
}

spmm_status sp_check_conversions(const sp_coo *coo, int threads, double ell_limit, double seconds_limit,
                                 FILE *out)
{
    if (threads < 1 || coo->symmetry != SP_GENERAL)
        return sp_fail(SPMM_ERR_USAGE, "conversions are checked on a general matrix by at least 1 thread");
    checks c = {
        .coo = coo, .threads = threads, .ell_limit = ell_limit, .seconds_limit = seconds_limit, .out = out};
    spmm_status status;
    TRY_GOTO(run_ours(&c, &c.csr, &c.csr_seconds), done);
    fprintf(out, "Conversions of a %lld x %lld matrix with %lld entries, %s, %d thread%s\n",
            (long long)coo->rows, (long long)coo->cols, (long long)coo->nnz,
            sp_precision_word(coo->precision), threads, threads == 1 ? "" : "s");
    fprintf(out,
            "sorting: time to sort the rows by column afterwards, not part of seconds; ours includes it\n");
    fprintf(out, LINE, "conversion", "algorithm", "seconds", "sorting", "speed-up", "result same");
    for (int format = SPMM_CSR; format <= SPMM_ELL_NOPAD; format++)
        TRY_GOTO(check_format(&c, (spmm_format)format), done);
    if (c.differ)
        status = sp_fail(SPMM_ERR_VERIFY, "%d of the conversions differ from the counting sort's", c.differ);
done:
    spmm_csr_destroy(&c.csr);
    return status;
}
