/** Parses chunks of a Matrix Market body. Lines in the usual spelling take a fast path, which the compiler
 *  specializes by field and precision. */
#include "io/mtx_parse.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "io/numparse.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/** The result of careful(), which parses a line that the fast path cannot parse. */
typedef struct careful_result {
    const char *next; /* beginning of the next line; NULL: the line is wrong, and an error was set */
    int stored;       /* 1: the line held an entry; 0: it was blank or a comment */
} careful_result;

static spmm_status too_many(const sp_parse_output *t, int64_t slot, int64_t line, sp_read_error *error)
{
    if (t->header->first_edge)
        return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                            "found more edges than in the first pass, expected a file that does not change");
    return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                        "found entry number %lld, expected %lld entries as line %lld says",
                        (long long)slot + 1, (long long)t->header->entries, (long long)t->header->size_line);
}

/** Parses a line in any spelling on the careful path; an entry beyond t->capacity is an error. */
static careful_result careful(const sp_parse_output *t, const sp_chunk *c, const char *p, int64_t line,
                              int64_t slot, sp_entry *entry, sp_read_error *error)
{
    const careful_result failed = {NULL, 0};
    const sp_line_kind kind = sp_parse_line(t, p, line, entry, error);
    if (kind == SP_LINE_WRONG) return failed;
    if (kind == SP_LINE_ENTRY && slot >= t->capacity) {
        too_many(t, slot, line, error);
        return failed;
    }
    const careful_result result = {sp_line_end(p, c->text + c->bytes) + 1, kind == SP_LINE_ENTRY};
    return result;
}

/* Returns whether the fast path accepts c as a blank between numbers; a line with other blanks takes the
 * careful path. */
static ALWAYS_INLINE int between(char c) { return c == ' ' || c == '\t'; }

static ALWAYS_INLINE const char *mtx_parse_skip(const char *p)
{
    while (between(*p)) p++;
    return p;
}

/** Parses an index from `base` to `base` + size - 1 and the blanks after it, and sets *value to the index
 *  minus `base`. Returns NULL if the careful path has to parse the line; *value is then undefined. */
static ALWAYS_INLINE const char *fast_index(const char *p, uint64_t base, uint64_t size, uint64_t *value)
{
    const char *const q = sp_parse_index(p, value);
    *value -= base;
    if (q == p || *value >= size) return NULL;
    return mtx_parse_skip(q);
}

/** Parses a value and returns its end; NULL if the careful path has to parse the line.
 *  \param [out] value  the real part, and of a complex value the imaginary part */
static ALWAYS_INLINE const char *fast_value(const char *p, const sp_field field, double value[2])
{
    if (field == SP_FIELD_REAL) return sp_parse_real_fast(p, value);
    if (field == SP_FIELD_COMPLEX) {
        const char *const end = sp_parse_real_fast(p, value);
        return end && between(*end) ? sp_parse_real_fast(mtx_parse_skip(end), value + 1) : NULL;
    }
    const int negative = *p == '-';
    uint64_t magnitude = 0;
    const char *const q = sp_parse_index(p + negative, &magnitude);
    if (q == p + negative) return NULL;
    *value = (double)(((int64_t)magnitude ^ -(int64_t)negative) + negative);
    return q;
}

static ALWAYS_INLINE const char *fast_line_end(const char *p)
{
    while (between(*p) || *p == '\r') p++;
    return *p == '\n' ? p + 1 : NULL;
}

static ALWAYS_INLINE int mtx_parse_fits(const double value[2], const spmm_precision precision)
{
    const double most = sp_type_of(precision).most;
    return fabs(value[0]) <= most && fabs(value[1]) <= most;
}

/* values of the parameter `field` besides those of sp_field. FIELD_SKIPPED: the rest of the line after the
 * two indices is not parsed. COLUMN_SKIPPED: the rest of the line after the row index is not parsed. */
enum { FIELD_SKIPPED = -1, COLUMN_SKIPPED = -2 };

/** Parses a coordinate line on the fast path and returns the next line; NULL if the careful path has to parse
 *  the line. The newline of the line must be before `end`. Sets *i and *j to the indices, 0-based. */
static ALWAYS_INLINE const char *fast_coordinate(const char *p, const char *end, const sp_header *h,
                                                 const int field, const spmm_precision precision, uint64_t *i,
                                                 uint64_t *j, double value[2])
{
    const uint64_t base = !h->from_zero;
    const char *q = fast_index(mtx_parse_skip(p), base, (uint64_t)h->rows, i);
    if (__builtin_expect(!q, 0)) return NULL;
    const char *const second = q;
    if (field == COLUMN_SKIPPED) {
        *j = 0;
        return between(q[-1]) ? sp_line_end(q, end) + 1 : NULL;
    }
    q = fast_index(q, base, (uint64_t)h->cols, j);
    if (__builtin_expect(!q || !between(second[-1]), 0)) return NULL;
    if (field == FIELD_SKIPPED) return between(q[-1]) ? sp_line_end(q, end) + 1 : NULL;
    if (field != SP_FIELD_PATTERN) {
        const char *const third = q;
        q = fast_value(q, (sp_field)field, value);
        if (__builtin_expect(!q || !between(third[-1]) || !mtx_parse_fits(value, precision), 0)) return NULL;
    }
    return fast_line_end(q);
}

enum { LOWER = 1, UPPER = 2 }; /* flags: the entries of a chunk include one in that strict triangle */

/** Parses a chunk of a coordinate file and returns the number of entries stored. Sets *triangles to LOWER,
 *  UPPER, both or 0: the strict triangles that hold entries of the chunk. */
static ALWAYS_INLINE int64_t parse_coordinate(const sp_parse_output *t, const sp_chunk *c, const int field,
                                              const spmm_precision precision, unsigned *triangles,
                                              sp_read_error *error)
{
    const sp_header h = *t->header;
    const char *const end = c->text + c->bytes;
    int32_t *const I = t->I, *const J = t->J;
    void *const val = t->val;
    const int64_t capacity = t->capacity;
    const int64_t first_entry = t->first_entry;
    int64_t slot = c->first_entry, line = c->first_line;
    unsigned seen = 0;
    for (const char *p = c->text; p < end; line++) {
        uint64_t i, j;
        double value[2] = {1.0, 0.0};
        const char *next = fast_coordinate(p, end, &h, field, precision, &i, &j, value);
        if (__builtin_expect(!next || slot >= capacity || (h.symmetry == SP_SKEW && i == j), 0)) {
            sp_entry entry;
            const careful_result result = careful(t, c, p, line, slot, &entry, error);
            p = result.next;
            if (!p) break;
            if (!result.stored) continue;
            i = (uint64_t)(entry.i - !h.from_zero);
            j = (uint64_t)(entry.j - !h.from_zero);
            value[0] = __real__ entry.value;
            value[1] = __imag__ entry.value;
        } else {
            p = next;
        }
        if (h.symmetry != SP_GENERAL) seen |= (i > j ? LOWER : 0u) | (i < j ? UPPER : 0u);
        I[slot - first_entry] = (int32_t)i;
        J[slot - first_entry] = (int32_t)j;
        if (val) sp_value_set(val, precision, slot - first_entry, __builtin_complex(value[0], value[1]));
        slot++;
    }
    *triangles = seen;
    return slot - c->first_entry;
}

/* ---- parsing array files ---- */

/** Row and column of the current value of an array file. */
typedef struct position {
    int64_t i, j;
} position;

/** Returns the row and the column of value number `slot` of an array file. The file stores the matrix column
 *  by column: a general matrix in whole columns, a symmetric matrix from the diagonal downwards, a
 *  skew-symmetric matrix from below the diagonal. */
static position array_place(const sp_header *h, int64_t slot)
{
    if (h->rows == 0) return (position){0, 0};
    if (h->symmetry == SP_GENERAL) return (position){slot % h->rows, slot / h->rows};
    const int64_t skew = h->symmetry == SP_SKEW, n = h->rows - skew;
    /* column j starts at slot j n - j (j - 1) / 2; solving this for j takes a square root, whose rounding
     * error the two loops correct */
    const double b = (double)n + 0.5;
    const double under = b * b - 2.0 * (double)slot;
    int64_t j = (int64_t)(b - sqrt(under > 0 ? under : 0));
    while (j > 0 && j * n - j * (j - 1) / 2 > slot) j--;
    while (j + 1 < n && (j + 1) * n - (j + 1) * j / 2 <= slot) j++;
    return (position){slot - (j * n - j * (j - 1) / 2) + j + skew, j};
}

static void store_dense(const sp_parse_output *t, position *at, sp_c128 value)
{
    const sp_symmetry symmetry = t->header->symmetry;
    sp_value_set(t->val, t->precision, at->i * t->ld + at->j, value);
    if (symmetry != SP_GENERAL && at->i != at->j)
        sp_value_set(t->val, t->precision, at->j * t->ld + at->i,
                     SP_VALUE_OF_IMAGE(value, sp_image_of(symmetry)));
    if (++at->i == t->header->rows) {
        at->j++;
        at->i = symmetry == SP_GENERAL ? 0 : at->j + (symmetry == SP_SKEW);
    }
}

static ALWAYS_INLINE int64_t parse_array(const sp_parse_output *t, const sp_chunk *c, const sp_field field,
                                         const spmm_precision precision, sp_read_error *error)
{
    const char *const end = c->text + c->bytes;
    int64_t slot = c->first_entry, line = c->first_line;
    position at = array_place(t->header, slot);
    for (const char *p = c->text; p < end; line++) {
        double value[2] = {0.0, 0.0};
        const char *next = fast_value(mtx_parse_skip(p), field, value);
        if (next) next = fast_line_end(next);
        if (__builtin_expect(!next || slot >= t->capacity || !mtx_parse_fits(value, precision), 0)) {
            sp_entry entry;
            const careful_result result = careful(t, c, p, line, slot, &entry, error);
            p = result.next;
            if (!p) break;
            if (!result.stored) continue;
            value[0] = __real__ entry.value;
            value[1] = __imag__ entry.value;
        } else {
            p = next;
        }
        const sp_c128 both = __builtin_complex(value[0], value[1]);
        if (t->dense)
            store_dense(t, &at, both);
        else
            sp_value_set(t->val, precision, slot, both);
        slot++;
    }
    return slot - c->first_entry;
}

/* ---- parsing chunks of any file ---- */

/** Finds the first entry in each strict triangle among the first `stored` entries of the chunk. Lowers the
 *  triangle's member of *first to the line of that entry if the line is earlier. */
static void find_triangles(const sp_parse_output *t, const sp_chunk *c, int64_t stored, sp_triangles *first)
{
    const char *const end = c->text + c->bytes;
    int64_t slot = c->first_entry, line = c->first_line;
    for (const char *p = c->text; slot < c->first_entry + stored; p = sp_line_end(p, end) + 1, line++) {
        if (!sp_is_entry_line(p, t->header->comment)) continue;
        const int64_t k = slot - t->first_entry;
        if (t->I[k] > t->J[k] && line < first->lower_line) first->lower_line = line;
        if (t->I[k] < t->J[k] && line < first->upper_line) first->upper_line = line;
        slot++;
    }
}

/** Parses a chunk by the function for its kind of file. In each call, field and precision are constants, so
 *  that the compiler specializes the function. Returns the number of entries stored. */
static ALWAYS_INLINE int64_t parse_by_field(const sp_parse_output *t, const sp_chunk *c,
                                            const spmm_precision p, unsigned *seen, sp_read_error *error)
{
    switch (t->header->field) {
    case SP_FIELD_REAL:
        return t->header->array ? parse_array(t, c, SP_FIELD_REAL, p, error)
                                : parse_coordinate(t, c, SP_FIELD_REAL, p, seen, error);
    case SP_FIELD_INTEGER:
        return t->header->array ? parse_array(t, c, SP_FIELD_INTEGER, p, error)
                                : parse_coordinate(t, c, SP_FIELD_INTEGER, p, seen, error);
    case SP_FIELD_COMPLEX: /* only for complex types */
        return !sp_is_complex(p)  ? 0
               : t->header->array ? parse_array(t, c, SP_FIELD_COMPLEX, p, error)
                                  : parse_coordinate(t, c, SP_FIELD_COMPLEX, p, seen, error);
    case SP_FIELD_PATTERN: break;
    }
    return parse_coordinate(t, c, SP_FIELD_PATTERN, p, seen, error);
}

static int64_t parse_by_kind(const sp_parse_output *t, const sp_chunk *c, unsigned *seen,
                             sp_read_error *error)
{
    if (t->wanted == SP_WANT_LENGTHS && t->header->symmetry == SP_GENERAL)
        return parse_coordinate(t, c, COLUMN_SKIPPED, SPMM_F64, seen, error);
    /* pattern files are parsed below: their lines end after the indices, so full parsing costs little */
    if (t->wanted != SP_WANT_ALL && t->header->field != SP_FIELD_PATTERN)
        return parse_coordinate(t, c, FIELD_SKIPPED, SPMM_F64, seen, error);
#define PARSE(id) return parse_by_field(t, c, id, seen, error);
    SP_BY_ID(t->precision, PARSE);
#undef PARSE
    return 0;
}

spmm_status sp_parse_chunk(const sp_parse_output *t, const sp_chunk *c, sp_triangles *first,
                           sp_read_error *error)
{
    unsigned seen = 0;
    error->status = SPMM_OK;
    const int64_t stored = parse_by_kind(t, c, &seen, error);
    if (t->header->symmetry != SP_GENERAL && (((seen & LOWER) && c->first_line < first->lower_line) ||
                                              ((seen & UPPER) && c->first_line < first->upper_line)))
        find_triangles(t, c, stored, first);
    if (error->status == SPMM_OK && stored != c->entries)
        return sp_error_set(error, SPMM_ERR_INTERNAL, c->first_line,
                            "found %lld entries, expected %lld, as counted before", (long long)stored,
                            (long long)c->entries);
    return error->status;
}
