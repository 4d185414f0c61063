/** The kernel csr_balanced, CSR for rows of uneven lengths: runs the sub-warp kernel of cuda_rows.cuh on rows
 *  and on the leaves or segments of long rows. Rows are sorted by the power of two of their length, longest
 *  first, so that those of a warp are about equally long and no long one starts last. The sums of long rows
 *  are added in order, without atomics. Also sums the long rows of the other kernels (cuda_segments.cuh). */
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

/** Returns 1 if long rows should be cut into leaves, which gives more parallelism, 0 if into segments, whose
 *  sums take a fourth of the memory traffic. */
static int cut_into_leaves(const sp_setup *s)
{
    enum { FEW_BYTES = 128, FEW_ENTRIES = 200000 };
    return s->k * sp_value_size(s->a->precision) <= FEW_BYTES || s->a->nnz < FEW_ENTRIES;
}

/** Copies lists to the device, and allocates the partial sums of setup->k columns.
 *  \param [in]  p      the long rows, cut
 *  \param [in]  rows   the other rows, for csr_balanced; NULL: none
 *  \param [out] state  the caller frees it by sp_cuda_release_segments(), also on failure */
static spmm_status upload_lists(const sp_setup *setup, const sp_segments *p, const sp_segments *rows,
                                int leaves, void **state)
{
    const int64_t size = (int64_t)sizeof *p->segment;
    sp_segment_list *s = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a work list"));
    *state = s;
    s->segments = p->count + (rows ? rows->count : 0);
    s->cut = leaves ? 0 : p->count;
    s->sections = p->sections;
    s->splits = p->splits;
    s->leaves = leaves;
    TRY(sp_device_alloc((void **)&s->segment, s->segments * size, "segments of rows"));
    TRY(sp_device_upload(s->segment, p->segment, p->count * size));
    if (rows) TRY(sp_device_upload(s->segment + p->count, rows->segment, rows->count * size));
    const int64_t sums = (p->sections + p->splits) * (int64_t)sizeof *p->split;
    TRY(sp_device_alloc((void **)&s->split, sums, "long rows"));
    TRY(sp_device_upload(s->split, p->split, sums));
    return sp_device_alloc(&s->partial,
                           p->partials * partial_ld(setup->k) * sp_value_size(setup->a->precision),
                           "partial sums of long rows");
}

/** Cuts long rows, and lists the other rows if `all`. *state is NULL on failure, and if there is nothing to
 *  list. */
static spmm_status prepare_lists(const sp_setup *setup, const int64_t *start, int all, void **state)
{
    const int leaves = cut_into_leaves(setup);
    sp_segments p, rows = {};
    *state = NULL;
    spmm_status status = sp_long_rows_create(setup->csr, start, setup->a->width,
                                             leaves ? SP_LEAF : SP_SEGMENT, &p);
    if (status == SPMM_OK && all) status = sp_segments_create(setup->csr, 0, SP_ORDER_CLASSES, &rows);
    if (status == SPMM_OK && p.count + rows.count > 0)
        status = upload_lists(setup, &p, all ? &rows : NULL, leaves, state);
    sp_segments_destroy(&p);
    sp_segments_destroy(&rows);
    if (status != SPMM_OK) {
        sp_cuda_release_segments(*state);
        *state = NULL;
    }
    return status;
}

spmm_status sp_cuda_prepare_long_rows(const sp_setup *setup, const int64_t *start, void **state)
{
    *state = NULL;
    return sp_has_long_rows(setup->csr, setup->threads) ? prepare_lists(setup, start, 0, state) : SPMM_OK;
}

spmm_status sp_cuda_prepare_copied_rows(const sp_setup *setup, void **state)
{
    const spmm_csr *const csr = setup->csr;
    const int64_t size = sp_value_size(csr->precision);
    int64_t *start = NULL, entries = 0;
    int32_t *col = NULL;
    char *val = NULL;
    sp_segment_list *list;
    spmm_status status;
    *state = NULL;
    if (!sp_has_long_rows(csr, setup->threads)) return SPMM_OK;
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
    TRY_GOTO(prepare_lists(setup, start, 0, state), done);
    list = (sp_segment_list *)*state;
    TRY_GOTO(sp_device_alloc((void **)&list->col, entries * (int64_t)sizeof *col, "long rows"), done);
    TRY_GOTO(sp_device_alloc(&list->val, entries * size, "long rows"), done);
    TRY_GOTO(sp_device_upload(list->col, col, entries * (int64_t)sizeof *col), done);
    TRY_GOTO(sp_device_upload(list->val, val, entries * size), done);
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
    a.partial = (T *)s->partial;
    a.partial_ld = partial_ld(l->x->k);
    a.segment = s->segment;
    a.rows = s->cut;
    if (a.rows > 0) launch_rows<FROM_SEGMENTS>(l, a, stream);
    a.segment = s->segment + s->cut;
    a.rows = s->segments - s->cut;
    if (a.rows > 0) launch_rows<FROM_LIST>(l, a, stream);
    launch_partials<T>(
        {s->split, s->sections, s->splits, a.partial, a.partial_ld, a.y, a.ldy, a.columns, s->leaves},
        stream);
}

void sp_cuda_launch_segments(const sp_launch *l, const sp_segment_list *list, cudaStream_t stream)
{
    if (list) (l->a->precision == SPMM_F64 ? launch_typed<double> : launch_typed<float>)(l, list, stream);
}

static spmm_status prepare(const sp_setup *s, void **state)
{
    return prepare_lists(s, s->csr->irp, 1, state);
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
