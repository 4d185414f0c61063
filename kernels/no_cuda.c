/** Replaces the CUDA kernels, and the other functions that .cu files define, in a build without CUDA.
 *  --list-kernels still lists the kernels, but each function that returns a status returns
 *  SPMM_ERR_NO_DEVICE. */
#include "base/refuse.h"
#include "device/device_ops.h"
#include "device/difference.h"
#include "formats/panel.h"
#include "order/row_clusters.h"
#include "formats/sell.h"
#include "order/grid_order.h"
#include "kernels/features.h"

static spmm_status refuse(void)
{
    return sp_fail(SPMM_ERR_NO_DEVICE, "CUDA kernels cannot run: this build was made without CUDA");
}

static spmm_status no_cuda_run(const sp_launch *l) { return refuse(); }

#define CPU(id)
#define CUDA(id) SP_KERNEL(id) = {no_cuda_run, NULL, NULL, NULL, NULL, NULL};
#define KERNEL(id, device, ...) device(id)
#include "kernels/kernels.def"
#undef KERNEL

REFUSE(sp_cuda_pack, const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
       void *stream)
REFUSE(sp_cuda_pack_rounded, const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
       void *stream)
REFUSE(sp_cuda_widen, const void *from, int64_t low, int64_t own, int64_t high, int64_t row_bytes,
       int64_t pitch, void *x, void *stream)
REFUSE(sp_cuda_add_rows, const sp_row_sums *sums, const spmm_multivector *s, spmm_multivector *y,
       void *stream)
REFUSE(sp_cuda_gather, const uint32_t *from, int64_t count, int size, const void *values, void *to,
       void *stream)
REFUSE(sp_cuda_number, int64_t count, int size, void *to)
REFUSE_EMPTY(sp_cuda_find_places, *in_order = 0, const void *number, int64_t count, int size, int64_t most,
             uint32_t *place, int *in_order)
REFUSE(sp_cuda_push, const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push, int count,
       int alone, void *stream)
REFUSE(sp_cuda_push_rounded, const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push, int count,
       int alone, void *stream)
REFUSE(sp_cuda_split, const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
       int64_t slice_bytes, void *stream)
REFUSE(sp_cuda_axpby, sp_value alpha, const spmm_multivector *x, sp_value beta, spmm_multivector *y,
       void *stream)
REFUSE(sp_cuda_scale, const void *factor, spmm_multivector *x, void *stream)
REFUSE(sp_cuda_scale_rows, const void *factor, int64_t stride, spmm_multivector *x, void *stream)
REFUSE(sp_cuda_find_rows, const int64_t *start, int64_t rows, int64_t nnz, int32_t *row)
REFUSE(sp_cuda_values_gradient, int64_t nnz, const int32_t *row, const int32_t *col,
       const spmm_multivector *g, const spmm_multivector *x, spmm_multivector *values, void *stream)
REFUSE(sp_cuda_gram, const spmm_multivector *x, const spmm_multivector *y, double *g)
REFUSE(sp_cuda_squares, const spmm_multivector *x, double *sum)
REFUSE(sp_cuda_times, sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr, sp_value beta,
       const spmm_multivector *y)
REFUSE(sp_cuda_compare_rows, const spmm_csr *block, const spmm_rows *a, uint32_t mark, uint32_t *found,
       void *stream)
REFUSE_EMPTY(sp_cuda_features, *f = (sp_features){.longest = 0}, const spmm_csr *a, int64_t diagonal,
             sp_features *f)
REFUSE_EMPTY(sp_cuda_check_rows, *found = (sp_rows_facts){0}, const spmm_rows *a, int64_t rows, int64_t cols,
             int64_t *irp, sp_rows_facts *found)
REFUSE_EMPTY(sp_cuda_csr_transpose, (*t = (spmm_csr){0}, *from = NULL), const spmm_csr *a, spmm_csr *t,
             uint32_t **from)
REFUSE(sp_cuda_narrow_columns, const int64_t *from, int64_t nnz, int32_t *to)

REFUSE_EMPTY(sp_cuda_row_lists, (*row = NULL, *rows = 0, *p = (sp_sections){0}), const sp_matrix *a,
             int64_t k, const int32_t *given, int window, sp_order order, sp_short_row **row, int64_t *rows,
             sp_sections *p)
REFUSE_EMPTY(sp_cuda_long_rows, *p = (sp_sections){0}, const sp_matrix *a, sp_sections *p)
REFUSE_EMPTY(sp_cuda_sell, *m = (sp_matrix){0}, const sp_matrix *a, int64_t k, sp_matrix *m)
REFUSE_EMPTY(sp_cuda_cluster_rows, *order = NULL, const sp_matrix *a, int32_t **order)
REFUSE_EMPTY(sp_cuda_grid_order, *order = NULL, const sp_matrix *a, sp_stencil_grid *grid, int32_t **order)
REFUSE_EMPTY(sp_cuda_lay_out_rows, *order = NULL, const sp_matrix *a, const int32_t *clusters,
             int32_t **order)
REFUSE_EMPTY(sp_cuda_panels, *m = (sp_matrix){0}, const sp_matrix *a, int64_t k, sp_matrix *m)
REFUSE_EMPTY(sp_cuda_staged_panels, *m = (sp_matrix){0}, const sp_matrix *a, int64_t k, sp_matrix *m)
REFUSE_EMPTY(sp_device_compare, *result = (sp_difference){0}, const spmm_multivector *y,
             const spmm_multivector *ref, sp_difference *result)
REFUSE_EMPTY(sp_device_norms, *result = (sp_norms){0}, const spmm_multivector *v, sp_norms *result)

void sp_cuda_sections_destroy(sp_sections *p) { *p = (sp_sections){0}; }
