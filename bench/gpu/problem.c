#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "io/generators.h"
#include "spmm_mpi/dram_bound.h"
#include "bench.h"

enum { X_SEED = 1, X_PIECE = 8 << 20, SAMPLE_CHUNKS = 48, SAMPLE_ROWS = 32 };
static const double ELL_LIMIT = 3.0;

/* ---- X and Y ---- */

/** Numbers of X, one after another. */
static double x_number(int64_t i) { return sp_x_element(SP_X_UNIFORM, X_SEED, 0, i); }

/** Every X is the start of the same numbers, so they are made and moved once, by pieces. */
static spmm_status upload_x(problem *p, int64_t numbers)
{
    const size_t size = sp_value_size(p->csr.precision);
    void *host;
    spmm_status status = SPMM_OK;
    TRY(sp_alloc(&host, X_PIECE, size, "a piece of X"));
    for (int64_t begin = 0; begin < numbers && status == SPMM_OK; begin += X_PIECE) {
        const int64_t n = numbers - begin < X_PIECE ? numbers - begin : X_PIECE;
#pragma omp parallel for schedule(static) num_threads(p->threads)
        for (int64_t i = 0; i < n; i++) {
            if (p->csr.precision == SPMM_F64)
                ((double *)host)[i] = x_number(begin + i);
            else
                ((float *)host)[i] = (float)x_number(begin + i);
        }
        status = sp_device_upload((char *)p->x + begin * (int64_t)size, host, n * (int64_t)size);
    }
    sp_free(host);
    return status;
}

static spmm_status make_multivectors(problem *p)
{
    const int64_t size = (int64_t)sp_value_size(p->csr.precision);
    const int64_t ld = sp_multivector_ld(p->k_max, p->csr.precision);
    TRY(sp_device_alloc(&p->x, p->csr.cols * ld * size, "X"));
    TRY(sp_device_alloc(&p->y, p->csr.rows * ld * size, "Y"));
    TRY(sp_device_alloc(&p->first, p->csr.rows * ld * size, "a Y to compare with"));
    return upload_x(p, p->csr.cols * ld);
}

static spmm_multivector cut(const problem *p, void *data, int64_t rows, int64_t k, dense_layout layout)
{
    const int64_t ld = layout == ROW_MAJOR ? sp_multivector_ld(k, p->csr.precision) : rows;
    return (spmm_multivector){rows, k, ld, p->csr.precision, SPMM_CUDA, data, 0, 0};
}

spmm_multivector problem_x(const problem *p, int64_t k, dense_layout layout)
{
    return cut(p, p->x, p->csr.cols, k, layout);
}

spmm_multivector problem_y(const problem *p, int64_t k, dense_layout layout)
{
    return cut(p, p->y, p->csr.rows, k, layout);
}

double problem_x_element(const spmm_multivector *x, dense_layout layout, int64_t row, int64_t column)
{
    return x_number(layout == ROW_MAJOR ? row * x->ld + column : column * x->ld + row);
}

/* ---- the sample ---- */

static int by_row(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static spmm_status make_sample(problem *p)
{
    const int64_t rows = p->csr.rows, chunk = rows / SAMPLE_CHUNKS;
    int64_t longest = 0, n = 0, distinct = 0, *row;
    TRY(sp_alloc((void **)&row, SAMPLE_CHUNKS * SAMPLE_ROWS + 1, sizeof *row, "sampled rows"));
    p->sample.row = row;
    for (int64_t i = 0; i < rows; i++)
        if (p->csr.irp[i + 1] - p->csr.irp[i] > p->csr.irp[longest + 1] - p->csr.irp[longest]) longest = i;
    for (int64_t c = 0; c < SAMPLE_CHUNKS; c++)
        for (int64_t i = 0; i < SAMPLE_ROWS; i++)
            if (c * chunk + i < rows) row[n++] = c * chunk + i;
    if (rows > 0) row[n++] = longest;
    qsort(row, (size_t)n, sizeof *row, by_row);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || row[i] != row[i - 1]) row[distinct++] = row[i];
    p->sample.count = distinct;
    return SPMM_OK;
}

/* ---- A ---- */

static spmm_status read_matrix(problem *p, spmm_precision precision)
{
    if (sp_gen_is_spec(p->name)) return sp_gen_csr(p->name, precision, p->threads, &p->csr);
    return spmm_csr_read(p->name, precision, &p->csr);
}

spmm_status problem_format(problem *p, spmm_format format)
{
    if (p->made[format].tried) {
        if (p->made[format].status == SPMM_OK) return SPMM_OK;
        return sp_fail(p->made[format].status, "the format was refused before");
    }
    const double start = omp_get_wtime();
    p->made[format].tried = 1;
    p->made[format].status = sp_matrix_create(&p->csr, format, SPMM_CUDA, ELL_LIMIT, p->threads,
                                              &p->a[format]);
    if (format != SPMM_CSR) p->made[format].seconds = omp_get_wtime() - start;
    return p->made[format].status;
}

static spmm_status create(problem *p, spmm_precision precision)
{
    TRY(read_matrix(p, precision));
    sp_features_of(&p->csr, p->threads, &p->features);
    TRY(sp_touched_columns(&p->csr, &p->touched));
    TRY(make_sample(p));
    TRY(make_multivectors(p));
    return problem_format(p, SPMM_CSR);
}

/** A matrix that the peer cannot take is compared among ours. */
static spmm_status create_peer(problem *p)
{
    const spmm_status status = peer_matrix_create(&p->csr, &p->a[SPMM_CSR], p->threads, &p->peer);
    if (status != SPMM_ERR_LIMIT) return status;
    fprintf(stderr, "bench_gpu: %s: no peer: %s\n", p->name, spmm_error_message());
    return SPMM_OK;
}

spmm_status problem_create(const char *name, spmm_precision precision, int64_t k_max, int threads, int peers,
                           problem *p)
{
    *p = (problem){.name = name, .k_max = k_max, .threads = threads};
    spmm_status status = create(p, precision);
    if (status == SPMM_OK && peers && peer_library()) status = create_peer(p);
    if (status != SPMM_OK) problem_destroy(p);
    return status;
}

void problem_destroy(problem *p)
{
    peer_matrix_destroy(p->peer);
    for (int f = 0; f < SP_FORMATS; f++) sp_matrix_destroy(&p->a[f]);
    sp_device_free(p->x);
    sp_device_free(p->y);
    sp_device_free(p->first);
    sp_free(p->sample.row);
    spmm_csr_destroy(&p->csr);
    memset(p, 0, sizeof *p);
}
