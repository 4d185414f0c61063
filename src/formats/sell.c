/** Cuts long rows into segments, and converts CSR blocks to sliced ELLPACK. */
#include "formats/sell.h"

#include <string.h>

#include "base/memory.h"
#include "formats/format.h"

enum { CLASSES = SP_CHAIN + 1 };

/** Returns the class of a segment of `length` entries. Segments are stored in increasing order of their
 *  class. Longer segments have smaller class numbers, but with SP_ORDER_ROWS all segments have class 0. */
static int class_of(int64_t length, sp_order order)
{
    if (order == SP_ORDER_ROWS) return 0;
    if (order == SP_ORDER_LENGTHS) return (int)(SP_CHAIN - length);
    return length ? __builtin_clzll((unsigned long long)length) : 64;
}

/** Returns the number of segments of a row of `length` entries. An empty row is one segment, so that its row
 *  of Y is set to zero. A long row has none if `cut` is 0. */
static int64_t segments_of(int64_t length, int64_t cut)
{
    if (length <= SP_CHAIN) return 1;
    return cut > 0 ? (length - 1) / cut + 1 : 0;
}

/** Counts what a long row of `length` entries takes: its segments as partial sums, its sections, and, if
 *  these are several, their partial sums. */
static void count_long_row(int64_t length, int64_t cut, sp_segments *p)
{
    const int64_t sections = (length - 1) / SP_SECTION + 1;
    p->sections += sections;
    p->splits += sections > 1;
    p->partials += segments_of(length, cut) + (sections > 1 ? sections : 0);
}

/** Where the next long row is listed. */
typedef struct long_row_place {
    int64_t section, split;       /* next element of p->split */
    int64_t partial, section_sum; /* next partial sum of a segment, of a section */
} long_row_place;

static long_row_place first_place(const sp_segments *p, int64_t segments)
{
    return (long_row_place){0, p->sections, 0, segments};
}

/** Lists the sections of long row i of `length` entries. The partial sums of its segments begin at
 *  next->partial, which the caller advances. */
static void place_long_row(int64_t i, int64_t length, int64_t cut, long_row_place *next, sp_segments *p)
{
    const int64_t segments = segments_of(length, cut), each = SP_SECTION / cut;
    const int64_t sections = (segments - 1) / each + 1;
    if (sections > 1) p->split[next->split++] = (sp_split){(int32_t)i, (int32_t)sections, next->section_sum};
    for (int64_t s = 0; s < sections; s++) {
        const int64_t left = segments - s * each;
        const int32_t target = (int32_t)(sections > 1 ? ~next->section_sum++ : i);
        p->split[next->section++] = (sp_split){target, (int32_t)(left < each ? left : each),
                                               next->partial + s * each};
    }
}

/** Returns segment n of a row of `length` entries, which begins at entry `begin`. */
static sp_segment segment_of(int64_t begin, int64_t length, int64_t cut, int64_t n, int64_t target)
{
    const int64_t left = length - n * cut;
    return (sp_segment){begin + n * cut, (int32_t)(length > SP_CHAIN && left > cut ? cut : left),
                        (int32_t)target};
}

/** Allocates the lists of p, whose lengths are counted. */
static spmm_status allocate(sp_segments *p)
{
    if (p->partials > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "%lld partial sums of long rows: 2^31 - 1 are held",
                       (long long)p->partials);
    TRY(sp_alloc((void **)&p->segment, p->count, sizeof *p->segment, "segments of rows"));
    return sp_alloc((void **)&p->split, p->sections + p->splits, sizeof *p->split, "long rows");
}

/** Counts the segments in each class into class_size, and in p all that p lists.
 *  \return the number of segments of long rows */
static int64_t count_segments(const spmm_csr *a, int64_t cut, sp_order order, int64_t *class_size,
                              sp_segments *p)
{
    int64_t of_long_rows = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = a->irp[i + 1] - a->irp[i], segments = segments_of(length, cut);
        p->count += segments;
        if (segments == 1) class_size[class_of(length, order)]++;
        if (segments <= 1) continue;
        count_long_row(length, cut, p);
        of_long_rows += segments;
        class_size[class_of(cut, order)] += segments - 1;
        class_size[class_of(length - (segments - 1) * cut, order)]++;
    }
    return of_long_rows;
}

/** Stores the segments in p->segment, class by class, and lists the sections of long rows. The next segment
 *  of class c is stored at index next[c].
 *  \param [in] of_long_rows  number of segments of long rows */
static void place_segments(const spmm_csr *a, int64_t cut, sp_order order, int64_t of_long_rows,
                           int64_t *next, sp_segments *p)
{
    long_row_place place = first_place(p, of_long_rows);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], length = a->irp[i + 1] - begin, segments = segments_of(length, cut);
        if (segments > 1) place_long_row(i, length, cut, &place, p);
        for (int64_t n = 0; n < segments; n++) {
            const sp_segment one = segment_of(begin, length, cut, n, segments > 1 ? ~place.partial++ : i);
            p->segment[next[class_of(one.length, order)]++] = one;
        }
    }
}

spmm_status sp_segments_create(const spmm_csr *a, int64_t cut, sp_order order, sp_segments *p)
{
    int64_t next[CLASSES] = {0}, first = 0;
    spmm_status status;
    memset(p, 0, sizeof *p);
    const int64_t of_long_rows = count_segments(a, cut, order, next, p);
    for (int c = 0; c < CLASSES; c++) {
        const int64_t size = next[c];
        next[c] = first;
        first += size;
    }
    TRY_GOTO(allocate(p), done);
    place_segments(a, cut, order, of_long_rows, next, p);
done:
    if (status != SPMM_OK) sp_segments_destroy(p);
    return status;
}

int sp_has_long_rows(const spmm_csr *a, int threads)
{
    int any = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : any)
    for (int64_t i = 0; i < a->rows; i++) any |= a->irp[i + 1] - a->irp[i] > SP_CHAIN;
    return any;
}

spmm_status sp_long_rows_create(const spmm_csr *a, const int64_t *start, int64_t width, int64_t cut,
                                sp_segments *p)
{
    spmm_status status = SPMM_OK;
    memset(p, 0, sizeof *p);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = a->irp[i + 1] - a->irp[i];
        if (length <= SP_CHAIN) continue;
        count_long_row(length, cut, p);
        p->count += segments_of(length, cut);
    }
    TRY_GOTO(allocate(p), done);
    long_row_place place = first_place(p, p->count);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = a->irp[i + 1] - a->irp[i], segments = segments_of(length, cut);
        const int64_t begin = start ? start[i] : i * width;
        if (segments == 1) continue;
        place_long_row(i, length, cut, &place, p);
        for (int64_t n = 0; n < segments; n++, place.partial++)
            p->segment[place.partial] = segment_of(begin, length, cut, n, ~place.partial);
    }
done:
    if (status != SPMM_OK) sp_segments_destroy(p);
    return status;
}

void sp_segments_destroy(sp_segments *p)
{
    if (!p) return;
    sp_free(p->segment);
    sp_free(p->split);
    memset(p, 0, sizeof *p);
}

/** Returns the number of segments in slice s. */
static int64_t pieces_in(const sp_segments *p, int64_t s)
{
    const int64_t left = p->count - s * SP_SLICE;
    return left < SP_SLICE ? left : SP_SLICE;
}

/** Returns the length of the longest segment of slice s. */
static int64_t slice_width(const sp_segments *p, int64_t s)
{
    int64_t width = 0;
    for (int64_t r = 0; r < pieces_in(p, s); r++)
        if (p->segment[s * SP_SLICE + r].length > width) width = p->segment[s * SP_SLICE + r].length;
    return width;
}

static int64_t slices_of(const sp_segments *p) { return (p->count + SP_SLICE - 1) / SP_SLICE; }

static int64_t padded_entries(const sp_segments *p)
{
    int64_t sum = 0;
    for (int64_t s = 0; s < slices_of(p); s++) sum += slice_width(p, s) * SP_SLICE;
    return sum;
}

static void fill_slice(const spmm_csr *a, const sp_segments *p, int64_t s, sp_matrix *m)
{
    const int64_t width = (m->row_start[s + 1] - m->row_start[s]) / SP_SLICE;
    for (int64_t r = 0; r < SP_SLICE; r++) {
        const int there = r < pieces_in(p, s);
        const sp_segment segment = there ? p->segment[s * SP_SLICE + r] : (sp_segment){0, 0, INT32_MIN};
        m->target[s * SP_SLICE + r] = segment.target;
        for (int64_t j = 0; j < width; j++) {
            const int64_t to = m->row_start[s] + j * SP_SLICE + r, from = segment.begin + j;
            const int entry = j < segment.length;
            m->col[to] = entry ? a->ja[from] : -1;
            sp_value_set(m->val, a->precision, to, entry ? sp_value_get(a->as, a->precision, from) : 0);
        }
    }
}

static spmm_status fill(const spmm_csr *a, const sp_segments *p, int threads, sp_matrix *m)
{
    const int64_t slices = slices_of(p), stored = padded_entries(p);
    m->groups = slices;
    m->partials = p->partials;
    m->sections = p->sections;
    m->splits = p->splits;
    TRY(sp_matrix_alloc(m, SP_ROW_START, slices + 1, "slice starts"));
    TRY(sp_matrix_alloc(m, SP_TARGET, slices * SP_SLICE, "slices' rows"));
    TRY(sp_matrix_alloc(m, SP_SPLIT, p->sections + p->splits, "long rows"));
    TRY(sp_matrix_alloc(m, SP_COL, stored, "sliced column indices"));
    TRY(sp_matrix_alloc(m, SP_VAL, stored, "sliced values"));
    memcpy(m->split, p->split, (size_t)(p->sections + p->splits) * sizeof *m->split);
    m->row_start[0] = 0;
    for (int64_t s = 0; s < slices; s++) m->row_start[s + 1] = m->row_start[s] + slice_width(p, s) * SP_SLICE;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < slices; s++) fill_slice(a, p, s, m);
    return SPMM_OK;
}

static spmm_status convert(const spmm_csr *a, double ell_limit, int threads, sp_matrix *m)
{
    /* LITTLE: rows keep their order if there is at most one padding entry per 16 entries, which costs less
     * than accessing rows of X in another order. */
    enum { LITTLE = 16 };
    sp_segments p;
    (void)ell_limit;
    TRY(sp_segments_create(a, SP_LEAF, SP_ORDER_ROWS, &p));
    if (padded_entries(&p) - a->nnz > a->nnz / LITTLE) {
        sp_segments_destroy(&p);
        TRY(sp_segments_create(a, SP_LEAF, SP_ORDER_LENGTHS, &p));
    }
    const spmm_status status = fill(a, &p, threads, m);
    sp_segments_destroy(&p);
    return status;
}

const sp_format sp_format_sell = {convert, NULL};
