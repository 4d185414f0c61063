/** The kernels csr_balanced, csr_clustered and csr_deep, on CSR with rows of uneven lengths. Each runs the
 *  sub-warp kernel of cuda_rows.cuh on a list of the short rows. The list is sorted by the length,
 *  rounded down to a power of two, longest first, so that the rows of a warp have similar lengths and no long
 *  row starts last. csr_clustered first orders the rows by clusters, and sorts only within windows of that
 *  order. csr_deep has more loads of X in flight per warp, and fewer warps. It is for matrices so small that
 *  the longest chain determines the time. Its list is sorted by the length itself, so that the rows of a warp
 *  end together: a row that ends earlier makes the warp run the code for partial groups in addition to the
 *  code for full groups. This file also prepares the long rows of the other kernels. */
#include "kernels/cuda/cuda_rows.cuh"
extern "C" {
#include "order/row_clusters.h"
}

void sp_cuda_release_lists(void *state)
{
    sp_work_lists *const s = (sp_work_lists *)state;
    if (!s) return;
    sp_device_free(s->row);
    sp_cuda_sections_destroy(&s->long_rows);
    sp_device_free(s->partial);
    sp_device_free(s->counter);
    sp_device_free(s->leaf);
    sp_device_free(s->common);
    sp_device_free(s->narrow);
    sp_device_free(s->base);
    sp_device_free(s->column_pair);
    sp_free(s);
}

/** Allocates memory for the sums of sections, with setup->most columns, and for the counters of the sums. */
static spmm_status allocate_sums(const sp_setup *setup, sp_work_lists *s)
{
    /* FEWEST: minimum number of columns that the blocks of one blockIdx.y compute; each blockIdx.y has its
     * own counters. */
    enum { FEWEST = 8 };
    const int64_t partials = s->long_rows.partials;
    if (partials == 0) return SPMM_OK;
    const int64_t counters = partials * (setup->most / FEWEST + 1) * (int64_t)sizeof *s->counter;
    TRY(sp_device_alloc(&s->partial, partials * partial_ld(setup->most) * sp_value_size(setup->a->precision),
                        "partial sums of long rows"));
    TRY(sp_device_alloc((void **)&s->counter, counters, "counters of long rows"));
    return sp_device_zero(s->counter, counters);
}

/** Copies an array of `bytes` bytes to the device. */
static spmm_status copy_to_device(void **to, const void *from, int64_t bytes, const char *what)
{
    TRY(sp_device_alloc(to, bytes, what));
    return sp_device_upload(*to, from, bytes);
}

/** Creates work lists with a copy of the lists in *p on the device, and allocates memory for their sums.
 *  \param [out] state  the caller frees it with sp_cuda_release_lists(), also on failure */
static spmm_status upload_lists(const sp_setup *setup, const sp_sections *p, void **state)
{
    sp_work_lists *s = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "work lists"));
    *state = s;
    sp_sections *const to = &s->long_rows;
    to->partials = p->partials;
    to->packs = p->packs;
    TRY(copy_to_device((void **)&to->section, p->section, p->count * (int64_t)sizeof *p->section,
                       "long rows"));
    TRY(copy_to_device((void **)&to->pack, p->pack, (p->packs + 1) * (int64_t)sizeof *p->pack, "long rows"));
    TRY(copy_to_device((void **)&to->segment, p->segment,
                       p->packs * SP_SEGMENTS * (int64_t)sizeof *p->segment, "long rows"));
    return allocate_sums(setup, s);
}

/** Frees *state and sets it to NULL if status is an error; returns status. */
static spmm_status keep_on_success(spmm_status status, void **state)
{
    if (status == SPMM_OK) return status;
    sp_cuda_release_lists(*state);
    *state = NULL;
    return status;
}

spmm_status sp_cuda_prepare_long_rows(const sp_setup *setup, const int64_t *start, void **state)
{
    sp_sections p;
    *state = NULL;
    if (!sp_has_long_rows(setup->csr, setup->threads)) return SPMM_OK;
    TRY(sp_sections_create(setup->csr, SP_CHAIN, start, setup->a->width, &p));
    const spmm_status status = upload_lists(setup, &p, state);
    sp_sections_destroy(&p);
    return keep_on_success(status, state);
}

spmm_status sp_cuda_prepare_csr(const sp_setup *setup, void **state)
{
    *state = NULL;
    if (setup->longest > 0 && setup->longest <= SP_CHAIN) return SPMM_OK;
    TRY(sp_alloc_zero(state, 1, sizeof(sp_work_lists), "work lists"));
    sp_work_lists *const s = (sp_work_lists *)*state;
    spmm_status status = sp_cuda_long_rows(setup->a, &s->long_rows);
    if (status == SPMM_OK) status = allocate_sums(setup, s);
    return keep_on_success(status, state);
}

spmm_status sp_cuda_prepare_sums(const sp_setup *setup, void **state)
{
    TRY(sp_alloc_zero(state, 1, sizeof(sp_work_lists), "work lists"));
    sp_work_lists *const s = (sp_work_lists *)*state;
    s->long_rows.partials = setup->a->partials;
    s->long_rows.packs = setup->a->packs;
    spmm_status status = allocate_sums(setup, s);
    if (status == SPMM_OK) status = sp_cuda_find_common(setup, state);
    return keep_on_success(status, state);
}

/** Lists the rows on the GPU, because the matrix is in GPU memory.
 *  \param [in] given, window, order  as in sp_cuda_row_lists() */
static spmm_status list_rows(const sp_setup *setup, const int32_t *given, int window, sp_order order,
                             void **state)
{
    TRY(sp_alloc_zero(state, 1, sizeof(sp_work_lists), "work lists"));
    sp_work_lists *const s = (sp_work_lists *)*state;
    spmm_status status = sp_cuda_row_lists(setup->a, setup->k, given, window, order, &s->row, &s->rows,
                                           &s->long_rows);
    if (status == SPMM_OK) status = allocate_sums(setup, s);
    return keep_on_success(status, state);
}

static spmm_status prepare(const sp_setup *setup, void **state)
{
    TRY(list_rows(setup, NULL, SP_WINDOW_ALL, SP_ORDER_CLASSES, state));
    return keep_on_success(sp_cuda_find_common(setup, state), state);
}

/** csr_deep has no variants for equal or narrow values: the values are not examined. */
static spmm_status prepare_deep(const sp_setup *setup, void **state)
{
    return list_rows(setup, NULL, SP_WINDOW_ALL, SP_ORDER_LENGTHS, state);
}

static spmm_status prepare_clustered(const sp_setup *setup, void **state)
{
    int32_t *order;
    *state = NULL;
    TRY(sp_cuda_row_order(setup->a, SP_CLUSTERS_MORE, &order));
    const spmm_status status = list_rows(setup, order, SP_WINDOW, SP_ORDER_CLASSES, state);
    sp_device_free(order);
    TRY(status);
    return keep_on_success(sp_cuda_find_common(setup, state), state);
}

template <bool deep> static spmm_status run(const sp_launch *l, const char *id)
{
    TRY(check_pitch(l, id));
    return launch_product<run_lists<deep, double>, run_lists<deep, float>, sp_cuda_lists_complex<deep, c128>,
                          sp_cuda_lists_complex<deep, c64>>(l, id);
}

static spmm_status run_balanced(const sp_launch *l) { return run<false>(l, "csr_balanced"); }

static spmm_status run_deep(const sp_launch *l) { return run<true>(l, "csr_deep"); }

SP_KERNEL(csr_balanced) = {run_balanced, prepare,       sp_cuda_release_lists,
                           NULL,         sp_cuda_set_k, sp_cuda_new_values};
static spmm_status run_clustered(const sp_launch *l) { return run<false>(l, "csr_clustered"); }

SP_KERNEL(csr_clustered) = {run_clustered, prepare_clustered, sp_cuda_release_lists,
                            NULL,          sp_cuda_set_k,     sp_cuda_new_values};
SP_KERNEL(csr_deep) = {run_deep, prepare_deep, sp_cuda_release_lists, NULL, sp_kernel_any_k, NULL};
