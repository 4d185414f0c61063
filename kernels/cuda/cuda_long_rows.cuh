/** Long rows of the CUDA kernels. Rows of more than SP_CHAIN entries are summed section by section
 *  (summation.h), in the same launch as the other rows: the first blocks of a grid sum packs of sections, the
 *  other blocks sum rows. A section that is a whole row is stored in Y. The sums of the sections of a longer
 *  row are stored in memory, and the block that stores the last of them adds them in order. A counter shows
 *  which block is the last, as in the CUDA sample threadFenceReduction. No value is added atomically, so that
 *  the bits of Y do not depend on which block is the last. */
#ifndef SP_CUDA_LONG_ROWS_CUH
#define SP_CUDA_LONG_ROWS_CUH

#include "kernels/cuda/cuda_vector.cuh"

/** State of a kernel: its work lists and the sums of sections, in GPU memory. */
struct sp_work_lists {
    int64_t rows; /* number of short rows in `row`; only csr_balanced, csr_clustered and csr_deep list them */
    sp_short_row *row;
    sp_sections long_rows; /* in GPU memory; arrays that the matrix contains are NULL here */
    void *partial;         /* [partials x partial_ld(k)]: the sum of section i is in row i */
    unsigned *counter;     /* one counter per sum in `partial`; zero between products */
    void *leaf;   /* only for panels: [leaves x partial_ld(k)] the sums of the leaves of long rows, or NULL */
    void *common; /* from sp_cuda_find_common(); NULL: the values were not examined */
    int equal;    /* 1: the values are all equal */
    int wide;     /* 0: values are f64, f32 represents all of them exactly, and `narrow`, if not NULL,
                        contains them */
    float *narrow; /* [values of the matrix], from sp_cuda_find_common(); it stays allocated while `wide` is
                        1 */
    /* only for sell_rows, from sp_cuda_short_columns(); NULL: it reads the column indices of the matrix */
    int32_t *base;         /* [slices]: the least column index of each slice */
    uint32_t *column_pair; /* the column indices of two entries of a row, each minus the `base` of the slice,
                              in 16 bits */
};

/** Checks on the GPU whether all values of setup->a have the same bits, and whether f32 represents all f64
 *  values exactly, and stores the result in the work lists: `equal` and `wide` for launches, and `common` for
 *  kernels. If f32 represents the values and they are not all equal, copies them to f32 for products with few
 *  columns, unless memory is short or the format is SPMM_PANEL. A kernel that was launched for equal or
 *  narrow values checks in `common` whether they still are, because a CUDA graph may repeat the launch after
 *  the values have changed. Local; complete on return.
 *  \param [in,out] state  a sp_work_lists; if NULL, it is made, and the caller frees it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_find_common(const sp_setup *setup, void **state);

/** Stores the column indices of SPMM_SELL in 16 bits, relative to the least one of the slice, if that is
 *  possible in all slices and if later products have one column: then column indices are a large part of the
 *  memory traffic. The pairs of slice i, whose entries begin at index e of the matrix's arrays, begin
 *  at pair (e + i * SP_SLICE) / 2. Pair j of row r of the slice is j * SP_SLICE + r pairs later. Padding has
 *  the value SP_NO_COLUMN. Local; complete on return.
 *  \param [in,out] s  `base` and `column_pair` stay NULL if 16 bits do not suffice, if there will be several
 *                     columns, or if there is no memory for them
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_cuda_short_columns(const sp_setup *setup, sp_work_lists *s);

enum { SP_NO_COLUMN = 0xffff };

/** The set_k() of a kernel: copies the values to f32 when products change to few columns, if f32 represents
 *  the values exactly. */
spmm_status sp_cuda_set_k(const sp_setup *setup, void *state);

/** sp_cuda_find_common() as the new_values() of a kernel. */
spmm_status sp_cuda_new_values(const sp_setup *setup, void *state);

/** The prepare() of a kernel: lists the sections of the long rows of a matrix. Local.
 *  \param [in]  start  index of the first entry of each row in setup->a's arrays; NULL: setup->a->width
 *                      entries per row
 *  \param [out] state  the caller frees it with sp_cuda_release_lists(); NULL on failure, and if no row is
 *                      long
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_prepare_long_rows(const sp_setup *setup, const int64_t *start, void **state);

/** Like sp_cuda_prepare_long_rows(), for SPMM_CSR: lists the long rows on the GPU. The state is NULL only on
 *  failure, and if setup->longest says that no row is long. */
spmm_status sp_cuda_prepare_csr(const sp_setup *setup, void **state);

/** Like sp_cuda_prepare_long_rows(), for SPMM_SELL, whose matrix contains the list: allocates the other data
 *  that products need, and calls sp_cuda_find_common(). The state is NULL only on failure. */
spmm_status sp_cuda_prepare_sums(const sp_setup *setup, void **state);

/** Frees work lists; accepts NULL. Local. */
void sp_cuda_release_lists(void *state);

namespace {

constexpr int BLOCK_WARPS = 4, BLOCK = WARP * BLOCK_WARPS, SECTION_LEAVES = SP_SECTION / SP_LEAF;

/** The members of a kernel's arguments that describe its long rows. `partial` and `counter` are as in
 *  sp_work_lists. partial_ld: leading dimension of `partial`. section_blocks: number of blocks that sum
 *  sections: pack_blocks for each of the `parts` of a tile of columns. staged: true if these blocks use
 *  sum_staged(). */
template <typename T> struct long_row_args : conjugation<T> {
    const sp_section *section;
    const int32_t *pack;
    const sp_segment *segment;
    int64_t packs, partials;
    T *partial;
    int64_t partial_ld;
    unsigned *counter;
    unsigned section_blocks, pack_blocks, parts;
    bool staged;
};

/** The share of a product that a block which sums sections computes. Its packs are determined by its number
 *  `block` among pack_blocks blocks. Its columns begin at first_column; `tile` is the number of their part,
 *  counted through the parts of all tiles. */
struct section_place {
    int64_t block;
    unsigned tile;
    int first_column;
};

/** Maximum number of vectors per row of X that counts as few columns. */
constexpr int FEW_VECTORS = 2;

/** 1 if blocks that compute this number of vectors per row of X can fetch the entries of a pack together
 *  (staged_leaves). With one lane per leaf, they always do. */
template <int vectors> constexpr bool can_stage = vectors <= FEW_VECTORS;

/** Number of vectors of columns per part of a tile. FEW_PACKS packs or fewer are summed part by part. That
 *  takes more blocks with shorter chains, and the multiprocessors compute these at the same time as short
 *  rows. With more packs, whole tiles are faster: they take fewer instructions per byte of X. */
constexpr int PART_VECTORS = 8, FEW_PACKS = 66;
template <int L, int N> constexpr bool can_part = (L * N > PART_VECTORS);

/** How a block sums packs of sections with L lanes per leaf and N vectors of columns per lane. A staged block
 *  sums one pack. */
template <int L, int N, bool staged> struct section_shape {
    static constexpr int subwarps = BLOCK / L;
    static constexpr int packs = !staged && subwarps > SECTION_LEAVES ? subwarps / SECTION_LEAVES : 1;
    static constexpr int leaves = !staged ? packs * SECTION_LEAVES / subwarps : 1; /* leaves per sub-warp */
    /* number of sums per pack that pass through shared memory: sums of leaves, or of segments if a sub-warp
     * sums whole segments */
    static constexpr int sums = leaves < SP_LEAVES ? SECTION_LEAVES : SP_SEGMENTS;
    static constexpr int vectors = L * N;
};

/** Returns segment number `segment` of pack p; a segment of length 0 if there is no such pack or segment. */
template <typename T>
__device__ inline sp_segment segment_of(const long_row_args<T> &a, int64_t p, int segment)
{
    if (p >= a.packs) return {0, 0, 0};
    const int4 s = __ldg((const int4 *)(a.segment + p * SP_SEGMENTS + segment)); /* in one load */
    return {(int64_t)((uint64_t)(uint32_t)s.y << 32 | (uint32_t)s.x), s.z, s.w};
}

/** Returns the number of entries in leaf `leaf` of a segment. A segment that is one chain consists of its
 *  first leaf only. */
__device__ inline int leaf_length(const sp_segment &s, int leaf)
{
    if (s.chain) return leaf == 0 ? s.length : 0;
    return max(0, min(s.length - leaf * SP_LEAF, (int)SP_LEAF));
}

/** Returns section i, in one load. */
template <typename T> __device__ inline sp_section section_of(const long_row_args<T> &a, int i)
{
    const int4 s = __ldg((const int4 *)(a.section + i));
    return {s.x, s.y, s.z, (int16_t)(s.w & 0xffff), (uint8_t)(s.w >> 16 & 0xff), (uint8_t)(s.w >> 24 & 0xff)};
}

/** The sections of a block. */
struct block_sections {
    int first, second_pack,
        end;         /* indices of the first section, of the first section of the second pack, and one past
                        the last section */
    sp_section mine; /* the first section for which this thread computes a vector of columns */
};

/** Returns the block's sections. They are loaded before the sums are computed, which hides the latency. */
template <typename S, typename T>
__device__ inline block_sections sections_of_block(const long_row_args<T> &a, int64_t block)
{
    const int64_t p = block * S::packs; /* S::packs is at most 2 */
    block_sections b = {__ldg(a.pack + p), __ldg(a.pack + min(p + 1, a.packs)), 0, {}};
    b.end = S::packs > 1 ? __ldg(a.pack + min(p + 2, a.packs)) : b.second_pack;
    const int i = b.first + threadIdx.x / S::vectors;
    if (i < b.end) b.mine = section_of(a, i);
    return b;
}

/** Returns the sum of a section. Adds `count` sums, which are `stride` apart: the sums of its leaves (count =
 *  SECTION_LEAVES) or of its segments (count = SP_SEGMENTS). */
template <int count, typename X>
__device__ inline X section_sum(const X *sums, int stride, const sp_section &s)
{
    constexpr int each = count / SP_SEGMENTS;
    const int length = s.chain ? 1 : s.length;
    X section{};
#pragma unroll
    for (int i = 0; i < SP_SEGMENTS; i++) {
        if (i * SP_SEGMENT >= length) break;
        X segment = sums[i * each * stride];
#pragma unroll
        for (int j = 1; j < each; j++)
            if (i * SP_SEGMENT + j * SP_LEAF < length) add(segment, sums[(i * each + j) * stride]);
        if (i == 0)
            section = segment;
        else
            add(section, segment);
    }
    return section;
}

/** Adds the sums of all sections of a row, part by part. All threads of the block must call it. The threads
 *  with numbers below `vectors` get the result.
 *  \param [in] sums     this thread's vector in the sum of the row's first section; the same vector in the
 *                       next section's sum is `stride` vectors later
 *  \param scratch [BLOCK] in shared memory */
template <int vectors, typename X>
__device__ inline X row_sum(const X *sums, int64_t stride, int count, X *scratch)
{
    constexpr int groups = BLOCK / vectors; /* number of groups of threads; each group sums a part */
    constexpr int batch = 64 / sizeof(X);   /* loads in flight per thread */
    const int group = threadIdx.x / vectors, parts = (count - 1) / SP_SECTIONS + 1;
    X row{};
    for (int first = 0; first < parts; first += groups) {
        const int from = (first + group) * SP_SECTIONS, n = min(count - from, (int)SP_SECTIONS);
        X part{};
        for (int i = 0; i < n; i += batch) {
            X section[batch];
#pragma unroll
            for (int j = 0; j < batch; j++)
                if (i + j < n) section[j] = load_shared(sums + (from + i + j) * stride);
#pragma unroll
            for (int j = 0; j < batch; j++) {
                if (i + j == 0)
                    part = section[j];
                else if (i + j < n)
                    add(part, section[j]);
            }
        }
        scratch[threadIdx.x] = part;
        __syncthreads();
        for (int g = 0; group == 0 && g < min(groups, parts - first); g++)
            if (first + g == 0)
                row = scratch[threadIdx.x];
            else
                add(row, scratch[g * vectors + threadIdx.x]);
        __syncthreads();
    }
    return row;
}

/** Adds 1 to a counter and returns its old value. Call it after a block barrier. A thread of another block
 *  that then sees the counter's new value can read everything that this block stored before the barrier, with
 *  __ldcg(). */
__device__ inline unsigned add_after_stores(unsigned *counter)
{
#if __CUDA_ARCH__ >= 700
    unsigned old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(counter) : "memory");
    return old;
#else
    __threadfence();
    const unsigned old = atomicAdd(counter, 1u);
    __threadfence();
    return old;
#endif
}

/** Returns 1 if this block has stored the last partial sum of the row to which section s belongs. One thread
 *  of the block calls it for each section, after a barrier. If it returns 1, it has reset the counter for the
 *  next product.
 *  \param [in] at    index of section s
 *  \param [in] tile  as in section_place */
template <typename T>
__device__ inline int is_last(const long_row_args<T> &a, const sp_section &s, int64_t at, unsigned tile)
{
    unsigned *const counter = a.counter + tile * a.partials + (at - s.index);
    if (add_after_stores(counter) != (unsigned)s.count - 1) return 0;
    *counter = 0;
    return 1;
}

/** Stores the sums of the block's sections in Y or as partial sums, and adds the sections of each row that is
 *  now complete. All threads of the block must call it.
 *  \param sums [packs * sums * vectors] in shared memory: the sums on entry; afterwards used as scratch
 *  [BLOCK]
 *  \param [in] y  address of row 0 of Y at the first column of the product; columns: number of columns */
template <typename S, typename T, typename X>
__device__ inline void finish_sections(const long_row_args<T> &a, const block_sections &b,
                                       const section_place &place, X *sums, T *y, int64_t ldy, int columns)
{
    __shared__ int last[S::packs * SP_SEGMENTS];
    constexpr int V = sizeof(X) / sizeof(T);
    const int v = threadIdx.x % S::vectors, column = place.first_column + v * V;
    sp_section s = b.mine;
    int several = 0;
    for (int i = b.first + threadIdx.x / S::vectors; i < b.end; i += BLOCK / S::vectors) {
        if (i >= b.first + BLOCK / S::vectors) s = section_of(a, i);
        const int segment = s.slot + (i >= b.second_pack ? SP_SEGMENTS : 0);
        const X *const own = sums + segment * (S::sums / SP_SEGMENTS) * S::vectors + v;
        several |= s.count > 1;
        if (column >= columns) continue;
        T *const to = s.count == 1 ? y + s.row * ldy : a.partial + i * a.partial_ld;
        *(X *)(to + column) = section_sum<S::sums>(own, S::vectors, s);
    }
    if (!__syncthreads_or(several)) return;
    if ((int)threadIdx.x < b.end - b.first) {
        s = section_of(a, b.first + threadIdx.x);
        last[threadIdx.x] = s.count > 1 && is_last(a, s, b.first + threadIdx.x, place.tile);
    }
    __syncthreads();
    for (int i = b.first; i < b.end; i++) {
        if (!last[i - b.first]) continue;
        s = section_of(a, i);
        const T *const partial = a.partial + (i - s.index) * a.partial_ld;
        const int valid = column < columns ? column : place.first_column;
        const X row = row_sum<S::vectors>((const X *)(partial + valid), a.partial_ld / V, s.count, sums);
        if ((int)threadIdx.x < S::vectors && column < columns) *(X *)(y + s.row * ldy + column) = row;
    }
}

/** Copies an element from global to shared memory, asynchronously if the GPU supports it. */
template <typename X> __device__ inline void copy_async(X *to, const void *from)
{
#if __CUDA_ARCH__ < 800
    *to = *(const X *)from;
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "n"(sizeof(X))
                 : "memory");
#endif
}

/** Waits for this thread's asynchronous copies. */
__device__ inline void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/** Leaves of a pack in shared memory: for some of their entries, `vectors` vectors of the rows of X and the
 *  values of A. Rows of the arrays are padded, so that lanes that read different rows access different
 *  banks. */
template <typename T, typename X, int vectors> struct staged_leaves {
    static constexpr int entries = SP_LEAF / vectors;
    X x[vectors][SECTION_LEAVES][entries + 1];
    T val[SECTION_LEAVES][entries + 1];
};

/** Returns the first entry of part i of a leaf, as an index in the segment. In a segment that is one chain,
 *  part i of the first leaf, of the second leaf and so on contain consecutive entries, so that one lane can
 *  add them in order. */
template <int vectors> __device__ inline int entry_of(bool chain, int leaf, int i)
{
    constexpr int part = SP_LEAF / vectors;
    return chain ? i * (SP_SEGMENT / vectors) + leaf * part : leaf * (int)SP_LEAF + i * part;
}

/** Sums the leaves of pack p for few columns. With few columns, the few lanes per leaf would read A and X
 *  uncoalesced and wait for each entry. Instead, all threads of the block fetch the entries, and then each
 *  lane of the first warps adds one vector of a leaf. All threads of the block must call it.
 *  \param [in]  col, val, pitch  as in rows_args
 *  \param [in]  x     vector number threadIdx.x % vectors of row 0 of X
 *  \param [out] sums  [SECTION_LEAVES * vectors] in shared memory; may be the memory of `stage` */
template <int vectors, typename T, typename X>
__device__ inline void sum_staged(const long_row_args<T> &a, const int32_t *col, const T *val, const char *x,
                                  uint32_t pitch, int64_t p, staged_leaves<T, X, vectors> &stage, X *sums)
{
    constexpr int rows = SECTION_LEAVES / BLOCK_WARPS /* leaves per warp */, part = SP_LEAF / vectors;
    const int lane = threadIdx.x % WARP, first = threadIdx.x / WARP * rows, entry = lane / vectors;
    sp_segment of[rows / SP_LEAVES];
    int32_t c[rows][vectors];
#pragma unroll
    for (int u = 0; u < rows; u++) {
        if (u % SP_LEAVES == 0) of[u / SP_LEAVES] = segment_of(a, p, (first + u) / SP_LEAVES);
#pragma unroll
        for (int i = 0; i < vectors; i++) {
            const sp_segment &s = of[u / SP_LEAVES];
            const int e = entry_of<vectors>(s.chain, u % SP_LEAVES, i) + entry;
            c[u][i] = e < s.length ? __ldcs(col + s.begin + e) : -1;
        }
    }
    wait_for_previous();
#pragma unroll
    for (int u = 0; u < rows; u++) use_after(c[u]);
    const int leaf = lane, mine = threadIdx.x / WARP; /* the leaf and the vector that this thread adds */
    const sp_segment s = segment_of(a, p, leaf / SP_LEAVES);
    const int length = leaf_length(s, leaf % SP_LEAVES), most = s.chain ? SP_SEGMENT / vectors : part;
    X sum{};
#pragma unroll
    for (int i = 0; i < vectors; i++) {
        if (i > 0) __syncthreads();
#pragma unroll
        for (int u = 0; u < rows; u++) {
            if (c[u][i] < 0) continue;
            copy_async(&stage.x[lane % vectors][first + u][entry], row_of(x, c[u][i], pitch));
            const sp_segment &of_u = of[u / SP_LEAVES];
            const int e = entry_of<vectors>(of_u.chain, u % SP_LEAVES, i) + entry;
            if (lane % vectors == 0) copy_async(&stage.val[first + u][entry], val + of_u.begin + e);
        }
        wait_for_copies();
        __syncthreads();
        if (mine >= vectors) continue;
        int left = min(length - i * most, most);
        for (int row = leaf; left > 0; left -= part, row++) {
            const int n = min(left, part);
#pragma unroll 8
            for (int j = 0; j < n; j++) multiply_add(sum, a.factor(stage.val[row][j]), stage.x[mine][row][j]);
        }
    }
    __syncthreads();
    if (mine < vectors) sums[leaf * vectors + mine] = sum;
}

/** Returns the size in bytes of the dynamic shared memory of blocks that sum sections. */
template <typename T, typename X, int L, int N> size_t section_memory(bool staged)
{
    using S = section_shape<L, N, L == 1>;
    constexpr int vectors = can_stage<S::vectors> ? S::vectors : 1;
    const size_t sums = (size_t)S::packs * S::sums * S::vectors;
    const size_t least = (sums > BLOCK ? sums : BLOCK) * sizeof(X);
    const size_t stage = staged ? sizeof(staged_leaves<T, X, vectors>) : 0;
    return least > stage ? least : stage;
}

/** Sets the number of blocks that sum sections with L lanes per leaf. \return their dynamic shared memory */
template <typename X, int L, int N, typename A> size_t set_section_blocks(A &a, int columns)
{
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(a.y)>>;
    constexpr int V = sizeof(X) / sizeof(T);
    if (a.packs == 0) return 0;
    a.pack_blocks = grid_of(a.packs, a.staged ? 1 : section_shape<L, N, L == 1>::packs);
    a.parts = (unsigned)((columns - 1) / (L * N * V) + 1);
    a.section_blocks = a.pack_blocks * a.parts;
    return section_memory<T, X, L, N>(a.staged);
}

/** Queues a kernel that sums `rows` short rows with L lanes per row, and the sections of the long rows. */
template <typename X, int L, int N, typename A>
void launch_rows_and_sections(void (*kernel)(A), A a, int64_t rows, int tiles, cudaStream_t stream)
{
    constexpr int V = sizeof(X) / sizeof *a.y, tile = L * N * V;
    const unsigned row_blocks = rows > 0 ? grid_of(rows, BLOCK / L) : 0;
    const bool in_parts = can_part<L, N> && a.packs <= FEW_PACKS && a.columns > PART_VECTORS * V;
    a.staged = L == 1 || (can_stage<L * N> && a.staged);
    const size_t shared = in_parts ? set_section_blocks<X, PART_VECTORS, 1>(a, min(a.columns, tile))
                                   : set_section_blocks<X, L, N>(a, 1);
    const dim3 grid(a.section_blocks + min(row_blocks, INT32_MAX - a.section_blocks), (unsigned)tiles);
    launch_early(kernel, grid, BLOCK, shared, stream, a, L);
}

/** Returns sp_work_lists.common if the variant for equal or for narrow values is to be launched; NULL: the
 *  variant that reads the values of A is to be launched.
 *  \param [out] narrow  the narrow values if the variant for narrow values is to be launched, else NULL */
template <typename T> const T *common_of(const sp_launch *l, const sp_work_lists *lists, const float **narrow)
{
    *narrow = NULL;
    if (!lists || l->x->k > SP_MOST_EQUAL) return NULL;
    if (lists->equal) return (const T *)lists->common;
    if (!lists->wide) *narrow = lists->narrow;
    return *narrow ? (const T *)lists->common : NULL;
}

/** Calls use(P) with the policy P, an integral constant, of the variant to launch.
 *  \param few  1: there are variants for equal and narrow values */
template <bool few, typename T, typename A, typename F> auto with_policy(const A &a, F use)
{
    if constexpr (few && sizeof(T) == sizeof(double))
        if (a.narrow) return use(std::integral_constant<int, NARROW>());
    if constexpr (few)
        if (a.common && !a.narrow) return use(std::integral_constant<int, EQUAL>());
    return use(std::integral_constant<int, OWN>());
}

/** Sets the members of a kernel's arguments that describe its long rows; `lists` may be NULL. */
template <typename T>
void set_long_rows(long_row_args<T> &a, const sp_work_lists *lists, const sp_matrix *m, int64_t k)
{
    if (!lists) return;
    const sp_sections *const p = &lists->long_rows;
    a.section = p->section ? p->section : m->section;
    a.pack = p->section ? p->pack : m->pack;
    a.segment = p->section ? p->segment : m->segment;
    a.packs = p->packs;
    a.staged = m->nnz <= SP_STAGED_ENTRIES;
    a.partials = p->partials;
    a.partial = (T *)lists->partial;
    a.partial_ld = partial_ld(k);
    a.counter = lists->counter;
}

} // namespace

#endif
