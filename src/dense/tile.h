/** The innermost loop of products of dense matrices: one tile of C += A B in registers. */
#ifndef SP_TILE_H
#define SP_TILE_H

#include <stdint.h>

/** Rows of a tile, and its columns in f64 and in f32, which are two AVX2 vectors. */
enum { SP_TILE_ROWS = 4, SP_TILE_F64 = 8, SP_TILE_F32 = 16 };

/** Adds `steps` products to a tile, c[i][j] := fma(a(i, t), b(t, j), c[i][j]) for t = 0, 1, .. in this order,
 *  where a(i, t) is a[i * a_line + t * a_step] and b(t, j) is b[t * b_step + j]. Each element of c is a
 *  separate chain, so that the bits are the same with all instruction sets. Local.
 *  \param [in,out] c  [SP_TILE_ROWS x SP_TILE_F64], row-major with leading dimension ldc */
typedef void (*sp_tile_f64)(int64_t steps, const double *a, int64_t a_line, int64_t a_step, const double *b,
                            int64_t b_step, double *c, int64_t ldc);
/** The same in f32, for tiles of SP_TILE_F32 columns. */
typedef void (*sp_tile_f32)(int64_t steps, const float *a, int64_t a_line, int64_t a_step, const float *b,
                            int64_t b_step, float *c, int64_t ldc);

/** Returns the loop in f64 for this processor's instruction set (sp_cpu_isa()). Local. */
sp_tile_f64 sp_tile_of_f64(void);
/** Returns the loop in f32 for this processor's instruction set (sp_cpu_isa()). Local. */
sp_tile_f32 sp_tile_of_f32(void);

#endif
