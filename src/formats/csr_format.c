/** CSR as a storage format: in host memory a view of the block's arrays. */
#include "base/memory.h"
#include "formats/format.h"

static spmm_status convert(const spmm_csr *block, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    (void)ell_limit;
    (void)k;
    (void)threads;
    m->borrowed = 1;
    m->row_start = block->irp;
    m->col = block->ja;
    m->val = block->as;
    m->bytes[SP_ROW_START] = (block->rows + 1) * (int64_t)sizeof *block->irp;
    m->bytes[SP_COL] = block->nnz * (int64_t)sizeof *block->ja;
    m->bytes[SP_VAL] = block->nnz * (int64_t)sp_value_size(block->precision);
    return SPMM_OK;
}

static sp_row_range row(const sp_matrix *m, int64_t i)
{
    return (sp_row_range){m->row_start[i], m->row_start[i + 1]};
}

const sp_format sp_format_csr = {convert, NULL, row};
