/** Products of multivectors with small dense matrices, on this rank's rows. spmm_types.h declares the public
 *  functions; the inner products of distributed multivectors are in comm/inner_products.c.
 *
 *  No BLAS is used, on CPUs or GPUs: it would choose its own threads and order of summation, and libspmm
 *  would have to be linked with it. */
#ifndef SP_DENSE_H
#define SP_DENSE_H

#include "base/status.h"
#include "base/value_type.h"

/** Checks x and y for operations on both: each is a valid multivector, and they have the same number of rows,
 *  precision and space. Local.
 *  \param [in] function  name of the public function, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_alike(const spmm_multivector *x, const spmm_multivector *y, const char *function);

/** Checks that the values of x are complex, or real.
 *  \param [in] function  the public function; the one for complex values has the name of the other
 *                        and "_complex"
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message names the other function) */
spmm_status sp_complex_check(const spmm_multivector *x, int complex, const char *function);

/** A small row-major matrix in host memory, [rows x cols]: an argument of a public function. */
typedef struct sp_small {
    const char *name; /**< name of the argument, for messages */
    const void *data;
    int64_t rows, cols, ld; /**< ld is at least cols */
    spmm_precision type;    /**< of the elements: f64 or c128 */
} sp_small;

/** Checks a small matrix, not NULL, that is used with the valid multivector v: its size fits 64 bits, it is
 *  aligned and in host memory, and the memory from its first to its last element does not overlap that of v.
 *  Local.
 *  \param [in] name, function  names of v and of the public function, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_small_check(const sp_small *small, const spmm_multivector *v, const char *name,
                           const char *function);

/** Computes this rank's part of X^T Y, g[i * y->k + j] := sum of x(r, i) y(r, j) over the rows r, in f64
 *  whatever the precision. x and y have passed sp_multivector_check() and have the same number of rows,
 *  precision and space.
 *
 *  Local; uses all OpenMP threads. The rows are cut into sections, whose number depends on the number of rows
 *  alone; within a section a sum is one chain of fused multiply-adds, and sections are added in their order,
 *  so that the bits depend neither on threads nor on the instruction set. A GPU uses other sections. If x and
 *  y are the same multivector, half of the products are computed and the result is symmetric.
 *  \param [out] g  in host memory, [x->k x y->k]
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_gram(const spmm_multivector *x, const spmm_multivector *y, double *g);

/** Computes the sum of squares of each column of x over this rank's rows, in f64, added in the order of
 *  sp_gram(). Local; uses all OpenMP threads.
 *  \param [out] sum  in host memory, [x->k]
 *  \return as sp_gram() */
spmm_status sp_squares(const spmm_multivector *x, double *sum);

/** Computes y := alpha x r + beta y; y is not read if beta is 0. x and y have passed sp_multivector_check()
 *  and have the same number of rows, precision and space. Either they share no column, or y is columns
 *  0 .. y->k - 1 of x. alpha and beta have the precision of x and y, which is that of the computation; r is
 *  rounded to it. On CPUs each element of x r is one chain of fused multiply-adds.
 *
 *  Local; uses all OpenMP threads. On a GPU the operation is complete on return.
 *  \param [in] r    in host memory, [x->k x y->k], row-major
 *  \param [in] ldr  leading dimension of r, >= y->k
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_times(sp_value alpha, const spmm_multivector *x, const double *r, int64_t ldr, sp_value beta,
                     const spmm_multivector *y);

#endif
