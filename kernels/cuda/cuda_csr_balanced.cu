/** The kernel csr_balanced, CSR for rows of uneven lengths: runs the sub-warp kernel of cuda_rows.cuh on rows and
 *  on the leaves or segments of long rows. They are sorted by the power of two of their length, longest first, so
 *  that those of a warp are about equally long and no long one starts last. The sums of long rows are added in
 *  order, without atomics. Also sums the long rows of the other kernels (cuda_segments.cuh). */
#include <string.h>

#include "kernels/cuda/cuda_rows.cuh"

void sp_cuda_release_segments(void *state)
{
    sp_segment_list *const s = (sp_segment_list *)state;
    if (!s) return;
    sp_device_free(s->segment);
    sp_device_free(s->split);
    sp_device_free(s->partial);
    sp_device_free(s->col);
    sp_device_free(s->val);
    sp_free(s);
}

/** Copies a list of segments to the device, and allocates the partial sums of k columns. The caller frees *state by
 *  sp_cuda_release_segments(), also on failure. */
static spmm_status upload_segments(const sp_segments *p, int leaves, int64_t k, spmm_precision precision,
                                   void **state)
{
    sp_segment_list *s = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a work list"));
    *state = s;
    s->segments = p->count;
    s->splits = p->splits;
    s->leaves = leaves;
    TRY(sp_device_alloc((void **)&s->segment, p->count * (int64_t)sizeof *p->segment, "segments of rows"));
    TRY(sp_device_upload(s->segment, p->segment, p->count * (int64_t)sizeof *p->segment));
    TRY(sp_device_alloc((void **)&s->split, p->splits * (int64_t)sizeof *p->split, "long rows"));
    TRY(sp_device_upload(s->split, p->split, p->splits * (int64_t)sizeof *p->split));
    return sp_device_alloc(&s->partial, p->partials * partial_ld(k) * sp_value_size(precision),
                           "partial sums of long rows");
}

/** Returns 1 if long rows should be cut into leaves: if the lanes that sum segments would fill less than half of a
 *  large GPU. Sums of leaves take four times the traffic of sums of segments. */
static int cut_into_leaves(const sp_setup *s)
{
    enum { HALF_FULL = 132 * 1024, LANES = 16 };
    const int64_t vectors = (s->k * sp_value_size(s->a->precision) - 1) / VECTOR_BYTES + 1;
    return s->a->nnz / SP_SEGMENT * (vectors < LANES ? vectors : LANES) < HALF_FULL;
}

spmm_status sp_cuda_prepare_long_rows(const sp_setup *setup, const int64_t *start, void **state)
{
    const int leaves = cut_into_leaves(setup);
    sp_segments p;
    *state = NULL;
    TRY(sp_long_rows_create(setup->csr, start, setup->a->width, leaves ? SP_LEAF : SP_SEGMENT, &p));
    const spmm_status status = p.count == 0
                                   ? SPMM_OK
                                   : upload_segments(&p, leaves, setup->k, setup->a->precision, state);
    sp_segments_destroy(&p);
    if (status != SPMM_OK) {
        sp_cuda_release_segments(*state);
        *state = NULL;
    }
    return status;
}

spmm_status sp_cuda_prepare_copied_rows(const sp_setup *setup, void **state)
{
    const spmm_csr *const csr = setup->csr;
    const int64_t size = sp_value_size(csr->precision);
    int64_t *start = NULL, entries = 0;
    int32_t *col = NULL;
    char *val = NULL;
    spmm_status status;
    *state = NULL;
    TRY(sp_alloc((void **)&start, csr->rows, sizeof *start, "starts of long rows"));
    for (int64_t i = 0; i < csr->rows; i++) {
        const int64_t length = csr->irp[i + 1] - csr->irp[i];
        start[i] = entries;
        if (length > SP_CHAIN) entries += length;
    }
    TRY_GOTO(sp_alloc((void **)&col, entries, sizeof *col, "long rows"), done);
    TRY_GOTO(sp_alloc((void **)&val, entries, (size_t)size, "long rows"), done);
    for (int64_t i = 0; i < csr->rows; i++) {
        const int64_t from = csr->irp[i], length = csr->irp[i + 1] - from;
        if (length <= SP_CHAIN) continue;
        memcpy(col + start[i], csr->ja + from, (size_t)length * sizeof *col);
        sp_values_copy(csr->precision, csr->as, from, length, val, start[i]);
    }
    TRY_GOTO(sp_cuda_prepare_long_rows(setup, start, state), done);
    if (*state) {
        sp_segment_list *const s = (sp_segment_list *)*state;
        TRY_GOTO(sp_device_alloc((void **)&s->col, entries * (int64_t)sizeof *col, "long rows"), done);
        TRY_GOTO(sp_device_alloc(&s->val, entries * size, "long rows"), done);
        TRY_GOTO(sp_device_upload(s->col, col, entries * (int64_t)sizeof *col), done);
        TRY_GOTO(sp_device_upload(s->val, val, entries * size), done);
    }
done:
    if (status != SPMM_OK) {
        sp_cuda_release_segments(*state);
        *state = NULL;
    }
    sp_free(start);
    sp_free(col);
    sp_free(val);
    return status;
}

template <typename T>
static void launch_typed(const sp_launch *l, const sp_segment_list *s, cudaStream_t stream)
{
    rows_args<T> a = rows_args_of<T>(l);
    if (s->col) a.col = s->col;
    if (s->col) a.val = (const T *)s->val;
    a.segment = s->segment;
    a.rows = s->segments;
    a.partial = (T *)s->partial;
    a.partial_ld = partial_ld(l->x->k);
    launch_rows<FROM_SEGMENTS>(l, a, stream);
    launch_partials<T>({s->split, s->splits, a.partial, a.partial_ld, a.y, a.ldy, a.columns, s->leaves},
                       stream);
}

void sp_cuda_launch_segments(const sp_launch *l, const sp_segment_list *list, cudaStream_t stream)
{
    if (list) (l->a->precision == SPMM_F64 ? launch_typed<double> : launch_typed<float>)(l, list, stream);
}

static spmm_status prepare(const sp_setup *s, void **state)
{
    const int leaves = cut_into_leaves(s);
    sp_segments p;
    *state = NULL;
    TRY(sp_segments_create(s->csr, leaves ? SP_LEAF : SP_SEGMENT, SP_ORDER_CLASSES, &p));
    const spmm_status status = upload_segments(&p, leaves, s->k, s->a->precision, state);
    sp_segments_destroy(&p);
    if (status != SPMM_OK) {
        sp_cuda_release_segments(*state);
        *state = NULL;
    }
    return status;
}

static void run_list(const sp_launch *l, cudaStream_t stream)
{
    sp_cuda_launch_segments(l, (const sp_segment_list *)l->state, stream);
}

static spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "csr_balanced"));
    return launch_product<run_list, run_list>(l, "csr_balanced");
}

const sp_kernel_ops sp_kernel_csr_balanced = {run, prepare, sp_cuda_release_segments};
