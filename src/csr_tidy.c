#include "csr_tidy.h"

#include <string.h>

#include "memory.h"
#include "work.h"

/** A thread's scratch for sorting long rows; grows on demand. */
typedef struct scratch {
    int32_t *column;
    void *value;
    int64_t size; /* entries */
} scratch;

static void scratch_destroy(scratch *s)
{
    sp_free(s->column);
    sp_free(s->value);
    *s = (scratch){0};
}

static spmm_status scratch_reserve(scratch *s, int64_t entries, spmm_precision precision)
{
    if (entries <= s->size) return SPMM_OK;
    scratch_destroy(s);
    spmm_status status = sp_alloc((void **)&s->column, entries, sizeof *s->column, "scratch to sort a row");
    if (status == SPMM_OK)
        status = sp_alloc(&s->value, entries, sp_value_size(precision), "scratch to sort a row");
    if (status == SPMM_OK) s->size = entries;
    return status;
}

enum { SHORT_ROW = 24 }; /* up to here insertion sort is the quickest */

#define VALUE double
#define NAME(name) name##_f64
#include "csr_tidy_impl.h"
#undef VALUE
#undef NAME

#define VALUE float
#define NAME(name) name##_f32
#include "csr_tidy_impl.h"
#undef VALUE
#undef NAME

/** Closes the gaps that summed duplicates left between the ranges; kept[t] entries remain in range t,
 *  which begins at first[t]. */
static void close_gaps(spmm_csr *a, const sp_work *w, const int64_t *first, const int64_t *kept)
{
    const size_t size = sp_value_size(a->precision);
    char *const as = a->as;
    int64_t to = 0;
    for (int t = 0; t < w->threads; t++) {
        const int64_t shift = first[t] - to;
        memmove(a->ja + to, a->ja + first[t], (size_t)kept[t] * sizeof *a->ja);
        memmove(as + (size_t)to * size, as + (size_t)first[t] * size, (size_t)kept[t] * size);
        for (int64_t i = w->begin[t]; i < w->begin[t + 1]; i++) a->irp[i] -= shift;
        to += kept[t];
    }
    a->nnz = a->irp[a->rows] = to;
}

spmm_status sp_csr_tidy(spmm_csr *a, int threads, int64_t *duplicates)
{
    sp_work w;
    int64_t *first = NULL, *kept;
    int failed = 0;
    spmm_status status = sp_work_create(a->irp, a->rows, threads, &w);
    if (status != SPMM_OK) return status;
    TRY_GOTO(sp_alloc((void **)&first, 2 * (threads + 1), sizeof *first, "row ranges"), done);
    kept = first + threads + 1;
    for (int t = 0; t <= threads; t++) first[t] = a->irp[w.begin[t]];
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(| : failed)
    for (int t = 0; t < threads; t++)
        failed |= (a->precision == SPMM_F64 ? tidy_rows_f64 : tidy_rows_f32)(
                      a, w.begin[t], w.begin[t + 1], first[t], first[t + 1], &kept[t]) != SPMM_OK;
    if (failed) { /* the message is in the thread that failed */
        status = sp_fail(SPMM_ERR_MEMORY, "cannot allocate scratch to sort the rows");
        goto done;
    }
    *duplicates = a->nnz;
    for (int t = 0; t < threads; t++) *duplicates -= kept[t];
    if (*duplicates > 0) close_gaps(a, &w, first, kept);
done:
    sp_free(first);
    sp_work_destroy(&w);
    return status;
}
