/** The kernel panel_staged: row panels on the FP64 tensor cores (cuda_panels.cuh), with the rows of X in
 *  shared memory, where consecutive panels reuse them. A row of X is read from the L2 cache 1.5 to 4 times
 *  per product, not once per panel that needs it (bench/records/HISTORY.md). A plan, made once per matrix,
 *  determines which rows are in shared memory at each step (cuda_staging.cuh).
 *
 *  A block stays on its multiprocessor and runs the steps of one sequence. Its first warps multiply, one
 *  panel each. Its last warps queue bulk copies for the next step (PTX ISA, "cp.async.bulk"). Two mbarriers
 *  per step signal that its copies have arrived and that it has been multiplied. */
#include "kernels/cuda/cuda_long_rows.cuh"
#include "kernels/cuda/cuda_panels.cuh"
#include "kernels/cuda/cuda_staging.cuh"

extern const sp_kernel_ops sp_kernel_panel_mma; /* for products to which the plan does not apply */

namespace {

constexpr int BARRIER_BYTES = 128, DEPTH = SP_STEP_DEPTH;
constexpr int WARPS = SP_STEP_PANELS; /* warps that multiply */
/** Warps that copy. For f64, matrices of meshes need more than eight warps, which leaves fewer registers for
 *  the warps that multiply; for f32 there are not enough registers for that. */
template <typename T> constexpr int PRODUCERS = sizeof(T) == sizeof(double) ? 12 : 8;

template <typename T> struct staged_args : panel_args<T> {
    const sp_step *step;
    const int32_t *steps;
    int most_steps;
    const uint4 *tile;
    const sp_row_copy *load;
    int tiles_of_columns; /* number of tiles of columns; block b computes sequence b / tiles_of_columns */
    int capacity;
};

[[maybe_unused]] __device__ inline uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

[[maybe_unused]] __device__ inline void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

[[maybe_unused]] __device__ inline void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/** Arrives at the barrier, and makes it wait for the given number of bytes of bulk copies. */
[[maybe_unused]] __device__ inline void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

[[maybe_unused]] __device__ inline void barrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    do
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    while (!done);
}

/** Queues the copy of `bytes` bytes, a multiple of 16, to shared memory; both addresses are multiples of
 *  16. */
[[maybe_unused]] __device__ inline void bulk_copy(uint32_t to, const void *from, uint32_t bytes,
                                                  uint32_t barrier, uint64_t policy)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], "
        "%2, [%3], %4;" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}

/** Layout of a block's shared memory. */
struct stage_memory {
    uint32_t full, empty; /* [DEPTH] barriers each; full: the copies of a step have arrived; empty: the step
                             has been multiplied */
    unsigned char *step;  /* [DEPTH * capacity] tiles of a step, then its values */
    unsigned char *x;     /* rows of X */
};

/** Returns the number of values that are copied before the first value of a step, because copies begin at a
 *  multiple of 16 bytes. */
template <typename T> __device__ inline int values_before(int64_t first_value)
{
    return (int)(first_value % (int64_t)(16 / sizeof(T)));
}

/** Queues the copies of all steps; called by the warps that copy. `x` is the address of row 0 of X at the
 *  first column of the block, `row_bytes` the size of the block's columns of a row. */
template <typename T>
__device__ inline void copy_steps(const staged_args<T> &a, const stage_memory &memory, const sp_step *steps,
                                  int count, const char *x, uint32_t row_bytes, int warp)
{
    constexpr int LANES = PRODUCERS<T> * WARP;
    const int lane = threadIdx.x % WARP, own = warp * WARP + lane;
    uint64_t once, often;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(often));
    const uint32_t to = shared_address(memory.x), to_step = shared_address(memory.step);
    sp_row_copy next = {};
    if (count > 0 && own < steps[0].loads) next = a.load[steps[0].first_load + own];
    wait_for_previous();
    for (int i = 0; i < count; i++) {
        const sp_step *const s = steps + i;
        const int at = i % DEPTH, loads = s->loads;
        const uint32_t full = memory.full + 8 * at;
        const sp_row_copy now = next;
        if (i >= DEPTH) barrier_wait(memory.empty + 8 * at, (i / DEPTH - 1) & 1);
        if (lane == 0) {
            const int whole = loads / LANES, rest = loads % LANES - warp * WARP;
            uint32_t bytes = (uint32_t)(whole * WARP + (rest < 0      ? 0
                                                        : rest < WARP ? rest
                                                                      : WARP)) *
                             row_bytes;
            const int before = values_before<T>(s->first_value);
            const uint32_t tile_bytes = (uint32_t)s->tiles * 16,
                           value_bytes = (uint32_t)((s->values + before) * sizeof(T) + 15) / 16 * 16;
            const bool first = warp == 0 && s->tiles > 0;
            barrier_expect(full, bytes + (first ? tile_bytes + value_bytes : 0));
            if (first) {
                const T *const value = a.val + s->first_value - before;
                bulk_copy(to_step + at * a.capacity, a.tile + s->first_tile, tile_bytes, full, once);
                bulk_copy(to_step + at * a.capacity + tile_bytes, value, value_bytes, full, once);
            }
        }
        __syncwarp();
        if (own < loads)
            bulk_copy(to + now.place * 16, row_of(x, now.row, a.x_pitch), row_bytes, full, often);
        for (int l = own + LANES; l < loads; l += LANES) {
            const sp_row_copy more = a.load[s->first_load + l];
            bulk_copy(to + more.place * 16, row_of(x, more.row, a.x_pitch), row_bytes, full, often);
        }
        if (i + 1 < count && own < s[1].loads) next = a.load[s[1].first_load + own];
    }
}

/** Multiplies a panel by the rows of X in shared memory: tiles [begin, end) of the step. */
template <typename T, int V, int NT>
__device__ inline void sum_staged_panel(const uint4 *tile, const T *val, const unsigned char *x, int begin,
                                        int end, panel_sums<V, NT> &sums)
{
    const int lane = threadIdx.x % WARP;
    const uint32_t below = (1u << lane) - 1;
#pragma unroll 4
    for (int t = begin; t < end; t++) {
        const uint4 m = tile[t];
        const uint32_t two = lane & 2 ? m.y : m.x, place = lane & 1 ? two >> 16 : two & 0xffff;
        const unsigned char *const row = x + place * 16;
        pack<T, V> b[NT];
#pragma unroll
        for (int j = 0; j < NT; j++) b[j] = *(const pack<T, V> *)(row + j * 8 * V * sizeof(T));
        const T *const at = val + m.w + __popc(m.z & below);
        const double value = m.z >> lane & 1 ? (double)*at : 0.0;
        sums.add(value, [&](int j) { return b[j]; });
    }
}

/** Multiplies the panels of all steps; called by the warps that multiply. */
template <typename T, int V, int NT>
__device__ inline void multiply_steps(const staged_args<T> &a, const stage_memory &memory,
                                      const sp_step *steps, int count, int first_column, int warp)
{
    /* Eight lanes that load together get vectors from different banks: two from each of the four rows of a
     * tile, 64 bytes apart. */
    const int lane = threadIdx.x % WARP, vector = lane / 8 + 4 * (lane / 4 % 2);
    int base = 0; /* the warp of the step's first panel */
    for (int i = 0; i < count; i++) {
        const sp_step *const s = steps + i;
        const int at = i % DEPTH, panels = s->panels;
        int p = warp - base;
        if (p < 0) p += WARPS;
        base = (base + panels) % WARPS;
        const int begin = p > 0 && p < panels ? s->end[p - 1] : 0, end = p < panels ? s->end[p] : 0;
        const int64_t panel = s->first_panel + p;
        const unsigned char *const step = memory.step + at * a.capacity;
        const T *const val = (const T *)(step + s->tiles * 16) + values_before<T>(s->first_value);
        barrier_wait(memory.full + 8 * at, i / DEPTH & 1);
        panel_sums<V, NT> sums = {};
        if (p < panels)
            sum_staged_panel<T, V, NT>((const uint4 *)step, val, memory.x + vector * VECTOR_BYTES, begin, end,
                                       sums);
        /* Every lane arrives separately, because compute-sanitizer's racecheck does not recognize one arrival
         * for all lanes after __syncwarp(). One arrival per warp would hardly be faster. */
        barrier_arrive(memory.empty + 8 * at);
        if (p < panels) store_panel<T, V, NT>(a, panel, first_column, vector, sums);
    }
}

template <typename T>
__global__ void __launch_bounds__((WARPS + PRODUCERS<T>)*WARP, 1)
    panel_staged_kernel(const __grid_constant__ staged_args<T> a)
{
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char shared[];
    constexpr int V = VECTOR_BYTES / sizeof(T), COLUMNS = SP_STAGED_BYTES / sizeof(T), NT = COLUMNS / (8 * V);
    const int warp = threadIdx.x / WARP, sequence = blockIdx.x / a.tiles_of_columns;
    const int first_column = blockIdx.x % a.tiles_of_columns * COLUMNS;
    const stage_memory memory = {shared_address(shared), shared_address(shared) + 8 * DEPTH,
                                 shared + BARRIER_BYTES, shared + BARRIER_BYTES + DEPTH * a.capacity};
    const sp_step *const steps = a.step + (int64_t)sequence * a.most_steps;
    const int count = a.steps[sequence];
    if (threadIdx.x == 0) {
        for (int i = 0; i < DEPTH; i++) {
            barrier_init(memory.full + 8 * i, PRODUCERS<T>);
            barrier_init(memory.empty + 8 * i, WARPS * WARP);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (warp < WARPS) {
        multiply_steps<T, V, NT>(a, memory, steps, count, first_column, warp);
    } else {
        const int columns = min(COLUMNS, a.columns - first_column);
        const uint32_t row_bytes = (uint32_t)(columns * sizeof(T) + 15) / 16 * 16;
        copy_steps<T>(a, memory, steps, count, (const char *)(a.x + first_column), row_bytes, warp - WARPS);
    }
#endif
}

/** Returns the number of tiles of columns for a row of X of `bytes` bytes. */
inline int tiles_of(int64_t bytes) { return (int)((bytes - 1) / SP_STAGED_BYTES + 1); }

/** The state made by prepare(): the sums of leaves, as in the state of panel_mma, and the plan. */
struct staged_state {
    sp_work_lists lists;
    sp_staging *plan; /* NULL: products use panel_mma */
    int columns;      /* number of columns for which the plan was made */
};

template <typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    const staged_state *const s = (const staged_state *)l->state;
    const sp_staging *const p = s->plan;
    staged_args<T> a = {};
    (panel_args<T> &)a = panel_args_of<T>(l, s->lists.leaf);
    a.step = p->step;
    a.steps = p->steps;
    a.most_steps = p->most_steps;
    a.tile = p->tile;
    a.load = p->load;
    a.capacity = p->shape.capacity;
    a.tiles_of_columns = tiles_of((int64_t)a.columns * (int64_t)sizeof(T));
    const size_t bytes = BARRIER_BYTES + DEPTH * (size_t)a.capacity +
                         (size_t)p->shape.slots * SP_STAGED_PITCH;
    launch_early(panel_staged_kernel<T>, dim3((unsigned)(p->shape.sequences * a.tiles_of_columns)),
                 (WARPS + PRODUCERS<T>)*WARP, bytes, stream, a);
    sp_cuda_add_leaves(l, s->lists.leaf, stream);
}

spmm_status run(const sp_launch *l)
{
    staged_state *const s = (staged_state *)l->state;
    TRY(check_pitch(l, "panel_staged"));
    const int size = (int)sp_value_size(l->a->precision);
    if (!s->plan || l->x->k != s->columns || vector_width(l, size) != VECTOR_BYTES / size) {
        sp_launch other = *l;
        other.state = &s->lists;
        return sp_kernel_panel_mma.run(&other);
    }
    return launch_product<run_typed<double>, run_typed<float>>(l, "panel_staged");
}

/** Allows the kernel to use as much shared memory per block as the GPU supports, because the plan of another
 *  matrix may need more than this one. Returns 0 if this is refused. */
template <typename T> int allow_shared_memory(void)
{
    int device, shared;
    if (cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
        cudaFuncSetAttribute(panel_staged_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared) ==
            cudaSuccess)
        return 1;
    (void)cudaGetLastError();
    return 0;
}

/** Returns the mean size in bytes of the tiles and values of a panel, with tiles as stored in a plan. */
double panel_bytes(const sp_matrix *m)
{
    const double tiles = (double)m->bytes[SP_MASK] / sizeof *m->mask * sizeof(uint4);
    return (tiles + (double)m->bytes[SP_VAL]) / (double)m->groups;
}

/** Returns true if the matrix has leaves of long rows, but most of its panels have few entries, unlike panels
 *  of leaves. */
bool is_mixed(const sp_matrix *m)
{
    const double full = SP_PANEL * SP_LEAF * (double)sp_value_size(m->precision);
    return m->leaves > 0 && panel_bytes(m) < full / 2;
}

/** Divides the shared memory between the tiles and values of a step and rows of X. */
void divide_room(sp_stage_shape *shape, double capacity)
{
    shape->capacity = ((int)capacity / 128 + 1) * 128;
    shape->slots = (shape->room - DEPTH * shape->capacity) / SP_STAGED_PITCH;
    if (shape->slots > SP_STAGED_ROWS) shape->slots = SP_STAGED_ROWS;
}

/** Chooses the shape of the first plan. Returns 0 if rows of X are too short or too long, or if the GPU does
 *  not support the kernel. */
int choose_shape(const sp_setup *setup, sp_stage_shape *shape)
{
    /* MOST: maximum bytes for the tiles and values of a step. ROOM: their capacity relative to the mean size
     * of the panels of a step. */
    enum { MOST = 30 << 10 };
    static const double ROOM = 1.25;
    int device, multiprocessors, shared;
    const sp_matrix *const m = setup->a;
    const int64_t bytes = setup->k * sp_value_size(m->precision);
    if (!sp_device_starts_early() || bytes < SP_STAGED_BYTES || bytes > SP_STAGED_TILES * SP_STAGED_BYTES)
        return 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
        return 0;
    const double step = is_mixed(m) ? (double)MOST : ROOM * SP_STEP_PANELS * panel_bytes(m);
    shape->value_bytes = (int)sp_value_size(m->precision);
    shape->sequences = multiprocessors / tiles_of(bytes);
    shape->room = shared - BARRIER_BYTES;
    divide_room(shape, step < MOST ? step : (double)MOST);
    return shape->sequences > 0;
}

/** Returns the capacity of steps with which another plan is likely to be better; 0: this plan is good. A
 *  product is the fastest if steps are long and their capacity is nearly full. If the capacity is too small,
 *  steps are limited by tiles and values; if it is too large, they are limited by rows of X
 *  (bench/records/HISTORY.md). */
double better_capacity(const sp_matrix *m, const sp_staging *p)
{
    /* LONG: number of panels per step that is sufficient.
     * FULL: best filled share of the capacity. The capacity is too large if the share is below LOOSE, and may
     * be too small if it is above TIGHT.
     * LIVE: rows of X in shared memory per panel while its step and the next one are active, relative to the
     * rows that are copied for the panel.
     * GROWTH: minimum change of the capacity for another plan. */
    enum { LONG = 13 };
    static const double FULL = 0.88, LOOSE = 0.83, TIGHT = 0.86, LIVE = 2.15, GROWTH = 1.1;
    const double panels = (double)m->groups, bytes = panel_bytes(m), steps = (double)p->all_steps,
                 filled = bytes * panels / steps, share = filled / p->shape.capacity;
    if (panels >= LONG * steps) return 0;
    if (share < LOOSE) return filled / FULL;
    const double rows = LIVE * (double)p->copies / panels * SP_STAGED_PITCH,
                 balanced = p->shape.room / (DEPTH * (1 + FULL * rows / bytes));
    return share > TIGHT && balanced > GROWTH * p->shape.capacity ? balanced : 0;
}

/** Makes the plan, and a second plan if that is likely to be better. *plan is NULL if there is no plan. */
spmm_status make_plans(const sp_matrix *m, sp_stage_shape shape, sp_staging **plan)
{
    sp_staging *other = NULL;
    spmm_status status = sp_staging_plan(m, &shape, plan);
    const double capacity = status == SPMM_OK && *plan && !is_mixed(m) ? better_capacity(m, *plan) : 0;
    if (capacity > 0) {
        const int grows = capacity > shape.capacity;
        divide_room(&shape, capacity);
        status = sp_staging_plan(m, &shape, &other);
        if (other && (!grows || other->all_steps < (*plan)->all_steps)) {
            sp_staging *const first = *plan;
            *plan = other;
            other = first;
        }
        sp_staging_free(other);
    }
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status; /* without a plan, products use panel_mma */
}

void release(void *state)
{
    staged_state *const s = (staged_state *)state;
    if (!s) return;
    sp_device_free(s->lists.leaf);
    sp_staging_free(s->plan);
    sp_free(s);
}

spmm_status prepare(const sp_setup *setup, void **state)
{
    staged_state *s;
    sp_stage_shape shape = {};
    *state = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a plan"));
    s->columns = (int)setup->k;
    spmm_status status = sp_cuda_leaf_sums(setup, &s->lists.leaf);
    if (status == SPMM_OK && setup->a->rows > 0 && choose_shape(setup, &shape) &&
        with_real(setup->a->precision, [](auto value) { return allow_shared_memory<decltype(value)>(); })) {
        status = make_plans(setup->a, shape, &s->plan);
    }
    if (status == SPMM_OK)
        *state = s;
    else
        release(s);
    return status;
}

} // namespace

SP_KERNEL(panel_staged) = {run, prepare, release, NULL, sp_kernel_any_k, NULL};
