/** The arrays of a block of A in a storage format: allocates them, copies them to the GPU, and frees them. */
#include "formats/matrix.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"

/** Describes an array of sp_matrix: the offset of its pointer in sp_matrix, the size of an element (0: the
 *  size of a value), and the array's name in messages. */
typedef struct array_row {
    size_t offset;
    int64_t size;
    const char *what;
} array_row;

static const array_row arrays[SP_ARRAYS] = {
    [SP_ROW_START] = {offsetof(sp_matrix, row_start), sizeof(int64_t), "row starts"},
    [SP_NZ_PER_ROW] = {offsetof(sp_matrix, nz_per_row), sizeof(int32_t), "row lengths"},
    [SP_COL] = {offsetof(sp_matrix, col), sizeof(int32_t), "column indices"},
    [SP_VAL] = {offsetof(sp_matrix, val), 0, "values"},
    [SP_TARGET] = {offsetof(sp_matrix, target), sizeof(int32_t), "rows of Y"},
    [SP_LONG_ROWS] = {offsetof(sp_matrix, section), sizeof(sp_section), "long rows"},
    [SP_PACK] = {offsetof(sp_matrix, pack), sizeof(int32_t), "packs of long rows"},
    [SP_PACKED] = {offsetof(sp_matrix, segment), sizeof(sp_segment), "segments of long rows"},
    [SP_TILE_START] = {offsetof(sp_matrix, tile_start), sizeof(int64_t), "panels' tiles"},
    [SP_MASK] = {offsetof(sp_matrix, mask), sizeof(uint32_t), "tiles' masks"},
    [SP_LEAF_LIST] = {offsetof(sp_matrix, leaf), sizeof(sp_leaves), "leaves of long rows"},
    [SP_UNIT_START] = {offsetof(sp_matrix, unit_start), sizeof(int32_t), "units of panels"},
};

static void **array_of(sp_matrix *m, int i) { return (void **)((char *)m + arrays[i].offset); }

spmm_status sp_matrix_alloc(sp_matrix *m, sp_array array, int64_t count, const char *what)
{
    const int64_t size = arrays[array].size ? arrays[array].size : sp_value_size(m->precision);
    TRY(sp_alloc(array_of(m, array), count, (size_t)size, what));
    m->bytes[array] = count * size;
    return SPMM_OK;
}

spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device)
{
    sp_matrix from = *host;
    spmm_status status = SPMM_OK;
    *device = *host;
    device->space = SPMM_CUDA;
    device->borrowed = 0;
    for (int i = 0; i < SP_ARRAYS; i++) *array_of(device, i) = NULL;
    for (int i = 0; i < SP_ARRAYS; i++) {
        if (!*array_of(&from, i)) continue;
        TRY_GOTO(sp_device_alloc(array_of(device, i), host->bytes[i], arrays[i].what), done);
        TRY_GOTO(sp_device_upload(*array_of(device, i), *array_of(&from, i), host->bytes[i]), done);
    }
done:
    if (status != SPMM_OK) sp_matrix_destroy(device);
    return status;
}

void sp_matrix_destroy(sp_matrix *m)
{
    if (!m) return;
    for (int i = 0; i < SP_ARRAYS && m->borrowed != SP_BORROWED; i++) {
        if (i == SP_VAL && m->borrowed == SP_BORROWED_VALUES) continue;
        if (m->space == SPMM_CUDA)
            sp_device_free(*array_of(m, i));
        else
            sp_free(*array_of(m, i));
    }
    memset(m, 0, sizeof *m);
}
