/** Makes small matrices and multivectors of known structure for the tests. */
#ifndef SP_SAMPLE_H
#define SP_SAMPLE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "formats/csr.h"

typedef enum sample {
    SAMPLE_NO_ROWS,
    SAMPLE_NO_COLUMNS,
    SAMPLE_ONE,
    SAMPLE_NO_ENTRIES,
    SAMPLE_EMPTY_ROWS,
    SAMPLE_DENSE_ROW,
    SAMPLE_WIDE,
    SAMPLE_TALL,
    SAMPLE_RANDOM,
    SAMPLES
} sample;

static inline const char *sample_name(sample s)
{
    static const char *const names[SAMPLES] = {"no rows",    "no columns", "1 x 1",
                                               "no entries", "empty rows", "a dense row",
                                               "wide",       "tall",       "random"};
    return names[s];
}

/** How values are drawn: with small integers every product is exact, in any order and both precisions. */
typedef enum sample_values { SAMPLE_INTEGERS, SAMPLE_REALS } sample_values;

/** Returns the value for counters a and b. */
static inline double sample_value(sample_values kind, uint64_t key, uint64_t a, uint64_t b)
{
    return kind == SAMPLE_INTEGERS ? (double)sp_random_below(key, a, b, 9) - 4 : sp_random_unit(key, a, b);
}

/** Returns element e of an array of either precision. */
static inline double sample_get(const void *data, spmm_precision precision, int64_t e)
{
    return precision == SPMM_F64 ? ((const double *)data)[e] : (double)((const float *)data)[e];
}

/** Sets element e of an array of either precision. */
static inline void sample_set(void *data, spmm_precision precision, int64_t e, double v)
{
    if (precision == SPMM_F64)
        ((double *)data)[e] = v;
    else
        ((float *)data)[e] = (float)v;
}

/** Makes a multivector of NaNs with the given leading dimension. It has exactly rows x ld elements in memory
 *  of its own, so that the address sanitizer reports an access past the end. The caller frees its data. */
static inline spmm_multivector sample_multivector(int64_t rows, int64_t k, int64_t ld,
                                                  spmm_precision precision)
{
    spmm_multivector v = {rows, k, ld, precision, SPMM_CPU, NULL, 0, 0, SPMM_ROW_MAJOR};
    v.data = malloc((size_t)(rows * ld) * sp_value_size(precision) + (rows == 0));
    if (!v.data) abort();
    for (int64_t e = 0; e < rows * ld; e++) sample_set(v.data, precision, e, (double)NAN);
    return v;
}

/** Makes the triplets of a sample in random order, duplicates included; aborts on failure. */
static inline void sample_coo(sample s, sample_values kind, spmm_precision precision, sp_coo *coo)
{
    static const struct {
        int64_t rows, cols, nnz;
    } size[SAMPLES] = {{0, 7, 0},      {6, 0, 0},      {1, 1, 1},      {5, 9, 0},       {90, 40, 60},
                       {60, 200, 420}, {13, 500, 600}, {400, 11, 900}, {150, 150, 1500}};
    const uint64_t key = 11 + (uint64_t)s;
    if (sp_coo_create(size[s].rows, size[s].cols, size[s].nnz, SP_GENERAL, precision, 1, coo) != SPMM_OK)
        abort();
    for (int64_t t = 0; t < coo->nnz; t++) {
        coo->I[t] = (int32_t)sp_random_below(key, (uint64_t)t, 0, (uint64_t)coo->rows);
        coo->J[t] = (int32_t)sp_random_below(key, (uint64_t)t, 1, (uint64_t)coo->cols);
        if (s == SAMPLE_EMPTY_ROWS) coo->I[t] -= coo->I[t] % 7;
        if (s == SAMPLE_DENSE_ROW && t < coo->cols) {
            coo->I[t] = 31;
            coo->J[t] = (int32_t)t;
        }
        sample_set(coo->val, precision, t, sample_value(kind, key, (uint64_t)t, 2));
    }
}

/** Makes the same sample as CSR; aborts on failure. */
static inline void sample_csr(sample s, sample_values kind, spmm_precision precision, spmm_csr *a)
{
    sp_coo coo;
    sample_coo(s, kind, precision, &coo);
    if (sp_csr_from_coo(&coo, 1, a, NULL) != SPMM_OK) abort();
}

/** Tells whether two matrices are the same, bit for bit. */
static inline int sample_same_csr(const spmm_csr *a, const spmm_csr *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->precision == b->precision &&
           memcmp(a->irp, b->irp, (size_t)(a->rows + 1) * sizeof *a->irp) == 0 &&
           memcmp(a->ja, b->ja, (size_t)a->nnz * sizeof *a->ja) == 0 &&
           memcmp(a->as, b->as, (size_t)a->nnz * sp_value_size(a->precision)) == 0;
}

/** Tells whether b is rows [r0, r1) and columns [c0, c1) of a, bit for bit. */
static inline int sample_is_block(const spmm_csr *a, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                                  const spmm_csr *b)
{
    const size_t size = sp_value_size(a->precision);
    int64_t at = 0;
    if (b->rows != r1 - r0 || b->cols != c1 - c0 || b->precision != a->precision) return 0;
    for (int64_t i = 0; i < b->rows; i++) {
        if (b->irp[i] != at) return 0;
        for (int64_t e = a->irp[r0 + i]; e < a->irp[r0 + i + 1]; e++) {
            if (a->ja[e] < c0 || a->ja[e] >= c1) continue;
            if (at >= b->nnz || b->ja[at] != a->ja[e] - c0) return 0;
            if (memcmp((char *)b->as + (size_t)at * size, (char *)a->as + (size_t)e * size, size) != 0)
                return 0;
            at++;
        }
    }
    return b->irp[b->rows] == at && b->nnz == at;
}

/** Returns entry (i, j) of a; 0 where there is none. */
static inline double sample_entry(const spmm_csr *a, int64_t i, int64_t j)
{
    for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
        if (a->ja[e] == j) return sample_get(a->as, a->precision, e);
    return 0;
}

/** Fills columns 0 to k - 1 with values of counters i and j. */
static inline void sample_fill(spmm_multivector *v, sample_values kind, uint64_t key)
{
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            sample_set(v->data, v->precision, i * v->ld + j,
                       sample_value(kind, key, (uint64_t)i, (uint64_t)j));
}

/** Tells whether columns 0 to k - 1 of two multivectors have the same bits. */
static inline int sample_same(const spmm_multivector *v, const spmm_multivector *w)
{
    const size_t size = sp_value_size(v->precision), n = (size_t)v->k * size;
    for (int64_t i = 0; i < v->rows; i++)
        if (memcmp((char *)v->data + (size_t)(i * v->ld) * size, (char *)w->data + (size_t)(i * w->ld) * size,
                   n) != 0)
            return 0;
    return 1;
}

/** Tells whether the GPU is emulated by tests/emulated_gpu: it is slow, and a failed kernel ends the
 *  process. */
static inline int sample_gpu_is_emulated(void)
{
    static int known = -1;
    sp_device_info info;
    if (known < 0) known = sp_device_describe(0, &info) == SPMM_OK && strcmp(info.name, "emulated") == 0;
    return known;
}

#endif
