/** Compares Y with the serial product within a rounding-error bound, and selects the rows of a sample. */
#include "spmm_mpi/verify.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"

enum { CHUNK_ROWS = 64 };

/** Merges the result `part` of one thread into `into`. The first wrong element is the one in the lowest row,
 *  no matter which thread found it. */
static void merge(sp_error *into, const sp_error *part)
{
    if (part->max_relative > into->max_relative || isnan(part->max_relative))
        into->max_relative = part->max_relative;
    into->mean_relative += part->mean_relative; /* a sum; sp_verify() computes the mean from it */
    into->checked += part->checked;
    into->wrong += part->wrong;
    into->different += part->different;
    if (part->row >= 0 && (into->row < 0 || part->row < into->row)) {
        into->row = part->row;
        into->column = part->column;
        into->found = part->found;
        into->expected = part->expected;
        into->bound = part->bound;
    }
}

static double allowance(int64_t n, double sum, spmm_precision precision)
{
    const double u = precision == SPMM_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    const double tiny = precision == SPMM_F64 ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
    const double nu = (double)n * u;
    /* if n u >= 1/2, gamma_n is huge or undefined. Then use 2 n u: already n u bounds the error of a sum of
       n products (Jeannerod, Rump: SIAM J. Matrix Anal. Appl. 34(2), 2013) */
    const double gamma = nu < 0.5 ? nu / (1 - nu) : 2 * nu;
    return 2 * (gamma * sum + (double)n * tiny); /* 2: both y and the reference may have this error */
}

static void compare(int64_t row, int64_t column, double found, double expected, double bound, sp_error *e)
{
    const int same = found == expected || (isnan(found) && isnan(expected));
    double relative = 0;
    int right = same;
    if (!same) {
        const double difference = fabs(found - expected);
        relative = expected != 0 ? difference / fabs(expected) : difference;
        if (isnan(relative)) relative = INFINITY;
        right = isfinite(expected) && isfinite(found) && difference <= bound; /* the bound may be infinite */
    }
    e->checked++;
    e->different += !same;
    e->mean_relative += relative;
    if (relative > e->max_relative) e->max_relative = relative;
    if (right) return;
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
    double *sum;                /* [CHUNK_ROWS x k] sum of |a| |x| for each element of the product */
} scratch;

static void check_rows(const sp_matrix *a, int64_t begin, int64_t end, const spmm_multivector *x,
                       const spmm_multivector *y, scratch *s, sp_error *e)
{
    /* `rows` shares the arrays of a: its row starts are still positions in the whole arrays col and val */
    sp_matrix rows = *a;
    rows.row_start = a->row_start + begin;
    rows.rows = end - begin;
    sp_serial_product(&rows, 0, rows.rows, x, &s->reference);
    sp_serial_bound(&rows, 0, rows.rows, x, s->sum);
    for (int64_t i = 0; i < rows.rows; i++) {
        const int64_t n = rows.row_start[i + 1] - rows.row_start[i];
        for (int64_t j = 0; j < x->k; j++)
            compare(begin + i, j, sp_multivector_get(y, begin + i, j),
                    sp_multivector_get(&s->reference, i, j), allowance(n, s->sum[i * x->k + j], a->precision),
                    e);
    }
}

spmm_status sp_verify(const spmm_csr *a, const spmm_multivector *x, const spmm_multivector *y, int threads,
                      sp_error *error)
{
    sp_matrix m;
    int failed = 0;
    sp_matrix_view_csr(a, &m);
    *error = (sp_error){.row = -1, .column = -1};
#pragma omp parallel num_threads(threads)
    {
        scratch s = {.sum = NULL};
        sp_error mine = {.row = -1, .column = -1};
        const int bad = spmm_multivector_create(CHUNK_ROWS, x->k, a->precision, SPMM_CPU, &s.reference) !=
                            SPMM_OK ||
                        sp_alloc((void **)&s.sum, CHUNK_ROWS * x->k, sizeof *s.sum, "bounds") != SPMM_OK;
#pragma omp for schedule(dynamic)
        for (int64_t begin = 0; begin < a->rows; begin += CHUNK_ROWS)
            if (!bad)
                check_rows(&m, begin, begin + CHUNK_ROWS < a->rows ? begin + CHUNK_ROWS : a->rows, x, y, &s,
                           &mine);
#pragma omp critical(sp_verify_merge)
        {
            merge(error, &mine);
            failed |= bad;
        }
        spmm_multivector_destroy(&s.reference);
        sp_free(s.sum);
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
