/** Compares Y with the serial product within a rounding-error bound, and selects the rows of a sample. */
#include "spmm_mpi/verify.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "formats/summation.h"

enum { CHUNK_ROWS = 64 };

/** Merges the result `part` of one thread into `into`. The first wrong element is the one in the lowest row,
 *  no matter which thread found it. */
static void merge(sp_error *into, const sp_error *part)
{
    if (part->max_relative > into->max_relative || isnan(part->max_relative))
        into->max_relative = part->max_relative;
    into->mean_relative += part->mean_relative; /* a sum, from which sp_verify() computes the mean */
    into->checked += part->checked;
    into->wrong += part->wrong;
    into->different += part->different;
    into->rounding = fmax(into->rounding, part->rounding);
    into->of_bound = fmax(into->of_bound, part->of_bound);
    if (part->row >= 0 && (into->row < 0 || part->row < into->row)) {
        into->row = part->row;
        into->column = part->column;
        into->found = part->found;
        into->expected = part->expected;
        into->bound = part->bound;
    }
}

static int is_nan(sp_c128 v) { return isnan(__real__ v) || isnan(__imag__ v); }

static int same_value(sp_c128 a, sp_c128 b) { return a == b || (is_nan(a) && is_nan(b)); }

static double allowance(int64_t n, double sum, spmm_precision precision)
{
    const sp_value_type type = sp_type_of(precision);
    /* a part of a complex element is a sum of twice as many products, and the modulus of its error at most
       sqrt(2) times as large as that of the larger part's */
    const double products = (double)n * type.parts, parts = type.parts == 2 ? M_SQRT2 : 1;
    const double nu = products * type.unit;
    /* if n u >= 1/2, gamma_n is huge or undefined. Then use 2 n u: already n u bounds the error of a sum of
       n products (Jeannerod, Rump: SIAM J. Matrix Anal. Appl. 34(2), 2013) */
    const double gamma = nu < 0.5 ? nu / (1 - nu) : 2 * nu;
    return 2 * parts *
           (gamma * sum + products * type.least); /* 2: both y and the reference may have this error */
}

/** Returns the relative error of `found` against `expected`, or the absolute error if `expected` is 0. */
static double relative_error(sp_c128 found, sp_c128 expected)
{
    if (same_value(found, expected)) return 0;
    const double difference = sp_magnitude(found - expected);
    const double relative = expected != 0 ? difference / sp_magnitude(expected) : difference;
    return isnan(relative) ? INFINITY : relative;
}

/** Compares an element of Y, `found`, with that of the serial product, `expected`, and with that of the
 *  product with one chain per element, `plain`. \param [in] rounding the part of the bound that is due to
 *  rounded rows of X */
static void verify_compare(int64_t row, int64_t column, sp_c128 found, sp_c128 expected, sp_c128 plain,
                           double bound, double rounding, sp_error *e)
{
    const int same = same_value(found, expected);
    const double relative = relative_error(found, plain);
    e->checked++;
    e->different += !same;
    e->mean_relative += relative;
    if (relative > e->max_relative) e->max_relative = relative;
    if (rounding > e->rounding) e->rounding = rounding;
    if (rounding > 0 && !same) {
        const double part = sp_magnitude(found - expected) / bound;
        e->of_bound = isnan(part) ? INFINITY : fmax(e->of_bound, part);
    }
    /* finite: the bound may be infinite */
    if (same || (sp_is_finite(expected) && sp_is_finite(found) && sp_magnitude(found - expected) <= bound))
        return;
    e->wrong++;
    if (e->row < 0) {
        e->row = row;
        e->column = column;
        e->found = found;
        e->expected = expected;
        e->bound = bound;
    }
}

typedef struct scratch {
    spmm_multivector reference; /* [CHUNK_ROWS x k] rows of the serial product */
    /* [CHUNK_ROWS x k] the same with one chain per element; used if the chunk has long rows */
    spmm_multivector plain;
    double *sum;      /* [CHUNK_ROWS x k] sum of |a| |x| for each element of the product */
    double *rounding; /* [k] bound of the error of a row of Y that rounded rows of X cause */
} scratch;

static spmm_status scratch_create(const spmm_csr *a, int64_t k, scratch *s)
{
    TRY(spmm_multivector_create(CHUNK_ROWS, k, a->precision, SPMM_CPU, &s->reference));
    TRY(spmm_multivector_create(CHUNK_ROWS, k, a->precision, SPMM_CPU, &s->plain));
    TRY(sp_alloc((void **)&s->rounding, k, sizeof *s->rounding, "bounds"));
    return sp_alloc((void **)&s->sum, CHUNK_ROWS * k, sizeof *s->sum, "bounds");
}

/** Returns 1 if process row p owns row `index` of X. */
static int owns(const sp_ranges *r, int p, int64_t index)
{
    int q = 0;
    while (q < r->q && !(index >= sp_x_first(r, p, q) && index < sp_x_end(r, p, q))) q++;
    return q < r->q;
}

/** Sums |a| max(u |x|, t) over the entries of row i that read rounded rows of X, where u is the unit
 *  round-off of f32, and t half of its smallest subnormal number.
 *  \param [out] sum  [x->k] */
static void sum_rounding(const sp_matrix *a, int64_t i, const spmm_multivector *x,
                         const sp_ghosts_rounded *rounded, double *sum)
{
    const sp_ranges *const r = rounded->ranges;
    const int64_t row = rounded->row ? rounded->row[i] : i;
    int p = 0;
    memset(sum, 0, (size_t)x->k * sizeof *sum);
    while (row >= r->row_begin[p + 1]) p++;
    for (int64_t e = a->row_start[i]; e < a->row_start[i + 1]; e++) {
        const double value = sp_magnitude(sp_value_at(a->val, a->precision, e));
        if (owns(r, p, a->col[e])) continue;
        for (int64_t j = 0; j < x->k; j++)
            sum[j] += value * fmax((double)FLT_EPSILON / 2 * sp_magnitude(sp_multivector_at(x, a->col[e], j)),
                                   (double)FLT_TRUE_MIN / 2);
    }
}

static void check_rows(const sp_matrix *a, int64_t begin, int64_t end, const spmm_multivector *x,
                       const spmm_multivector *y, const sp_ghosts_rounded *rounded, scratch *s, sp_error *e)
{
    /* `rows` shares the arrays of a: its row starts are still positions in the whole arrays col and val */
    sp_matrix rows = *a;
    int64_t longest = 0;
    rows.row_start = a->row_start + begin;
    rows.rows = end - begin;
    for (int64_t i = 0; i < rows.rows; i++)
        if (rows.row_start[i + 1] - rows.row_start[i] > longest)
            longest = rows.row_start[i + 1] - rows.row_start[i];
    const spmm_multivector *const plain = longest > SP_CHAIN ? &s->plain : &s->reference;
    sp_serial_product(&rows, 0, rows.rows, x, &s->reference);
    if (longest > SP_CHAIN) sp_serial_plain_product(&rows, 0, rows.rows, x, &s->plain);
    sp_serial_bound(&rows, 0, rows.rows, x, s->sum);
    for (int64_t i = 0; i < rows.rows; i++) {
        const int64_t n = rows.row_start[i + 1] - rows.row_start[i];
        if (rounded) sum_rounding(a, begin + i, x, rounded, s->rounding);
        for (int64_t j = 0; j < x->k; j++) {
            const double rounding = rounded ? (1 + 2 * DBL_EPSILON * (double)n) * s->rounding[j] : 0;
            verify_compare(begin + i, j, sp_multivector_at(y, begin + i, j),
                           sp_multivector_at(&s->reference, i, j), sp_multivector_at(plain, i, j),
                           allowance(n, s->sum[i * x->k + j], a->precision) + rounding, rounding, e);
        }
    }
}

spmm_status sp_verify(const spmm_csr *a, const spmm_multivector *x, const spmm_multivector *y,
                      const sp_ghosts_rounded *rounded, int threads, sp_error *error)
{
    sp_matrix m;
    int failed = 0;
    sp_matrix_view_csr(a, &m);
    *error = (sp_error){.row = -1, .column = -1};
#pragma omp parallel num_threads(threads)
    {
        scratch s = {.sum = NULL};
        sp_error mine = {.row = -1, .column = -1};
        const int bad = scratch_create(a, x->k, &s) != SPMM_OK;
#pragma omp for schedule(dynamic)
        for (int64_t begin = 0; begin < a->rows; begin += CHUNK_ROWS)
            if (!bad)
                check_rows(&m, begin, begin + CHUNK_ROWS < a->rows ? begin + CHUNK_ROWS : a->rows, x, y,
                           rounded, &s, &mine);
#pragma omp critical(sp_verify_merge)
        {
            merge(error, &mine);
            failed |= bad;
        }
        spmm_multivector_destroy(&s.reference);
        spmm_multivector_destroy(&s.plain);
        sp_free(s.sum);
        sp_free(s.rounding);
    }
    if (error->checked > 0) error->mean_relative /= (double)error->checked;
    return failed ? sp_fail(SPMM_ERR_MEMORY, "cannot allocate the reference for verifying") : SPMM_OK;
}

void sp_sample_rows(const int64_t *begin, int blocks, int64_t *rows, int64_t *first)
{
    const int64_t all = begin[blocks] - begin[0];
    int64_t taken = 0;
    for (int b = 0; b < blocks; b++) {
        const int64_t size = begin[b + 1] - begin[b];
        /* integer division yields distinct rows, since share <= size; a rounded spacing might repeat a row */
        int64_t share = all <= SP_SAMPLE_ROWS ? size : size * SP_SAMPLE_ROWS / all;
        if (share == 0 && size > 0) share = 1;
        first[b] = taken;
        for (int64_t i = 0; i < share; i++) rows[taken++] = begin[b] + i * size / share;
    }
    first[blocks] = taken;
}
