/** X and Y: layout, generation, reading, writing. Creation and copies are in spmm.h. */
#ifndef SP_MULTIVECTOR_H
#define SP_MULTIVECTOR_H

#include <stdio.h>
#include "base/memory.h"

/** Elements between rows so that no row straddles a 32-byte sector and rows of 32 bytes and more
 *  start on one: k rounded up to a power of two below that size, to a multiple of it above. */
int64_t sp_multivector_ld(int64_t k, spmm_precision precision);

/** What X holds. */
typedef enum sp_x_kind { SP_X_UNIFORM, SP_X_ONES, SP_X_INDEX } sp_x_kind;

/** Element (row, column) of a generated X: a function of seed, row and column alone, so that each
 *  rank makes the rows it needs. UNIFORM: a multiple of 2^-23 in [-1, 1), so exact in f32 too;
 *  ONES: 1; INDEX: 1 + (row + column) mod 1000, small integers that keep integer products exact. */
double sp_x_element(sp_x_kind kind, uint64_t seed, int64_t row, int64_t column);

/** Fills host rows: x's row i gets the elements of global row first_row + i; padding is zeroed.
 *  By `threads` OpenMP threads. */
void sp_multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                             int threads);

/** The same with the elements of the listed global rows, [x->rows]. */
void sp_multivector_generate_rows(spmm_multivector *x, sp_x_kind kind, uint64_t seed, const int64_t *row,
                                  int threads);

/** Writes a host multivector as a Matrix Market array file (column-major, as the format wants it), with
 *  digits enough to read the same values back. The file appears complete or not at all (output_file.h); a
 *  device or a pipe is written into.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_multivector_write(const spmm_multivector *v, const char *path);

/** Is it a multivector at all: a shape, a layout and memory that go together? name: of the argument of that public
 *  function. Local. \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_check(const spmm_multivector *v, const char *function, const char *name);

/** Do they lie apart, room before and behind included? Both have passed sp_multivector_check(). Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_multivector_apart(const spmm_multivector *a, const spmm_multivector *b, const char *function,
                                 const char *name_a, const char *name_b);

/** Bytes of so many rows. \return SPMM_OK, SPMM_ERR_USAGE (rows < 0, k < 1), SPMM_ERR_LIMIT */
spmm_status sp_multivector_size(int64_t rows, int64_t k, spmm_precision precision, int64_t *bytes);

/** A view of memory that has sp_multivector_size() of all rows, those of the room before and behind included. */
spmm_multivector sp_multivector_in(void *memory, int64_t before, int64_t rows, int64_t behind, int64_t k,
                                   spmm_precision precision, spmm_device space);

/** Makes a multivector with room of so many rows before and behind it (spmm.h); all are zero. */
spmm_status sp_multivector_create(int64_t before, int64_t rows, int64_t behind, int64_t k,
                                  spmm_precision precision, spmm_device space, spmm_multivector *v);

/** y := alpha x + beta y; where beta is 0, y is not read. The same shape and space; they may be the same. On a
 *  GPU: queued. */
spmm_status sp_multivector_axpby(double alpha, const spmm_multivector *x, double beta, spmm_multivector *y,
                                 int threads);

/** Renumbers rows: dst's row perm[i] is src's row i, or with `inverse` dst's row i is src's row perm[i], which
 *  undoes it. By all OpenMP threads.
 *
 *  \param [in]  src   in host memory, as dst is; of the same rows, k and precision, but of any leading
 *                     dimension; they must not overlap
 *  \param [in]  perm  a permutation of 0 .. rows-1, [rows]
 *  \param [out] dst   its padding stays as it is
 *  \return SPMM_OK, SPMM_ERR_USAGE (shapes or spaces differ, or a row's number is out of range) */
spmm_status sp_multivector_permute(const spmm_multivector *src, const int64_t *perm, int inverse,
                                   spmm_multivector *dst);

static inline double sp_multivector_get(const spmm_multivector *v, int64_t i, int64_t j)
{
    return v->precision == SPMM_F64 ? ((const double *)v->data)[i * v->ld + j]
                                    : (double)((const float *)v->data)[i * v->ld + j];
}

static inline int64_t sp_multivector_bytes(const spmm_multivector *v)
{
    return v->rows * v->ld * (int64_t)sp_value_size(v->precision);
}

#endif
