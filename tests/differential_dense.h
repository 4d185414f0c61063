/** What the library computes with multivectors alone: inner products and norms over all ranks, and the
 *  local products with small dense matrices, sums, and scalings. */
#ifndef SP_DIFFERENTIAL_DENSE_H
#define SP_DIFFERENTIAL_DENSE_H

#include "differential_operands.h"

/** The multivectors of a step; the number of rows differs from rank to rank. */
typedef struct dense {
    spmm_precision precision;
    int parts;
    diff_values values;
    int64_t first, rows, total; /* this rank's rows are [first, first + rows) of total */
    int64_t kx, ky;
    operand x, y;
} dense;

/** Draws a multivector's number of columns. */
static inline int64_t draw_columns(void) { return 1 + draw_below(draw_percent(20) ? 150 : 20); }

static inline void dense_make(dense *d)
{
    static const int64_t sizes[] = {0, 1, 2, 7, 100, 511, 513, 1500};
    /* sums of squares neither overflow nor lose digits with these */
    static const diff_values values[] = {VALUES_UNIFORM, VALUES_INTEGERS, VALUES_ZEROS};
    static const operand_kind kinds[] = {OPERAND_CREATED, OPERAND_ROWS};
    memset(d, 0, sizeof *d);
    d->precision = draw_precision();
    d->parts = diff_parts(d->precision);
    d->values = draw_percent(6) ? VALUES_SPECIAL : DRAW_FROM(values);
    d->kx = draw_columns();
    d->ky = draw_columns();
    const int64_t most = DRAW_FROM(sizes);
    for (int rank = 0; rank < diff_.ranks; rank++) {
        const int64_t share = draw_below(3), rows = share == 0 ? 0 : share == 1 ? most : most / 2;
        if (rank < diff_.rank) d->first += rows;
        if (rank == diff_.rank) d->rows = rows;
        d->total += rows;
    }
    const operand_kind x_kind = DRAW_FROM(kinds), y_kind = DRAW_FROM(kinds);
    const int64_t x_pad = draw_below(9), y_pad = draw_below(9);
    const uint64_t x_key = draw(), y_key = draw();
    operand_make(&d->x, x_kind, NULL, d->rows, d->kx, d->precision, x_pad);
    operand_make(&d->y, y_kind, NULL, d->rows, d->ky, d->precision, y_pad);
    operand_fill(&d->x, d->first, d->values, x_key);
    operand_fill(&d->y, d->first, d->values, y_key);
    diff_.counts.dense++;
}

static inline void dense_destroy(dense *d)
{
    operand_destroy(&d->x);
    operand_destroy(&d->y);
}

/** Number j of row i, in global numbering, with which an operand was filled on this rank or another. */
static inline double filled(const operand *o, int64_t i, int64_t j)
{
    return diff_element(o->values, o->key, i, j, o->view.precision);
}

/** Element (i, j), likewise.
 *  \param [out] value  [parts] */
static inline void filled_element(const operand *o, int64_t i, int64_t j, double *value)
{
    const int parts = diff_parts(o->view.precision);
    for (int p = 0; p < parts; p++) value[p] = filled(o, i, j * parts + p);
}

/** The inner product of column i of x and column j of y over all ranks.
 *  \param [out] sum  [2] */
static inline void exact_dot(const dense *d, const operand *x, const operand *y, int64_t i, int64_t j,
                             exact *sum)
{
    double a[2], b[2];
    sum[0] = sum[1] = (exact){.roundings = diff_.ranks, .scale = 1};
    for (int64_t row = 0; row < d->total; row++) {
        filled_element(x, row, i, a);
        filled_element(y, row, j, b);
        exact_add_product(sum, d->parts, a, b, 1);
    }
}

/** Notes a difference unless the numbers have the same bits as on rank 0. Collective. */
static inline void same_everywhere(const double *g, int64_t rows, int64_t cols, int64_t ld, const char *what)
{
    double *const first = diff_malloc((size_t)(rows * cols) * sizeof *first);
    int differ = 0;
    for (int64_t i = 0; i < rows; i++) memcpy(first + i * cols, g + i * ld, (size_t)cols * sizeof *g);
    MPI_Bcast(first, (int)(rows * cols), MPI_DOUBLE, 0, diff_.comm);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) differ += !same_bits(first[i * cols + j], g[i * ld + j]);
    if (differ) differs("%d elements of %s have other bits than on rank 0", differ, what);
    free(first);
}

/** Computes inner products by the function for the precision.
 *  \param [out] g  [rows of G x ldg x parts] */
static inline spmm_status dot(const dense *d, const spmm_multivector *x, const spmm_multivector *y, double *g,
                              int64_t ldg)
{
    return d->parts == 2 ? spmm_multivector_dot_complex(diff_.comm, x, y, (spmm_complex *)g, ldg)
                         : spmm_multivector_dot(diff_.comm, x, y, g, ldg);
}

/** Compares element (i, j) of G.
 *  \param [in] y  NULL: G is X^H X, and Hermitian */
static inline void judge_dot(const dense *d, const operand *y, const double *g, int64_t ld, int64_t i,
                             int64_t j)
{
    const double *const found = g + (i * ld + j) * d->parts, *const mirror = g + (j * ld + i) * d->parts;
    exact sum[2];
    exact_dot(d, &d->x, y ? y : &d->x, i, j, sum);
    for (int p = 0; p < d->parts; p++) {
        judge(found[p], &sum[p], d->parts == 2 ? SPMM_C128 : SPMM_F64, "G", i, j * d->parts + p);
        if (!y && (p == 0 ? !same_bits(found[p], mirror[p]) : !same_bits(found[p] + 0.0, 0 - mirror[p])))
            differs("G(%lld, %lld) is not its mirror", (long long)i, (long long)j);
    }
}

/** Inner products, of two multivectors or of one with itself. */
static inline void step_dot(dense *d)
{
    enum { UNTOUCHED = 12345 };
    const int same = draw_percent(30);
    const operand *const y = same ? &d->x : &d->y;
    const int64_t kx = d->kx, ky = same ? kx : d->ky, ld = ky + draw_below(4);
    const int64_t line = ld * d->parts, used = ky * d->parts; /* numbers */
    double *const g = diff_malloc((size_t)(kx * line) * sizeof *g);
    diff_step("inner products of %lld and %lld columns%s, %lld rows in all", (long long)kx, (long long)ky,
              same ? ", the same" : "", (long long)d->total);
    for (int64_t e = 0; e < kx * line; e++) g[e] = UNTOUCHED;
    const spmm_status status = dot(d, &d->x.view, &y->view, g, ld);
    went_well(status, "spmm_multivector_dot()");
    if (same_status(status, "spmm_multivector_dot()") == SPMM_OK) {
        is_unchanged(&d->x, "x of dot");
        is_unchanged(&d->y, "y of dot");
        if (diff_.spoil) g[0] = g[0] * 1.001 + 1;
        for (int64_t i = 0; i < kx; i += 1 + kx / 5)
            for (int64_t j = 0; j < ky; j += 1 + ky / 5) judge_dot(d, same ? NULL : y, g, ld, i, j);
        for (int64_t i = 0; i < kx; i++)
            for (int64_t j = used; j < line; j++)
                if (g[i * line + j] != UNTOUCHED) differs("dot wrote behind row %lld of G", (long long)i);
        same_everywhere(g, kx, used, line, "G");
    }
    free(g);
}

/** Norms of columns: roots of sums of squares, judged by the number of roundings in the sums. */
static inline void step_norms(dense *d)
{
    double *const norm = diff_malloc((size_t)d->kx * sizeof *norm);
    diff_step("norms of %lld columns, %lld rows in all", (long long)d->kx, (long long)d->total);
    const spmm_status status = spmm_multivector_norms(diff_.comm, &d->x.view, norm);
    went_well(status, "spmm_multivector_norms()");
    if (same_status(status, "spmm_multivector_norms()") == SPMM_OK) {
        is_unchanged(&d->x, "x of norms");
        for (int64_t j = 0; j < d->kx; j += 1 + d->kx / 7) {
            exact sum[2];
            exact_dot(d, &d->x, &d->x, j, j, sum);
            sum[0].value = sqrt((double)sum[0].value);
            sum[0].magnitude = quad_abs(sum[0].value);
            judge(norm[j], &sum[0], SPMM_F64, "norm", j, 0);
        }
        same_everywhere(norm, 1, d->kx, d->kx, "the norms");
    }
    free(norm);
}

/** Compares row i of Y = alpha X R + beta Y.
 *  \param [in] r  [kx x ld x parts] */
static inline void judge_times(const dense *d, const operand *out, const double *r, int64_t ld, int64_t i,
                               spmm_complex alpha, spmm_complex beta)
{
    for (int64_t j = 0; j < d->ky; j += 1 + d->ky / 6) {
        exact sum[2] = {{.roundings = 1, .scale = 1}, {.roundings = 1, .scale = 1}}; /* R is rounded */
        double before[2], x[2], factor[2];
        filled_element(out, d->first + i, j, before);
        for (int64_t c = 0; c < d->kx; c++) {
            filled_element(&d->x, d->first + i, c, x);
            for (int p = 0; p < d->parts; p++)
                factor[p] = diff_rounded(r[(c * ld + j) * d->parts + p], d->precision);
            exact_add_product(sum, d->parts, x, factor, 0);
        }
        exact_scale(sum, d->parts, diff_factor_rounded(alpha, d->precision),
                    diff_factor_rounded(beta, d->precision), beta == 0 ? NULL : before);
        for (int p = 0; p < d->parts; p++)
            judge(element(out, i, j * d->parts + p), &sum[p], d->precision, "Y", i, j * d->parts + p);
    }
}

/** Y := alpha X R + beta Y, with y in its own memory or in that of x. */
static inline void step_times(dense *d)
{
    spmm_complex alpha = draw_factor(d->precision), beta = draw_factor(d->precision);
    if (draw_percent(50)) beta = 0;
    /* which elements are NaN is the same for alpha (X R) and X (alpha R) only if alpha is real */
    if (d->values == VALUES_SPECIAL) alpha = __real__ alpha;
    const int in_place = draw_percent(40) && d->kx >= d->ky && __imag__ beta == 0;
    const int64_t kx = d->kx, ky = d->ky, ld = ky + draw_below(3), line = ld * d->parts;
    const uint64_t key = draw();
    double *const r = diff_malloc((size_t)(kx * line) * sizeof *r);
    diff_step("times a matrix of %lld x %lld%s, alpha %g%+gi, beta %g%+gi", (long long)kx, (long long)ky,
              in_place ? ", in place" : "", __real__ alpha, __imag__ alpha, __real__ beta, __imag__ beta);
    for (int64_t i = 0; i < kx; i++)
        for (int64_t j = 0; j < line; j++)
            r[i * line + j] = j < ky * d->parts ? diff_element(VALUES_UNIFORM, key, i, j, SPMM_F64) : NAN;
    operand *const out = in_place ? &d->x : &d->y;
    spmm_multivector y = out->view;
    y.k = ky;
    if (beta == 0 && !in_place) operand_fill_nan(out);
    const spmm_status status = d->parts == 2 ? spmm_multivector_times_complex(alpha, &d->x.view,
                                                                              (spmm_complex *)r, ld, beta, &y)
                                             : spmm_multivector_times(__real__ alpha, &d->x.view, r, ld,
                                                                      __real__ beta, &y);
    if (went_well(status, "spmm_multivector_times()")) {
        padding_stands(out, 1, "y of times");
        operand_fetch(out);
        for (int64_t i = 0; i < d->rows; i += 1 + d->rows / 40) judge_times(d, out, r, ld, i, alpha, beta);
    }
    free(r);
}

/** Y := alpha X + beta Y. */
static inline void step_axpby(dense *d)
{
    const spmm_complex alpha = draw_factor(d->precision), other = draw_factor(d->precision),
                       beta = draw_percent(50) ? 0 : other;
    const int64_t k = d->kx < d->ky ? d->kx : d->ky;
    spmm_multivector x = d->x.view, y = d->y.view;
    diff_step("the sum of %lld columns, alpha %g%+gi, beta %g%+gi", (long long)k, __real__ alpha,
              __imag__ alpha, __real__ beta, __imag__ beta);
    x.k = y.k = k;
    if (beta == 0) operand_fill_nan(&d->y);
    const int plain = __imag__ alpha == 0 && __imag__ beta == 0; /* for any precision */
    const spmm_status status = plain ? spmm_multivector_axpby(__real__ alpha, &x, __real__ beta, &y)
                                     : spmm_multivector_axpby_complex(alpha, &x, beta, &y);
    if (!went_well(status, "spmm_multivector_axpby()")) return;
    is_unchanged(&d->x, "x of axpby");
    padding_stands(&d->y, 1, "y of axpby");
    operand_fetch(&d->y);
    for (int64_t i = 0; i < d->rows; i += 1 + d->rows / 40)
        for (int64_t j = 0; j < k; j++) {
            exact sum[2] = {{.scale = 1}, {.scale = 1}};
            double before[2], value[2];
            filled_element(&d->y, d->first + i, j, before);
            filled_element(&d->x, d->first + i, j, value);
            for (int p = 0; p < d->parts; p++) exact_add(&sum[p], value[p]);
            exact_scale(sum, d->parts, diff_factor_rounded(alpha, d->precision),
                        diff_factor_rounded(beta, d->precision), beta == 0 ? NULL : before);
            for (int p = 0; p < d->parts; p++)
                judge(element(&d->y, i, j * d->parts + p), &sum[p], d->precision, "Y", i, j * d->parts + p);
        }
}

/** The columns of x times a factor each. */
static inline void step_scale(dense *d)
{
    const int complex = d->parts == 2 && draw_percent(70);
    spmm_complex *const factor = diff_malloc((size_t)d->kx * sizeof *factor);
    double *const real = diff_malloc((size_t)d->kx * sizeof *real);
    diff_step("scaling %lld columns%s", (long long)d->kx, complex ? " by complex factors" : "");
    for (int64_t j = 0; j < d->kx; j++) {
        real[j] = 1 + (double)j / 3;
        factor[j] = __builtin_complex(real[j], complex ? (double)(j % 4) - 1.5 : 0);
    }
    if (went_well(complex ? spmm_multivector_scale_complex(factor, &d->x.view)
                          : spmm_multivector_scale(real, &d->x.view),
                  "spmm_multivector_scale()")) {
        padding_stands(&d->x, 1, "x of scale");
        operand_fetch(&d->x);
        for (int64_t i = 0; i < d->rows; i++)
            for (int64_t j = 0; j < d->kx; j++) {
                exact product[2] = {{.scale = 1}, {.scale = 1}};
                double value[2];
                filled_element(&d->x, d->first + i, j, value);
                for (int p = 0; p < d->parts; p++) exact_add(&product[p], value[p]);
                exact_multiply(product, d->parts, diff_factor_rounded(factor[j], d->precision));
                for (int p = 0; p < d->parts; p++)
                    judge(element(&d->x, i, j * d->parts + p), &product[p], d->precision, "X", i,
                          j * d->parts + p);
            }
    }
    free(factor);
    free(real);
}

/** Inner products in which one rank makes a mistake: all ranks must be refused. */
static inline void step_dot_mistake(dense *d)
{
    enum { X_NULL, G_NULL, LD_SMALL, MORE_COLUMNS, MORE_ROWS, COLUMN_MAJOR, OVERLAP, MISTAKES };
    static const char *const names[] = {"x is NULL",     "g is NULL",  "ldg is too small",
                                        "a column more", "a row more", "column-major rows",
                                        "g overlaps x"};
    const int mistake = (int)draw_below(MISTAKES), bad = (int)draw_below(diff_.ranks);
    const size_t bytes = (size_t)(d->kx * d->ky + d->x.view.ld * (d->rows + 1) + 1) * sizeof(spmm_complex);
    double *const g = diff_malloc(bytes);
    spmm_multivector x = d->x.view;
    const int here = diff_.rank == bad;
    if (mistake == MORE_COLUMNS && diff_.ranks == 1) return free(g); /* no mistake on one rank */
    if (mistake == OVERLAP && diff_.device == SPMM_CUDA) return free(g);
    diff_step("inner products, %s on rank %d", names[mistake], bad);
    memset(g, 0, bytes);
    if (here && mistake == MORE_COLUMNS) x.k--;
    if (here && mistake == MORE_ROWS) x.rows++;
    if (here && mistake == COLUMN_MAJOR) x.layout = SPMM_COLUMN_MAJOR;
    if (here && mistake == OVERLAP) x.data = g;
    /* no overlap without rows; whether an x without columns is refused is left open */
    const int real = mistake == OVERLAP ? d->rows > 0 : mistake == MORE_COLUMNS ? x.k > 0 : 1;
    int refused = here && real;
    MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, diff_.comm);
    const spmm_status status = dot(d, here && mistake == X_NULL ? NULL : &x, &d->y.view,
                                   here && mistake == G_NULL ? NULL : g,
                                   here && mistake == LD_SMALL ? d->ky - 1 : d->ky);
    if (refused)
        was_refused(status, "spmm_multivector_dot()");
    else
        same_status(status, "spmm_multivector_dot()");
    free(g);
}

/** Does one of these operations, at random. */
static inline void step_dense(void)
{
    void (*const steps[])(dense *) = {step_dot,   step_dot,   step_norms,      step_times,
                                      step_axpby, step_scale, step_dot_mistake};
    dense d;
    dense_make(&d);
    DRAW_FROM(steps)(&d);
    dense_destroy(&d);
}

#endif
