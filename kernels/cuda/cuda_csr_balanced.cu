/** The kernel csr_balanced, CSR for rows of uneven lengths: runs the sub-warp kernel of cuda_rows.cuh on row
 *  segments. Rows of more than SP_ROW_SEGMENT entries are cut into several segments; a shorter row is one
 *  segment. The segments are sorted by the power of two of their length, longest first, so that the segments
 *  of a warp are about equally long and no long segment starts last. The partial sums of a long row are added
 *  in order, without atomics. */
#include "kernels/cuda/cuda_rows.cuh"

namespace {

enum { FEW_COLUMNS = 8 };

/** State of the kernel, which prepare() creates; its arrays are in device memory. */
struct balance {
    int64_t segments, splits;
    sp_segment *segment;
    sp_split *split;
    void *partial; /* [number of partial sums x partial_ld(k)] */
};

void release(void *state)
{
    balance *const b = (balance *)state;
    if (!b) return;
    sp_device_free(b->segment);
    sp_device_free(b->split);
    sp_device_free(b->partial);
    sp_free(b);
}

spmm_status upload(const sp_segments *p, int64_t row_bytes, balance *b)
{
    b->segments = p->count;
    b->splits = p->splits;
    TRY(sp_device_alloc((void **)&b->segment, p->count * (int64_t)sizeof *p->segment, "pieces of rows"));
    TRY(sp_device_upload(b->segment, p->segment, p->count * (int64_t)sizeof *p->segment));
    if (p->splits == 0) return SPMM_OK;
    TRY(sp_device_alloc((void **)&b->split, p->splits * (int64_t)sizeof *p->split, "long rows"));
    TRY(sp_device_upload(b->split, p->split, p->splits * (int64_t)sizeof *p->split));
    return sp_device_alloc(&b->partial, p->partials * row_bytes, "partial sums of long rows");
}

spmm_status prepare(const sp_setup *s, void **state)
{
    sp_segments segments;
    void *p = NULL;
    *state = NULL;
    /* With few columns a sub-warp has few lanes and waits for memory, so long rows are cut into shorter
     * segments. */
    TRY(sp_segments_create(s->csr, s->k <= FEW_COLUMNS ? SP_ROW_SEGMENT / 2 : SP_ROW_SEGMENT,
                           SP_ORDER_CLASSES, &segments));
    spmm_status status = sp_alloc_zero(&p, 1, sizeof(balance), "a work list");
    if (status == SPMM_OK)
        status = upload(&segments, partial_ld(s->k) * sp_value_size(s->a->precision), (balance *)p);
    sp_segments_destroy(&segments);
    if (status != SPMM_OK) {
        release(p);
        return status;
    }
    *state = p;
    return SPMM_OK;
}

template <typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    const balance *const b = (const balance *)l->state;
    rows_args<T> a = rows_args_of<T>(l);
    a.segment = b->segment;
    a.rows = b->segments;
    a.partial = (T *)b->partial;
    a.partial_ld = partial_ld(l->x->k);
    launch_rows<FROM_SEGMENTS>(l, a, stream);
    launch_partials<T>({b->split, b->splits, a.partial, a.partial_ld, a.y, a.ldy, a.columns}, stream);
}

spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "csr_balanced"));
    return launch_product<run_typed<double>, run_typed<float>>(l, "csr_balanced");
}

} // namespace

const sp_kernel_ops sp_kernel_csr_balanced = {run, prepare, release};
