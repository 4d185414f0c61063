/** Creates work lists and sliced ELLPACK from CSR in GPU memory (formats/sell.h). A first pass counts the
 *  rows by length, from which the host computes the sizes of all lists. A stable radix sort by class (CUB)
 *  brings the rows into the order of the lists, long rows first. Further passes write the lists. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "order/row_clusters.h"
#include "formats/sell.h"
}

namespace {

constexpr int WARP = 32, LENGTHS = SP_CHAIN + 1, SECTION_CLASSES = SP_SEGMENTS + 1;

/** Counts of rows. Class 0 of the long rows contains rows of several sections, class c > 0 contains rows of
 *  SECTION_CLASSES - c segments, as in sell.c. */
struct statistics {
    unsigned long long of_length[LENGTHS], of_class[SECTION_CLASSES];
    unsigned long long sections;     /* number of sections of the rows of class 0 */
    unsigned long long long_entries; /* entries in rows of more than SP_CHAIN entries */
    unsigned long long
        padded[2]; /* number of stored entries of the slices if rows keep their order: [0] if rows of up to
                      SP_LEAF entries are short, [1] if rows of up to SP_CHAIN entries are */
};

__host__ __device__ inline int64_t sections_of(int64_t length) { return (length - 1) / SP_SECTION + 1; }

__host__ __device__ inline int segments_of(int64_t length) { return (int)((length - 1) / SP_SEGMENT + 1); }

__host__ __device__ inline int section_class(int64_t length)
{
    return length > SP_SECTION ? 0 : SECTION_CLASSES - segments_of(length);
}

/** Number of sections of a class in a pack. */
__host__ __device__ inline int per_pack(int c) { return c == 0 ? 1 : SP_SEGMENTS / (SECTION_CLASSES - c); }

/** Returns the largest value in a warp. */
__device__ inline int warp_max(int value)
{
    for (int step = WARP / 2; step > 0; step /= 2) value = max(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

__global__ void __launch_bounds__(THREADS) count_rows(const int64_t *row_start, int64_t rows, statistics *s)
{
    __shared__ unsigned of_length[LENGTHS], of_class[SECTION_CLASSES];
    for (int i = threadIdx.x; i < LENGTHS; i += THREADS) of_length[i] = 0;
    if (threadIdx.x < SECTION_CLASSES) of_class[threadIdx.x] = 0;
    __syncthreads();
    unsigned long long sections = 0, long_entries = 0, padded[2] = {0, 0};
    for (int64_t first = first_item() / WARP * WARP; first < rows; first += grid_size()) {
        const int64_t i = first + threadIdx.x % WARP;
        const int64_t length = i < rows ? row_start[i + 1] - row_start[i] : 0;
        if (i < rows && length <= SP_CHAIN) atomicAdd(&of_length[length], 1u);
        if (length > SP_CHAIN) {
            atomicAdd(&of_class[section_class(length)], 1u);
            long_entries += length;
            if (length > SP_SECTION) sections += sections_of(length);
        }
        padded[0] += warp_max((int)(length <= SP_LEAF ? length : 0));
        padded[1] += warp_max((int)(length <= SP_CHAIN ? length : 0));
    }
    if (long_entries) atomicAdd(&s->long_entries, long_entries);
    if (sections) atomicAdd(&s->sections, sections);
    /* all lanes have the same sum of widths; a slice stores WARP entries per column */
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&s->padded[0], padded[0] * WARP);
        atomicAdd(&s->padded[1], padded[1] * WARP);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LENGTHS; i += THREADS)
        if (of_length[i]) atomicAdd(&s->of_length[i], (unsigned long long)of_length[i]);
    if (threadIdx.x < SECTION_CLASSES && of_class[threadIdx.x])
        atomicAdd(&s->of_class[threadIdx.x], (unsigned long long)of_class[threadIdx.x]);
}

/** Returns the class of a short row for sorting: smaller numbers for longer rows, see class_of() in
 *  sell.c. */
__device__ inline int order_class(int length, sp_order order)
{
    if (order == SP_ORDER_ROWS) return 0;
    if (order == SP_ORDER_LENGTHS) return SP_CHAIN - length;
    return length ? __clz(length) - __clz(SP_CHAIN) : 8;
}

__global__ void __launch_bounds__(THREADS)
    classify(const int64_t *row_start, int64_t rows, int64_t limit, sp_order order, const int32_t *given,
             int shift, uint32_t *key, int32_t *row)
{
    for (int64_t j = first_item(); j < rows; j += grid_size()) {
        const int64_t i = given ? given[j] : j, length = row_start[i + 1] - row_start[i];
        key[j] = (uint32_t)(length > limit ? section_class(length)
                                           : 16 + (j >> shift << 8) + order_class((int)length, order));
        row[j] = (int32_t)i;
    }
}

__global__ void __launch_bounds__(THREADS)
    list_short_rows(const int64_t *row_start, const int32_t *sorted, int64_t count, sp_short_row *list)
{
    for (int64_t j = first_item(); j < count; j += grid_size()) {
        const int32_t row = sorted[j];
        const int64_t begin = row_start[row];
        list[j] = {begin, (int32_t)(row_start[row + 1] - begin), row};
    }
}

/** The sizes of the lists of long rows. Class c has the sorted rows [row[c], row[c + 1]), the sections
 *  [section[c], section[c + 1]) and the packs [pack[c], pack[c + 1]). */
struct class_ranges {
    int64_t row[SECTION_CLASSES + 1], section[SECTION_CLASSES + 1], pack[SECTION_CLASSES + 1];
};

/** Returns the class whose range contains element i. */
__device__ inline int class_of(const int64_t (&first)[SECTION_CLASSES + 1], int64_t i)
{
    int c = 0;
    while (c < SECTION_CLASSES - 1 && i >= first[c + 1]) c++;
    return c;
}

/** Sets the number of sections of each row of class 0. */
__global__ void __launch_bounds__(THREADS)
    count_sections(const int64_t *row_start, const int32_t *sorted, int64_t rows, int64_t *count)
{
    for (int64_t j = first_item(); j < rows; j += grid_size())
        count[j] = sections_of(row_start[sorted[j] + 1] - row_start[sorted[j]]);
}

/** Lists the sections of the long rows.
 *  \param [in] first  first section of each row of class 0 */
__global__ void __launch_bounds__(THREADS)
    list_sections(const int64_t *row_start, const int32_t *sorted, const __grid_constant__ class_ranges r,
                  const int64_t *first, sp_section *list)
{
    for (int64_t j = first_item(); j < r.row[SECTION_CLASSES]; j += grid_size()) {
        const int32_t row = sorted[j];
        const int64_t length = row_start[row + 1] - row_start[row], count = sections_of(length);
        const int c = class_of(r.row, j);
        const int64_t at = c == 0 ? first[j] : r.section[c] + j - r.row[c];
        const int slot = c == 0 ? 0 : (int)((j - r.row[c]) % per_pack(c)) * (SECTION_CLASSES - c);
        for (int64_t s = 0; s < count; s++) {
            const int64_t left = length - s * SP_SECTION;
            list[at + s] = {row,
                            (int32_t)s,
                            (int32_t)count,
                            (int16_t)(left < SP_SECTION ? left : SP_SECTION),
                            (uint8_t)slot,
                            (uint8_t)(length <= SP_CHAIN)};
        }
    }
}

/** Lists the sections and the segments of each pack.
 *  \param [in] start   index of the first entry of each row
 *  \param [in] offset  added to `start` */
__global__ void __launch_bounds__(THREADS)
    list_packs(const __grid_constant__ class_ranges r, const sp_section *section, const int64_t *start,
               int64_t offset, int32_t *pack, sp_segment *segment)
{
    const int64_t packs = r.pack[SECTION_CLASSES];
    if (first_item() == 0) pack[packs] = (int32_t)r.section[SECTION_CLASSES];
    for (int64_t p = first_item(); p < packs; p += grid_size()) {
        const int c = class_of(r.pack, p);
        const int64_t first = r.section[c] + (p - r.pack[c]) * per_pack(c);
        const int64_t end = min(first + per_pack(c), r.section[c + 1]);
        sp_segment *const own = segment + p * SP_SEGMENTS;
        pack[p] = (int32_t)first;
        for (int g = 0; g < SP_SEGMENTS; g++) own[g] = {0, 0, 0};
        for (int64_t i = first; i < end; i++) {
            const sp_section s = section[i];
            const int64_t begin = offset + start[s.row] + (int64_t)s.index * SP_SECTION;
            for (int g = 0; g < segments_of(s.length); g++)
                own[s.slot + g] = {begin + g * SP_SEGMENT, min(s.length - g * SP_SEGMENT, (int)SP_SEGMENT),
                                   s.chain};
        }
    }
}

/** Sets the number of entries of each long row, and 0 for the other rows. */
__global__ void __launch_bounds__(THREADS)
    long_lengths(const int64_t *row_start, int64_t rows, int64_t limit, int64_t *length)
{
    for (int64_t i = first_item(); i < rows; i += grid_size()) {
        const int64_t n = row_start[i + 1] - row_start[i];
        length[i] = n > limit ? n : 0;
    }
}

/** Sets the number of stored entries of each slice, and 0 at index `slices`. */
__global__ void __launch_bounds__(THREADS)
    slice_sizes(const sp_short_row *row, int64_t rows, int64_t slices, int64_t *size)
{
    for (int64_t i = first_item(); i <= slices * WARP; i += grid_size()) {
        const int width = i < rows ? row[i].length : 0;
        if (i == slices * WARP) {
            size[slices] = 0;
            break;
        }
        const int most = warp_max(width);
        if (threadIdx.x % WARP == 0) size[i / WARP] = (int64_t)most * SP_SLICE;
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    fill_slices(const sp_short_row *row, int64_t rows, int64_t slices, const int64_t *slice_start,
                const int32_t *from_col, const T *from_val, int32_t *target, int32_t *col, T *val)
{
    for (int64_t i = first_item(); i < slices * SP_SLICE; i += grid_size()) {
        const sp_short_row own = i < rows ? row[i] : sp_short_row{0, 0, INT32_MIN};
        const int64_t slice = i / SP_SLICE, start = slice_start[slice] + i % SP_SLICE;
        const int width = (int)((slice_start[slice + 1] - slice_start[slice]) / SP_SLICE);
        target[i] = own.row;
        for (int j = 0; j < width; j++) {
            const bool entry = j < own.length;
            col[start + (int64_t)j * SP_SLICE] = entry ? from_col[own.begin + j] : -1;
            val[start + (int64_t)j * SP_SLICE] = entry ? from_val[own.begin + j] : T{};
        }
    }
}

/** Copies the entries of the long rows, one block per row. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    copy_rows(const int32_t *sorted, int64_t rows, const int64_t *row_start, const int64_t *start,
              const int32_t *from_col, const T *from_val, int32_t *col, T *val)
{
    for (int64_t j = blockIdx.x; j < rows; j += gridDim.x) {
        const int32_t row = sorted[j];
        const int64_t begin = row_start[row], length = row_start[row + 1] - begin, to = start[row];
        for (int64_t e = threadIdx.x; e < length; e += THREADS) {
            col[to + e] = from_col[begin + e];
            val[to + e] = from_val[begin + e];
        }
    }
}

/** Data of all passes. `sorted`: the rows by class, long ones first. All arrays except the counts are in GPU
 *  memory. */
struct lists {
    const sp_matrix *a;
    cudaStream_t stream;
    statistics count;
    int64_t limit; /* maximum number of entries of a short row */
    sp_order order;
    class_ranges range;
    int64_t short_rows;
    arena memory;
    int shift;            /* rows are sorted within windows of 1 << shift rows */
    const int32_t *given; /* order of the rows before sorting; NULL: their order in the matrix */
    int32_t *sorted;
};

/** Returns the number of rows with more than SP_LEAF and up to SP_CHAIN entries, and the number of entries in
 *  them. */
int64_t medium_rows(const statistics *s, int64_t *entries)
{
    int64_t rows = 0;
    *entries = 0;
    for (int n = SP_LEAF + 1; n <= SP_CHAIN; n++) {
        rows += (int64_t)s->of_length[n];
        *entries += (int64_t)s->of_length[n] * n;
    }
    return rows;
}

/** Computes the sizes of all lists from the counts. \return SPMM_OK, SPMM_ERR_LIMIT */
spmm_status compute_sizes(lists *l, int64_t k, sp_sections *p)
{
    statistics *const s = &l->count;
    int64_t medium_entries;
    const int64_t medium = medium_rows(s, &medium_entries);
    l->limit = k == 0 ? (int64_t)SP_CHAIN
                      : sp_short_row_limit_for(medium_entries, l->a->nnz, k, l->a->precision);
    const bool staged = l->limit < SP_CHAIN;
    if (staged) s->of_class[SECTION_CLASSES - 1] += (unsigned long long)medium;
    p->entries = (int64_t)s->long_entries + (staged ? medium_entries : 0);
    class_ranges *const r = &l->range;
    for (int c = 0; c < SECTION_CLASSES; c++) {
        const int64_t rows = (int64_t)s->of_class[c], sections = c == 0 ? (int64_t)s->sections : rows;
        r->row[c + 1] = r->row[c] + rows;
        r->section[c + 1] = r->section[c] + sections;
        r->pack[c + 1] = r->pack[c] + (sections + per_pack(c) - 1) / per_pack(c);
    }
    p->count = r->section[SECTION_CLASSES];
    p->partials = r->section[1];
    p->packs = r->pack[SECTION_CLASSES];
    l->short_rows = l->a->rows - r->row[SECTION_CLASSES];
    if (p->count <= INT32_MAX) return SPMM_OK;
    return sp_fail(SPMM_ERR_LIMIT, "%lld sections of long rows: expected at most 2^31 - 1",
                   (long long)p->count);
}

/** Counts the rows, waits for the counts, and computes the sizes of all lists.
 *  \param [in] k  number of columns of X in later products; 0: all rows of up to SP_CHAIN entries are
 *  short */
spmm_status count(lists *l, int64_t k, sp_sections *p)
{
    statistics *s;
    TRY(sp_device_alloc((void **)&s, sizeof *s, "counts of rows"));
    spmm_status status = sp_device_zero(s, sizeof *s);
    if (status == SPMM_OK) {
        count_rows<<<blocks_for(l->a->rows), THREADS, 0, l->stream>>>(l->a->row_start, l->a->rows, s);
        status = sp_device_launched("count of rows");
    }
    if (status == SPMM_OK) status = sp_device_download(&l->count, s, sizeof *s);
    sp_device_free(s);
    return status == SPMM_OK ? compute_sizes(l, k, p) : status;
}

/** Sorts the rows by class. If no memory has been allocated yet, only computes its size. */
spmm_status sort(lists *l)
{
    const int64_t rows = l->a->rows;
    uint32_t *const key = take<uint32_t>(&l->memory, rows), *const sorted_key = take<uint32_t>(&l->memory,
                                                                                               rows);
    const uint64_t greatest = (uint64_t)(rows > 0 ? (rows - 1) >> l->shift : 0) << 8 | 0xff;
    int bits = 8;
    while (greatest >> bits) bits++;
    int32_t *const row = take<int32_t>(&l->memory, rows);
    l->sorted = take<int32_t>(&l->memory, rows);
    size_t bytes = 0;
    cub::DeviceRadixSort::SortPairs(NULL, bytes, key, sorted_key, row, l->sorted, rows, 0, bits, l->stream);
    void *const temporary = take<char>(&l->memory, (int64_t)bytes);
    if (!l->memory.base) return SPMM_OK;
    classify<<<blocks_for(rows), THREADS, 0, l->stream>>>(l->a->row_start, rows, l->limit, l->order, l->given,
                                                          l->shift, key, row);
    cub::DeviceRadixSort::SortPairs(temporary, bytes, key, sorted_key, row, l->sorted, rows, 0, bits,
                                    l->stream);
    return sp_device_launched("sort of rows");
}

/** Computes the exclusive prefix sums of n numbers in place. */
spmm_status sum_before(lists *l, int64_t *number, int64_t n)
{
    size_t bytes = 0;
    cub::DeviceScan::ExclusiveSum(NULL, bytes, number, number, n, l->stream);
    void *const temporary = take<char>(&l->memory, (int64_t)bytes);
    if (!l->memory.base) return SPMM_OK;
    cub::DeviceScan::ExclusiveSum(temporary, bytes, number, number, n, l->stream);
    return sp_device_launched("sum of row lengths");
}

/** Allocates the sections and packs, and lists them.
 *  \param [in] start, offset  as for list_packs() */
spmm_status make_sections(lists *l, const int64_t *start, int64_t offset, sp_sections *p)
{
    const int64_t long_rows = l->range.row[SECTION_CLASSES], several = l->range.row[1];
    int64_t *const first = take<int64_t>(&l->memory, several);
    if (l->memory.base && several > 0)
        count_sections<<<blocks_for(several), THREADS, 0, l->stream>>>(l->a->row_start, l->sorted, several,
                                                                       first);
    if (several > 0) TRY(sum_before(l, first, several));
    if (!l->memory.base || p->count == 0) return SPMM_OK;
    TRY(sp_device_alloc((void **)&p->section, p->count * (int64_t)sizeof *p->section, "long rows"));
    TRY(sp_device_alloc((void **)&p->pack, (p->packs + 1) * (int64_t)sizeof *p->pack, "long rows"));
    TRY(sp_device_alloc((void **)&p->segment, p->packs * SP_SEGMENTS * (int64_t)sizeof *p->segment,
                        "long rows"));
    list_sections<<<blocks_for(long_rows), THREADS, 0, l->stream>>>(l->a->row_start, l->sorted, l->range,
                                                                    first, p->section);
    list_packs<<<blocks_for(p->packs), THREADS, 0, l->stream>>>(l->range, p->section, start, offset, p->pack,
                                                                p->segment);
    return sp_device_launched("list of long rows");
}

/** Lists the short rows in `row`. */
spmm_status make_short_rows(lists *l, sp_short_row *row)
{
    list_short_rows<<<blocks_for(l->short_rows), THREADS, 0, l->stream>>>(
        l->a->row_start, l->sorted + l->range.row[SECTION_CLASSES], l->short_rows, row);
    return sp_device_launched("list of short rows");
}

spmm_status begin(lists *l, const sp_matrix *a)
{
    l->a = a;
    l->stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    return l->stream ? SPMM_OK : SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
}

/** Runs steps() twice: first to compute the size of the temporary memory, then with this memory. */
template <typename F> spmm_status run_steps(lists *l, F steps)
{
    TRY(steps());
    TRY(arena_open(&l->memory, "lists of rows"));
    spmm_status status = steps();
    if (status == SPMM_OK) status = sp_device_sync();
    arena_close(&l->memory);
    return status;
}

} // namespace

void sp_cuda_sections_destroy(sp_sections *p)
{
    sp_device_free(p->section);
    sp_device_free(p->pack);
    sp_device_free(p->segment);
    *p = {};
}

spmm_status sp_cuda_long_rows(const sp_matrix *a, sp_sections *p)
{
    lists l = {};
    *p = {};
    if (a->rows == 0) return SPMM_OK;
    TRY(begin(&l, a));
    TRY(count(&l, 0, p));
    if (p->count == 0) return SPMM_OK;
    l.shift = SP_WINDOW_ALL;
    const spmm_status status = run_steps(&l, [&]() -> spmm_status {
        TRY(sort(&l));
        return make_sections(&l, a->row_start, 0, p);
    });
    if (status != SPMM_OK) sp_cuda_sections_destroy(p);
    return status;
}

spmm_status sp_cuda_row_lists(const sp_matrix *a, int64_t k, const int32_t *given, int window, sp_order order,
                              sp_short_row **row, int64_t *rows, sp_sections *p)
{
    lists l = {};
    *row = NULL;
    *rows = 0;
    *p = {};
    if (a->rows == 0) return SPMM_OK;
    TRY(begin(&l, a));
    TRY(count(&l, k, p));
    l.given = given;
    l.shift = window;
    l.order = order;
    *rows = l.short_rows;
    const spmm_status status = run_steps(&l, [&]() -> spmm_status {
        TRY(sort(&l));
        TRY(make_sections(&l, a->row_start, 0, p));
        if (!l.memory.base) return SPMM_OK;
        TRY(sp_device_alloc((void **)row, l.short_rows * (int64_t)sizeof **row, "short rows"));
        return make_short_rows(&l, *row);
    });
    if (status == SPMM_OK) return SPMM_OK;
    sp_device_free(*row);
    sp_cuda_sections_destroy(p);
    *row = NULL;
    *rows = 0;
    return status;
}

namespace {

/** Writes the slices, followed by the long rows. */
template <typename T>
spmm_status fill(lists *l, const sp_short_row *row, const int64_t *long_start, int64_t slices_end,
                 sp_matrix *m)
{
    const int64_t long_rows = l->range.row[SECTION_CLASSES];
    fill_slices<T><<<blocks_for(m->groups * SP_SLICE), THREADS, 0, l->stream>>>(
        row, l->short_rows, m->groups, m->row_start, l->a->col, (const T *)l->a->val, m->target, m->col,
        (T *)m->val);
    if (long_rows > 0)
        copy_rows<T><<<(unsigned)(long_rows < 65535 ? long_rows : 65535), THREADS, 0, l->stream>>>(
            l->sorted, long_rows, l->a->row_start, long_start, l->a->col, (const T *)l->a->val,
            m->col + slices_end, (T *)m->val + slices_end);
    return sp_device_launched("slices");
}

/** The passes of sp_cuda_sell(). */
spmm_status sell_steps(lists *l, sp_sections *p, sp_matrix *m)
{
    sp_short_row *const row = take<sp_short_row>(&l->memory, l->short_rows);
    int64_t *const long_start = take<int64_t>(&l->memory, l->a->rows);
    int64_t slices_end = 0;
    TRY(sort(l));
    if (l->memory.base) {
        TRY(make_short_rows(l, row));
        TRY(allocate(m, SP_ROW_START, &m->row_start, m->groups + 1, sizeof *m->row_start));
        slice_sizes<<<blocks_for(m->groups * WARP + 1), THREADS, 0, l->stream>>>(row, l->short_rows,
                                                                                 m->groups, m->row_start);
        if (p->count > 0)
            long_lengths<<<blocks_for(l->a->rows), THREADS, 0, l->stream>>>(l->a->row_start, l->a->rows,
                                                                            l->limit, long_start);
    }
    TRY(sum_before(l, m->row_start, m->groups + 1));
    if (p->count > 0) TRY(sum_before(l, long_start, l->a->rows));
    if (l->memory.base) { TRY(sp_device_download(&slices_end, m->row_start + m->groups, sizeof slices_end)); }
    TRY(make_sections(l, long_start, slices_end, p));
    if (!l->memory.base) return SPMM_OK;
    TRY(allocate(m, SP_TARGET, &m->target, m->groups * SP_SLICE, sizeof *m->target));
    TRY(allocate(m, SP_COL, &m->col, slices_end + p->entries, sizeof *m->col));
    TRY(allocate(m, SP_VAL, &m->val, slices_end + p->entries, sp_value_size(m->precision)));
    return with_type(m->precision,
                     [&](auto value) { return fill<decltype(value)>(l, row, long_start, slices_end, m); });
}

} // namespace

spmm_status sp_cuda_sell(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    lists l = {};
    sp_sections p = {};
    *m = converted(a, SPMM_SELL);
    int32_t *order = NULL;
    spmm_status status = begin(&l, a);
    if (status == SPMM_OK) status = sp_cuda_row_order(a, SP_CLUSTERS_MORE, &order);
    if (status == SPMM_OK) status = count(&l, k, &p);
    if (status == SPMM_OK) {
        l.shift = SP_WINDOW_ALL;
        l.given = order;
        l.order = order ? SP_ORDER_LENGTHS
                        : sp_slice_order((int64_t)l.count.padded[l.limit == SP_CHAIN], a->nnz - p.entries);
        m->groups = (l.short_rows + SP_SLICE - 1) / SP_SLICE;
        status = run_steps(&l, [&]() -> spmm_status { return sell_steps(&l, &p, m); });
    }
    sp_device_free(order);
    m->sections = p.count;
    m->partials = p.partials;
    m->packs = p.packs;
    m->section = p.section;
    m->pack = p.pack;
    m->segment = p.segment;
    m->bytes[SP_LONG_ROWS] = p.count * (int64_t)sizeof *p.section;
    m->bytes[SP_PACK] = p.count > 0 ? (p.packs + 1) * (int64_t)sizeof *p.pack : 0;
    m->bytes[SP_PACKED] = p.packs * SP_SEGMENTS * (int64_t)sizeof *p.segment;
    if (status != SPMM_OK) sp_matrix_destroy(m);
    return status;
}
