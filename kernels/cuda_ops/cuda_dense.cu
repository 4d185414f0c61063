/** Products of multivectors with small dense matrices on a GPU, inner products and sums of squares of their
 *  columns, and scaling of their columns and rows. In products, blocks of rows are staged in shared memory,
 *  and each thread computes 4 x 4 elements of the result in registers.
 *  cuBLAS is not used, because its order of summation is not defined, and because libspmm would then depend
 *  on it. */
#include <algorithm>
#include <utility>

#include "kernels/cuda/cuda_block.cuh"
extern "C" {
#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/multivector.h"
}

namespace {

constexpr int BLOCK = 256, SUB = 4; /* BLOCK: threads per block; SUB: rows and columns of the result per
                                       thread */

template <typename T> struct matrix {
    T *data;
    int64_t rows, k, ld;
};

template <typename T> matrix<T> view(const spmm_multivector *v)
{
    return {(T *)v->data, v->rows, v->k, v->ld};
}

/* ---- X^T Y ---- */

/* A block computes SIDE x SIDE elements of X^T Y for a section of rows. A group of (SIDE / 4)^2 threads
 * computes all of these elements for some of the staged rows. The block has as many groups as possible, and
 * adds their sums in order. */
constexpr int64_t MOST_SECTIONS = 512;
constexpr int STAGED = 2048; /* elements of X and of Y that are staged at a time */

/** Copies columns [column, column + SIDE) of the rows starting at `row` to shared memory; elements in
 *  rows from `end` on, or in columns beyond the last one, are 0. */
template <typename T, int SIDE>
__device__ inline void stage(const matrix<T> &v, int64_t row, int64_t end, int64_t column, double *out)
{
    for (int e = threadIdx.x; e < STAGED; e += BLOCK) {
        const int64_t r = row + e / SIDE, c = column + e % SIDE;
        out[e] = r < end && c < v.k ? (double)v.data[r * v.ld + c] : 0;
    }
}

/** Adds the products of those staged rows that this thread's group processes. */
template <int SIDE>
__device__ inline void add_staged(const double *x, const double *y, int group, int i, int j,
                                  double (&sum)[SUB][SUB])
{
    constexpr int GROUPS = BLOCK / (SIDE / SUB * (SIDE / SUB));
    for (int t = group; t < STAGED / SIDE; t += GROUPS)
#pragma unroll
        for (int a = 0; a < SUB; a++)
#pragma unroll
            for (int b = 0; b < SUB; b++)
                sum[a][b] = fma(x[t * SIDE + i + a], y[t * SIDE + j + b], sum[a][b]);
}

/** Computes one tile of X^T Y, of SIDE x SIDE elements (blockIdx.x is its number), for one section of the
 *  rows (blockIdx.y). Stores element (i, j) in part[section][i][j]. */
template <typename T, int SIDE>
__global__ void __launch_bounds__(BLOCK) gram(const matrix<T> x, const matrix<T> y, double *part)
{
    constexpr int LINE = SIDE / SUB, GROUPS = BLOCK / (LINE * LINE);
    __shared__ double shared[2 * STAGED];
    const int member = threadIdx.x % (LINE * LINE), group = threadIdx.x / (LINE * LINE);
    const int i = member / LINE * SUB, j = member % LINE * SUB;
    const int64_t tiles = (y.k + SIDE - 1) / SIDE, i0 = blockIdx.x / tiles * SIDE,
                  j0 = blockIdx.x % tiles * SIDE;
    const int64_t sections = gridDim.y, begin = x.rows * blockIdx.y / sections,
                  end = x.rows * (blockIdx.y + 1) / sections;
    double sum[SUB][SUB] = {};
    for (int64_t row = begin; row < end; row += STAGED / SIDE) {
        stage<T, SIDE>(x, row, end, i0, shared);
        stage<T, SIDE>(y, row, end, j0, shared + STAGED);
        __syncthreads();
        add_staged<SIDE>(shared, shared + STAGED, group, i, j, sum);
        __syncthreads();
    }
    for (int a = 0; a < SUB; a++)
        for (int b = 0; b < SUB; b++) shared[(group * SIDE + i + a) * SIDE + j + b] = sum[a][b];
    __syncthreads();
    for (int e = threadIdx.x; e < SIDE * SIDE; e += BLOCK) {
        const int64_t row = i0 + e / SIDE, column = j0 + e % SIDE;
        double all = 0;
        for (int n = 0; n < GROUPS; n++) all += shared[n * SIDE * SIDE + e];
        if (row < x.k && column < y.k) part[(blockIdx.y * x.k + row) * y.k + column] = all;
    }
}

/** Adds the sums of the sections for `count` elements. Each of eight threads per element adds every eighth
 *  section; then the first thread adds the eight sums in order. */
__global__ void __launch_bounds__(BLOCK)
    add_sections(const double *part, int64_t sections, int64_t count, double *sum)
{
    constexpr int ELEMENTS = 32, THREADS = BLOCK / ELEMENTS;
    __shared__ double shared[BLOCK];
    const int64_t e = blockIdx.x * (int64_t)ELEMENTS + threadIdx.x % ELEMENTS;
    double mine = 0;
    for (int64_t s = threadIdx.x / ELEMENTS; e < count && s < sections; s += THREADS)
        mine += part[s * count + e];
    shared[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x >= ELEMENTS || e >= count) return;
    for (int n = 1; n < THREADS; n++) mine += shared[n * ELEMENTS + threadIdx.x];
    sum[e] = mine;
}

/** Adds the sums of the sections, part [sections x count], and copies the result to the host.
 *  \param [in] part  followed by memory for `count` elements */
spmm_status collect(double *part, int64_t sections, int64_t count, double *out, cudaStream_t stream)
{
    add_sections<<<(unsigned)((count + 31) / 32), BLOCK, 0, stream>>>(part, sections, count,
                                                                      part + sections * count);
    TRY(sp_device_launched("add_sections"));
    return sp_device_download(out, part + sections * count, count * (int64_t)sizeof *out);
}

template <typename T, int SIDE>
spmm_status launch_gram(const spmm_multivector *x, const spmm_multivector *y, double *part, int64_t sections,
                        cudaStream_t stream)
{
    const int64_t tiles = ((x->k + SIDE - 1) / SIDE) * ((y->k + SIDE - 1) / SIDE);
    gram<T, SIDE>
        <<<dim3((unsigned)tiles, (unsigned)sections), BLOCK, 0, stream>>>(view<T>(x), view<T>(y), part);
    return sp_device_launched("gram");
}

/** Returns the number of sections, which depends only on the shapes. */
int64_t sections_for(int64_t rows, int64_t tiles)
{
    const int64_t most = std::max(MOST_SECTIONS / tiles, (int64_t)1);
    return std::max(std::min((rows + STAGED - 1) / STAGED * 8, most), (int64_t)1);
}

template <typename T>
spmm_status run_gram(const spmm_multivector *x, const spmm_multivector *y, double *g, cudaStream_t stream)
{
    const int64_t count = x->k * y->k, widest = std::max(x->k, y->k);
    const int side = widest <= 16 ? 16 : widest <= 32 ? 32 : 64;
    const int64_t sections = sections_for(x->rows, ((x->k + side - 1) / side) * ((y->k + side - 1) / side));
    void *part;
    TRY(sp_device_alloc(&part, (sections + 1) * count * (int64_t)sizeof *g, "partial sums of a Gram matrix"));
    const auto launch = side == 16   ? launch_gram<T, 16>
                        : side == 32 ? launch_gram<T, 32>
                                     : launch_gram<T, 64>;
    spmm_status status = launch(x, y, (double *)part, sections, stream);
    if (status == SPMM_OK) status = collect((double *)part, sections, count, g, stream);
    sp_device_free(part);
    return status;
}

/* ---- sums of squares ---- */

/** Sums the squares of each column j of a section of rows (blockIdx.x) into part[section][j]. */
template <typename T> __global__ void __launch_bounds__(BLOCK) squares(const matrix<T> x, double *part)
{
    const int64_t begin = x.rows * blockIdx.x / gridDim.x, end = x.rows * (blockIdx.x + 1) / gridDim.x;
    __shared__ double shared[BLOCK];
    /* `columns` threads per row, and `lines` rows at a time */
    const int columns = (int)(x.k < BLOCK ? x.k : BLOCK), lines = BLOCK / columns;
    const int line = threadIdx.x / columns;
    for (int64_t j0 = 0; j0 < x.k; j0 += columns) {
        const int64_t j = j0 + threadIdx.x % columns;
        double sum = 0;
        for (int64_t r = begin + line; line < lines && j < x.k && r < end; r += lines) {
            const double e = (double)x.data[r * x.ld + j];
            sum = fma(e, e, sum);
        }
        shared[threadIdx.x] = sum;
        __syncthreads();
        if (line == 0 && j < x.k) {
            for (int n = 1; n < lines; n++) sum += shared[n * columns + threadIdx.x];
            part[blockIdx.x * x.k + j] = sum;
        }
        __syncthreads();
    }
}

/* ---- alpha X R + beta Y ---- */

constexpr int SIDE = 64,
              DEPTH = 16; /* rows and columns of Y per block; number of columns of X that are staged at a
                             time */

/** Computes the 64 rows of X R that start at `row`, in the 64 columns that start at `column`. Each thread
 *  adds its 4 x 4 elements to `sum`. r is [x.k x l]. */
template <typename T>
__device__ inline void multiply(const matrix<T> &x, const T *r, int64_t l, int64_t row, int64_t column,
                                T (&sum)[SUB][SUB])
{
    /* + 1, so that threads that write a column of xs access different banks */
    __shared__ T xs[DEPTH][SIDE + 1], rs[DEPTH][SIDE];
    const int i = threadIdx.x / (SIDE / SUB) * SUB, j = threadIdx.x % (SIDE / SUB) * SUB;
    for (int64_t k0 = 0; k0 < x.k; k0 += DEPTH) {
        for (int e = threadIdx.x; e < SIDE * DEPTH; e += BLOCK) {
            const int64_t at = row + e / DEPTH, c = k0 + e % DEPTH;
            xs[e % DEPTH][e / DEPTH] = at < x.rows && c < x.k ? x.data[at * x.ld + c] : (T)0;
            const int64_t k = k0 + e / SIDE, n = column + e % SIDE;
            rs[e / SIDE][e % SIDE] = k < x.k && n < l ? r[k * l + n] : (T)0;
        }
        __syncthreads();
#pragma unroll
        for (int t = 0; t < DEPTH; t++)
#pragma unroll
            for (int a = 0; a < SUB; a++)
#pragma unroll
                for (int b = 0; b < SUB; b++) sum[a][b] = fma(xs[t][i + a], rs[t][j + b], sum[a][b]);
        __syncthreads();
    }
}

/** Computes 64 rows (blockIdx.x) and 64 columns (blockIdx.y) of y. All of x that the block needs is read
 *  before anything is written: y may be x if one block computes all columns of a row. */
template <typename T>
__global__ void __launch_bounds__(BLOCK) times(T alpha, const matrix<T> x, const T *r, T beta, matrix<T> y)
{
    const int64_t row = blockIdx.x * (int64_t)SIDE, column = blockIdx.y * (int64_t)SIDE;
    const int64_t i0 = row + threadIdx.x / (SIDE / SUB) * SUB, j0 = column + threadIdx.x % (SIDE / SUB) * SUB;
    T sum[SUB][SUB] = {};
    multiply(x, r, y.k, row, column, sum);
    for (int a = 0; a < SUB; a++)
        for (int b = 0; b < SUB; b++) {
            const int64_t i = i0 + a, j = j0 + b;
            if (i >= y.rows || j >= y.k) continue;
            T *const to = y.data + i * y.ld + j;
            const T product = alpha * sum[a][b];
            *to = beta == 0 ? product : fma(beta, *to, product);
        }
}

/** Copies R to the GPU without gaps, in the precision of the multivectors. */
template <typename T> spmm_status upload(const double *r, int64_t ldr, int64_t k, int64_t l, void **there)
{
    T *packed;
    TRY(sp_alloc((void **)&packed, k * l, sizeof *packed, "a small matrix"));
    for (int64_t e = 0; e < k * l; e++) packed[e] = (T)r[e / l * ldr + e % l];
    spmm_status status = sp_device_alloc(there, k * l * (int64_t)sizeof *packed, "a small matrix");
    if (status == SPMM_OK) status = sp_device_upload(*there, packed, k * l * (int64_t)sizeof *packed);
    sp_free(packed);
    return status;
}

template <typename T>
spmm_status run_times(sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr, sp_value beta,
                      const spmm_multivector *y, cudaStream_t stream)
{
    const dim3 grid((unsigned)((x->rows + SIDE - 1) / SIDE), (unsigned)((y->k + SIDE - 1) / SIDE));
    const bool aside = x->data == y->data && y->k > SIDE;
    const T number = 1;
    sp_value one = {};
    memcpy(&one, &number, sizeof number);
    spmm_multivector other = {}, to = *y;
    void *there = NULL;
    spmm_status status = upload<T>(r, ldr, x->k, y->k, &there);
    if (status == SPMM_OK && aside) {
        status = spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CUDA, &other);
        to = other;
    }
    if (status == SPMM_OK) {
        times<T><<<grid, BLOCK, 0, stream>>>(value_in<T>(alpha), view<T>(x), (const T *)there,
                                             aside ? (T)0 : value_in<T>(beta), view<T>(&to));
        status = sp_device_launched("times");
    }
    to = *y;
    if (status == SPMM_OK && aside) status = sp_cuda_axpby(one, &other, beta, &to, stream);
    if (status == SPMM_OK) status = sp_device_sync();
    spmm_multivector_destroy(&other);
    sp_device_free(there);
    return status;
}

template <typename T> __global__ void __launch_bounds__(BLOCK) scale(const T *factor, matrix<T> x)
{
    const int64_t all = x.rows * x.k;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK + threadIdx.x; e < all; e += gridDim.x * (int64_t)BLOCK)
        x.data[e / x.k * x.ld + e % x.k] *= factor[e % x.k];
}

/** Multiplies row i of x by factor[i * stride]. by_columns: a column-major x is passed as the row-major
 *  matrix of its transpose, whose column i is multiplied. */
template <typename T>
__global__ void __launch_bounds__(BLOCK)
    scale_rows(const T *factor, int64_t stride, matrix<T> x, int by_columns)
{
    const int64_t all = x.rows * x.k;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK + threadIdx.x; e < all; e += gridDim.x * (int64_t)BLOCK) {
        const int64_t i = e / x.k, j = e - i * x.k;
        x.data[i * x.ld + j] *= factor[(by_columns ? j : i) * stride];
    }
}

template <typename T>
void launch_scale_rows(const void *factor, int64_t stride, const spmm_multivector *x, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)std::min((x->rows * x->k + BLOCK - 1) / BLOCK, (int64_t)1 << 20);
    const int by_columns = x->layout == SPMM_COLUMN_MAJOR;
    matrix<T> m = view<T>(x);
    if (by_columns) std::swap(m.rows, m.k);
    scale_rows<T><<<blocks, BLOCK, 0, stream>>>((const T *)factor, stride, m, by_columns);
}

cudaStream_t main_stream() { return (cudaStream_t)sp_device_stream(SP_STREAM_MAIN); }

} // namespace

extern "C" spmm_status sp_cuda_gram(const spmm_multivector *x, const spmm_multivector *y, double *g)
{
    return with_real(x->precision,
                     [&](auto value) { return run_gram<decltype(value)>(x, y, g, main_stream()); });
}

extern "C" spmm_status sp_cuda_squares(const spmm_multivector *x, double *sum)
{
    const cudaStream_t stream = main_stream();
    const int64_t sections = sections_for(x->rows, 1);
    void *part;
    TRY(sp_device_alloc(&part, (sections + 1) * x->k * (int64_t)sizeof *sum, "partial sums of squares"));
    with_real(x->precision, [&](auto value) {
        squares<<<(unsigned)sections, BLOCK, 0, stream>>>(view<decltype(value)>(x), (double *)part);
    });
    spmm_status status = sp_device_launched("squares");
    if (status == SPMM_OK) status = collect((double *)part, sections, x->k, sum, stream);
    sp_device_free(part);
    return status;
}

extern "C" spmm_status sp_cuda_times(sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr,
                                     sp_value beta, const spmm_multivector *y)
{
    return with_real(x->precision, [&](auto value) {
        return run_times<decltype(value)>(alpha, x, r, ldr, beta, y, main_stream());
    });
}

extern "C" spmm_status sp_cuda_scale(const void *factor, spmm_multivector *x, void *stream)
{
    const unsigned blocks = (unsigned)std::min((x->rows * x->k + BLOCK - 1) / BLOCK, (int64_t)1 << 20);
    if (x->rows == 0) return SPMM_OK;
    with_type(x->precision, [&](auto value) {
        using T = decltype(value);
        scale<<<blocks, BLOCK, 0, (cudaStream_t)stream>>>((const T *)factor, view<T>(x));
    });
    return sp_device_launched("scale");
}

extern "C" spmm_status sp_cuda_scale_rows(const void *factor, int64_t stride, spmm_multivector *x,
                                          void *stream)
{
    if (x->rows == 0) return SPMM_OK;
    with_type(x->precision, [&](auto value) {
        launch_scale_rows<decltype(value)>(factor, stride, x, (cudaStream_t)stream);
    });
    return sp_device_launched("scale_rows");
}
