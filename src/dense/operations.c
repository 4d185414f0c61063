/** Implements the public functions on multivectors of one rank: spmm_multivector_times(), _axpby(),
 *  _scale(). */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/threads.h"
#include "dense/dense.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/multivector.h"

spmm_status sp_alike(const spmm_multivector *x, const spmm_multivector *y, const char *function)
{
    TRY(sp_multivector_check(x, function, "x"));
    TRY(sp_multivector_check(y, function, "y"));
    if (x->rows == y->rows && x->precision == y->precision && x->space == y->space) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: x has %lld rows of %s in %s memory and y %lld rows of %s in %s memory, expected the same",
        function, (long long)x->rows, sp_precision_word(x->precision), sp_memory_word(x->space),
        (long long)y->rows, sp_precision_word(y->precision), sp_memory_word(y->space));
}

spmm_status sp_complex_check(const spmm_multivector *x, int complex, const char *function)
{
    const int ends = (int)(strlen(function) - strlen("_complex"));
    if (sp_is_complex(x->precision) == complex) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: x is %s, expected %s values: call %.*s%s()", function,
                   sp_precision_word(x->precision), complex ? "complex" : "real",
                   complex ? ends : ends + (int)strlen("_complex"), function, complex ? "" : "_complex");
}

/** Returns 1 if x and y are different columns of the same rows: they have the same leading dimension, and one
 *  row of it contains a row of x and a row of y without overlap. */
static int side_by_side(const spmm_multivector *x, const spmm_multivector *y)
{
    const int64_t size = sp_value_size(x->precision);
    const int64_t apart = (int64_t)((intptr_t)y->data - (intptr_t)x->data);
    if (x->ld != y->ld || apart % size != 0) return 0;
    return apart >= 0 ? apart / size >= x->k && apart / size + y->k <= x->ld
                      : -apart / size >= y->k && -apart / size + x->k <= x->ld;
}

/** Returns the address after the last element of v. */
static uintptr_t end_of(const spmm_multivector *v)
{
    const int64_t elements = v->rows > 0 ? (v->rows - 1) * v->ld + v->k : 0;
    return (uintptr_t)v->data + (uintptr_t)(elements * sp_value_size(v->precision));
}

/** Returns 1 if the memory of x, from its first to its last element, does not overlap that of y.
 *  (sp_multivector_apart() counts the padding of the last row as well, which columns of a wider multivector
 *  do not have.) */
static int apart(const spmm_multivector *x, const spmm_multivector *y)
{
    return x->rows == 0 || y->rows == 0 || end_of(x) <= (uintptr_t)y->data || end_of(y) <= (uintptr_t)x->data;
}

spmm_status sp_small_check(const sp_small *small, const spmm_multivector *v, const char *name,
                           const char *function)
{
    const spmm_multivector m = {.rows = small->rows,
                                .k = small->cols,
                                .ld = small->ld,
                                .precision = small->type,
                                .data = (void *)(uintptr_t)small->data};
    TRY(sp_multivector_check(&m, function, small->name));
    if (v->space == SPMM_CUDA || apart(&m, v)) return SPMM_OK; /* m is in host memory */
    return sp_fail(SPMM_ERR_USAGE, "%s: %s and %s overlap in memory, expected them apart", function,
                   small->name, name);
}

/** Checks that y is x, or shares no element with it. */
static spmm_status same_or_apart(const spmm_multivector *x, const spmm_multivector *y, const char *function)
{
    if (apart(x, y) || (x->data == y->data && x->ld == y->ld) || side_by_side(x, y)) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: x and y overlap in memory, expected them apart, or y to be x",
                   function);
}

/** Computes y := alpha x + beta y, complete on return. */
static spmm_status axpby(spmm_complex alpha, const spmm_multivector *x, spmm_complex beta,
                         spmm_multivector *y)
{
    /* without an open GPU nothing is launched, and sp_device_sync() fails */
    if (y->space == SPMM_CPU || sp_device_stream(SP_STREAM_MAIN))
        TRY(sp_multivector_axpby(sp_value_of(alpha, y->precision), x, sp_value_of(beta, y->precision), y,
                                 sp_threads_default()));
    return y->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

/** Checks the operands of Y := alpha X R + beta Y. */
static spmm_status check_times(const spmm_multivector *x, const void *r, int64_t ldr,
                               const spmm_multivector *y, int complex, const char *function)
{
    TRY(sp_fork_check(function));
    TRY(sp_alike(x, y, function));
    TRY(sp_complex_check(x, complex, function));
    TRY(sp_given(function, "r", r, "a matrix with a row for each column of x"));
    if (ldr < y->k)
        return sp_fail(SPMM_ERR_USAGE, "%s: ldr is %lld, expected at least the %lld columns of y", function,
                       (long long)ldr, (long long)y->k);
    TRY(sp_small_check(&(sp_small){"r", r, x->k, y->k, ldr, complex ? SPMM_C128 : SPMM_F64}, y, "y",
                       function));
    return same_or_apart(x, y, function);
}

spmm_status spmm_multivector_times(double alpha, const spmm_multivector *x, const double *r, int64_t ldr,
                                   double beta, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(check_times(x, r, ldr, y, 0, __func__));
    const sp_value a = sp_value_of(alpha, y->precision), b = sp_value_of(beta, y->precision);
    if (sp_value_is(a, y->precision, 0) || x->k == 0) return axpby(0, y, beta, y);
    return y->rows > 0 && y->k > 0 ? sp_times(a, x, r, ldr, b, y) : SPMM_OK;
}

/** Computes Y := alpha X R + beta Y for complex values and a real beta as a product of real multivectors,
 *  whose columns are the parts. Each element of R becomes a 2 x 2 matrix. */
static spmm_status times_by_parts(spmm_complex alpha, const spmm_multivector *x, const spmm_complex *r,
                                  int64_t ldr, double beta, const spmm_multivector *y)
{
    const spmm_multivector xs = sp_multivector_reals(x), ys = sp_multivector_reals(y);
    double *parts;
    TRY(sp_alloc((void **)&parts, xs.k * ys.k, sizeof *parts, "a small matrix"));
    for (int64_t i = 0; i < x->k; i++)
        for (int64_t j = 0; j < y->k; j++) {
            const spmm_complex e = SP_TIMES(alpha, r[i * ldr + j]);
            double *const to = parts + 2 * i * ys.k + 2 * j;
            to[0] = to[ys.k + 1] = __real__ e;
            to[1] = __imag__ e;
            to[ys.k] = -__imag__ e;
        }
    const spmm_status status = sp_times(sp_value_of(1, ys.precision), &xs, parts, ys.k,
                                        sp_value_of(beta, ys.precision), &ys);
    sp_free(parts);
    return status;
}

spmm_status spmm_multivector_times_complex(spmm_complex alpha, const spmm_multivector *x,
                                           const spmm_complex *r, int64_t ldr, spmm_complex beta,
                                           spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(check_times(x, r, ldr, y, 1, __func__));
    if (alpha == 0 || x->k == 0) return axpby(0, y, beta, y);
    if (y->rows == 0 || y->k == 0) return SPMM_OK;
    if (__imag__ beta == 0) return times_by_parts(alpha, x, r, ldr, __real__ beta, y);
    if (!apart(x, y) && !side_by_side(x, y))
        return sp_fail(SPMM_ERR_USAGE, "%s: y is x and beta has an imaginary part, expected a real beta",
                       __func__);
    TRY(axpby(0, y, beta, y));
    return times_by_parts(alpha, x, r, ldr, 1, y);
}

/** Checks the operands of Y := alpha X + beta Y. */
static spmm_status check_axpby(const spmm_multivector *x, const spmm_multivector *y, const char *function)
{
    TRY(sp_fork_check(function));
    TRY(sp_alike(x, y, function));
    if (x->k != y->k)
        return sp_fail(SPMM_ERR_USAGE, "%s: x has %lld columns and y %lld, expected the same", function,
                       (long long)x->k, (long long)y->k);
    return same_or_apart(x, y, function);
}

spmm_status spmm_multivector_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(check_axpby(x, y, __func__));
    return axpby(alpha, x, beta, y);
}

spmm_status spmm_multivector_axpby_complex(spmm_complex alpha, const spmm_multivector *x, spmm_complex beta,
                                           spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(check_axpby(x, y, __func__));
    TRY(sp_complex_check(x, 1, __func__));
    return axpby(alpha, x, beta, y);
}

/* Multiplies the elements of row i by the factors. */
#define SCALE(T)                       \
    for (int64_t j = 0; j < x->k; j++) \
        ((T *)x->data)[i * x->ld + j] = SP_TIMES(((const T *)factor)[j], ((T *)x->data)[i * x->ld + j]);

static void scale(const void *factor, spmm_multivector *x)
{
#pragma omp parallel num_threads(sp_threads_default())
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < x->rows; i++) { SP_BY_TYPE(x->precision, SCALE); }
    }
}

/** Multiplies by factors of x's type, in host memory. */
static spmm_status scale_on_gpu(const void *factor, spmm_multivector *x)
{
    const int64_t bytes = x->k * sp_value_size(x->precision);
    void *there = NULL;
    spmm_status status = sp_device_alloc(&there, bytes, "factors of columns");
    if (status == SPMM_OK) status = sp_device_upload(there, factor, bytes);
    if (status == SPMM_OK) status = sp_cuda_scale(there, x, sp_device_stream(SP_STREAM_MAIN));
    if (status == SPMM_OK) status = sp_device_sync();
    sp_device_free(there);
    return status;
}

/** Checks x and its factors, and multiplies.
 *  \param [in] factor  [k], of type `given`, f64 or c128 */
static spmm_status scale_columns(const void *factor, spmm_precision given, spmm_multivector *x,
                                 const char *function)
{
    void *rounded;
    TRY(sp_fork_check(function));
    TRY(sp_multivector_check(x, function, "x"));
    if (given == SPMM_C128) TRY(sp_complex_check(x, 1, function));
    TRY(sp_given(function, "factor", factor, "a factor for each column of x"));
    TRY(sp_small_check(&(sp_small){"factor", factor, 1, x->k, x->k, given}, x, "x", function));
    if (x->k == 0) return SPMM_OK;
    TRY(sp_alloc(&rounded, x->k, sp_value_size(x->precision), "factors of columns"));
    for (int64_t j = 0; j < x->k; j++) sp_value_set(rounded, x->precision, j, sp_value_at(factor, given, j));
    spmm_status status = SPMM_OK;
    if (x->space == SPMM_CUDA)
        status = scale_on_gpu(rounded, x);
    else
        scale(rounded, x);
    sp_free(rounded);
    return status;
}

spmm_status spmm_multivector_scale(const double *factor, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    return scale_columns(factor, SPMM_F64, x, __func__);
}

spmm_status spmm_multivector_scale_complex(const spmm_complex *factor, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    return scale_columns(factor, SPMM_C128, x, __func__);
}
