/** Multivectors as callers may have them: created for a plan, by the library, or in the caller's memory,
 *  row-major or column-major, with or without padding, on CPUs at any address that is a multiple of a
 *  number's size. */
#ifndef SP_DIFFERENTIAL_OPERANDS_H
#define SP_DIFFERENTIAL_OPERANDS_H

#include "differential_judge.h"

enum {
    GUARD_BYTES = 72,
    GUARD = 0xA5
}; /* GUARD_BYTES is an odd multiple of 8, so that a caller's memory is aligned to 8 bytes only */

typedef enum operand_kind {
    OPERAND_X_OF_PLAN,
    OPERAND_Y_OF_PLAN,
    OPERAND_CREATED, /* by spmm_multivector_create() */
    OPERAND_ROWS,    /* the caller's memory, row-major */
    OPERAND_COLUMNS, /* the caller's memory, column-major */
} operand_kind;

/** A multivector and where its elements are. On CPUs `view` and `image` are the same. On a GPU the library
 *  computes with `view`, in the memory of `there`, and the tester with `image`, in the memory of `here`. */
typedef struct operand {
    operand_kind kind;
    spmm_multivector view, image;
    spmm_multivector here,
        there;             /* on a GPU both, of one shape; on a CPU only `here`, if the library made it */
    char *memory;          /* a caller's memory on a CPU, with guards on both sides; else NULL */
    size_t bytes;          /* between the guards */
    unsigned char *before; /* copy of those bytes from before the call */
    diff_values values;    /* these three: arguments of the last operand_fill() */
    uint64_t key;
    int64_t first;
} operand;

/** The place of number j of row i among the numbers of the multivector. */
static inline int64_t element_place(const spmm_multivector *v, int64_t i, int64_t j)
{
    const int64_t parts = diff_parts(v->precision), column = j / parts;
    const int64_t at = v->layout == SPMM_COLUMN_MAJOR ? column * v->ld + i : i * v->ld + column;
    return at * parts + j % parts;
}

/** The numbers of a row. */
static inline int64_t numbers_of(const operand *o) { return o->view.k * diff_parts(o->view.precision); }

/** Number j of row i. */
static inline double element(const operand *o, int64_t i, int64_t j)
{
    return diff_number(o->image.data, o->image.precision, element_place(&o->image, i, j));
}

static inline void element_set(operand *o, int64_t i, int64_t j, double v)
{
    diff_set_number(o->image.data, o->image.precision, element_place(&o->image, i, j), v);
}

/** Copies what the tester has written to the library's multivector; operand_fetch() copies the results
 *  back. */
static inline void operand_send(operand *o)
{
    if (o->view.space == SPMM_CUDA)
        went_well(spmm_multivector_copy(&o->here, &o->there), "a copy to the GPU");
}

static inline void operand_fetch(operand *o)
{
    if (o->view.space == SPMM_CUDA)
        went_well(spmm_multivector_copy(&o->there, &o->here), "a copy from the GPU");
}

/** Allocates a caller's memory on a CPU, with guards on both sides. */
static inline void operand_allocate(operand *o)
{
    const size_t size = diff_size(o->view.precision);
    const spmm_multivector *const v = &o->view;
    const int64_t lines = v->layout == SPMM_COLUMN_MAJOR ? v->k : v->rows;
    const int64_t last = v->layout == SPMM_COLUMN_MAJOR ? v->rows : v->ld;
    o->bytes = lines > 0 ? (size_t)((lines - 1) * v->ld + last) * size : 0;
    o->memory = diff_malloc(o->bytes + 2 * GUARD_BYTES);
    o->before = diff_malloc(o->bytes);
    memset(o->memory, GUARD, o->bytes + 2 * GUARD_BYTES);
    o->view.data = o->memory + GUARD_BYTES;
    o->image = o->view;
}

/** Makes a caller's multivector in GPU memory: a view of a multivector that spmm.h allocates, whose rows
 *  serve as its rows or its columns. */
static inline void operand_borrow(operand *o)
{
    const int columns = o->view.layout == SPMM_COLUMN_MAJOR;
    const int64_t lines = columns ? o->view.k : o->view.rows;
    went_well(spmm_multivector_create(lines, o->view.ld, o->view.precision, SPMM_CUDA, &o->there), "create");
    went_well(spmm_multivector_create(lines, o->view.ld, o->view.precision, SPMM_CPU, &o->here), "create");
    o->view.ld = o->there.ld;
    o->view.data = o->there.data;
    o->image = o->view;
    o->image.space = SPMM_CPU;
    o->image.ld = o->here.ld;
    o->image.data = o->here.data;
}

/** Makes a multivector by the library. */
static inline void operand_create(operand *o, const spmm_plan *plan, int64_t rows, int64_t k,
                                  spmm_precision precision)
{
    spmm_multivector *const made = diff_.device == SPMM_CUDA ? &o->there : &o->here;
    went_well(o->kind == OPERAND_X_OF_PLAN ? spmm_plan_x_create(plan, made)
              : o->kind == OPERAND_Y_OF_PLAN
                  ? spmm_plan_y_create(plan, made)
                  : spmm_multivector_create(rows, k, precision, diff_.device, made),
              "making a multivector");
    if (made->rows != rows || made->k != k || made->precision != precision || made->space != diff_.device)
        differs("a multivector of %lld x %lld, expected %lld x %lld", (long long)made->rows,
                (long long)made->k, (long long)rows, (long long)k);
    if (diff_.device == SPMM_CUDA)
        went_well(spmm_multivector_create(rows, k, precision, SPMM_CPU, &o->here), "create");
    o->view = *made;
    o->image = o->here;
}

/** Makes a multivector [rows x k]. If its kind is one in a caller's memory, its leading dimension is the
 *  minimum plus `pad`, rounded up on a GPU. */
static inline void operand_make(operand *o, operand_kind kind, const spmm_plan *plan, int64_t rows, int64_t k,
                                spmm_precision precision, int64_t pad)
{
    const int columns = kind == OPERAND_COLUMNS;
    *o = (operand){.kind = kind};
    if (kind < OPERAND_ROWS) {
        operand_create(o, plan, rows, k, precision);
        return;
    }
    o->view = (spmm_multivector){.rows = rows,
                                 .k = k,
                                 .ld = (columns ? rows : k) + pad,
                                 .precision = precision,
                                 .space = diff_.device,
                                 .layout = columns ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR};
    if (o->view.ld == 0) o->view.ld = 1;
    if (diff_.device == SPMM_CUDA)
        operand_borrow(o);
    else
        operand_allocate(o);
}

/** Draws a kind of multivector for a plan's product. */
static inline operand_kind draw_operand(operand_kind of_plan)
{
    const operand_kind kinds[] = {of_plan, of_plan, OPERAND_CREATED, OPERAND_ROWS, OPERAND_COLUMNS};
    return DRAW_FROM(kinds);
}

static inline void operand_destroy(operand *o)
{
    spmm_multivector_destroy(&o->here);
    spmm_multivector_destroy(&o->there);
    free(o->memory);
    free(o->before);
    memset(o, 0, sizeof *o);
}

/** Remembers the bytes of a caller's multivector. */
static inline void operand_remember(operand *o)
{
    if (o->memory) memcpy(o->before, o->view.data, o->bytes);
}

/** Fills in the elements of global rows `first` and following, and remembers the bytes. */
static inline void operand_fill(operand *o, int64_t first, diff_values values, uint64_t key)
{
    o->first = first;
    o->values = values;
    o->key = key;
    for (int64_t i = 0; i < o->view.rows; i++)
        for (int64_t j = 0; j < numbers_of(o); j++)
            element_set(o, i, j, diff_element(values, key, first + i, j, o->view.precision));
    operand_send(o);
    operand_remember(o);
}

/** Fills all elements with NaN, for a result whose old elements are not read. */
static inline void operand_fill_nan(operand *o)
{
    for (int64_t i = 0; i < o->view.rows; i++)
        for (int64_t j = 0; j < numbers_of(o); j++) element_set(o, i, j, NAN);
    operand_send(o);
    operand_remember(o);
}

/** Notes a difference if a guard of a caller's memory was written. */
static inline void guards_stand(const operand *o, const char *what)
{
    for (size_t k = 0; o->memory && k < GUARD_BYTES; k++)
        if ((unsigned char)o->memory[k] != GUARD ||
            (unsigned char)o->memory[GUARD_BYTES + o->bytes + k] != GUARD) {
            differs("%s: memory beside it was written", what);
            return;
        }
}

/** Notes a difference if an operand that is only read has changed since operand_fill(): any byte of a
 *  caller's memory on a CPU, else any element. */
static inline void is_unchanged(operand *o, const char *what)
{
    guards_stand(o, what);
    if (o->memory) {
        if (memcmp(o->before, o->view.data, o->bytes) != 0) differs("%s: it was written", what);
        return;
    }
    operand_fetch(o);
    for (int64_t i = 0; i < o->view.rows; i++)
        for (int64_t j = 0; j < numbers_of(o); j++)
            if (!same_bits(element(o, i, j),
                           diff_element(o->values, o->key, o->first + i, j, o->view.precision))) {
                differs("%s: its element (%lld, %lld) was written", what, (long long)i, (long long)j);
                return;
            }
}

/** Notes a difference if the padding of a caller's result was written: between the columns of a column-major
 *  result, or, if `rows` is 1, behind the rows of a row-major result. (Products may overwrite the padding of
 *  a row-major result.) */
static inline void padding_stands(const operand *o, int rows, const char *what)
{
    const spmm_multivector *const v = &o->view;
    const int columns = v->layout == SPMM_COLUMN_MAJOR;
    const size_t size = diff_size(v->precision);
    const int64_t lines = columns ? v->k - 1 : v->rows, used = columns ? v->rows : v->k;
    guards_stand(o, what);
    if (!o->memory || o->bytes == 0 || (!columns && !rows)) return;
    for (int64_t line = 0; line < lines; line++) {
        const size_t at = (size_t)(line * v->ld + used) * size, n = (size_t)(v->ld - used) * size;
        if (memcmp((const char *)v->data + at, o->before + at, n) != 0) {
            differs("%s: what lies behind line %lld of it was written", what, (long long)line);
            return;
        }
    }
}

#endif
