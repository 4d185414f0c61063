/* The CUDA kernels of the registry, called as the library calls them. */
#include <omp.h>

#include "base/memory.h"
#include "device/device.h"
#include "formats/format.h"
#include "formats/sell.h"
#include "gpu.h"

static const double ELL_LIMIT = 3.0;

typedef struct matrix {
    peer_matrix a;
    sp_matrix in[SP_FORMATS];
    struct {
        int tried;
        int64_t k; /* number of columns of X for which it was made */
        spmm_status status;
        double seconds; /* of conversion and upload; 0 for CSR, from which all formats are made */
    } made[SP_FORMATS];
} matrix;

typedef struct product {
    peer_product p;
    const sp_kernel *kernel;
    sp_launch launch;
    spmm_multivector x, y;
} product;

static const spmm_csr *csr_of(const matrix *m) { return &((const spmm_block *)m->a.block)->csr; }

/** Makes A in a format for products of k columns, unless it was made before and k does not require another
 *  layout. \return SPMM_ERR_LIMIT if the format refuses A */
static spmm_status have(matrix *m, spmm_format format, int64_t k)
{
    if (format == SPMM_SELL && m->made[format].tried &&
        sp_short_row_limit(csr_of(m), k) != sp_short_row_limit(csr_of(m), m->made[format].k)) {
        sp_matrix_destroy(&m->in[format]);
        m->made[format].tried = 0;
    }
    if (m->made[format].tried && m->made[format].status != SPMM_OK)
        return sp_fail(m->made[format].status, "this format already failed for this matrix");
    if (m->made[format].tried) return SPMM_OK;
    const sp_format *const rules = sp_formats[format];
    if (format != SPMM_CSR && rules->convert_on_gpu && have(m, SPMM_CSR, k) != SPMM_OK)
        return m->made[SPMM_CSR].status;
    const double start = omp_get_wtime();
    m->made[format].tried = 1;
    m->made[format].k = k;
    if (rules->convert_on_gpu)
        m->made[format].status = rules->convert_on_gpu(&m->in[SPMM_CSR], k, &m->in[format]);
    else
        m->made[format].status = sp_matrix_create(csr_of(m), format, SPMM_CUDA, ELL_LIMIT, k,
                                                  omp_get_max_threads(), &m->in[format]);
    if (format != SPMM_CSR) m->made[format].seconds = omp_get_wtime() - start;
    return m->made[format].status;
}

static const char *own_load(void *handle) { return failed(have(handle, SPMM_CSR, 0)); }

static void own_unload(void *handle)
{
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) sp_matrix_destroy(&((matrix *)handle)->in[f]);
}

static const char *own_begin(void *handle)
{
    int count;
    product *const q = handle;
    matrix *const m = (matrix *)q->p.a;
    const sp_kernel *const k = &sp_kernels(&count)[q->p.form - own_kernels_peer.forms];
    const spmm_precision precision = csr_of(m)->precision;
    void *state = NULL;
    q->p.earlier = m->made[k->format].seconds;
    q->p.left_out = !sp_kernel_takes(k, precision);
    if (q->p.left_out) return "it multiplies real values only";
    const spmm_status status = have(m, k->format, q->p.k);
    q->p.left_out = status == SPMM_ERR_LIMIT; /* a format that refuses A is no failure */
    if (status != SPMM_OK) return spmm_error_message();
    q->x = (spmm_multivector){m->a.cols,      q->p.k, q->p.ldx, precision,     SPMM_CUDA,
                              (void *)q->p.x, 0,      0,        SPMM_ROW_MAJOR};
    q->y = (spmm_multivector){m->a.rows, q->p.k, q->p.ldy, precision,     SPMM_CUDA,
                              q->p.y,    0,      0,        SPMM_ROW_MAJOR};
    const sp_setup setup = {.a = &m->in[k->format],
                            .csr = csr_of(m),
                            .k = q->p.k,
                            .threads = omp_get_max_threads(),
                            .most = q->p.k};
    q->kernel = k;
    if (k->ops->prepare && k->ops->prepare(&setup, &state) != SPMM_OK) return spmm_error_message();
    q->launch = (sp_launch){
        .a = setup.a, .state = state, .stream = sp_device_stream(SP_STREAM_MAIN), .x = &q->x, .y = &q->y};
    return failed(sp_device_sync());
}

static void own_end(void *handle)
{
    product *const q = handle;
    if (q->kernel && q->kernel->ops->release) q->kernel->ops->release(q->launch.state);
}

static const char *own_run(void *handle)
{
    const product *const q = handle;
    return failed(q->kernel->ops->run(&q->launch));
}

#define KERNEL(id, ...) {#id, PEER_ROW, 1, 1, 1, 0},
static const peer_form forms[] = {
#include "kernels/kernels.def"
};
#undef KERNEL

const peer_adaptor own_kernels_peer = {.package = "own",
                                       .forms = forms,
                                       .form_count = sizeof forms / sizeof *forms,
                                       .matrix_bytes = sizeof(matrix),
                                       .product_bytes = sizeof(product),
                                       .load = own_load,
                                       .unload = own_unload,
                                       .begin = own_begin,
                                       .end = own_end,
                                       .run = own_run,
                                       .complex_values = 1};
