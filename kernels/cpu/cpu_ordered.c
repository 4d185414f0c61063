/** The kernels cpu_clustered and cpu_sorted run the CPU products of cpu_rows.h on a copy of a CSR matrix
 *  whose rows are in another order. cpu_clustered orders them in clusters that share columns
 *  (order/row_clusters.h). It is meant for an X larger than the caches, if rows that share columns are
 *  numbered far apart. cpu_sorted orders them by length. It is meant for few columns, where the loop over a
 *  row is so short that mispredicting its end takes longer than the loop: the ends of rows of equal lengths
 *  are predicted, and four rows are computed side by side. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "order/row_clusters.h"
#include "kernels/cpu/cpu_rows.h"
#include "kernels/features.h"

/** Copies the rows of a in the order `row`. Each thread writes the rows that it will compute.
 *  \param [out] copy  the caller destroys it; zeroed on failure */
static spmm_status cpu_ordered_copy_rows(const spmm_csr *a, const int32_t *row, int threads, spmm_csr *copy)
{
    TRY(sp_csr_create(a->rows, a->cols, a->nnz, a->precision, copy));
    for (int64_t i = 0; i < a->rows; i++)
        copy->irp[i + 1] = copy->irp[i] + a->irp[row[i] + 1] - a->irp[row[i]];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t from = a->irp[row[i]], to = copy->irp[i], n = copy->irp[i + 1] - to;
        memcpy(copy->ja + to, a->ja + from, (size_t)n * sizeof *copy->ja);
        sp_values_copy(a->precision, a->as, from, n, copy->as, to);
    }
    return SPMM_OK;
}

/** Returns the class of a row: 0 for a long row, and greater numbers for shorter rows. */
static int64_t class_of(const spmm_csr *a, int64_t i)
{
    const int64_t length = a->irp[i + 1] - a->irp[i];
    return length > SP_CHAIN ? 0 : SP_CHAIN + 1 - length;
}

/** Orders rows begin .. end - 1 by length, longest first. */
static void sort_window(const spmm_csr *a, int64_t begin, int64_t end, int32_t *row)
{
    enum { CLASSES = SP_CHAIN + 2 }; /* one for long rows, then one for each length from SP_CHAIN to 0 */
    int64_t next[CLASSES + 1] = {0}; /* sizes of the classes, then the next position in each class */
    for (int64_t i = begin; i < end; i++) next[class_of(a, i) + 1]++;
    for (int c = 0; c < CLASSES; c++) next[c + 1] += next[c];
    for (int64_t i = begin; i < end; i++) row[begin + next[class_of(a, i)]++] = (int32_t)i;
}

/** Orders the rows by length within windows of at most WINDOW rows, so that rows of X that neighboring rows
 *  share are still in the cache. A window lies within the rows that a thread would get in the original order,
 *  which are nearly the rows that it gets now. So threads rarely write to the same cache lines of Y. */
static spmm_status sort_by_length(const spmm_csr *a, int threads, int32_t *row)
{
    enum { WINDOW = 4096 };
    sp_thread_ranges w;
    TRY(sp_thread_ranges_create(a->irp, a->rows, sp_rows_ranges(a->irp, a->irp + 1, a->rows, threads), &w));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int r = 0; r < w.threads; r++)
        for (int64_t i = w.begin[r]; i < w.begin[r + 1]; i += WINDOW)
            sort_window(a, i, w.begin[r + 1] - i < WINDOW ? w.begin[r + 1] : i + WINDOW, row);
    sp_thread_ranges_destroy(&w);
    return SPMM_OK;
}

/** Determines an order of the rows of a: row[i] is the row at position i. */
typedef spmm_status (*order)(const spmm_csr *a, int threads, int32_t *row);

static spmm_status cpu_ordered_prepare(const sp_setup *setup, order find, void **state)
{
    int32_t *row;
    spmm_csr copy;
    *state = NULL;
    if (setup->csr->rows > INT32_MAX)
        return sp_fail(
            SPMM_ERR_LIMIT,
            "%lld rows: a kernel that reorders rows supports at most 2^31 - 1 per rank; use more ranks",
            (long long)setup->csr->rows);
    TRY(sp_alloc((void **)&row, setup->csr->rows, sizeof *row, "order of rows"));
    spmm_status status = find(setup->csr, setup->threads, row);
    if (status == SPMM_OK) status = cpu_ordered_copy_rows(setup->csr, row, setup->threads, &copy);
    if (status == SPMM_OK) return sp_rows_create_ordered(setup, &copy, row, state);
    sp_free(row);
    if (status != SPMM_ERR_MEMORY) return status;
    /* if there is no memory for a second A, the rows keep their order */
    return sp_rows_create(setup, setup->a->row_start, setup->a->row_start + 1, NULL, state);
}

static spmm_status prepare_clustered(const sp_setup *setup, void **state)
{
    return cpu_ordered_prepare(setup, sp_cluster_rows, state);
}

static spmm_status prepare_sorted(const sp_setup *setup, void **state)
{
    return cpu_ordered_prepare(setup, sort_by_length, state);
}

/** Suits a large X if rows that share columns are numbered far apart. On a CPU with 32 MB of cache,
 *  cpu_clustered was faster when X had 16 MB or more. */
SP_SUITS(cpu_clustered)
{
    if (q->k == 1 || q->many_rows) return SP_SUITS_NOT;
    if (q->products < 10 || q->row_bytes < 128) return SP_SUITS_LAST;
    if (!sp_is_scattered(q) || q->reuse == 0 || q->x_bytes < q->f->cache / 2) return SP_SUITS_TRIAL;
    snprintf(why, n,
             "X of %.3g MB, %.3g of its columns shared with a neighbor, %.3g entries per fetched row of X",
             q->x_bytes * 1e-6, q->shared, q->reuse);
    return SP_SUITS_FIRST;
}

/** Suits few columns if a loop over rows mispredicts most of their ends. On Zen 4 and Zen 5 CPUs cpu_sorted
 *  was faster than cpu_csr if more than a fifth of the rows differ in length from the previous row, a row of
 *  X has at most 32 bytes and long rows have at most half of the entries. */
SP_SUITS(cpu_sorted)
{
    if (q->k == 1 || q->many_rows) return SP_SUITS_NOT;
    if (q->products < 50 || q->row_bytes > 256) return SP_SUITS_LAST;
    if (q->changes < 0.2 || q->in_long_rows > 0.5 || q->row_bytes > 32) return SP_SUITS_TRIAL;
    snprintf(why, n, "%.3g of the rows differ in length from the row before", q->changes);
    return SP_SUITS_FIRST;
}

SP_KERNEL(cpu_clustered) = {sp_rows_run,    prepare_clustered, sp_rows_destroy,
                            sp_rows_values, sp_rows_set_k,     sp_rows_new_values};
SP_KERNEL(cpu_sorted) = {sp_rows_run,    prepare_sorted, sp_rows_destroy,
                         sp_rows_values, sp_rows_set_k,  sp_rows_new_values};
