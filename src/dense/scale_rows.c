/** Multiplies rows of multivectors by numbers: spmm_multivector_scale_rows(). */
#include "base/status.h"
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/multivector.h"

static spmm_status scale_rows_check(const spmm_multivector *d, const spmm_multivector *x,
                                    const char *function)
{
    TRY(sp_fork_check(function));
    TRY(sp_multivector_check_any(d, function, "d"));
    TRY(sp_multivector_check_any(x, function, "x"));
    if (d->k != 1 || d->rows != x->rows || d->precision != x->precision || d->space != x->space)
        return sp_fail(
            SPMM_ERR_USAGE,
            "%s: d is %lld x %lld %s in %s memory, expected %lld x 1 %s in %s memory: an element per row "
            "of x",
            function, (long long)d->rows, (long long)d->k, sp_precision_word(d->precision),
            sp_memory_word(d->space), (long long)x->rows, sp_precision_word(x->precision),
            sp_memory_word(x->space));
    return sp_multivector_apart(d, x, function, "d", "x");
}

enum { ROWS = 1024 }; /* rows that a thread multiplies at a time; if x is column-major, column by column */

/* Multiplies rows `begin` to `end` - 1 in the element type T. */
#define SCALE_ROWS(T)                                                                    \
    {                                                                                    \
        const T *const restrict factor = d->data;                                        \
        T *const restrict data = x->data;                                                \
        for (int64_t i = begin; i < end && !by_columns; i++)                             \
            for (int64_t j = 0; j < x->k; j++)                                           \
                data[i * x->ld + j] = SP_TIMES(factor[i * stride], data[i * x->ld + j]); \
        for (int64_t j = 0; j < x->k && by_columns; j++)                                 \
            for (int64_t i = begin; i < end; i++)                                        \
                data[j * x->ld + i] = SP_TIMES(factor[i * stride], data[j * x->ld + i]); \
    }

static void scale_rows(const spmm_multivector *d, int64_t stride, spmm_multivector *x)
{
    const int by_columns = x->layout == SPMM_COLUMN_MAJOR;
#pragma omp parallel for schedule(static) num_threads(sp_threads_default())
    for (int64_t begin = 0; begin < x->rows; begin += ROWS) {
        SP_DEFAULT_FP;
        const int64_t end = begin + ROWS < x->rows ? begin + ROWS : x->rows;
        SP_BY_TYPE(x->precision, SCALE_ROWS);
    }
}

spmm_status spmm_multivector_scale_rows(const spmm_multivector *d, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    TRY(scale_rows_check(d, x, __func__));
    const int64_t stride = d->layout == SPMM_COLUMN_MAJOR ? 1 : d->ld;
    if (x->space == SPMM_CPU) {
        scale_rows(d, stride, x);
        return SPMM_OK;
    }
    /* without an open GPU nothing is launched, and sp_device_sync() fails */
    if (sp_device_stream(SP_STREAM_MAIN))
        TRY(sp_cuda_scale_rows(d->data, stride, x, sp_device_stream(SP_STREAM_MAIN)));
    return sp_device_sync();
}
