/** Writes new values of A, on the same pattern, to the arrays that kernels read.
 *
 *  A format stores the entries of A in its own order, and a kernel's state may contain copies of them. The
 *  source of each value is found without knowledge of the format: a row block is converted whose values are
 *  the numbers of its entries. The result is a map from array elements to entries. Later updates copy values
 *  with that map. */
#include <string.h>

#include "base/memory.h"
#include "device/device_ops.h"
#include "formats/csr.h"
#include "product/row_blocks.h"

enum { MOST_ARRAYS = 1 + SP_MOST_COPIES };

/** The source of the values of one array. */
typedef struct value_map {
    int64_t count;
    int in_order;         /* 1: entry i of the row block is element i; the rest is padding */
    sp_value_place *from; /* [count] the entry of each element, in the memory of the matrix; NULL if
                             in_order */
} value_map;

struct sp_value_maps {
    spmm_device space;
    int count;
    value_map map[MOST_ARRAYS];
};

void sp_value_maps_destroy(sp_value_maps *maps)
{
    for (int n = 0; maps && n < maps->count; n++)
        if (maps->space == SPMM_CUDA)
            sp_device_free(maps->map[n].from);
        else
            sp_free(maps->map[n].from);
    sp_free(maps);
}

/** Lists the arrays that contain values of the row block, except those of its CSR.
 *  \return the number of arrays; -1: the places of the kernel's copies of values are unknown */
static int list_arrays(const sp_kernel *kernel, const sp_row_block *p, sp_value_copy arrays[MOST_ARRAYS])
{
    const int own = !p->a.borrowed && p->a.val;
    if (own) arrays[0] = (sp_value_copy){p->a.val, p->a.bytes[SP_VAL] / sp_value_size(p->csr.precision)};
    const int copies = kernel->ops->values ? kernel->ops->values(p->state, arrays + own) : 0;
    return copies < 0 ? -1 : own + copies;
}

/* ---- maps ---- */

/** Returns how many bytes of a value of that size hold the number of its entry. */
static size_t number_bytes(size_t value) { return value < sizeof(uint64_t) ? value : sizeof(uint64_t); }

/** Replaces the values of a row block by the numbers of their entries, starting at 1, as bit patterns in
 *  little-endian order. */
static void number_entries(const spmm_csr *a, int threads)
{
#define WRITE(T)                                                                           \
    memset((T *)a->as + e, 0, sizeof(T)); /* a type may have more bytes than the number */ \
    memcpy((T *)a->as + e, &(uint64_t){(uint64_t)e + 1}, number_bytes(sizeof(T)));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < a->nnz; e++) SP_BY_TYPE(a->precision, WRITE);
#undef WRITE
}

/** Translates the entry numbers in an array to a map. An element that is not the number of an entry is
 *  padding.
 *  \param [in] numbers  [map->count] in host memory */
static void translate(const void *numbers, const spmm_csr *a, int threads, value_map *map)
{
#define READ(T) memcpy(&number, (const T *)numbers + i, number_bytes(sizeof(T)));
    int64_t unlike = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : unlike)
    for (int64_t i = 0; i < map->count; i++) {
        uint64_t number = 0;
        SP_BY_TYPE(a->precision, READ);
        /* padding is zero, or not the number of an entry */
        map->from[i] = number > (uint64_t)a->nnz ? SP_NOWHERE : (sp_value_place)(number - 1);
        unlike += map->from[i] != (i < a->nnz ? (sp_value_place)i : SP_NOWHERE);
    }
#undef READ
    map->in_order = unlike == 0 && map->count >= a->nnz;
}

/** Makes the map for an array of a row block on the CPU. */
static spmm_status map_on_host(const sp_value_copy *array, const spmm_csr *a, int threads, value_map *map)
{
    map->count = array->count;
    TRY(sp_alloc((void **)&map->from, map->count, sizeof *map->from, "places of values"));
    translate(array->val, a, threads, map);
    if (map->in_order) {
        sp_free(map->from);
        map->from = NULL;
    }
    return SPMM_OK;
}

/** Makes the map for an array of a row block on a GPU. */
static spmm_status map_on_gpu(const sp_value_copy *array, const spmm_csr *a, int threads, value_map *map)
{
    int in_order;
    (void)threads;
    map->count = array->count;
    TRY(sp_device_alloc((void **)&map->from, map->count * (int64_t)sizeof *map->from, "places of values"));
    TRY(sp_cuda_find_places(array->val, array->count, (int)sp_value_size(a->precision), a->nnz, map->from,
                            &in_order));
    map->in_order = in_order && map->count >= a->nnz;
    if (!map->in_order) return SPMM_OK;
    sp_device_free(map->from);
    map->from = NULL;
    return SPMM_OK;
}

/** Makes the maps of row block p from another row block whose values are the numbers of entries.
 *  \param [out] maps  the maps that could be made, also on failure. None if the two row blocks have different
 *                     arrays, which happens if a kernel omits an optional array for lack of memory */
static spmm_status make_maps(const sp_row_blocks *parts, const sp_row_block *p, const sp_row_block *numbered,
                             sp_value_maps *maps)
{
    sp_value_copy arrays[MOST_ARRAYS] = {{NULL, 0}}, numbers[MOST_ARRAYS] = {{NULL, 0}};
    const int count = list_arrays(parts->kernel, p, arrays);
    if (list_arrays(parts->kernel, numbered, numbers) != count) return SPMM_OK;
    for (int n = 0; n < count; n++)
        if (arrays[n].count != numbers[n].count) return SPMM_OK;
    while (maps->count < count) {
        const int n = maps->count++;
        TRY((p->a.space == SPMM_CUDA ? map_on_gpu : map_on_host)(&numbers[n], &p->csr, parts->threads,
                                                                 &maps->map[n]));
    }
    return SPMM_OK;
}

/** Sets the values of a row block, which has none, to the numbers of its entries: in GPU memory if the matrix
 *  is converted there, from *there.
 *  \param [out] there  the matrix there with these values, which the caller frees */
static spmm_status number_values(const sp_row_blocks *parts, sp_row_block *numbered, spmm_csr *there)
{
    const spmm_csr *const a = &numbered->csr;
    const int size = (int)sp_value_size(a->precision);
    if (parts->conversion.on_gpu) {
        *there = *parts->conversion.on_gpu;
        there->as = NULL;
        TRY(sp_device_alloc(&there->as, a->nnz * size, "numbers of entries"));
        return sp_cuda_number(a->nnz, size, there->as);
    }
    TRY(sp_alloc(&numbered->csr.as, a->nnz, (size_t)size, "numbers of entries"));
    number_entries(a, parts->threads);
    return SPMM_OK;
}

static spmm_status create_maps(const sp_row_blocks *parts, sp_row_block *p)
{
    sp_row_blocks with = *parts;
    sp_row_block numbered = {.first = p->first, .rows = p->rows, .csr = p->csr, .borrowed = 1};
    sp_value_maps *maps = NULL;
    spmm_csr there = {0};
    spmm_status status;
    numbered.csr.as = NULL;
    if (parts->conversion.on_gpu) numbered.csr.irp = NULL; /* its values are there alone */
    TRY_GOTO(number_values(parts, &numbered, &there), done);
    TRY_GOTO(sp_alloc_zero((void **)&maps, 1, sizeof *maps, "places of values"), done);
    maps->space = p->a.space;
    if (parts->conversion.on_gpu) with.conversion.on_gpu = &there;
    TRY_GOTO(sp_row_block_convert(&with, &numbered), done);
    TRY_GOTO(make_maps(parts, p, &numbered, maps), done);
    p->unmapped = maps->count == 0;
    if (!p->unmapped) {
        p->maps = maps;
        maps = NULL;
    }
done:
    sp_value_maps_destroy(maps);
    sp_row_block_release(parts, &numbered);
    sp_free(numbered.csr.as);
    sp_device_free(there.as);
    return status;
}

/* ---- values ---- */

static void copy_in_order(const spmm_csr *a, int threads, void *val)
{
    enum { PIECE = 1 << 16 };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < a->nnz; e += PIECE)
        sp_values_copy(a->precision, a->as, e, e + PIECE < a->nnz ? PIECE : a->nnz - e, val, e);
}

/** Copies the values to their places on the GPU.
 *  \param [in] values  values of the row block, in GPU memory; NULL: they are in host memory */
static spmm_status write_on_gpu(const sp_row_block *p, const sp_value_copy *arrays, const void *values)
{
    const int size = (int)sp_value_size(p->csr.precision);
    const int64_t bytes = p->csr.nnz * size;
    void *copy = NULL;
    spmm_status status = SPMM_OK;
    for (int n = 0; n < p->maps->count; n++) {
        const value_map *const map = &p->maps->map[n];
        if (map->in_order) {
            TRY_GOTO(values ? sp_device_copy(arrays[n].val, values, bytes)
                            : sp_device_upload(arrays[n].val, p->csr.as, bytes),
                     done);
            continue;
        }
        if (!values) {
            TRY_GOTO(sp_device_alloc(&copy, bytes, "new values"), done);
            TRY_GOTO(sp_device_upload(copy, p->csr.as, bytes), done);
            values = copy;
        }
        TRY_GOTO(sp_cuda_gather(map->from, map->count, size, values, arrays[n].val,
                                sp_device_stream(SP_STREAM_MAIN)),
                 done);
    }
    status = sp_device_sync();
done:
    sp_device_free(copy);
    return status;
}

static spmm_status write_values(const sp_row_blocks *parts, sp_row_block *p, const void *on_gpu)
{
    sp_value_copy arrays[MOST_ARRAYS] = {{NULL, 0}};
    (void)list_arrays(parts->kernel, p, arrays);
    const char *const values = on_gpu ? (const char *)on_gpu + p->entry * sp_value_size(p->csr.precision)
                                      : NULL;
    if (p->maps->space == SPMM_CUDA) return write_on_gpu(p, arrays, values);
    for (int n = 0; n < p->maps->count; n++)
        if (p->maps->map[n].in_order)
            copy_in_order(&p->csr, parts->threads, arrays[n].val);
        else
            sp_values_gather(p->csr.precision, p->csr.as, p->maps->map[n].from, p->maps->map[n].count,
                             parts->threads, arrays[n].val);
    return SPMM_OK;
}

/** Converts the row block again, with its current values. */
static spmm_status convert_again(const sp_row_blocks *parts, sp_row_block *p)
{
    sp_row_block_release(parts, p);
    const spmm_status status = sp_row_block_convert(parts, p);
    p->lost = status != SPMM_OK;
    if (p->lost) sp_row_block_release(parts, p);
    return status;
}

/** Makes the maps of a row block, unless it has maps, or the places of its values are unknown.
 *  \param [out] needed  0: no maps are needed, because only the CSR has values */
static spmm_status find_maps(const sp_row_blocks *parts, sp_row_block *p, int *needed)
{
    sp_value_copy arrays[MOST_ARRAYS];
    const int count = list_arrays(parts->kernel, p, arrays);
    *needed = p->csr.nnz > 0 && (count != 0 || p->lost);
    if (!*needed || p->lost || p->maps || p->unmapped || count < 0 || p->csr.nnz >= SP_NOWHERE)
        return SPMM_OK;
    const spmm_status status = create_maps(parts, p);
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status;
}

spmm_status sp_row_blocks_map(sp_row_blocks *parts, int *all)
{
    *all = 1;
    for (int i = 0; i < parts->count; i++) {
        sp_row_block *const p = &parts->part[i];
        int needed;
        TRY(find_maps(parts, p, &needed));
        *all &= !needed || (p->maps && !p->lost);
    }
    return SPMM_OK;
}

static spmm_status update(const sp_row_blocks *parts, sp_row_block *p, const void *on_gpu)
{
    int needed;
    TRY(find_maps(parts, p, &needed));
    if (needed && (!p->maps || p->lost)) return convert_again(parts, p);
    if (needed) TRY(write_values(parts, p, on_gpu));
    return sp_row_block_new_values(parts, p);
}

spmm_status sp_row_blocks_update(sp_row_blocks *parts, const void *on_gpu)
{
    for (int i = 0; i < parts->count; i++) TRY(update(parts, &parts->part[i], on_gpu));
    return SPMM_OK;
}
