/** Computes X^T Y and the sums of squares of columns on CPUs: the rows are cut into sections, and each
 *  section is summed in chunks that fit in the caches. */
#include "base/fp_environment.h"
#include "base/value_type.h"
#include "dense/dense.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "dense/tile.h"
#include "device/device_ops.h"

/* One thread sums a section. There are enough sections for 64 threads and more, and so few that adding their
 * sums costs little. LEAST_ROWS: maximum number of rows of a section, unless there would be more than
 * MOST_SECTIONS sections. SIDE: rows and columns of the part of X^T Y that is computed at a time. CHUNK: rows
 * of X and Y that are packed at a time; the packed chunks, of 64 KiB each, fit in the second-level cache.
 * MOST_DIRECT: maximum leading dimension of a multivector whose rows are read in place, not packed. */
enum { MOST_SECTIONS = 128, LEAST_ROWS = 512, SIDE = 64, CHUNK = 128, MOST_DIRECT = 64 };

/** Returns the number of sections that `rows` rows are cut into; 0 if rows is 0. */
static int64_t sections_of(int64_t rows)
{
    const int64_t sections = (rows + LEAST_ROWS - 1) / LEAST_ROWS;
    return sections < MOST_SECTIONS ? sections : MOST_SECTIONS;
}

/** Returns the first row of a section, and `rows` for the section after the last. */
static int64_t section_begin(int64_t rows, int64_t section)
{
    const int64_t sections = sections_of(rows), each = sections ? rows / sections : 0;
    const int64_t more = sections ? rows % sections : 0; /* number of first sections with one row more */
    return section * each + (section < more ? section : more);
}

/* Copies `width` elements of each of `rows` rows to `out`, as f64, and advances `out`. Only the first `there`
 * elements of a row exist; the others are set to 0. */
#define PACK(T, width)                                                                  \
    for (int64_t t = 0; t < rows; t++, out += (width)) {                                \
        const T *const from = (const T *)v->data + (row + t) * v->ld + p;               \
        if (there >= (width))                                                           \
            for (int j = 0; j < (width); j++) out[j] = (double)from[j];                 \
        else                                                                            \
            for (int j = 0; j < (width); j++) out[j] = j < there ? (double)from[j] : 0; \
    }

#define PACK_ROWS(T) PACK(T, SP_TILE_ROWS)
#define PACK_COLUMNS(T) PACK(T, SP_TILE_F64)

/** Packs columns [column, column + columns) of rows [row, row + rows) of v in the order in which tiles read
 *  them: all rows of the first `width` columns, then all rows of the next `width` columns, and so on. */
static void pack(const spmm_multivector *v, int64_t row, int64_t rows, int64_t column, int64_t columns,
                 int width, double *out)
{
    for (int64_t p = column; p < column + columns; p += width) {
        const int64_t there = column + columns - p;
        if (width == SP_TILE_ROWS)
            SP_BY_TYPE(v->precision, PACK_ROWS);
        else
            SP_BY_TYPE(v->precision, PACK_COLUMNS);
    }
}

/** A part of X^T Y: columns [i, i + rows) of X by columns [j, j + cols) of Y. */
typedef struct part {
    const spmm_multivector *x, *y;
    int64_t i, rows, j, cols;
    int upper; /**< 1: x is y, and only tiles that reach the diagonal or lie above it are computed */
    sp_tile_f64 tile;
} part;

/** Rows of a multivector, in the form in which tiles read them: for a tile whose first column is c, row t
 *  begins at at[c * column + t * step]. */
typedef struct operand {
    const double *at;
    int64_t step, column;
} operand;

/** Returns rows [row, row + n) of columns [column, column + columns) of v: in place if they form whole tiles
 *  of f64 and the rows of v are short, else packed. Long rows are packed because few of them would fit in the
 *  cache at a time, and even fewer if their distance is a power of two.
 *  \param [in] packed  space for a chunk */
static operand rows_of(const spmm_multivector *v, int64_t row, int64_t n, int64_t column, int64_t columns,
                       int width, double *packed)
{
    if (v->precision == SPMM_F64 && columns % width == 0 && v->ld <= MOST_DIRECT)
        return (operand){(const double *)v->data + row * v->ld + column, v->ld, 1};
    pack(v, row, n, column, columns, width, packed);
    return (operand){packed, width, n};
}

/** Adds the products of n rows to sum [SIDE x SIDE]. */
static void add_chunk(const part *p, int64_t n, operand x, operand y, double *sum)
{
    for (int64_t j = 0; j < p->cols; j += SP_TILE_F64)
        for (int64_t i = 0; i < p->rows; i += SP_TILE_ROWS)
            if (!p->upper || p->j + j + SP_TILE_F64 > p->i + i)
                p->tile(n, x.at + i * x.column, 1, x.step, y.at + j * y.column, y.step, sum + i * SIDE + j,
                        SIDE);
}

/** Sums a section.
 *  \param [in]  packed  space for two chunks, [2 * CHUNK * SIDE]
 *  \param [out] sum     [SIDE x SIDE] */
static void sum_section(const part *p, int64_t section, double *packed, double *sum)
{
    const int64_t end = section_begin(p->x->rows, section + 1);
    memset(sum, 0, sizeof *sum * SIDE * SIDE);
    for (int64_t row = section_begin(p->x->rows, section); row < end; row += CHUNK) {
        const int64_t n = end - row < CHUNK ? end - row : CHUNK;
        add_chunk(p, n, rows_of(p->x, row, n, p->i, p->rows, SP_TILE_ROWS, packed),
                  rows_of(p->y, row, n, p->j, p->cols, SP_TILE_F64, packed + CHUNK * SIDE), sum);
    }
}

/** Sets the elements of g that belong to the part.
 *  \param [in] memory  space for a SIDE x SIDE sum per section and two chunks per thread */
static void sum_part(const part *p, int threads, double *memory, double *g)
{
    const int64_t sections = sections_of(p->x->rows), ldg = p->y->k;
    double *const packed = memory + sections * SIDE * SIDE;
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t s = 0; s < sections; s++)
            sum_section(p, s, packed + (int64_t)omp_get_thread_num() * 2 * CHUNK * SIDE,
                        memory + s * SIDE * SIDE);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p->rows; i++) {
            double *const to = g + (p->i + i) * ldg + p->j;
            memset(to, 0, sizeof *to * (size_t)p->cols);
            for (int64_t s = 0; s < sections; s++)
                for (int64_t j = 0; j < p->cols; j++) to[j] += memory[(s * SIDE + i) * SIDE + j];
        }
    }
}

static int threads_for(int64_t sections)
{
    const int threads = sp_threads_default();
    return sections < 1 ? 1 : sections < threads ? (int)sections : threads;
}

static int64_t side(int64_t k, int64_t at) { return k - at < SIDE ? k - at : SIDE; }

static spmm_status gram(const spmm_multivector *x, const spmm_multivector *y, double *g)
{
    const int64_t sections = sections_of(x->rows);
    const int threads = threads_for(sections), upper = x->data == y->data && x->ld == y->ld && x->k == y->k;
    void *memory;
    TRY(sp_alloc(&memory, sections * SIDE * SIDE + (int64_t)threads * 2 * CHUNK * SIDE, sizeof(double),
                 "partial sums of a Gram matrix"));
    for (int64_t i = 0; i < x->k; i += SIDE)
        for (int64_t j = upper ? i : 0; j < y->k; j += SIDE) {
            const part p = {x, y, i, side(x->k, i), j, side(y->k, j), upper, sp_tile_of_f64()};
            sum_part(&p, threads, memory, g);
        }
    for (int64_t i = 0; upper && i < x->k; i++)
        for (int64_t j = 0; j < i; j++) g[i * y->k + j] = g[j * y->k + i];
    sp_free(memory);
    return SPMM_OK;
}

spmm_status sp_gram(const spmm_multivector *x, const spmm_multivector *y, double *g)
{
    return x->space == SPMM_CUDA ? sp_cuda_gram(x, y, g) : gram(x, y, g);
}

/* Adds the squares of the elements of row r. */
#define ADD_SQUARES(T)                                                \
    for (int64_t j = 0; j < x->k; j++) {                              \
        const double e = (double)((const T *)x->data)[r * x->ld + j]; \
        sum[j] += e * e;                                              \
    }

static void square_section(const spmm_multivector *x, int64_t section, double *sum)
{
    SP_DEFAULT_FP;
    const int64_t end = section_begin(x->rows, section + 1);
    memset(sum, 0, sizeof *sum * (size_t)x->k);
    for (int64_t r = section_begin(x->rows, section); r < end; r++) SP_BY_TYPE(x->precision, ADD_SQUARES);
}

spmm_status sp_squares(const spmm_multivector *x, double *sum)
{
    const int64_t sections = sections_of(x->rows);
    double *partial;
    if (x->space == SPMM_CUDA) return sp_cuda_squares(x, sum);
    TRY(sp_alloc((void **)&partial, sections * x->k, sizeof *partial, "partial sums of squares"));
#pragma omp parallel for schedule(static) num_threads(threads_for(sections))
    for (int64_t s = 0; s < sections; s++) square_section(x, s, partial + s * x->k);
    memset(sum, 0, sizeof *sum * (size_t)x->k);
    for (int64_t s = 0; s < sections; s++)
        for (int64_t j = 0; j < x->k; j++) sum[j] += partial[s * x->k + j];
    sp_free(partial);
    return SPMM_OK;
}
