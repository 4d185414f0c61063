/** The serial product as a kernel, so that it is timed like any other product and absolute speed-ups can be
 *  computed: one thread, one row after another. With up to 8 columns the sums are kept in registers. With
 *  more columns sp_serial_plain_product() of formats/serial.h, which loops over all columns for each entry,
 *  is faster. */
#include "formats/serial.h"
#include "kernels/baseline/cpu_baseline.h"

enum { FEW = 8 };

/** The entries of a row are at positions begin .. end - 1. */
typedef struct serial_row {
    int64_t begin, end;
} serial_row;

static serial_row row_of(const sp_matrix *m, int64_t i)
{
    if (m->format == SPMM_CSR) return (serial_row){m->row_start[i], m->row_start[i + 1]};
    if (m->format == SPMM_ELL_NOPAD) return (serial_row){m->row_start[i], m->row_start[i] + m->nz_per_row[i]};
    serial_row r = {i * m->width, i * m->width};
    while (r.end < r.begin + m->width && m->col[r.end] >= 0) r.end++;
    return r;
}

/** Computes columns j, j + 1, .. of row r of Y, n columns at a time, while at least n columns are left.
 *  Afterwards j is the first column that has not been computed. */
#define COLUMNS(VALUE, SUFFIX, n)                                                               \
    for (; j + (n) <= l->x->k; j += (n)) {                                                      \
        const VALUE *const x = (const VALUE *)l->x->data + j;                                   \
        VALUE sum[n] = {0};                                                                     \
        for (int64_t e = r.begin; e < r.end; e++)                                               \
            for (int c = 0; c < (n); c++)                                                       \
                sum[c] = sp_baseline_fma_##SUFFIX(val[e], x[m->col[e] * l->x->ld + c], sum[c]); \
        for (int c = 0; c < (n); c++) y[j + c] = sum[c];                                        \
    }

#define PRODUCT(TARGET, VALUE, SUFFIX, NAME)                     \
    TARGET static void NAME(const sp_launch *l)                  \
    {                                                            \
        const sp_matrix *const m = l->a;                         \
        const VALUE *const val = m->val;                         \
        for (int64_t i = 0; i < m->rows; i++) {                  \
            const serial_row r = row_of(m, i);                   \
            VALUE *const y = (VALUE *)l->y->data + i * l->y->ld; \
            int64_t j = 0;                                       \
            COLUMNS(VALUE, SUFFIX, 8)                            \
            COLUMNS(VALUE, SUFFIX, 1)                            \
        }                                                        \
    }
SP_BASELINE_PRODUCTS(PRODUCT)

static spmm_status cpu_serial_run(const sp_launch *l)
{
    if (l->x->k > FEW)
        sp_serial_plain_product(l->a, 0, l->a->rows, l->x, l->y);
    else
        SP_BASELINE_PRODUCT(l->a)(l);
    return SPMM_OK;
}

SP_KERNEL(cpu_serial) = {cpu_serial_run, NULL, NULL, NULL, NULL, NULL};
SP_KERNEL(cpu_serial_ell) = {cpu_serial_run, NULL, NULL, NULL, NULL, NULL};
SP_KERNEL(cpu_serial_ell_nopad) = {cpu_serial_run, NULL, NULL, NULL, NULL, NULL};
