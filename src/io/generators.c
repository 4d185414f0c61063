/** Generates matrices from specs such as lap3d7:100: stencils, random rows, R-MAT graphs. */
#include "io/generators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "base/words.h"

enum { KEY_COLUMN = 1, KEY_VALUE = 2, KEY_EDGE = 3, KEY_IMAGINARY = 4 };

typedef struct generator generator;

/** Writes the column indices, in increasing order, and the values of row number `row`. */
typedef void (*row_fn)(const generator *g, int64_t row, int32_t *col, double *val);
/** Returns the number of entries in row number `row`. */
typedef int64_t (*count_fn)(const generator *g, int64_t row);
/** Returns the number of entries in the whole matrix, or a lower bound not far below it. The number is below
 *  2^63, because the matrix has fewer than 2^31 rows. */
typedef int64_t (*total_fn)(const generator *g);
/** Sets g->rows and checks the arguments; the parser has already checked that each of them is at least 1. */
typedef spmm_status (*setup_fn)(generator *g);

typedef struct kind {
    sp_gen_kind doc;
    setup_fn setup;
    total_fn total;
    count_fn count;
    row_fn row;
} kind;

struct generator {
    const kind *kind;
    const char *spec;
    int64_t arg[SP_GEN_ARGS];
    int64_t rows;
};

static spmm_status set_rows(generator *g, int64_t side, int dimensions, int64_t unknowns)
{
    int64_t rows = unknowns;
    for (int d = 0; d < dimensions; d++)
        if (__builtin_mul_overflow(rows, side, &rows) || rows > INT32_MAX)
            return sp_fail(SPMM_ERR_LIMIT, "%s: found more than 2^31 - 1 rows, expected fewer", g->spec);
    g->rows = rows;
    return SPMM_OK;
}

/* ---- stencils on a grid of N^2 or N^3 points; Dirichlet boundary: no points outside the grid ---- */

static spmm_status setup_2d(generator *g) { return set_rows(g, g->arg[0], 2, 1); }
static spmm_status setup_3d(generator *g) { return set_rows(g, g->arg[0], 3, 1); }
static spmm_status setup_fem(generator *g) { return set_rows(g, g->arg[0], 3, 3); }

static int inside(int64_t c, int64_t n) { return c >= 0 && c < n; }

/** Returns how many of the coordinates c-1, c and c+1 lie in [0, n), i.e. in the grid. c must lie in it. */
static int64_t reach(int64_t c, int64_t n) { return 1 + inside(c - 1, n) + inside(c + 1, n); }

/** Writes the indices of a grid point and of its neighbors to col in increasing order and returns their
 *  number. If `star` is 1, diagonal neighbors are left out. */
static int64_t neighbors(int64_t n, int dimensions, int star, int64_t point, int32_t *col)
{
    const int64_t x = point % n, y = point / n % n, z = dimensions == 3 ? point / n / n : 0;
    int64_t count = 0;
    for (int dz = dimensions == 3 ? -1 : 0; dz <= (dimensions == 3 ? 1 : 0); dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (star && abs(dx) + abs(dy) + abs(dz) > 1) continue;
                if (!inside(x + dx, n) || !inside(y + dy, n)) continue;
                if (dimensions == 3 && !inside(z + dz, n)) continue;
                col[count++] = (int32_t)(((z + dz) * n + y + dy) * n + x + dx);
            }
    return count;
}

static void stencil_row(const generator *g, int dimensions, int star, double diagonal, int64_t row,
                        int32_t *col, double *val)
{
    const int64_t count = neighbors(g->arg[0], dimensions, star, row, col);
    for (int64_t e = 0; e < count; e++) val[e] = col[e] == row ? diagonal : -1.0;
}

/* a line of N grid points has 3 N - 2 pairs of a point and either itself or a neighbor on the line; the
 * totals below follow from this number */
static int64_t total_2d5(const generator *g)
{
    const int64_t n = g->arg[0];
    return n * (2 * (3 * n - 2) - n);
}
static int64_t total_3d7(const generator *g)
{
    const int64_t n = g->arg[0];
    return n * n * (3 * (3 * n - 2) - 2 * n);
}
static int64_t total_3d27(const generator *g)
{
    const int64_t along = 3 * g->arg[0] - 2;
    return along * along * along;
}
static int64_t total_fem(const generator *g) { return 9 * total_3d27(g); }

static int64_t count_2d5(const generator *g, int64_t row)
{
    const int64_t n = g->arg[0];
    return reach(row % n, n) + reach(row / n, n) - 1;
}
static void row_2d5(const generator *g, int64_t row, int32_t *col, double *val)
{
    stencil_row(g, 2, 1, 4.0, row, col, val);
}
static int64_t count_3d7(const generator *g, int64_t row)
{
    const int64_t n = g->arg[0];
    return reach(row % n, n) + reach(row / n % n, n) + reach(row / n / n, n) - 2;
}
static void row_3d7(const generator *g, int64_t row, int32_t *col, double *val)
{
    stencil_row(g, 3, 1, 6.0, row, col, val);
}
static int64_t count_3d27(const generator *g, int64_t row)
{
    const int64_t n = g->arg[0];
    return reach(row % n, n) * reach(row / n % n, n) * reach(row / n / n, n);
}
static void row_3d27(const generator *g, int64_t row, int32_t *col, double *val)
{
    stencil_row(g, 3, 0, 26.0, row, col, val);
}

static int64_t count_fem(const generator *g, int64_t row) { return 3 * count_3d27(g, row / 3); }

/** Writes a row of a matrix with three unknowns per grid point: random symmetric values with a dominant
 *  diagonal, as in a stiffness matrix. */
static void row_fem(const generator *g, int64_t row, int32_t *col, double *val)
{
    int32_t point[27];
    const int64_t count = neighbors(g->arg[0], 3, 0, row / 3, point);
    for (int64_t e = 0; e < 3 * count; e++) {
        const int64_t c = 3 * (int64_t)point[e / 3] + e % 3;
        const uint64_t low = (uint64_t)(c < row ? c : row), high = (uint64_t)(c < row ? row : c);
        col[e] = (int32_t)c;
        val[e] = sp_random_unit(KEY_VALUE, low, high) + (c == row ? 81.0 : 0.0);
    }
}

/* ---- rows with `count` distinct random columns in [first, first + window) ---- */

static int by_column(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/** Chooses `count` columns by Knuth's selection sampling (TAOCP 2, 3.4.2, algorithm S), which is efficient if
 *  `count` is close to `window`. */
static void choose_dense(int64_t row, int64_t first, int64_t window, int64_t count, int32_t *col)
{
    for (int64_t c = 0, taken = 0; taken < count; c++) {
        const int64_t wanted = count - taken, left = window - c;
        if ((int64_t)sp_random_below(KEY_COLUMN, (uint64_t)row, (uint64_t)c, (uint64_t)left) < wanted)
            col[taken++] = (int32_t)(first + c);
    }
}

/** Draws random columns until `count` of them are distinct, which is efficient if `count` is much smaller
 *  than `window`. */
static void choose_sparse(int64_t row, int64_t first, int64_t window, int64_t count, int32_t *col)
{
    int64_t taken = 0;
    for (uint64_t draw = 0; taken < count;) {
        while (taken < count)
            col[taken++] = (int32_t)(first + (int64_t)sp_random_below(KEY_COLUMN, (uint64_t)row, draw++,
                                                                      (uint64_t)window));
        qsort(col, (size_t)count, sizeof *col, by_column);
        taken = count > 0;
        for (int64_t e = 1; e < count; e++)
            if (col[e] != col[taken - 1]) col[taken++] = col[e];
    }
}

static void random_row(int64_t row, int64_t first, int64_t window, int64_t count, int32_t *col, double *val)
{
    if (count > window / 4)
        choose_dense(row, first, window, count, col);
    else
        choose_sparse(row, first, window, count, col);
    for (int64_t e = 0; e < count; e++) val[e] = sp_random_unit(KEY_VALUE, (uint64_t)row, (uint64_t)col[e]);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static spmm_status setup_uniform(generator *g)
{
    if (g->arg[1] > g->arg[0])
        return sp_fail(SPMM_ERR_USAGE, "%s: DEG %lld is more than the N = %lld columns", g->spec,
                       (long long)g->arg[1], (long long)g->arg[0]);
    return set_rows(g, g->arg[0], 1, 1);
}
static int64_t total_uniform(const generator *g) { return g->rows * g->arg[1]; }
static int64_t count_uniform(const generator *g, int64_t row) { return (void)row, g->arg[1]; }
static void row_uniform(const generator *g, int64_t row, int32_t *col, double *val)
{
    random_row(row, 0, g->rows, g->arg[1], col, val);
}

/** Returns the number of columns in the window of a row, and sets *first to the first of these columns. The
 *  window consists of WIDTH columns around the diagonal; those outside the matrix are left out. */
static int64_t band_window(const generator *g, int64_t row, int64_t *first)
{
    const int64_t half = (g->arg[2] - 1) / 2, low = row - half, high = low + g->arg[2];
    *first = low > 0 ? low : 0;
    return least(high, g->rows) - *first;
}
static spmm_status setup_band(generator *g)
{
    if (g->arg[1] > g->arg[2])
        return sp_fail(SPMM_ERR_USAGE, "%s: DEG %lld is more than the WIDTH %lld", g->spec,
                       (long long)g->arg[1], (long long)g->arg[2]);
    return set_rows(g, g->arg[0], 1, 1);
}
/** Returns a lower bound on the number of entries of the matrix: assumes that every row has the narrowest
 *  window. That is the window of the first or the last row, where only half of the band is inside the
 *  matrix. */
static int64_t total_band(const generator *g)
{
    int64_t first;
    const int64_t narrowest = least(band_window(g, 0, &first), band_window(g, g->rows - 1, &first));
    return g->rows * least(g->arg[1], narrowest);
}
static int64_t count_band(const generator *g, int64_t row)
{
    int64_t first;
    return least(g->arg[1], band_window(g, row, &first));
}
static void row_band(const generator *g, int64_t row, int32_t *col, double *val)
{
    int64_t first;
    const int64_t window = band_window(g, row, &first);
    random_row(row, first, window, least(g->arg[1], window), col, val);
}

static spmm_status setup_longrows(generator *g)
{
    TRY(setup_uniform(g));
    if (g->arg[2] > g->arg[0] || g->arg[3] > g->arg[0])
        return sp_fail(SPMM_ERR_USAGE, "%s: COUNT and LENGTH must not exceed N", g->spec);
    return SPMM_OK;
}
static int64_t total_longrows(const generator *g)
{
    const int64_t long_rows = least(g->arg[2], g->rows);
    return (g->rows - long_rows) * g->arg[1] + long_rows * g->arg[3];
}
static int64_t count_longrows(const generator *g, int64_t row)
{
    /* the COUNT long rows are evenly spaced: a row is long if floor((row + 1) * COUNT / N) is greater than
     * floor(row * COUNT / N) */
    const int64_t n = g->arg[0], count = g->arg[2];
    const int is_long = row * count / n != (row + 1) * count / n;
    return is_long ? g->arg[3] : g->arg[1];
}
static void row_longrows(const generator *g, int64_t row, int32_t *col, double *val)
{
    random_row(row, 0, g->rows, count_longrows(g, row), col, val);
}

static spmm_status setup_rmat(generator *g)
{
    if (g->arg[0] > 30) return sp_fail(SPMM_ERR_LIMIT, "%s: SCALE must be at most 30", g->spec);
    return set_rows(g, INT64_C(1) << g->arg[0], 1, 1);
}

static const kind kinds[] = {
    {{"lap2d5", {"N"}, "5-point stencil on N^2 points"}, setup_2d, total_2d5, count_2d5, row_2d5},
    {{"lap3d7", {"N"}, "7-point stencil on N^3 points"}, setup_3d, total_3d7, count_3d7, row_3d7},
    {{"lap3d27", {"N"}, "27-point stencil on N^3 points"}, setup_3d, total_3d27, count_3d27, row_3d27},
    {{"fem3", {"N"}, "lap3d27 with dense 3x3 blocks"}, setup_fem, total_fem, count_fem, row_fem},
    {{"band", {"N", "DEG", "WIDTH"}, "DEG entries per row in a band of WIDTH"},
     setup_band,
     total_band,
     count_band,
     row_band},
    {{"uniform", {"N", "DEG"}, "DEG random columns per row"},
     setup_uniform,
     total_uniform,
     count_uniform,
     row_uniform},
    {{"rmat", {"SCALE", "DEG"}, "R-MAT graph, 2^SCALE rows, DEG edges per row"},
     setup_rmat,
     NULL,
     NULL,
     NULL},
    {{"longrows", {"N", "DEG", "COUNT", "LENGTH"}, "uniform with COUNT rows of LENGTH entries"},
     setup_longrows,
     total_longrows,
     count_longrows,
     row_longrows},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const sp_gen_kind *sp_gen_kinds(int *count)
{
    static sp_gen_kind docs[KINDS];
    for (int i = 0; i < KINDS; i++) docs[i] = kinds[i].doc;
    *count = KINDS;
    return docs;
}

static const kind *generators_find(const char *spec)
{
    for (int i = 0; i < KINDS; i++) {
        const size_t n = strlen(kinds[i].doc.name);
        if (strncmp(spec, kinds[i].doc.name, n) == 0 && spec[n] == ':') return &kinds[i];
    }
    return NULL;
}

int sp_gen_is_spec(const char *spec) { return generators_find(spec) != NULL; }

/** Writes the form of a generator's spec to buf, such as "band:N,DEG,WIDTH"; returns buf. */
static const char *form_of(const kind *k, char *buf, size_t n)
{
    int at = snprintf(buf, n, "%s:", k->doc.name);
    for (int i = 0; i < SP_GEN_ARGS && k->doc.args[i] && at < (int)n; i++)
        at += snprintf(buf + at, n - (size_t)at, "%s%s", i ? "," : "", k->doc.args[i]);
    return buf;
}

static spmm_status bad_spec(const kind *k, const char *spec)
{
    char form[64];
    return sp_fail(SPMM_ERR_USAGE, "%s: expected %s, each a whole number of at least 1", spec,
                   form_of(k, form, sizeof form));
}

static spmm_status parse(const char *spec, generator *g)
{
    *g = (generator){.kind = generators_find(spec), .spec = spec};
    if (!g->kind)
        return sp_fail(SPMM_ERR_USAGE, "%s: no such generator: spmm_mpi --help lists the generators",
                       SHOWN(spec));
    const char *p = strchr(spec, ':');
    for (int i = 0; i < SP_GEN_ARGS && g->kind->doc.args[i]; i++) {
        char *end;
        if (i && *p != ',') return bad_spec(g->kind, spec);
        errno = 0;
        g->arg[i] = strtoll(p + 1, &end, 10);
        if (end == p + 1 || p[1] < '0' || p[1] > '9' || errno || g->arg[i] < 1)
            return bad_spec(g->kind, spec);
        if (g->arg[i] > INT32_MAX)
            return sp_fail(SPMM_ERR_LIMIT, "%s: found %lld, expected at most 2^31 - 1", spec,
                           (long long)g->arg[i]);
        p = end;
    }
    if (*p) return bad_spec(g->kind, spec);
    return g->kind->setup(g);
}

spmm_status sp_gen_check(const char *spec)
{
    generator g;
    return parse(spec, &g);
}

static sp_sizes sizes_of(const generator *g)
{
    return (sp_sizes){g->rows, g->rows, g->kind->total ? g->kind->total(g) : 0};
}

spmm_status sp_gen_sizes(const char *spec, sp_sizes *sizes)
{
    generator g;
    memset(sizes, 0, sizeof *sizes);
    TRY(parse(spec, &g));
    *sizes = sizes_of(&g);
    return SPMM_OK;
}

int64_t sp_gen_stencil(const char *spec, int *dimensions, int *star)
{
    generator g;
    if (!sp_gen_is_spec(spec) || parse(spec, &g) != SPMM_OK) return 0;
    const row_fn row = g.kind->row;
    *dimensions = row == row_2d5 ? 2 : 3;
    *star = row != row_3d27;
    return row == row_2d5 || row == row_3d7 || row == row_3d27 ? g.arg[0] : 0;
}

/** Generates an R-MAT graph. Each edge results from recursively choosing one of four quadrants of the matrix,
 *  with probabilities a, b, c, d = .57, .19, .19, .05 (Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004; the
 *  parameters of Graph500). The values of repeated edges are summed. */
static spmm_status make_rmat(const generator *g, spmm_precision precision, int threads, spmm_csr *a)
{
    sp_coo coo;
    const int64_t edges = g->rows * g->arg[1];
    /* memory per edge: two indices and two values, because sp_csr_from_coo() holds the values of the triplets
     * and of the CSR matrix at the same time; per row: the row start */
    TRY(sp_memory_needs((double)edges * (8 + 2 * (double)sp_value_size(precision)) + 8 * (double)g->rows,
                        g->spec));
    TRY(sp_coo_create(g->rows, g->rows, edges, SP_GENERAL, precision, 1, &coo));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < edges; e++) {
        int64_t row = 0, column = 0;
        for (int64_t level = 0; level < g->arg[0]; level++) {
            const uint64_t r = sp_random(KEY_EDGE, (uint64_t)e, (uint64_t)level) >> 40;
            const double u = (double)r * 0x1p-24;
            row = 2 * row + (u >= 0.76);
            column = 2 * column + ((u >= 0.57 && u < 0.76) || u >= 0.95);
        }
        coo.I[e] = (int32_t)row;
        coo.J[e] = (int32_t)column;
        const double re = sp_random_unit(KEY_VALUE, (uint64_t)e, 0);
        const double im = sp_is_complex(precision) ? sp_random_unit(KEY_IMAGINARY, (uint64_t)e, 0) : 0;
        sp_value_set(coo.val, precision, e, __builtin_complex(re, im));
    }
    return sp_csr_from_coo(&coo, threads, a, NULL);
}

static int has_random_values(const generator *g)
{
    return g->kind->row != row_2d5 && g->kind->row != row_3d7 && g->kind->row != row_3d27;
}

/** Fills the rows of *a by the generator's row function, which writes f64 values. If *a has another type, the
 *  values are written to a scratch row of the thread and then rounded. Random values of a complex type get
 *  random imaginary parts. */
static spmm_status fill_rows(const generator *g, int64_t longest, int threads, spmm_csr *a)
{
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(| : failed)
    {
        SP_DEFAULT_FP;
        double *scratch = NULL;
        if (a->precision != SPMM_F64) failed |= !(scratch = malloc((size_t)(longest + 1) * sizeof *scratch));
#pragma omp for schedule(dynamic, 1024)
        for (int64_t i = 0; i < g->rows; i++) {
            if (failed) continue;
            const int64_t begin = a->irp[i];
            double *const val = scratch ? scratch : (double *)a->as + begin;
            g->kind->row(g, i, a->ja + begin, val);
#define STORE(T) \
    for (int64_t e = begin; e < a->irp[i + 1]; e++) ((T *)a->as)[e] = (T)val[e - begin];
            if (scratch) SP_BY_TYPE(a->precision, STORE);
#undef STORE
            if (!sp_is_complex(a->precision) || !has_random_values(g)) continue;
            for (int64_t e = begin; e < a->irp[i + 1]; e++)
                sp_value_set(a->as, a->precision, e,
                             __builtin_complex(val[e - begin], sp_random_unit(KEY_IMAGINARY, (uint64_t)i,
                                                                              (uint64_t)a->ja[e])));
        }
        free(scratch);
    }
    return failed ? sp_fail(SPMM_ERR_MEMORY, "cannot allocate a row of %lld values", (long long)longest)
                  : SPMM_OK;
}

static spmm_status make_rows(const generator *g, spmm_precision precision, int threads, spmm_csr *a)
{
    int64_t nnz = 0, longest = 0;
    const sp_sizes sizes = sizes_of(g);
    TRY(sp_memory_needs(sp_csr_bytes_of(&sizes, precision), g->spec));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : nnz) reduction(max : longest)
    for (int64_t i = 0; i < g->rows; i++) {
        const int64_t count = g->kind->count(g, i);
        nnz += count;
        if (count > longest) longest = count;
    }
    TRY(sp_csr_create(g->rows, g->rows, nnz, precision, a));
    for (int64_t i = 0; i < g->rows; i++) a->irp[i + 1] = a->irp[i] + g->kind->count(g, i);
    const spmm_status status = fill_rows(g, longest, threads, a);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}

spmm_status sp_gen_csr(const char *spec, spmm_precision precision, int threads, spmm_csr *a)
{
    generator g;
    memset(a, 0, sizeof *a);
    TRY(parse(spec, &g));
    return g.kind->row ? make_rows(&g, precision, threads, a) : make_rmat(&g, precision, threads, a);
}

spmm_status spmm_csr_generate(const char *spec, spmm_precision precision, spmm_csr *a)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "a", a, "a place for the matrix"));
    memset(a, 0, sizeof *a);
    TRY(sp_fork_check(__func__));
    TRY(sp_given(__func__, "spec", spec, "a generator, as \"lap3d27:32\""));
    TRY(sp_precision_check(__func__, precision));
    return sp_gen_csr(spec, precision, sp_threads_default(), a);
}
