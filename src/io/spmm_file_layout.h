/** The layout of a `.spmm` file, private to its writer and its reader. */
#ifndef SP_SPMM_FILE_LAYOUT_H
#define SP_SPMM_FILE_LAYOUT_H

#include <zlib.h>

#include "base/memory.h"
#include "io/spmm_file.h"

#define SP_FILE_MAGIC "SPMMfile"
#define SP_FILE_MARK UINT64_C(0x0102030405060708) /* a machine of the other byte order reads it reversed */

enum { SP_FILE_VERSION = 1, SP_FILE_ALIGN = 4096, SP_FILE_CHUNK = 4 << 20, SP_FILE_CHUNK_STEP = 64 };

/** The sections that are cut into chunks, in file order. */
typedef enum sp_spmm_file_section {
    SP_FILE_ROWS,
    SP_FILE_COLUMNS,
    SP_FILE_VALUES,
    SP_FILE_SECTIONS
} sp_spmm_file_section;

/** The header as it lies in the file. Magic, mark (of the byte order) and version have the same place in every
 *  version. */
typedef struct sp_spmm_file_header {
    char magic[8];
    uint64_t mark, version;
    int64_t rows, cols, nnz, precision;
    char format[16], field[16], symmetry[20]; /**< as in sp_mtx_info */
    uint32_t unused;
    int64_t stored, text_bytes, duplicates;
    int64_t chunk_bytes;
    int64_t offset[SP_FILE_SECTIONS], bytes[SP_FILE_SECTIONS];
    int64_t file_bytes;
    uint32_t table_check, reserved[76];
    uint32_t check;
} sp_spmm_file_header;

_Static_assert(sizeof(sp_spmm_file_header) == 512, "the header has its size in every build");

/** An open file. */
struct sp_spmm_file {
    const char *path;
    int fd;
    sp_spmm_file_header header;
    uint32_t *table; /**< checksums of the chunks, [chunks] */
    sp_spmm_file_facts facts;
};

/** Reads exactly `bytes` bytes. \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (the file ends before) */
spmm_status sp_spmm_file_read_at(const sp_spmm_file *file, void *to, int64_t bytes, int64_t offset);

/** Returns the CRC-32 of a header or a chunk; bytes < 2^32. */
static inline uint32_t sp_spmm_file_check(const void *data, int64_t bytes)
{
    return (uint32_t)crc32(0, data, (uInt)bytes);
}

/** Returns the number of chunks in a section. */
static inline int64_t sp_spmm_file_chunks(const sp_spmm_file_header *h, int section)
{
    return (h->bytes[section] + h->chunk_bytes - 1) / h->chunk_bytes;
}

/** Returns the number of chunks in the sections before `section`; SP_FILE_SECTIONS: in all. */
static inline int64_t sp_spmm_file_chunks_before(const sp_spmm_file_header *h, int section)
{
    int64_t count = 0;
    for (int s = 0; s < section; s++) count += sp_spmm_file_chunks(h, s);
    return count;
}

/** Returns the bytes of a section's longest chunk, at most the section's, whatever chunk_bytes the header claims. */
static inline int64_t sp_spmm_file_longest_chunk(const sp_spmm_file_header *h, int section)
{
    return h->bytes[section] < h->chunk_bytes ? h->bytes[section] : h->chunk_bytes;
}

/** Returns the bytes of chunk c of a section. */
static inline int64_t sp_spmm_file_chunk_size(const sp_spmm_file_header *h, int section, int64_t c)
{
    const int64_t left = h->bytes[section] - c * h->chunk_bytes;
    return left < h->chunk_bytes ? left : h->chunk_bytes;
}

/** Rounds up to a multiple of SP_FILE_ALIGN. */
static inline int64_t sp_spmm_file_aligned(int64_t bytes)
{
    return (bytes + SP_FILE_ALIGN - 1) / SP_FILE_ALIGN * SP_FILE_ALIGN;
}

/** Sets offset, bytes and file_bytes, which follow from the other fields. Returns the name of a field that is out of
 *  range; NULL: none is. */
static inline const char *sp_spmm_file_lay_out(sp_spmm_file_header *h)
{
    const int64_t most = INT64_C(1) << 55; /* no sum below overflows */
    if (h->rows < 0 || h->rows > INT32_MAX) return "rows";
    if (h->cols < 0 || h->cols > INT32_MAX) return "columns";
    if (h->nnz < 0 || h->nnz > most) return "entries";
    if (h->precision != SPMM_F64 && h->precision != SPMM_F32) return "precision";
    if (h->chunk_bytes < SP_FILE_CHUNK_STEP || h->chunk_bytes > 1 << 30 ||
        h->chunk_bytes % SP_FILE_CHUNK_STEP != 0)
        return "bytes of a chunk";
    h->bytes[SP_FILE_ROWS] = (h->rows + 1) * (int64_t)sizeof(int64_t);
    h->bytes[SP_FILE_COLUMNS] = h->nnz * (int64_t)sizeof(int32_t);
    h->bytes[SP_FILE_VALUES] = h->nnz * (int64_t)sp_value_size((spmm_precision)h->precision);
    int64_t at = (int64_t)sizeof *h +
                 sp_spmm_file_chunks_before(h, SP_FILE_SECTIONS) * (int64_t)sizeof(uint32_t);
    for (int s = 0; s < SP_FILE_SECTIONS; s++) {
        h->offset[s] = sp_spmm_file_aligned(at);
        at = h->offset[s] + h->bytes[s];
    }
    h->file_bytes = at;
    return NULL;
}

#endif
