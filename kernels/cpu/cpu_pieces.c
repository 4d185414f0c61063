#include "kernels/cpu/cpu_pieces.h"

#include "base/memory.h"

static int64_t segments_of(int64_t entries)
{
    return entries > SP_CHAIN ? (entries + SP_SEGMENT - 1) / SP_SEGMENT : 0;
}

static void list_pieces(const spmm_csr *a, sp_pieces *p)
{
    int64_t segment = 0, row = p->segments, g = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], end = a->irp[i + 1], count = segments_of(end - begin);
        if (count == 0) p->list[row++] = (sp_piece){begin, end, (int32_t)i};
        if (count == 0) continue;
        p->long_row[g] = (int32_t)i;
        p->first[g++] = segment;
        for (int64_t k = 0; k < count; k++, segment++) {
            const int64_t from = begin + k * SP_SEGMENT;
            p->list[segment] = (sp_piece){from, k + 1 < count ? from + SP_SEGMENT : end, (int32_t)segment};
        }
    }
    p->first[p->long_rows] = p->segments;
}

spmm_status sp_pieces_create(const spmm_csr *a, const char *kernel, int64_t partial_ld, sp_pieces *p)
{
    *p = (sp_pieces){.partial_ld = partial_ld};
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t segments = segments_of(a->irp[i + 1] - a->irp[i]);
        p->segments += segments;
        p->long_rows += segments > 0;
    }
    p->count = p->segments + a->rows - p->long_rows;
    if (p->count > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%lld segments and rows: %s supports at most 2^31 - 1 per rank; use more ranks",
                       (long long)p->count, kernel);
    TRY(sp_alloc((void **)&p->list, p->count, sizeof *p->list, "segments of rows"));
    TRY(sp_alloc((void **)&p->long_row, p->long_rows, sizeof *p->long_row, "long rows"));
    TRY(sp_alloc((void **)&p->first, p->long_rows + 1, sizeof *p->first, "long rows"));
    TRY(sp_alloc(&p->partial, p->segments * partial_ld, (size_t)sp_value_size(a->precision),
                 "sums of segments"));
    list_pieces(a, p);
    return SPMM_OK;
}

void sp_pieces_forget(sp_pieces *p)
{
    sp_free(p->list);
    p->list = NULL;
}

void sp_pieces_destroy(sp_pieces *p)
{
    sp_pieces_forget(p);
    sp_free(p->long_row);
    sp_free(p->first);
    sp_free(p->partial);
}

/* STRIP: number of columns of Y whose segment sums are added at a time, in registers or the L1 cache */
enum { STRIP = 64 };

/* Adds the sums of a long row's `segments` segments, at `from`, in the canonical order. */
#define ADD_SEGMENTS(name, type)                                                                \
    static void name(const void *partial, int64_t ld, int64_t segments, int64_t k, void *row)   \
    {                                                                                           \
        const type *from = partial;                                                             \
        type *const y = row;                                                                    \
        type section[STRIP], part[STRIP], sum[STRIP];                                           \
        for (int64_t j = 0, n; j < k; j += n) {                                                 \
            n = k - j < STRIP ? k - j : STRIP;                                                  \
            for (int64_t i = 0; i < n; i++) section[i] = part[i] = sum[i] = (type)-0.0;         \
            for (int64_t q = 1; q <= segments; q++, from += ld) {                               \
                for (int64_t i = 0; i < n; i++) section[i] += from[j + i];                      \
                if (q % SP_SEGMENTS && q < segments) continue;                                  \
                for (int64_t i = 0; i < n; i++) part[i] += section[i], section[i] = (type)-0.0; \
                if (q % (SP_SEGMENTS * SP_SECTIONS) && q < segments) continue;                  \
                for (int64_t i = 0; i < n; i++) sum[i] += part[i], part[i] = (type)-0.0;        \
            }                                                                                   \
            from -= segments * ld;                                                              \
            for (int64_t i = 0; i < n; i++) y[j + i] = sum[i];                                  \
        }                                                                                       \
    }
ADD_SEGMENTS(add_segments_f64, double)
ADD_SEGMENTS(add_segments_f32, float)
#undef ADD_SEGMENTS

void sp_pieces_add(const sp_pieces *p, int64_t g, spmm_multivector *y)
{
    const char *const partial = (const char *)p->partial +
                                p->first[g] * p->partial_ld * sp_value_size(y->precision);
    const sp_value_type type = sp_type_of(y->precision); /* complex sums are added part by part */
    SP_OF_REAL(add_segments, type.real)
    (partial, type.parts * p->partial_ld, p->first[g + 1] - p->first[g], type.parts * y->k,
     sp_row(y, p->long_row[g]));
}
