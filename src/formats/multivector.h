/** The multivectors X and Y: layout, checks, generation, writing and permutation. spmm_types.h declares the
 *  functions that create and copy multivectors. */
#ifndef SP_MULTIVECTOR_H
#define SP_MULTIVECTOR_H

#include <stdio.h>
#include "base/memory.h"
#include "base/value_type.h"

/** Returns the leading dimension, in elements, for rows of k elements. If a row is shorter than a
 *  32-byte sector of GPU memory, k is rounded up to a power of two, so that no row straddles two sectors.
 *  Otherwise k is rounded up to whole sectors, so that each row starts on a sector boundary. Local. */
int64_t sp_multivector_ld(int64_t k, spmm_precision precision);

/** How the elements of a generated X are computed; see sp_x_element(). */
typedef enum sp_x_kind { SP_X_UNIFORM, SP_X_ONES, SP_X_INDEX } sp_x_kind;

/** Returns element (row, column) of a generated X: it depends only on seed, row and column, so that each
 *  rank can generate the rows that it needs. SP_X_UNIFORM: a multiple of 2^-23 in [-1, 1), which f32
 *  represents exactly (in complex types another one is the imaginary part); SP_X_ONES: 1; SP_X_INDEX: 1 +
 *  (row + column) mod 1000, small integers, so that products with integer matrices are exact. Local. */
double sp_x_element(sp_x_kind kind, uint64_t seed, int64_t row, int64_t column);

/** Fills x, in host memory, with generated elements: row i of x receives the elements of global row first_row
 *  + i, and padding is zeroed. Uses `threads` OpenMP threads. Local. */
void sp_multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                             int threads);

/** Fills x, in host memory, with generated elements: row i of x receives the elements of global row row[i],
 *  and padding is zeroed. `row` has x->rows elements. Uses `threads` OpenMP threads. Local. */
void sp_multivector_generate_rows(spmm_multivector *x, sp_x_kind kind, uint64_t seed, const int64_t *row,
                                  int threads);

/** Writes a multivector in host memory to a Matrix Market array file (column-major, as that format requires),
 *  with enough digits to read the same values back. The file appears complete or not at all (output_file.h);
 *  a device or a pipe is written directly. Local.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_multivector_write(const spmm_multivector *v, const char *path);

/** Checks that *v is a valid multivector: its shape, leading dimension and numbers of ghost rows, and that
 *  v->data is in the memory that v->space names. Local.
 *  \param [in] function, name  the public function and its argument, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_check(const spmm_multivector *v, const char *function, const char *name);

/** As sp_multivector_check(), but also accepts column-major multivectors. Local. */
spmm_status sp_multivector_check_any(const spmm_multivector *v, const char *function, const char *name);

/** Checks that two multivectors, ghost rows included, do not overlap in memory. Both must have passed
 *  sp_multivector_check(). Local.
 *  \param [in] function, name_a, name_b  the public function and its arguments, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_apart(const spmm_multivector *a, const spmm_multivector *b, const char *function,
                                 const char *name_a, const char *name_b);

/** Computes the size in bytes of a multivector of `rows` rows of k elements, padding included. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE (rows < 0 or k < 0), SPMM_ERR_LIMIT */
spmm_status sp_multivector_size(int64_t rows, int64_t k, spmm_precision precision, int64_t *bytes);

/** Returns a multivector that uses memory of the caller. The memory must have sp_multivector_size() bytes for
 *  all rows: first `before` ghost rows, then `rows` owned rows, then `behind` ghost rows. Allocates nothing.
 *  Local. */
spmm_multivector sp_multivector_in(void *memory, int64_t before, int64_t rows, int64_t behind, int64_t k,
                                   spmm_precision precision, spmm_device space);

/** Returns a multivector of k columns in the memory of v, which has at least k columns. v is from
 *  sp_multivector_in(), or has no data and is returned unchanged. Local. */
spmm_multivector sp_multivector_with_k(const spmm_multivector *v, int64_t k);

/** Allocates a multivector of `rows` owned rows, with `before` ghost rows before them (v->ghost_low) and
 *  `behind` ghost rows after them (v->ghost_high). All elements are zero. Local.
 *  \param [out] v  the caller destroys it with spmm_multivector_destroy(); zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE, _LIMIT, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_multivector_create(int64_t before, int64_t rows, int64_t behind, int64_t k,
                                  spmm_precision precision, spmm_device space, spmm_multivector *v);

/** Computes y := alpha x + beta y; y is not read if beta is 0, x is not read if alpha is 0. x and y have the
 *  same shape, precision and space, and may be the same multivector. At most one of them is column-major. On
 *  a GPU the operation is queued in SP_STREAM_MAIN. Local.
 *  \param [in] alpha, beta  in the precision of x and y
 *  \param [in] threads  OpenMP threads; not used on a GPU
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_multivector_axpby(sp_value alpha, const spmm_multivector *x, sp_value beta,
                                 spmm_multivector *y, int threads);

/** Renumbers rows: row i of src becomes row perm[i] of dst. With `inverse`, row perm[i] of src becomes row i
 *  of dst, which undoes the renumbering. Local; uses all OpenMP threads.
 *
 *  \param [in]  src   in host memory; src and dst have the same rows, k and precision and do not overlap, but
 *                     their leading dimensions may differ
 *  \param [in]  perm  a permutation of 0 .. rows-1, [rows]
 *  \param [out] dst   allocated by the caller in host memory; its padding is left unchanged
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes or spaces differ, or a number in perm is out of range) */
spmm_status sp_multivector_permute(const spmm_multivector *src, const int64_t *perm, int inverse,
                                   spmm_multivector *dst);

#ifndef __cplusplus
/** Returns element (i, j) of a row-major multivector in host memory, as sp_value_get() does.
 *  Local. */
static inline double sp_multivector_get(const spmm_multivector *v, int64_t i, int64_t j)
{
    return sp_value_get(v->data, v->precision, i * v->ld + j);
}

/** Returns element (i, j) of a row-major multivector of any type in host memory. Local. */
static inline sp_c128 sp_multivector_at(const spmm_multivector *v, int64_t i, int64_t j)
{
    return sp_value_at(v->data, v->precision, i * v->ld + j);
}
#endif

/** Returns v, row-major, as a multivector of real numbers. If v is complex, it has twice as many columns,
 *  because real and imaginary parts are separate elements. Local. */
static inline spmm_multivector sp_multivector_reals(const spmm_multivector *v)
{
    const sp_value_type type = sp_type_of(v->precision);
    spmm_multivector reals = *v;
    reals.precision = type.real;
    reals.k *= type.parts;
    reals.ld *= type.parts;
    return reals;
}

/** Returns the size in bytes of a row of v, padding included. Local. */
static inline int64_t sp_row_bytes(const spmm_multivector *v) { return v->ld * sp_value_size(v->precision); }

/** Returns the address of row i of v, which is row-major, in the memory that v->space names: owned rows start
 *  at 0, with ghost rows before and after them, from -v->ghost_low to v->rows + v->ghost_high - 1. Local. */
static inline void *sp_row(const spmm_multivector *v, int64_t i)
{
    return (char *)v->data + i * sp_row_bytes(v);
}

/** Returns the size in bytes of the owned rows of v (without ghost rows), padding included. Local. */
static inline int64_t sp_multivector_bytes(const spmm_multivector *v) { return v->rows * sp_row_bytes(v); }

#endif
