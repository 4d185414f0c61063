/** Slices of a matrix in padded ELLPACK: the sender converts and sends them; each rank receives one. */
#ifndef SP_SCATTER_ELL_H
#define SP_SCATTER_ELL_H

#include "base/search.h"
#include "comm/comm.h"
#include "formats/csr.h"
#include "formats/matrix.h"

/** A rectangular block of A: rows [row, end) and columns [col, col_end). `whole` is 1 if the
 *  block has all columns of A. */
typedef struct sp_rectangle {
    int64_t row, end, col, col_end;
    int whole;
} sp_rectangle;

/** Finds the entries [*first, *end) of row i of `a` that lie in rectangle b. Local. */
static inline void sp_entries_of(const spmm_csr *a, const sp_rectangle *b, int64_t i, int64_t *first,
                                 int64_t *end)
{
    *first = a->irp[i];
    *end = a->irp[i + 1];
    if (b->whole) return;
    *first = sp_lower_bound_i32(a->ja, *first, *end, b->col);
    *end = sp_lower_bound_i32(a->ja, *first, *end, b->col_end);
}

/** Returns the number of entries of the longest row of rectangle b. Local. */
int64_t sp_rectangle_width(const spmm_csr *a, const sp_rectangle *b);

/** Fails if the slice of a rank would take more than ell_limit times the memory of its CSR. Local.
 *  \param [in] sizes  sizes of the rank's block
 *  \return SPMM_OK; SPMM_ERR_LIMIT with a message that names the rank and both sizes */
spmm_status sp_slice_check(const sp_sizes *sizes, spmm_precision precision, int64_t width, double ell_limit,
                           int rank);

/** Returns the maximum number of rows of a slice that are sent in one message: at least 1 if any row has
 *  entries. Sender and receiver compute the same number. Local. */
int64_t sp_slice_portion(int64_t rows, int64_t width);

/** Allocates a slice; its contents are undefined. Local.
 *  \param [out] slice  the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_slice_create(const sp_sizes *sizes, spmm_precision precision, int64_t width, sp_matrix *slice);

/** Converts the entries of rows [first, end) of `a` that lie in rectangle b to ELLPACK of `width` entries
 *  per row. Local.
 *  \param [out] col, val  [(end - first) * width] columns, numbered from b->col on, and values */
void sp_slice_fill(const spmm_csr *a, const sp_rectangle *b, int64_t first, int64_t end, int64_t width,
                   int threads, int32_t *col, void *val);

/** Converts rectangle b to a slice, and sends it to rank `to`, in portions. The receiver calls
 *  sp_slice_receive().
 *  \param [in]     ja, as   buffers for sp_slice_portion() rows
 *  \param [in,out] seconds  the time of the conversion is added
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_slice_send(MPI_Comm comm, int to, const spmm_csr *a, const sp_rectangle *b, int threads,
                          int32_t *ja, void *as, double *seconds);

/** Receives a slice from rank `from`.
 *  \param [in,out] slice  from sp_slice_create()
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_slice_receive(MPI_Comm comm, int from, sp_matrix *slice);

#endif
