/** The table of formats, the format CSR, and the creation of matrices. */
#include "base/memory.h"
#include "formats/format.h"

/* ---- CSR: in host memory a view of the block's arrays ---- */

static spmm_status view_csr(const spmm_csr *block, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    (void)ell_limit;
    (void)k;
    (void)threads;
    m->borrowed = SP_BORROWED;
    m->row_start = block->irp;
    m->col = block->ja;
    m->val = block->as;
    m->bytes[SP_ROW_START] = (block->rows + 1) * (int64_t)sizeof *block->irp;
    m->bytes[SP_COL] = block->nnz * (int64_t)sizeof *block->ja;
    m->bytes[SP_VAL] = block->nnz * (int64_t)sp_value_size(block->precision);
    return SPMM_OK;
}

static sp_row_range csr_row(const sp_matrix *m, int64_t i)
{
    return (sp_row_range){m->row_start[i], m->row_start[i + 1]};
}

const sp_format sp_format_csr = {view_csr, NULL, csr_row};

/* ---- the table ---- */

const sp_format *const sp_formats[SP_FORMATS] = {
#define ROW(name, object, word) [name] = &sp_format_##object,
    SPMM_FORMAT_LIST(ROW)
#undef ROW
};

/** Copies a block to the GPU as CSR and converts it there. */
static spmm_status create_on_gpu(const spmm_csr *block, const sp_format *format, int64_t k, sp_matrix *m)
{
    sp_matrix view, csr;
    *m = (sp_matrix){0};
    sp_matrix_view_csr(block, &view);
    TRY(sp_matrix_upload(&view, &csr));
    const spmm_status status = format->convert_on_gpu(&csr, k, m);
    sp_matrix_destroy(&csr);
    return status;
}

spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int64_t k, int threads, sp_matrix *m)
{
    spmm_status status;
    const sp_format *const rules = sp_formats[format == SPMM_FORMAT_AUTO ? SPMM_CSR : format];
    if (!rules->convert || (space == SPMM_CUDA && rules->convert_on_gpu)) {
        status = create_on_gpu(block, rules, k, m);
        /* if the GPU does not have enough memory for both formats, convert on the host */
        if (status != SPMM_ERR_MEMORY || !rules->convert) return status;
    }
    *m = (sp_matrix){.format = format == SPMM_FORMAT_AUTO ? SPMM_CSR : format,
                     .precision = block->precision,
                     .space = SPMM_CPU,
                     .rows = block->rows,
                     .cols = block->cols,
                     .nnz = block->nnz};
    TRY_GOTO(rules->convert(block, ell_limit, k, threads, m), failed);
    if (space == SPMM_CPU) return SPMM_OK;
    sp_matrix host = *m;
    status = sp_matrix_upload(&host, m);
    sp_matrix_destroy(&host);
    return status;
failed:
    sp_matrix_destroy(m);
    return status;
}

void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m)
{
    (void)sp_matrix_create(a, SPMM_CSR, SPMM_CPU, 0, 0, 1, m); /* cannot fail: a view allocates nothing */
}

spmm_status sp_matrix_create_there(const spmm_csr *on_gpu, spmm_format format, int64_t k, sp_matrix *m)
{
    const sp_format *const rules = sp_formats[format];
    sp_matrix view;
    sp_matrix_view_csr(on_gpu, &view);
    view.space = SPMM_CUDA;
    *m = format == SPMM_CSR ? view : (sp_matrix){0};
    if (format == SPMM_CSR) return SPMM_OK;
    return rules->convert_on_gpu ? rules->convert_on_gpu(&view, k, m) : SPMM_ERR_MEMORY;
}
