/** Adds rows of a multivector to rows of another multivector. */
#include "halo/row_sums.h"

#include "base/fp_environment.h"
#include "device/device.h"
#include "formats/multivector.h"

static spmm_status upload(void *host, int64_t bytes, const void **device)
{
    void *memory = NULL;
    TRY(sp_device_alloc(&memory, bytes, "lists of partial rows"));
    *device = memory;
    return sp_device_upload(memory, host, bytes);
}

spmm_status sp_row_sums_create(const sp_sum_lists *l, spmm_device space, sp_row_sums *sums)
{
    *sums = (sp_row_sums){.count = l->count};
    if (space == SPMM_CPU) {
        *sums = (sp_row_sums){l->count, l->row, l->start, l->addend};
        return SPMM_OK;
    }
    TRY(upload(l->row, l->count * 4, (const void **)&sums->row));
    TRY(upload(l->start, (l->count + 1) * 8, (const void **)&sums->start));
    return upload(l->addend, l->start[l->count] * 4, (const void **)&sums->addend);
}

void sp_row_sums_destroy(spmm_device space, sp_row_sums *sums)
{
    if (space == SPMM_CUDA) {
        sp_device_free((void *)(uintptr_t)sums->row);
        sp_device_free((void *)(uintptr_t)sums->start);
        sp_device_free((void *)(uintptr_t)sums->addend);
    }
    *sums = (sp_row_sums){.count = 0};
}

#define ADD(T)                                                               \
    {                                                                        \
        T *const to = sp_row(y, sums->row[n]);                               \
        for (int64_t a = sums->start[n]; a < sums->start[n + 1]; a++) {      \
            const T *const from = sp_row(s, sums->addend[a] - s->ghost_low); \
            for (int64_t j = 0; j < y->k; j++) to[j] += from[j];             \
        }                                                                    \
    }

spmm_status sp_row_sums_add(const sp_row_sums *sums, const spmm_multivector *s, int threads,
                            spmm_multivector *y)
{
    if (y->space == SPMM_CUDA) return sp_cuda_add_rows(sums, s, y, sp_device_stream(SP_STREAM_MAIN));
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t n = 0; n < sums->count; n++) { SP_BY_TYPE(y->precision, ADD); }
    }
    return SPMM_OK;
}
