/** X and Y: layout, generation, reading, writing. Creation and copies are in spmm.h. */
#ifndef SP_MULTIVECTOR_H
#define SP_MULTIVECTOR_H

#include <stdio.h>
#include "memory.h"

/** Elements between rows so that no row straddles a 32-byte sector and rows of 32 bytes and more
 *  start on one: k rounded up to a power of two below that size, to a multiple of it above. */
int64_t sp_multivector_ld(int64_t k, spmm_precision precision);

/** What X holds. */
typedef enum sp_x_kind { SP_X_UNIFORM, SP_X_ONES, SP_X_INDEX } sp_x_kind;

/** Element (row, column) of a generated X: a function of seed, row and column alone, so that each
 *  rank makes the rows it needs. UNIFORM: in [-1, 1), exact in f32; ONES: 1; INDEX: row + 1 +
 *  column / 1024 (in f32: of row mod 4096). */
double sp_x_element(sp_x_kind kind, uint64_t seed, int64_t row, int64_t column);

/** Fills host rows: x's row i gets the elements of global row first_row + i; padding is zeroed.
 *  By `threads` OpenMP threads. */
void sp_multivector_generate(spmm_multivector *x, sp_x_kind kind, uint64_t seed, int64_t first_row,
                             int threads);

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
