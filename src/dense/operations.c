/** Implements the public functions on multivectors of one rank: spmm_multivector_times(), _axpby(),
 *  _scale(). */
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
    const spmm_multivector m = {
        .rows = small->rows, .k = small->cols, .ld = small->ld, .data = (void *)(uintptr_t)small->data};
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
static spmm_status axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y)
{
    /* without an open GPU nothing is launched, and sp_device_sync() fails */
    if (y->space == SPMM_CPU || sp_device_stream(SP_STREAM_MAIN))
        TRY(sp_multivector_axpby(sp_value_of(alpha, y->precision), x, sp_value_of(beta, y->precision), y,
                                 sp_threads_default()));
    return y->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

spmm_status spmm_multivector_times(double alpha, const spmm_multivector *x, const double *r, int64_t ldr,
                                   double beta, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_fork_check(__func__));
    TRY(sp_alike(x, y, __func__));
    TRY(sp_given(__func__, "r", r, "a matrix with a row for each column of x"));
    if (ldr < y->k)
        return sp_fail(SPMM_ERR_USAGE, "%s: ldr is %lld, expected at least the %lld columns of y", __func__,
                       (long long)ldr, (long long)y->k);
    TRY(sp_small_check(&(sp_small){"r", r, x->k, y->k, ldr}, y, "y", __func__));
    TRY(same_or_apart(x, y, __func__));
    const sp_value a = sp_value_of(alpha, y->precision), b = sp_value_of(beta, y->precision);
    if (sp_value_is(a, y->precision, 0) || x->k == 0) return axpby(0, y, beta, y);
    return y->rows > 0 && y->k > 0 ? sp_times(a, x, r, ldr, b, y) : SPMM_OK;
}

spmm_status spmm_multivector_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_fork_check(__func__));
    TRY(sp_alike(x, y, __func__));
    if (x->k != y->k)
        return sp_fail(SPMM_ERR_USAGE, "%s: x has %lld columns and y %lld, expected the same", __func__,
                       (long long)x->k, (long long)y->k);
    TRY(same_or_apart(x, y, __func__));
    return axpby(alpha, x, beta, y);
}

/* Multiplies the elements of row i. */
#define SCALE(T) \
    for (int64_t j = 0; j < x->k; j++) ((T *)x->data)[i * x->ld + j] = SP_TIMES((T)factor[j], ((T *)x->data)[i * x->ld + j]);

static void scale(const double *factor, spmm_multivector *x)
{
#pragma omp parallel num_threads(sp_threads_default())
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < x->rows; i++) { SP_BY_TYPE(x->precision, SCALE); }
    }
}

static spmm_status scale_on_gpu(const double *factor, spmm_multivector *x)
{
    const int64_t size = sp_value_size(x->precision);
    void *here, *there = NULL;
    TRY(sp_alloc(&here, x->k, (size_t)size, "factors of columns"));
    for (int64_t j = 0; j < x->k; j++) sp_value_set(here, x->precision, j, factor[j]);
    spmm_status status = sp_device_alloc(&there, x->k * size, "factors of columns");
    if (status == SPMM_OK) status = sp_device_upload(there, here, x->k * size);
    if (status == SPMM_OK) status = sp_cuda_scale(there, x, sp_device_stream(SP_STREAM_MAIN));
    if (status == SPMM_OK) status = sp_device_sync();
    sp_device_free(there);
    sp_free(here);
    return status;
}

spmm_status spmm_multivector_scale(const double *factor, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    TRY(sp_fork_check(__func__));
    TRY(sp_multivector_check(x, __func__, "x"));
    TRY(sp_given(__func__, "factor", factor, "a factor for each column of x"));
    TRY(sp_small_check(&(sp_small){"factor", factor, 1, x->k, x->k}, x, "x", __func__));
    if (x->k == 0) return SPMM_OK;
    if (x->space == SPMM_CUDA) return scale_on_gpu(factor, x);
    scale(factor, x);
    return SPMM_OK;
}
