/** Converts a matrix from COO with several algorithms, times them and compares the results. */
#include "spmm_mpi/check_conversions.h"

#include <omp.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"
#include "formats/matrix.h"

/** The matrix that an algorithm fills. CSR and ELLPACK without padding use the same arrays. */
typedef struct target {
    const sp_coo *coo;
    int threads;
    int padded;
    int64_t width;  /* if padded: number of entries of the longest row */
    int64_t *start; /* [rows + 1] row starts, padding left out */
    int32_t *next;  /* [rows] number of entries inserted into each row so far, for the single pass */
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
    TRY(sp_alloc_zero((void **)&f->start, coo->rows + 1, sizeof *f->start, "row starts"));
    for (int64_t t = 0; t < coo->nnz; t++) f->start[coo->I[t] + 1]++;
    for (int64_t i = 0; i < coo->rows; i++) {
        if (f->start[i + 1] > f->width) f->width = f->start[i + 1];
        f->start[i + 1] += f->start[i];
    }
    if (algo->single_pass) TRY(sp_alloc_zero((void **)&f->next, coo->rows, sizeof *f->next, "row cursors"));
    /* cannot overflow: run_ours_ell() has checked ell_limit */
    const int64_t entries = f->padded ? coo->rows * f->width : coo->nnz;
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
static void check_conversions_fill(const checks *c, const algorithm *algo, target *f, outcome *o)
{
    enum { FIRST_ROWS = 4, FIRST_TRIPLETS = 1 << 14 };
    const double believable = 0.05; /* seconds to measure before extrapolating */
    const spmm_precision p = f->coo->precision;
    void (*const piece)(target *, int64_t, int64_t) = algo->single_pass ? SP_OF_REAL(fill_single_pass, p)
                                                                        : SP_OF_REAL(fill_scan, p);
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

/** Moves the entries of a padded target together, as those of the other targets are.
 *  \return 1; 0: padding has a column other than -1, or a value with bits other than 0 */
static int remove_padding(const target *f)
{
    const int64_t size = sp_value_size(f->coo->precision);
    char *const val = f->val;
    int right = 1;
    for (int64_t i = 0; f->padded && i < f->coo->rows; i++) {
        const int64_t at = i * f->width, to = f->start[i], n = f->start[i + 1] - to;
        for (int64_t e = at + n; e < at + f->width; e++) right &= f->col[e] == -1;
        for (int64_t b = (at + n) * size; b < (at + f->width) * size; b++) right &= val[b] == 0;
        memmove(f->col + to, f->col + at, (size_t)n * sizeof *f->col);
        memmove(val + to * size, val + at * size, (size_t)(n * size));
    }
    return right;
}

/** Sorts the entries of each row by column, so that results can be compared: the scan leaves the entries of a
 *  row in the order of the triplets, the single pass in an undefined order. Sums duplicates, which the
 *  counting sort does, too. */
static spmm_status sort_rows(const target *f, outcome *o, int64_t *duplicates)
{
    const sp_coo *const coo = f->coo;
    spmm_csr rows = {coo->rows, coo->cols, coo->nnz, coo->precision, f->start, f->col, f->val};
    const double begun = omp_get_wtime();
    const spmm_status status = sp_csr_sort_sum_duplicates(&rows, f->threads, duplicates);
    o->sorting = omp_get_wtime() - begun;
    return status;
}

/** Returns 1 if the target has the same entries as the matrix a, bit for bit. */
static int is_same(const target *f, const spmm_csr *a)
{
    return f->start[a->rows] == a->nnz &&
           memcmp(f->start, a->irp, (size_t)(a->rows + 1) * sizeof *a->irp) == 0 &&
           memcmp(f->col, a->ja, (size_t)a->nnz * sizeof *a->ja) == 0 &&
           memcmp(f->val, a->as, (size_t)(a->nnz * sp_value_size(a->precision))) == 0;
}

static spmm_status run_seed(const checks *c, const algorithm *algo, outcome *o)
{
    target f;
    *o = (outcome){0};
    const double begun = omp_get_wtime();
    spmm_status status = target_create(c, algo, &f);
    o->seconds = omp_get_wtime() - begun;
    if (status == SPMM_OK) check_conversions_fill(c, algo, &f, o);
    if (status == SPMM_OK && !o->skipped) {
        const int whole = remove_padding(&f);
        int64_t duplicates = 0;
        status = sort_rows(&f, o, &duplicates);
        o->same = whole && duplicates == 0 && is_same(&f, &c->csr);
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
    const int padded = format == SPMM_ELL;
    const target f = {
        .coo = c->coo, .padded = padded, .width = m.width, .start = c->csr.irp, .col = m.col, .val = m.val};
    /* without padding, row_start does not contain the end of the last row */
    const size_t bytes = (size_t)c->csr.rows * sizeof *m.row_start;
    o->same = (padded || memcmp(m.row_start, c->csr.irp, bytes) == 0) && remove_padding(&f) &&
              is_same(&f, &c->csr);
    sp_matrix_destroy(&m);
    return SPMM_OK;
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
        return sp_fail(SPMM_ERR_USAGE,
                       "conversions can be checked only for a general matrix, by at least 1 thread");
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
