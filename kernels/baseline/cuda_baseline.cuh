/** What the CUDA kernels of the course reports share: their arguments and their state. docs/KERNELS.md has a table of
 *  these kernels.
 *
 *  Elements, rows and entries are counted in 64 bits. Grids are as large as the work, as in the reports, up to the
 *  limit of a grid; grid-stride loops do the rest. Every kernel is compiled for blocks of up to MAX_BLOCK threads, so
 *  that any block size the user asks for can be launched. */
#ifndef SP_CUDA_BASELINE_CUH
#define SP_CUDA_BASELINE_CUH

#include "kernels/cuda/cuda_block.cuh"

namespace {

/** Y := A X as a kernel sees it. */
template <typename T> struct product {
    const int64_t *row_start; /* SPMM_CSR */
    const int32_t *col;
    const T *val;
    int64_t rows, cols, k;
    int64_t width; /* SPMM_ELL */
    const T *x;    /* element (i, j) of X at x[i * ldx + j]; if X is transposed, at x[j * ldx + i] */
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

/** What prepare() makes; each kernel uses what it needs. */
struct baseline_state {
    int block;          /* threads per block */
    int lanes;          /* of a sub-warp (sub-block) */
    int resident;       /* blocks that the GPU runs at the same time */
    int64_t k;          /* columns of X in the products to come */
    void *xt;           /* X transposed, [k x cols] */
    int64_t *first_row; /* of each row block, [row_blocks + 1] */
    int64_t row_blocks;
    work_queue *queue;
};

/** A kernel's release(): frees a state, also one that is partly made; accepts NULL. */
inline void baseline_release(void *state)
{
    baseline_state *const s = (baseline_state *)state;
    if (!s) return;
    sp_device_free(s->xt);
    sp_device_free(s->first_row);
    sp_device_free(s->queue);
    sp_free(s);
}

/** A kernel's prepare(): makes a state and lets `fill` do the kernel's part. */
template <spmm_status (*fill)(const sp_setup *, baseline_state *)>
spmm_status baseline_prepare(const sp_setup *setup, void **state)
{
    void *p = NULL;
    *state = NULL;
    if (!sp_device_stream()) return SPMM_ERR_NO_DEVICE; /* the message is sp_device_stream's */
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
