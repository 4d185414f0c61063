/** Replaces the CUDA kernels, and the other functions that .cu files define, in a build without CUDA.
 *  --list-kernels still lists the kernels, but each function that returns a status returns
 *  SPMM_ERR_NO_DEVICE. */
#include "base/status.h"
#include "device/device_ops.h"
#include "device/difference.h"
#include "formats/panel.h"
#include "formats/row_clusters.h"
#include "formats/sell.h"
#include "kernels/grid_order.h"
#include "kernels/kernel.h"

static spmm_status refuse(const sp_launch *l)
{
    (void)l;
    return sp_fail(SPMM_ERR_NO_DEVICE, "a CUDA kernel: this build was made without CUDA");
}

#define CPU(id)
#define CUDA(id) SP_KERNEL(id) = {refuse, NULL, NULL, NULL, NULL, NULL};
#define KERNEL(id, backend, format, exact, what) backend(id)
#include "kernels/kernels.def"
#undef KERNEL

spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                         void *stream)
{
    (void)x, (void)row_bytes, (void)list, (void)count, (void)out, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_pack_rounded(const void *x, int64_t row_bytes, const int32_t *list, int64_t count,
                                 void *out, void *stream)
{
    return sp_cuda_pack(x, row_bytes, list, count, out, stream);
}

spmm_status sp_cuda_widen(const void *from, int64_t low, int64_t own, int64_t high, int64_t row_bytes,
                          int64_t pitch, void *x, void *stream)
{
    (void)from, (void)low, (void)own, (void)high, (void)row_bytes, (void)pitch, (void)x, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_add_rows(const sp_row_sums *sums, const spmm_multivector *s, spmm_multivector *y,
                             void *stream)
{
    (void)sums, (void)s, (void)y, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_gather(const uint32_t *from, int64_t count, int size, const void *values, void *to,
                           void *stream)
{
    (void)from, (void)count, (void)size, (void)values, (void)to, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_push(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push, int count,
                         int alone, void *stream)
{
    (void)x, (void)pitch, (void)row_bytes, (void)push, (void)count, (void)alone, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_push_rounded(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *push,
                                 int count, int alone, void *stream)
{
    return sp_cuda_push(x, pitch, row_bytes, push, count, alone, stream);
}

spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width, void *out,
                          int64_t slice_bytes, void *stream)
{
    (void)x, (void)x_pitch, (void)rows, (void)count, (void)width, (void)out, (void)slice_bytes, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                          void *stream)
{
    (void)alpha, (void)x, (void)beta, (void)y, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_scale(const double *factor, spmm_multivector *x, void *stream)
{
    (void)factor, (void)x, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_scale_rows(const void *factor, int64_t stride, spmm_multivector *x, void *stream)
{
    (void)factor, (void)stride, (void)x, (void)stream;
    return refuse(NULL);
}

spmm_status sp_cuda_gram(const spmm_multivector *x, const spmm_multivector *y, double *g)
{
    (void)x, (void)y, (void)g;
    return refuse(NULL);
}

spmm_status sp_cuda_squares(const spmm_multivector *x, double *sum)
{
    (void)x, (void)sum;
    return refuse(NULL);
}

spmm_status sp_cuda_times(double alpha, const spmm_multivector *x, const double *r, int64_t ldr, double beta,
                          const spmm_multivector *y)
{
    (void)alpha, (void)x, (void)r, (void)ldr, (void)beta, (void)y;
    return refuse(NULL);
}

spmm_status sp_cuda_row_lists(const sp_matrix *a, int64_t k, const int32_t *given, int window,
                              sp_short_row **row, int64_t *rows, sp_sections *p)
{
    (void)a, (void)k, (void)given, (void)window;
    *row = NULL;
    *rows = 0;
    *p = (sp_sections){0};
    return refuse(NULL);
}

spmm_status sp_cuda_long_rows(const sp_matrix *a, sp_sections *p)
{
    (void)a;
    *p = (sp_sections){0};
    return refuse(NULL);
}

void sp_cuda_sections_destroy(sp_sections *p) { *p = (sp_sections){0}; }

spmm_status sp_cuda_sell(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    (void)a, (void)k;
    *m = (sp_matrix){0};
    return refuse(NULL);
}

spmm_status sp_cuda_cluster_rows(const sp_matrix *a, int32_t **order)
{
    (void)a;
    *order = NULL;
    return refuse(NULL);
}

spmm_status sp_cuda_grid_order(const sp_matrix *a, sp_stencil_grid *grid, int32_t **order)
{
    (void)a, (void)grid;
    *order = NULL;
    return refuse(NULL);
}

spmm_status sp_cuda_lay_out_rows(const sp_matrix *a, const int32_t *clusters, int32_t **order)
{
    (void)clusters;
    return sp_cuda_cluster_rows(a, order);
}

spmm_status sp_cuda_panels(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    (void)a, (void)k;
    *m = (sp_matrix){0};
    return refuse(NULL);
}

spmm_status sp_cuda_staged_panels(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    (void)a, (void)k;
    *m = (sp_matrix){0};
    return refuse(NULL);
}

spmm_status sp_device_compare(const spmm_multivector *y, const spmm_multivector *ref, sp_difference *result)
{
    (void)y, (void)ref;
    *result = (sp_difference){0};
    return refuse(NULL);
}

spmm_status sp_device_norms(const spmm_multivector *v, sp_norms *result)
{
    (void)v;
    *result = (sp_norms){0};
    return refuse(NULL);
}

spmm_status sp_cuda_compare_rows(const spmm_csr *block, const spmm_rows *a, uint32_t mark, uint32_t *found,
                                 void *stream)
{
    (void)block, (void)a, (void)mark, (void)found, (void)stream;
    return refuse(NULL);
}
