/** Defines the layout of a `.spmm` file for the code that writes, reads or recognizes such files. */
#ifndef SP_SPMM_FILE_LAYOUT_H
#define SP_SPMM_FILE_LAYOUT_H

#include <zlib.h>

#include "base/memory.h"
#include "io/input_kind.h"
#include "files/spmm_file.h"

#define SP_FILE_MARK UINT64_C(0x0102030405060708) /* in the other byte order it reads 0x0807060504030201 */

enum { SP_FILE_VERSION = 1, SP_FILE_ALIGN = 4096, SP_FILE_CHUNK = 4 << 20, SP_FILE_CHUNK_STEP = 64 };

/** The header as it is stored in the file. The members magic, mark (which shows the byte order) and version
 *  have the same offsets in every version of the format. */
typedef struct sp_spmm_file_header {
    char magic[8];
    uint64_t mark, version;
    int64_t rows, cols, nnz, precision;
    char format[16], field[16], symmetry[20]; /**< the strings of sp_mtx_info */
    uint32_t unused;
    int64_t stored, text_bytes, duplicates;
    int64_t chunk_bytes;
    int64_t offset[SP_FILE_SECTIONS], bytes[SP_FILE_SECTIONS];
    int64_t file_bytes;
    uint32_t table_check, reserved[76];
    uint32_t check;
} sp_spmm_file_header;

_Static_assert(sizeof(sp_spmm_file_header) == 512, "the header must have 512 bytes");

/** Returns the CRC-32 of `bytes` bytes of data, a header or a chunk; bytes must be below 2^32. */
static inline uint32_t sp_spmm_file_check(const void *data, int64_t bytes)
{
    return (uint32_t)crc32(0, data, (uInt)bytes);
}

/** Returns the number of chunks that a section is cut into. */
static inline int64_t sp_spmm_file_chunks(const sp_spmm_file_header *h, int section)
{
    return (h->bytes[section] + h->chunk_bytes - 1) / h->chunk_bytes;
}

/** Returns the number of chunks in all sections before `section`. If `section` is SP_FILE_SECTIONS, this is
 *  the total number of chunks in the file. */
static inline int64_t sp_spmm_file_chunks_before(const sp_spmm_file_header *h, int section)
{
    int64_t count = 0;
    for (int s = 0; s < section; s++) count += sp_spmm_file_chunks(h, s);
    return count;
}

/** Returns the size in bytes of chunk number c of a section. */
static inline int64_t sp_spmm_file_chunk_size(const sp_spmm_file_header *h, int section, int64_t c)
{
    const int64_t left = h->bytes[section] - c * h->chunk_bytes;
    return left < h->chunk_bytes ? left : h->chunk_bytes;
}

/** Computes the members offset, bytes and file_bytes of the header from its other members. Returns the name
 *  of a member that is out of range, or NULL if all are valid. */
static inline const char *sp_spmm_file_lay_out(sp_spmm_file_header *h)
{
    const int64_t most = INT64_C(1) << 55; /* small enough that no sum below overflows */
    if (h->rows < 0 || h->rows > INT32_MAX) return "rows";
    if (h->cols < 0 || h->cols > INT32_MAX) return "columns";
    if (h->nnz < 0 || h->nnz > most) return "entries";
    if (h->precision != SPMM_F64 && h->precision != SPMM_F32) return "precision";
    if (h->chunk_bytes < SP_FILE_CHUNK_STEP || h->chunk_bytes > 1 << 30 ||
        h->chunk_bytes % SP_FILE_CHUNK_STEP != 0)
        return "bytes of a chunk";
    h->bytes[SP_FILE_ROWS] = (h->rows + 1) * (int64_t)sizeof(int64_t);
    h->bytes[SP_FILE_COLUMNS] = h->nnz * (int64_t)sizeof(int32_t);
    h->bytes[SP_FILE_VALUES] = h->nnz * sp_value_size((spmm_precision)h->precision);
    int64_t at = (int64_t)sizeof *h +
                 sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS) * (int64_t)sizeof(uint32_t);
    for (int s = 0; s < SP_FILE_SECTIONS; s++) {
        h->offset[s] = (at + SP_FILE_ALIGN - 1) / SP_FILE_ALIGN * SP_FILE_ALIGN;
        at = h->offset[s] + h->bytes[s];
    }
    h->file_bytes = at;
    return NULL;
}

#endif
