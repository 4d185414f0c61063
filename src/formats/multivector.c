/** Creates, checks, copies, permutes, generates and writes multivectors. */
#include "formats/multivector.h"

#include <string.h>

#include "base/status.h"
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/output_file.h"
#include "base/random.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "device/node_memory.h"

enum { SECTOR_BYTES = 32 };

int64_t sp_multivector_ld(int64_t k, spmm_precision precision)
{
    const int64_t sector = SECTOR_BYTES / sp_value_size(precision);
    if (k >= sector) return (k + sector - 1) / sector * sector;
    int64_t ld = 1;
    while (ld < k) ld *= 2;
    return ld;
}

/** Zeroes the rows of v, in host memory, with all threads, so that first touch spreads the pages over the
 *  NUMA nodes of the threads. */
static void zero_rows(const spmm_multivector *v)
{
    const size_t row_bytes = (size_t)sp_row_bytes(v);
#pragma omp parallel for schedule(static) num_threads(sp_threads_default())
    for (int64_t i = 0; i < v->rows; i++) memset(sp_row(v, i), 0, row_bytes);
}

spmm_status sp_multivector_size(int64_t rows, int64_t k, spmm_precision precision, int64_t *bytes)
{
    int64_t elements;
    if (rows < 0 || k < 0)
        return sp_fail(SPMM_ERR_USAGE, "a multivector of %lld x %lld: expected rows and columns >= 0",
                       (long long)rows, (long long)k);
    if (k > INT64_MAX / 64 || __builtin_mul_overflow(rows, sp_multivector_ld(k, precision), &elements) ||
        elements > INT64_MAX / 16)
        return sp_fail(SPMM_ERR_LIMIT, "a multivector of %lld x %lld does not fit 64-bit sizes",
                       (long long)rows, (long long)k);
    *bytes = k > 0 ? elements * sp_value_size(precision) : 0;
    return SPMM_OK;
}

spmm_multivector sp_multivector_in(void *memory, int64_t before, int64_t rows, int64_t behind, int64_t k,
                                   spmm_precision precision, spmm_device space)
{
    spmm_multivector v = {
        rows, k, sp_multivector_ld(k, precision), precision, space, memory, before, behind, SPMM_ROW_MAJOR};
    v.data = sp_row(&v, before);
    return v;
}

spmm_multivector sp_multivector_with_k(const spmm_multivector *v, int64_t k)
{
    if (!v->data) return *v;
    return sp_multivector_in(sp_row(v, -v->ghost_low), v->ghost_low, v->rows, v->ghost_high, k, v->precision,
                             v->space);
}

spmm_status sp_multivector_create(int64_t before, int64_t rows, int64_t behind, int64_t k,
                                  spmm_precision precision, spmm_device space, spmm_multivector *v)
{
    void *memory = NULL;
    int64_t bytes = 0;
    memset(v, 0, sizeof *v);
    TRY(sp_multivector_size(rows < 0 ? rows : before + rows + behind, k, precision, &bytes));
    if (k == 0) { /* no elements, and no ghost rows */
        *v = (spmm_multivector){.rows = rows, .precision = precision, .space = space};
        return SPMM_OK;
    }
    TRY(space == SPMM_CPU ? sp_alloc(&memory, bytes, 1, "a multivector")
                          : sp_device_alloc_exchanged(&memory, bytes, "a multivector"));
    spmm_multivector all = sp_multivector_in(memory, 0, before + rows + behind, 0, k, precision, space);
    spmm_status status;
    if (space == SPMM_CPU)
        zero_rows(&all);
    else
        TRY_GOTO(sp_device_zero(memory, bytes), failed);
    if (space == SPMM_CUDA) TRY_GOTO(sp_device_sync(), failed); /* another stream may use the memory next */
    *v = sp_multivector_in(memory, before, rows, behind, k, precision, space);
    return SPMM_OK;
failed:
    spmm_multivector_destroy(&all);
    return status;
}

spmm_status spmm_multivector_create(int64_t rows, int64_t k, spmm_precision precision, spmm_device space,
                                    spmm_multivector *v)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "v", v, "the address of a multivector"));
    memset(v, 0, sizeof *v);
    TRY(sp_fork_check(__func__));
    TRY(sp_precision_check(__func__, precision));
    TRY(sp_among(__func__, "space", (int)space, "spmm_device", SPMM_CPU, SPMM_CUDA));
    return sp_multivector_create(0, rows, 0, k, precision, space, v);
}

static spmm_status check_sizes(const spmm_multivector *v, const char *function, const char *name)
{
    if (v->rows < 0 || v->k < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s is %lld x %lld, expected rows >= 0 and k >= 0", function, name,
                       (long long)v->rows, (long long)v->k);
    TRY(sp_among(function, "layout", (int)v->layout, "spmm_layout", SPMM_ROW_MAJOR, SPMM_COLUMN_MAJOR));
    const int by_columns = v->layout == SPMM_COLUMN_MAJOR;
    const int64_t least = by_columns && v->k > 0 ? v->rows : v->k;
    if (v->ld < least || (v->k > 0 && v->ld < 1))
        return sp_fail(SPMM_ERR_USAGE, "%s: %s has leading dimension %lld, expected at least %s = %lld",
                       function, name, (long long)v->ld, by_columns ? "rows" : "k", (long long)least);
    if (by_columns && (v->ghost_low != 0 || v->ghost_high != 0))
        return sp_fail(SPMM_ERR_USAGE, "%s: %s is column-major and has ghost rows, expected none", function,
                       name);
    if (v->ghost_low < 0 || v->ghost_high < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s has ghost_low %lld and ghost_high %lld, expected 0 or more",
                       function, name, (long long)v->ghost_low, (long long)v->ghost_high);
    return SPMM_OK;
}

/** Computes the size in bytes of all rows of v, ghost rows and padding included. \return 1; 0 if it exceeds
 *  64 bits */
static int extent(const spmm_multivector *v, int64_t *bytes)
{
    int64_t rows;
    *bytes = 0;
    if (v->k == 0) return 1;
    /* the size of a row or column is checked even if there are no rows */
    if (__builtin_mul_overflow(v->ld, sp_value_size(v->precision), bytes)) return 0;
    if (v->layout == SPMM_COLUMN_MAJOR)
        return !__builtin_mul_overflow(v->k - 1, v->ld, &rows) &&
               !__builtin_add_overflow(rows, v->rows, &rows) &&
               !__builtin_mul_overflow(v->rows > 0 ? rows : 0, sp_value_size(v->precision), bytes);
    return !__builtin_add_overflow(v->ghost_low, v->ghost_high, &rows) &&
           !__builtin_add_overflow(rows, v->rows, &rows) && !__builtin_mul_overflow(rows, v->ld, &rows) &&
           !__builtin_mul_overflow(rows, sp_value_size(v->precision), bytes);
}

/** Checks that v->data is in the memory that v->space names. Using data in the wrong memory would crash the
 *  process, or leave the GPU unusable for the process. */
static spmm_status check_space(const spmm_multivector *v, const char *function, const char *name)
{
    const int on_gpu = v->space == SPMM_CUDA;
    /* if this rank owns no rows, `data` may point past the end of the memory, after the ghost rows */
    if (sp_device_reach(v->rows > 0 ? v->data : sp_row(v, -v->ghost_low)) !=
        (on_gpu ? SP_REACH_HOST : SP_REACH_GPU))
        return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: %s.data is in %s memory, but %s.space is %s", function, name,
                   on_gpu ? "host" : "GPU", name, on_gpu ? "SPMM_CUDA" : "SPMM_CPU");
}

spmm_status sp_multivector_check(const spmm_multivector *v, const char *function, const char *name)
{
    TRY(sp_given(function, name, v, "a multivector"));
    if (v->layout == SPMM_COLUMN_MAJOR)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: %s is column-major, expected row-major: spmm_multivector_copy() converts",
                       function, name);
    return sp_multivector_check_any(v, function, name);
}

spmm_status sp_multivector_check_any(const spmm_multivector *v, const char *function, const char *name)
{
    int64_t bytes;
    TRY(sp_given(function, name, v, "a multivector"));
    TRY(check_sizes(v, function, name));
    TRY(sp_precision_check(function, v->precision));
    TRY(sp_among(function, "space", (int)v->space, "spmm_device", SPMM_CPU, SPMM_CUDA));
    if (!extent(v, &bytes))
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: %s has %lld rows of leading dimension %lld: its size exceeds 64 bits", function,
                       name, (long long)v->rows, (long long)v->ld);
    if (bytes > 0 && !v->data)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s.data is NULL, expected %lld x %lld elements", function, name,
                       (long long)v->rows, (long long)v->ld);
    /* C aligns a complex element like its parts; a GPU loads both parts at once */
    const sp_value_type type = sp_type_of(v->precision);
    if ((uintptr_t)v->data % (uintptr_t)(v->space == SPMM_CUDA ? type.bytes : type.bytes / type.parts) != 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s.data is %p, expected an address aligned to its %s elements",
                       function, name, v->data, sp_precision_word(v->precision));
    return bytes > 0 ? check_space(v, function, name) : SPMM_OK;
}

spmm_status sp_multivector_apart(const spmm_multivector *a, const spmm_multivector *b, const char *function,
                                 const char *name_a, const char *name_b)
{
    const spmm_multivector *const v[2] = {a, b};
    uintptr_t begin[2], end[2];
    for (int i = 0; i < 2; i++) {
        int64_t bytes = 0;
        (void)extent(v[i], &bytes);
        begin[i] = (uintptr_t)v[i]->data - (uintptr_t)(v[i]->ghost_low * sp_row_bytes(v[i]));
        end[i] = begin[i] + (uintptr_t)bytes;
    }
    if (end[0] == begin[0] || end[1] == begin[1] || end[0] <= begin[1] || end[1] <= begin[0]) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: %s and %s overlap in memory, expected them apart", function, name_a,
                   name_b);
}

void spmm_multivector_destroy(spmm_multivector *v)
{
    if (!v) return;
    void *const start = v->data ? sp_row(v, -v->ghost_low) : NULL;
    if (v->space == SPMM_CUDA)
        sp_device_free(start);
    else if (!sp_node_memory_return(start))
        sp_free(start);
    memset(v, 0, sizeof *v);
}

enum { TILE = 32 };

/* Computes a tile of y := alpha x + beta y in the element type T. A line is contiguous in memory: it is a row
 * of a row-major multivector, or a column of a column-major one. Element j of line i of x belongs to element
 * i of line j of y, for i in [along, along_end) and j in [across, across_end). The buffer `tile` lets x be
 * read, and y be written, line by line. Lines of a column-major multivector are often a multiple of 4096
 * bytes apart, so that no cache can keep many of them at a time. */
#define TRANSPOSE(T)                                                               \
    {                                                                              \
        const T a = *(const T *)&alpha, b = *(const T *)&beta;                     \
        T tile[TILE][TILE + 1];                                                    \
        for (int64_t i = along; i < along_end; i++)                                \
            for (int64_t j = across; j < across_end; j++)                          \
                tile[i - along][j - across] = ((const T *)x->data)[i * x->ld + j]; \
        for (int64_t j = across; j < across_end; j++)                              \
            for (int64_t i = along; i < along_end; i++) {                          \
                const T ax = SP_TIMES(a, tile[i - along][j - across]);             \
                T *const to = (T *)y->data + j * y->ld + i;                        \
                *to = b == 0 ? ax : SP_TIMES(b, *to) + ax;                         \
            }                                                                      \
    }

/** axpby of multivectors with different layouts, in tiles that fit into the L1 cache. */
static void transpose(sp_value alpha, const spmm_multivector *x, sp_value beta, spmm_multivector *y,
                      int threads)
{
    /* x as a row-major matrix of `lines` x `length` */
    const int by_columns = x->layout == SPMM_COLUMN_MAJOR;
    const int64_t lines = by_columns ? x->k : x->rows, length = by_columns ? x->rows : x->k;
    const int64_t tiles = (lines + TILE - 1) / TILE, all = tiles * ((length + TILE - 1) / TILE);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t t = 0; t < all; t++) {
        SP_DEFAULT_FP;
        /* tiles of the same rows have consecutive numbers t, so that each thread processes a range of rows */
        const int64_t wide = by_columns ? tiles : all / tiles;
        const int64_t of_row = t / wide * TILE, of_column = t % wide * TILE;
        const int64_t along = by_columns ? of_column : of_row, across = by_columns ? of_row : of_column;
        const int64_t along_end = along + TILE < lines ? along + TILE : lines;
        const int64_t across_end = across + TILE < length ? across + TILE : length;
        SP_BY_TYPE(y->precision, TRANSPOSE);
    }
}

/* Computes row i of y := alpha x + beta y in the element type T. */
#define AXPBY(T)                                                       \
    const T a = *(const T *)&alpha, b = *(const T *)&beta;             \
    for (int64_t j = 0; j < y->k; j++) {                               \
        const T ax = SP_TIMES(a, ((const T *)x->data)[i * x->ld + j]); \
        T *const to = (T *)y->data + i * y->ld + j;                    \
        *to = b == 0 ? ax : SP_TIMES(b, *to) + ax;                     \
    }

/** Returns a column-major multivector as the row-major multivector of its transpose. */
static spmm_multivector transposed(const spmm_multivector *v)
{
    spmm_multivector t = *v;
    t.rows = v->k;
    t.k = v->rows;
    t.layout = SPMM_ROW_MAJOR;
    return t;
}

/** Computes y := beta y, zeros if beta is 0: axpby with alpha 0. */
static spmm_status multiply(sp_value beta, const spmm_multivector *y, int threads)
{
    spmm_multivector v = y->layout == SPMM_COLUMN_MAJOR ? transposed(y) : *y;
    const int64_t width = v.k * sp_value_size(v.precision);
    if (sp_value_is(beta, y->precision, 1) || y->rows == 0) return SPMM_OK;
    if (!sp_value_is(beta, y->precision, 0))
        return sp_multivector_axpby(beta, &v, (sp_value){0}, &v, threads);
    if (v.space == SPMM_CUDA) return sp_device_zero_2d(v.data, sp_row_bytes(&v), width, v.rows);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < v.rows; i++) memset(sp_row(&v, i), 0, (size_t)width);
    return SPMM_OK;
}

spmm_status sp_multivector_axpby(sp_value alpha, const spmm_multivector *x, sp_value beta,
                                 spmm_multivector *y, int threads)
{
    if (y->k == 0) return SPMM_OK;
    threads = sp_threads_now(threads);
    if (sp_value_is(alpha, y->precision, 0)) return multiply(beta, y, threads);
    if (y->space == SPMM_CUDA) return sp_cuda_axpby(alpha, x, beta, y, sp_device_stream(SP_STREAM_MAIN));
    if (x->layout != y->layout) {
        transpose(alpha, x, beta, y, threads);
        return SPMM_OK;
    }
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < y->rows; i++) { SP_BY_TYPE(y->precision, AXPBY); }
    }
    return SPMM_OK;
}

static const char *layout_word(spmm_layout layout)
{
    return layout == SPMM_COLUMN_MAJOR ? "column-major" : "row-major";
}

/** Copies row-major multivectors of the same shape. */
static spmm_status copy(const spmm_multivector *src, spmm_multivector *dst)
{
    const int64_t size = sp_value_size(src->precision);
    if (src->space == SPMM_CPU && dst->space == SPMM_CPU) {
        for (int64_t i = 0; i < src->rows; i++)
            memcpy(sp_row(dst, i), sp_row(src, i), (size_t)(src->k * size));
        return SPMM_OK;
    }
    const int kind = src->space == SPMM_CPU ? 0 : dst->space == SPMM_CPU ? 1 : 2;
    if (src->ld != dst->ld)
        return sp_device_copy_2d(dst->data, sp_row_bytes(dst), src->data, sp_row_bytes(src), src->k * size,
                                 src->rows, kind);
    /* a contiguous copy, padding included, is the fastest; it ends at column k of the last row, which may
     * lack padding */
    const int64_t bytes = src->rows == 0 ? 0 : ((src->rows - 1) * src->ld + src->k) * size;
    if (kind == 0) return sp_device_upload(dst->data, src->data, bytes);
    return kind == 1 ? sp_device_download(dst->data, src->data, bytes)
                     : sp_device_copy(dst->data, src->data, bytes);
}

spmm_status spmm_multivector_copy(const spmm_multivector *src, spmm_multivector *dst)
{
    SP_DEFAULT_FP;
    TRY(sp_fork_check(__func__));
    TRY(sp_multivector_check_any(src, __func__, "src"));
    TRY(sp_multivector_check_any(dst, __func__, "dst"));
    if (src->rows != dst->rows || src->k != dst->k || src->precision != dst->precision)
        return sp_fail(
            SPMM_ERR_USAGE,
            "%s: src is %lld x %lld %s and dst %lld x %lld %s, expected the same shape and precision",
            __func__, (long long)src->rows, (long long)src->k, sp_precision_word(src->precision),
            (long long)dst->rows, (long long)dst->k, sp_precision_word(dst->precision));
    TRY(sp_multivector_apart(src, dst, __func__, "src", "dst"));
    if (src->layout != dst->layout && src->space != dst->space)
        return sp_fail(
            SPMM_ERR_USAGE,
            "%s: src is %s in %s memory and dst %s in %s memory, expected the same layout or the same memory",
            __func__, layout_word(src->layout), sp_memory_word(src->space), layout_word(dst->layout),
            sp_memory_word(dst->space));
    if (src->rows == 0 || src->k == 0) return SPMM_OK;
    if (src->layout == SPMM_ROW_MAJOR && dst->layout == SPMM_ROW_MAJOR) return copy(src, dst);
    if (src->layout == dst->layout) {
        const spmm_multivector from = transposed(src);
        spmm_multivector to = transposed(dst);
        return copy(&from, &to);
    }
    TRY(sp_multivector_axpby(sp_value_of(1, src->precision), src, (sp_value){0}, dst, sp_threads_default()));
    return dst->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

spmm_status sp_multivector_permute(const spmm_multivector *src, const int64_t *perm, int inverse,
                                   spmm_multivector *dst)
{
    if (src->rows != dst->rows || src->k != dst->k || src->precision != dst->precision ||
        src->space != SPMM_CPU || dst->space != SPMM_CPU)
        return sp_fail(
            SPMM_ERR_USAGE,
            "cannot permute a %lld x %lld multivector into one of %lld x %lld: expected the same shape and "
            "precision, and host memory",
            (long long)src->rows, (long long)src->k, (long long)dst->rows, (long long)dst->k);
    for (int64_t i = 0; i < src->rows; i++)
        if (perm[i] < 0 || perm[i] >= src->rows)
            return sp_fail(SPMM_ERR_USAGE, "not a permutation of %lld rows: row %lld goes to %lld",
                           (long long)src->rows, (long long)i, (long long)perm[i]);
    const size_t bytes = (size_t)(src->k * sp_value_size(src->precision));
#pragma omp parallel for schedule(static) num_threads(sp_threads_default())
    for (int64_t i = 0; i < src->rows; i++) {
        const int64_t from = inverse ? perm[i] : i, to = inverse ? i : perm[i];
        memcpy(sp_row(dst, to), sp_row(src, from), bytes);
    }
    return SPMM_OK;
}

double sp_x_element(sp_x_kind kind, uint64_t seed, int64_t row, int64_t column)
{
    switch (kind) {
    case SP_X_ONES: return 1.0;
    case SP_X_INDEX: return (double)(1 + (row + column) % 1000);
    case SP_X_UNIFORM: break;
    }
    return sp_random_unit(seed, (uint64_t)row, (uint64_t)column);
}

/** As sp_x_element(), for any type: in a complex type, the imaginary part of a random element is another
 *  random number, and that of other elements is 0. */
static sp_c128 x_value(spmm_precision precision, sp_x_kind kind, uint64_t seed, int64_t row, int64_t column)
{
    const double re = sp_x_element(kind, seed, row, column);
    return sp_is_complex(precision) && kind == SP_X_UNIFORM
               ? __builtin_complex(re, sp_x_element(kind, ~seed, row, column))
               : re;
}

/** Fills row i of x with the generated elements of global row row[i], or first_row + i if row is NULL. */
static void multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                                 const int64_t *row, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t global = row ? row[i] : first_row + i;
        for (int64_t j = 0; j < x->ld; j++) {
            const sp_c128 e = j < x->k ? x_value(x->precision, kind, seed, global, j) : 0;
            sp_value_set(x->data, x->precision, i * x->ld + j, e);
        }
    }
}

void sp_multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                             int threads)
{
    multivector_generate(x, kind, seed, first_row, NULL, threads);
}

void sp_multivector_generate_rows(spmm_multivector *x, sp_x_kind kind, uint64_t seed, const int64_t *row,
                                  int threads)
{
    multivector_generate(x, kind, seed, 0, row, threads);
}

/* ---- as a Matrix Market array file ---- */

spmm_status sp_multivector_write(const spmm_multivector *v, const char *path)
{
    const int digits = sp_type_of(v->precision).digits;
    sp_output_file out;
    TRY(sp_output_file_open(path, &out));
    fprintf(out.file, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n",
            sp_is_complex(v->precision) ? "complex" : "real", (long long)v->rows, (long long)v->k);
    for (int64_t j = 0; j < v->k; j++)
        for (int64_t i = 0; i < v->rows && !ferror(out.file); i++) {
            const sp_c128 e = sp_multivector_at(v, i, j);
            fprintf(out.file, "%.*g", digits, __real__ e);
            if (sp_is_complex(v->precision)) fprintf(out.file, " %.*g", digits, __imag__ e);
            fputc('\n', out.file);
        }
    return sp_output_file_close(&out, SPMM_OK); /* this also reports write errors of the calls above */
}
