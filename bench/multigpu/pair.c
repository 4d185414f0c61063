/* Pairs of products: ours, and the check of Z. */
#include "pair.h"

#include <cuda_runtime.h>
#include <omp.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "formats/csr.h"

static spmm_csr transpose;
const spmm_csr *pair_transpose;
static reference expected; /* Z, for the K of the last check */

spmm_status pair_load(const spmm_csr *a)
{
    TRY(sp_agree(MPI_COMM_WORLD, "read",
                 sp_csr_add_transpose(a, SP_IMAGE_NONE, SP_IMAGE_SAME, omp_get_max_threads(), &transpose)));
    pair_transpose = &transpose;
    return SPMM_OK;
}

void pair_unload(void)
{
    reference_destroy(&expected);
    spmm_csr_destroy(&transpose);
    pair_transpose = NULL;
}

/* ---- ours ---- */

static peer_adaptor ours;
static cudaStream_t own_stream;

static const char *done(const own_pair *p, spmm_status status)
{
    if (status != SPMM_OK) return spmm_error_message();
    if (!((const own_form *)p->own.p.form)->options.stream) return NULL;
    return cudaStreamSynchronize(own_stream) == cudaSuccess ? NULL : "cudaStreamSynchronize failed";
}

static spmm_status multiply(own_pair *p) { return spmm_apply(p->own.plan, 1, &p->own.x, 0, &p->own.y); }

static spmm_status multiply_back(own_pair *p)
{
    return spmm_apply_transposed(p->own.plan, 1, &p->own.y, 0, &p->z);
}

const char *pair_forward(void *of) { return done(of, multiply(of)); }
const char *pair_back(void *of) { return done(of, multiply_back(of)); }

static const char *run_pair(void *of)
{
    const spmm_status first = multiply(of), second = multiply_back(of);
    return done(of, first != SPMM_OK ? first : second);
}

static const char *begin_pair(void *of)
{
    own_pair *const p = of;
    const char *line = own_peer.begin(of);
    if (!line) line = failed(spmm_plan_x_create(p->own.plan, &p->z));
    line = agree(line);
    return line ? line : run_pair(of); /* the plan transposes A in its first product with A^T */
}

static void end_pair(void *of)
{
    spmm_multivector_destroy(&((own_pair *)of)->z);
    own_peer.end(of);
}

static void close_pair(void) { (void)cudaStreamDestroy(own_stream); }

spmm_status pair_open(void **stream, const peer_adaptor **adaptor)
{
    if (cudaStreamCreateWithFlags(&own_stream, cudaStreamNonBlocking) != cudaSuccess)
        return sp_fail(SPMM_ERR_DEVICE, "cudaStreamCreateWithFlags failed");
    ours = own_peer;
    ours.product_bytes = sizeof(own_pair);
    ours.begin = begin_pair;
    ours.end = end_pair;
    ours.run = run_pair;
    ours.close = close_pair;
    *stream = own_stream;
    *adaptor = &ours;
    return SPMM_OK;
}

/* ---- the check ---- */

static double longest(const spmm_csr *a)
{
    int64_t most = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (a->irp[i + 1] - a->irp[i] > most) most = a->irp[i + 1] - a->irp[i];
    return (double)most;
}

/** Computes this rank's part of Z from the reference of Y. Its sizes also bound the errors of Y. */
static spmm_status part_of_z(const run *r)
{
    const reference *const y = &r->reference;
    const dense_view sums = {y->sum, SPMM_C128, r->k, 1}, sizes = {y->size, SPMM_F64, r->k, 1};
    reference bounds;
    reference_destroy(&expected);
    if (y->count < r->matrix.block.csr.rows) return sp_fail(SPMM_ERR_LIMIT, "too many rows to check");
    TRY(reference_create(&transpose, &sums, r->k, INT64_MAX, &expected));
    TRY(reference_create(&transpose, &sizes, r->k, INT64_MAX, &bounds));
    double *const replaced = expected.size;
    expected.size = bounds.size;
    bounds.size = replaced;
    reference_destroy(&bounds);
    return SPMM_OK;
}

static void add_over_ranks(double *values, int64_t count)
{
    enum { PIECE = 1 << 28 };
    for (int64_t i = 0; i < count; i += PIECE)
        MPI_Allreduce(MPI_IN_PLACE, values + i, count - i < PIECE ? (int)(count - i) : PIECE, MPI_DOUBLE,
                      MPI_SUM, MPI_COMM_WORLD);
}

static const char *make_reference(const run *r)
{
    const int64_t count = transpose.rows * r->k;
    double row = longest(&r->matrix.block.csr), column = longest(&transpose);
    const char *const line = agree(failed(part_of_z(r)));
    if (line) {
        reference_destroy(&expected);
        return line;
    }
    add_over_ranks((double *)expected.sum, 2 * count);
    add_over_ranks(expected.size, count);
    MPI_Allreduce(MPI_IN_PLACE, &row, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    add_over_ranks(&column, 1);
    expected.more = row + column;
    return NULL;
}

static spmm_status compare(const run *r, const spmm_multivector *z, int64_t first, difference *d)
{
    const int64_t begin = r->matrix.block.x_begin;
    const int by_rows = z->layout == SPMM_ROW_MAJOR;
    spmm_multivector host = *z;
    host.space = SPMM_CPU;
    host.ghost_low = host.ghost_high = 0;
    host.ld = by_rows ? z->k : z->rows;
    TRY(sp_alloc(&host.data, z->rows * z->k, sp_value_size(z->precision), "Z"));
    const spmm_status status = spmm_multivector_copy(z, &host);
    const dense_view view = {host.data, z->precision, by_rows ? host.ld : 1, by_rows ? 1 : host.ld};
    if (status == SPMM_OK)
        reference_compare(&expected, begin, begin + r->matrix.block.x_rows, &view, first, d);
    sp_free(host.data);
    return status;
}

const char *pair_check(run *r, contender *c, const spmm_multivector *z, int64_t first)
{
    static char text[LINE];
    difference d = {0};
    const char *line = expected.k == r->k ? NULL : make_reference(r);
    if (!line) line = agree(failed(compare(r, z, first, &d)));
    if (line) return line;
    long long count[2] = {d.wrong, d.checked};
    MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (!count[0]) return NULL;
    c->difference.wrong = count[0];
    r->wrong++;
    snprintf(text, sizeof text, "%lld of %lld elements of A^T Y", count[0], count[1]);
    return text;
}
