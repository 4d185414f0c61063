/** Computes Y := alpha X R + beta Y on CPUs, a chunk of rows at a time. */
#include <omp.h>
#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/value_type.h"
#include "dense/dense.h"
#include "dense/tile.h"
#include "device/device_ops.h"

/* Rows of a chunk. Its product X R is complete before Y is written, so that Y may share the memory of X. With
 * 64 columns of f64, a chunk takes 32 KiB. */
enum { CHUNK = 64 };

/** Data that all chunks use. */
typedef struct small_product {
    const spmm_multivector *x, *y;
    sp_value alpha, beta; /**< in the type of x */
    int64_t cols;         /**< columns of y, rounded up to tiles */
    const void *packed;   /**< R in the precision of x, in the order in which tiles read it */
    sp_tile_f64 f64;
    sp_tile_f32 f32;
} small_product;

#define VALUE double
#define NAME(name) name##_f64
#define WIDTH SP_TILE_F64
#define TILE f64
#include "dense/times_impl.h"

#define VALUE float
#define NAME(name) name##_f32
#define WIDTH SP_TILE_F32
#define TILE f32
#include "dense/times_impl.h"

static spmm_status times(small_product *p, const double *r, int64_t ldr)
{
    const spmm_precision precision = p->x->precision;
    const int64_t size = sp_value_size(precision), k = p->x->k, rows = p->x->rows;
    const int64_t chunks = (rows + CHUNK - 1) / CHUNK, most = sp_threads_default();
    const int64_t threads = chunks < 1 ? 1 : chunks < most ? chunks : most;
    const int64_t of_thread = CHUNK * p->cols + SP_TILE_ROWS * k;
    char *memory;
    TRY(sp_alloc((void **)&memory, k * p->cols + threads * of_thread, (size_t)size,
                 "a chunk of rows times R"));
    p->packed = memory;
    SP_OF_REAL(pack, precision)(p, r, ldr, memory);
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t c = 0; c < chunks; c++) {
        SP_DEFAULT_FP;
        const int64_t row = c * CHUNK, n = rows - row < CHUNK ? rows - row : CHUNK;
        void *const work = memory + (k * p->cols + omp_get_thread_num() * of_thread) * size;
        SP_OF_REAL(chunk, precision)(p, row, n, work);
    }
    sp_free(memory);
    return SPMM_OK;
}

spmm_status sp_times(sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr, sp_value beta,
                     const spmm_multivector *y)
{
    static const int64_t widths[] = {[SPMM_F64] = SP_TILE_F64, [SPMM_F32] = SP_TILE_F32};
    const int64_t width = widths[x->precision];
    small_product p = {
        x, y, alpha, beta, (y->k + width - 1) / width * width, NULL, sp_tile_of_f64(), sp_tile_of_f32()};
    return x->space == SPMM_CUDA ? sp_cuda_times(alpha, x, r, ldr, beta, y) : times(&p, r, ldr);
}
