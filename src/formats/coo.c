/** Creates and destroys matrices in coordinate format, and expands symmetric matrices. */
#include "formats/coo.h"

#include <string.h>

#include "base/memory.h"

spmm_status sp_coo_create(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry,
                          spmm_precision precision, int with_values, sp_coo *coo)
{
    memset(coo, 0, sizeof *coo);
    if (rows < 0 || cols < 0 || nnz < 0)
        return sp_fail(SPMM_ERR_USAGE,
                       "a matrix of %lld x %lld with %lld entries: expected no negative number",
                       (long long)rows, (long long)cols, (long long)nnz);
    if (rows > INT32_MAX || cols > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "a matrix of %lld x %lld: expected fewer than 2^31 rows and columns",
                       (long long)rows, (long long)cols);
    *coo = (sp_coo){.rows = rows, .cols = cols, .nnz = nnz, .symmetry = symmetry, .precision = precision};
    spmm_status status = SPMM_OK;
    TRY_GOTO(sp_alloc((void **)&coo->I, nnz, sizeof *coo->I, "row indices of the triplets"), done);
    TRY_GOTO(sp_alloc((void **)&coo->J, nnz, sizeof *coo->J, "column indices of the triplets"), done);
    if (with_values)
        TRY_GOTO(sp_alloc(&coo->val, nnz, sp_value_size(precision), "values of the triplets"), done);
done:
    if (status != SPMM_OK) sp_coo_destroy(coo);
    return status;
}

void sp_coo_destroy(sp_coo *coo)
{
    if (!coo) return;
    sp_free(coo->I);
    sp_free(coo->J);
    sp_free(coo->val);
    memset(coo, 0, sizeof *coo);
}

static void coo_append(sp_coo *coo, int64_t t, int32_t i, int32_t j, sp_c128 value)
{
    coo->I[t] = i;
    coo->J[t] = j;
    sp_value_set(coo->val, coo->precision, t, value);
}

spmm_status sp_coo_expand(const sp_coo *coo, sp_coo *general)
{
    const int mirrored = coo->symmetry != SP_GENERAL;
    int64_t count = coo->nnz;
    for (int64_t t = 0; mirrored && t < coo->nnz; t++) count += coo->I[t] != coo->J[t];
    TRY(sp_coo_create(coo->rows, coo->cols, count, SP_GENERAL, coo->precision, 1, general));
    int64_t next = 0;
    for (int64_t t = 0; t < coo->nnz; t++) {
        const int32_t i = coo->I[t], j = coo->J[t];
        const sp_c128 value = coo->val ? sp_value_at(coo->val, coo->precision, t) : 1.0;
        coo_append(general, next++, i, j, value);
        if (mirrored && i != j)
            coo_append(general, next++, j, i, SP_VALUE_OF_IMAGE(value, sp_image_of(coo->symmetry)));
    }
    return SPMM_OK;
}
