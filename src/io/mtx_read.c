/** Reads a Matrix Market file into COO or a dense multivector, or reads only its sizes. */
#include "io/mtx_body.h"

#include "base/memory.h"
#include "formats/multivector.h"
#include "io/input.h"

spmm_status sp_read_sizes_of(const char *path, int fd, sp_sizes *sizes)
{
    const sp_read_options options = {.threads = 1, .precision = SPMM_C128}; /* takes any values */
    sp_reading r;
    memset(sizes, 0, sizeof *sizes);
    const spmm_status status = sp_reading_begin_open(&r, path, fd, &options, NULL);
    if (status == SPMM_OK) *sizes = sp_reading_sizes(&r);
    return sp_reading_end(&r, status);
}

spmm_status sp_read_sizes(const char *path, sp_sizes *sizes)
{
    return sp_read_sizes_of(path, sp_input_descriptor(path), sizes);
}

static spmm_status read_coordinate(sp_reading *r, sp_coo *coo)
{
    sp_parse_output t = sp_reading_target(r);
    /* a skew-symmetric pattern implies entries of -1, so that its stored entries need explicit values of 1 */
    const int values = r->header.field != SP_FIELD_PATTERN || r->header.symmetry == SP_SKEW;
    TRY(sp_coo_create(r->header.rows, r->header.cols, t.capacity, r->header.symmetry, t.precision, values,
                      coo));
    t.I = coo->I;
    t.J = coo->J;
    t.val = coo->val;
    return sp_reading_body(r, &t);
}

/** Removes the zeros from coo->val and sets the row and column indices of the nonzeros. On entry, coo->val
 *  holds all values of an array file, column by column. */
static void keep_nonzeros(sp_coo *coo)
{
    const int64_t n = coo->rows;
    const int skew = coo->symmetry == SP_SKEW, general = coo->symmetry == SP_GENERAL;
    int64_t from = 0, to = 0;
    for (int64_t j = 0; j < coo->cols; j++) {
        for (int64_t i = general ? 0 : j + skew; i < n; i++, from++) {
            const sp_c128 value = sp_value_at(coo->val, coo->precision, from);
            if (value == 0) continue;
            coo->I[to] = (int32_t)i;
            coo->J[to] = (int32_t)j;
            sp_value_set(coo->val, coo->precision, to++, value);
        }
    }
}

static spmm_status read_array(sp_reading *r, sp_coo *coo)
{
    sp_parse_output t = sp_reading_target(r);
    *coo = (sp_coo){r->header.rows, r->header.cols, 0, r->header.symmetry, t.precision, NULL, NULL, NULL};
    TRY(sp_alloc(&coo->val, t.capacity, sp_value_size(t.precision), "the values of the array"));
    t.val = coo->val;
    TRY(sp_reading_body(r, &t));
    for (int64_t k = 0; k < r->header.entries; k++) coo->nnz += sp_value_at(coo->val, t.precision, k) != 0;
    TRY(sp_alloc((void **)&coo->I, coo->nnz, sizeof *coo->I, "row indices"));
    TRY(sp_alloc((void **)&coo->J, coo->nnz, sizeof *coo->J, "column indices"));
    keep_nonzeros(coo);
    return SPMM_OK;
}

spmm_status sp_reading_coo(sp_reading *r, sp_coo *coo)
{
    return r->header.array ? read_array(r, coo) : read_coordinate(r, coo);
}

spmm_status sp_read_coo(const char *path, const sp_read_options *options, sp_coo *coo, sp_mtx_info *info)
{
    sp_reading r;
    memset(coo, 0, sizeof *coo);
    if (info) memset(info, 0, sizeof *info);
    spmm_status status = sp_reading_begin(&r, path, options, NULL);
    if (status == SPMM_OK) status = sp_reading_coo(&r, coo);
    if (status == SPMM_OK && info) sp_reading_describe(&r, info);
    if (status != SPMM_OK) sp_coo_destroy(coo);
    return sp_reading_end(&r, status);
}

/* ---- reading a dense multivector ---- */

static spmm_status create_dense(const sp_reading *r, spmm_multivector *x)
{
    const sp_header *const h = &r->header;
    const double bytes = (double)h->rows * (double)h->cols * (double)sp_value_size(r->options.precision);
    if (h->cols == 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s:%lld: found a multivector of 0 columns, expected at least 1",
                       r->path, (long long)h->size_line);
    if (bytes > (double)sp_available_bytes()) {
        char text[32];
        return sp_fail(SPMM_ERR_MEMORY,
                       "%s:%lld: found a multivector of %lld x %lld, %s, expected one that fits into memory",
                       r->path, (long long)h->size_line, (long long)h->rows, (long long)h->cols,
                       sp_bytes_text(text, sizeof text, bytes));
    }
    return spmm_multivector_create(h->rows, h->cols, r->options.precision, SPMM_CPU, x);
}

static spmm_status read_dense_array(sp_reading *r, spmm_multivector *x)
{
    sp_parse_output t = sp_reading_target(r);
    void *values = NULL;
    /* if the file is too short for its size line, x is not created: reading the body will find the error */
    const int complete = t.capacity == r->header.entries;
    if (complete) {
        TRY(create_dense(r, x));
        t.val = x->data;
        t.ld = x->ld;
        t.dense = 1;
    } else {
        TRY(sp_alloc(&values, t.capacity, sp_value_size(t.precision), "the values of the array"));
        t.val = values;
    }
    sp_reading_body(r, &t);
    sp_free(values);
    return r->error.status;
}

static void mtx_read_add(spmm_multivector *x, int64_t i, int64_t j, sp_c128 value)
{
    sp_value_set(x->data, x->precision, i * x->ld + j, sp_multivector_at(x, i, j) + value);
}

static spmm_status read_dense_coordinate(sp_reading *r, spmm_multivector *x)
{
    sp_coo coo = {0};
    spmm_status status = read_coordinate(r, &coo);
    if (status == SPMM_OK) status = create_dense(r, x);
    for (int64_t k = 0; status == SPMM_OK && k < coo.nnz; k++) {
        const sp_c128 value = coo.val ? sp_value_at(coo.val, coo.precision, k) : 1.0;
        mtx_read_add(x, coo.I[k], coo.J[k], value);
        if (coo.symmetry != SP_GENERAL && coo.I[k] != coo.J[k])
            mtx_read_add(x, coo.J[k], coo.I[k], SP_VALUE_OF_IMAGE(value, sp_image_of(coo.symmetry)));
    }
    sp_coo_destroy(&coo);
    return status;
}

spmm_status sp_read_dense(const char *path, const sp_read_options *options, spmm_multivector *x)
{
    return sp_read_dense_of(path, sp_input_descriptor(path), options, x);
}

spmm_status sp_read_dense_of(const char *path, int fd, const sp_read_options *options, spmm_multivector *x)
{
    sp_reading r;
    memset(x, 0, sizeof *x);
    spmm_status status = sp_reading_begin_open(&r, path, fd, options, NULL);
    if (status == SPMM_OK) status = r.header.array ? read_dense_array(&r, x) : read_dense_coordinate(&r, x);
    if (status != SPMM_OK) spmm_multivector_destroy(x);
    return sp_reading_end(&r, status);
}
