/** X and Y: layout, checks, generation, writing, permutation. spmm_types.h has their creation and copies. */
#ifndef SP_MULTIVECTOR_H
#define SP_MULTIVECTOR_H

#include <stdio.h>
#include "base/memory.h"

/** Returns the leading dimension, in elements, for rows of k elements: k rounded up to a power of two where a row is
 *  shorter than a 32-byte sector, else to whole sectors. So no short row straddles two sectors, and longer rows start
 *  on a sector boundary. Local. */
int64_t sp_multivector_ld(int64_t k, spmm_precision precision);

/** What X holds. */
typedef enum sp_x_kind { SP_X_UNIFORM, SP_X_ONES, SP_X_INDEX } sp_x_kind;

/** Returns element (row, column) of a generated X: a function of seed, row and column alone, so that each rank can
 *  generate the rows it needs. UNIFORM: a multiple of 2^-23 in [-1, 1), which f32 holds exactly; ONES: 1;
 *  INDEX: 1 + (row + column) mod 1000, small integers, so that products with integer matrices are exact. Local. */
double sp_x_element(sp_x_kind kind, uint64_t seed, int64_t row, int64_t column);

/** Fills x, in host memory, with generated elements: row i gets those of global row first_row + i, and its padding
 *  is zeroed. Local; uses `threads` OpenMP threads. */
void sp_multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                             int threads);

/** Fills x likewise, row i with the elements of global row row[i]; row [x->rows]. Local. */
void sp_multivector_generate_rows(spmm_multivector *x, sp_x_kind kind, uint64_t seed, const int64_t *row,
                                  int threads);

/** Writes a multivector in host memory to a Matrix Market array file (column-major, as the format requires), with
 *  enough digits to read the same values back. The file appears complete or not at all (output_file.h); a device or
 *  a pipe is written directly. Local.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_multivector_write(const spmm_multivector *v, const char *path);

/** Checks that *v is a valid multivector: shape, layout, ghost rows, and data in memory of the kind `space` says.
 *  Local.
 *  \param [in] function, name  the public function and its argument, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_check(const spmm_multivector *v, const char *function, const char *name);

/** Checks that two multivectors, ghost rows included, do not overlap in memory. Both have passed
 *  sp_multivector_check(). Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_apart(const spmm_multivector *a, const spmm_multivector *b, const char *function,
                                 const char *name_a, const char *name_b);

/** Computes the bytes of `rows` rows, padding included. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE (rows < 0, k < 1), SPMM_ERR_LIMIT */
spmm_status sp_multivector_size(int64_t rows, int64_t k, spmm_precision precision, int64_t *bytes);

/** Makes a multivector of memory of the caller, which has sp_multivector_size() bytes for all rows: `before` and
 *  `behind` ghost rows and the own rows between them. Allocates nothing. Local. */
spmm_multivector sp_multivector_in(void *memory, int64_t before, int64_t rows, int64_t behind, int64_t k,
                                   spmm_precision precision, spmm_device space);

/** Allocates a multivector with `before` ghost rows before and `behind` after its own rows (ghost_low, ghost_high);
 *  all elements are zero. Local.
 *  \param [out] v  the caller destroys it by spmm_multivector_destroy(); zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE, _LIMIT, _MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_multivector_create(int64_t before, int64_t rows, int64_t behind, int64_t k,
                                  spmm_precision precision, spmm_device space, spmm_multivector *v);

/** Computes y := alpha x + beta y; where beta is 0, y is not read. x and y have the same shape, precision and space,
 *  and may be the same. On a GPU the operation is queued in the current stream. Local.
 *  \param [in] threads  OpenMP threads (SPMM_CPU)
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_multivector_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                                 int threads);

/** Renumbers rows: row i of src becomes row perm[i] of dst or, with `inverse`, row perm[i] of src becomes row i of
 *  dst, which undoes it. Local; uses all OpenMP threads.
 *
 *  \param [in]  src   in host memory, as dst is, and of the same rows, k and precision; leading dimensions may
 *                     differ, and they must not overlap
 *  \param [in]  perm  a permutation of 0 .. rows-1, [rows]
 *  \param [out] dst   allocated by the caller; its padding is left unchanged
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes or spaces differ, or a number in perm is out of range) */
spmm_status sp_multivector_permute(const spmm_multivector *src, const int64_t *perm, int inverse,
                                   spmm_multivector *dst);

/** Returns element (i, j) of a multivector in host memory. Local. */
static inline double sp_multivector_get(const spmm_multivector *v, int64_t i, int64_t j)
{
    return v->precision == SPMM_F64 ? ((const double *)v->data)[i * v->ld + j]
                                    : (double)((const float *)v->data)[i * v->ld + j];
}

/** Returns the bytes of its own rows, padding included. Local. */
static inline int64_t sp_multivector_bytes(const spmm_multivector *v)
{
    return v->rows * v->ld * (int64_t)sp_value_size(v->precision);
}

#endif
