/** Converts slices of a matrix to padded ELLPACK, and sends and receives them. */
#include "distribute/scatter_ell.h"

#include "base/memory.h"

/* PORTION: maximum number of entries, padding included, that are converted and sent at a time, to bound the
 * memory; a longer row is sent whole */
enum { PORTION = 1 << 20 };

int64_t sp_rectangle_width(const spmm_csr *a, const sp_rectangle *b)
{
    int64_t width = 0;
    for (int64_t i = b->row; i < b->end; i++) {
        int64_t first, end;
        sp_entries_of(a, b, i, &first, &end);
        if (end - first > width) width = end - first;
    }
    return width;
}

spmm_status sp_slice_check(const sp_sizes *sizes, spmm_precision precision, int64_t width, double ell_limit,
                           int rank)
{
    if (sp_ell_check(sizes, precision, width, ell_limit) == SPMM_OK) return SPMM_OK;
    return sp_fail(SPMM_ERR_LIMIT, "the slice of rank %d: %s", rank, spmm_error_message());
}

int64_t sp_slice_portion(int64_t rows, int64_t width)
{
    const int64_t most = width > 0 ? PORTION / width : rows;
    return most >= rows ? rows : most > 0 ? most : 1;
}

spmm_status sp_slice_create(const sp_sizes *sizes, spmm_precision precision, int64_t width, sp_matrix *slice)
{
    *slice = (sp_matrix){.format = SPMM_ELL,
                         .precision = precision,
                         .space = SPMM_CPU,
                         .rows = sizes->rows,
                         .cols = sizes->cols,
                         .nnz = sizes->entries,
                         .width = width};
    TRY(sp_matrix_alloc(slice, SP_COL, sizes->rows * width, "ELLPACK column indices"));
    return sp_matrix_alloc(slice, SP_VAL, sizes->rows * width, "ELLPACK values");
}

void sp_slice_fill(const spmm_csr *a, const sp_rectangle *b, int64_t first, int64_t end, int64_t width,
                   int threads, int32_t *col, void *val)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = first; i < end; i++) {
        int64_t from, to;
        sp_entries_of(a, b, i, &from, &to);
        sp_ell_put_row(a, from, to - from, b->col, width, (i - first) * width, col, val);
    }
}

spmm_status sp_slice_send(MPI_Comm comm, int to, const spmm_csr *a, const sp_rectangle *b, int threads,
                          int32_t *ja, void *as, double *seconds)
{
    const int64_t width = sp_rectangle_width(a, b), most = sp_slice_portion(b->end - b->row, width);
    for (int64_t i = b->row, end; i < b->end && width > 0; i = end) {
        const double start = MPI_Wtime();
        end = b->end - i < most ? b->end : i + most;
        sp_slice_fill(a, b, i, end, width, threads, ja, as);
        *seconds += MPI_Wtime() - start;
        TRY(sp_send(comm, to, SP_TAG_JA, ja, (end - i) * width * 4));
        TRY(sp_send(comm, to, SP_TAG_AS, as, (end - i) * width * sp_value_size(a->precision)));
    }
    return SPMM_OK;
}

spmm_status sp_slice_receive(MPI_Comm comm, int from, sp_matrix *slice)
{
    const int64_t size = sp_value_size(slice->precision), width = slice->width;
    const int64_t most = sp_slice_portion(slice->rows, width);
    for (int64_t i = 0, end; i < slice->rows && width > 0; i = end) {
        end = slice->rows - i < most ? slice->rows : i + most;
        TRY(sp_recv(comm, from, SP_TAG_JA, slice->col + i * width, (end - i) * width * 4));
        TRY(sp_recv(comm, from, SP_TAG_AS, (char *)slice->val + i * width * size, (end - i) * width * size));
    }
    return SPMM_OK;
}
