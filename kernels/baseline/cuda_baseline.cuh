/** Arguments and state that the baseline CUDA kernels share.
 *  docs/KERNELS.md has a table of these kernels.
 *
 *  Counts of elements, rows and entries are 64-bit numbers. As in the course work from which these kernels
 *  come, a grid has one thread, sub-warp, warp or block per item of work. Grid-stride loops process the items
 *  beyond the maximum size of a grid. Every kernel is compiled for blocks of up to MAX_BLOCK threads, so that
 *  it can be launched with any block size that the user sets. */
#ifndef SP_CUDA_BASELINE_CUH
#define SP_CUDA_BASELINE_CUH

#include "kernels/cuda/cuda_block.cuh"

namespace {

/** Arguments of a product Y := A X in a baseline kernel. */
template <typename T> struct product {
    const int64_t *row_start; /* only for SPMM_CSR */
    const int32_t *col;
    const T *val;
    int64_t rows, cols, k;
    int64_t width; /* only for SPMM_ELL: entries per row, with padding */
    const T *x;    /* element (i, j) of X is x[i * ldx + j]; once X is transposed, x[j * ldx + i] */
    int64_t ldx;
    T *y;
    int64_t ldy;
};

template <typename T> product<T> product_of(const sp_launch *l)
{
    const sp_matrix *const a = l->a;
    return {a->row_start,          a->col,   (const T *)a->val, a->rows, a->cols, l->x->k, a->width,
            (const T *)l->x->data, l->x->ld, (T *)l->y->data,   l->y->ld};
}

/** Calls choose_block() for instance f64 or f32 of a kernel, depending on the precision of the matrix.
 *  `shared` tells whether each thread has an element in dynamic shared memory. */
template <typename F64, typename F32>
spmm_status choose_typed_block(const sp_setup *s, F64 *f64, F32 *f32, bool shared, int limit, int *block)
{
    const size_t size = sp_value_size(s->a->precision);
    return choose_block(s, size == sizeof(double) ? (const void *)f64 : (const void *)f32, shared ? size : 0,
                        limit, block);
}

/** State of a baseline kernel, made by baseline_prepare(). A kernel sets and uses only the members it
 *  needs. */
struct baseline_state {
    int block;          /* threads per block */
    int lanes;          /* lanes per sub-warp or sub-block */
    int resident;       /* number of blocks that the GPU runs at the same time */
    int64_t k;          /* number of columns of X */
    void *xt;           /* workspace for X transposed, [k x cols] */
    int64_t *first_row; /* [row_blocks + 1]: first row of each row block, then the number of rows */
    int64_t row_blocks;
    work_queue *queue;
};

/** The release() of all baseline kernels: frees a state, also one that is incomplete; accepts NULL. */
inline void baseline_release(void *state)
{
    baseline_state *const s = (baseline_state *)state;
    if (!s) return;
    sp_device_free(s->xt);
    sp_device_free(s->first_row);
    sp_device_free(s->queue);
    sp_free(s);
}

/** The prepare() of a baseline kernel: allocates a state, and calls `fill` to set the members that the kernel
 *  needs. */
template <spmm_status (*fill)(const sp_setup *, baseline_state *)>
spmm_status baseline_prepare(const sp_setup *setup, void **state)
{
    void *p = NULL;
    *state = NULL;
    if (!sp_device_stream(SP_STREAM_MAIN)) return SPMM_ERR_NO_DEVICE; /* the message is set */
    TRY(sp_alloc_zero(&p, 1, sizeof(baseline_state), "a kernel's state"));
    ((baseline_state *)p)->k = setup->k;
    const spmm_status status = fill(setup, (baseline_state *)p);
    if (status != SPMM_OK) {
        baseline_release(p);
        return status;
    }
    *state = p;
    return SPMM_OK;
}

} // namespace

#endif
