/** \file mmio.h
 *  Matrix Market files through the C interface that NIST published for the format
 *  (https://math.nist.gov/MatrixMarket/mmio-c.html). The names, types, codes and return values are
 *  those of NIST's library, so that programs written for it compile and run. The code was written anew from
 *  the description of the format (R. Boisvert, R. Pozo, K. Remington, "The Matrix Market exchange formats",
 *  NISTIR 5935, 1996).
 *
 *  Differences, all of them extensions:
 *  - The ..._size64 functions support sizes beyond int.
 *  - The banner may follow blanks or a byte order mark, its words may be in upper or lower case, and "double"
 *    means "real"; comment lines may have any length and may stand between entries.
 *  - Integer matrices are read and written where NIST's version handles only real ones.
 *  - Numbers are read and written with a decimal point in any locale. Doubles are correctly rounded in any
 *    rounding mode, and get 17 digits on writing, so that a written value is read back unchanged. The
 *    exponent letter may be D or E.
 *  - An index outside the matrix makes mm_read_mtx_crd_data() and its callers fail.
 *
 *  The functions are in libmm, which spmm.pc and CMake's target spmm::spmm name in addition to libspmm. The
 *  static libmm.a needs -lm.
 *
 *  For large files use spmm_csr_read() of spmm_types.h, which reads with all OpenMP threads.
 *
 *  All functions are local; several threads may use them at once on different files. Indices are 1-based as
 *  in the file, except where stated otherwise.
 */
#ifndef MM_IO_H
#define MM_IO_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MM_MAX_LINE_LENGTH 1025
#define MatrixMarketBanner "%%MatrixMarket"
#define MM_MAX_TOKEN_LENGTH 64

/** Type of a matrix: four letters, not zero-terminated. [0] object: M; [1] format: C (coordinate) or A
 *  (array); [2] field: R (real), C (complex), P (pattern) or I (integer); [3] symmetry: G (general), S
 *  (symmetric), H (hermitian) or K (skew-symmetric). */
typedef char MM_typecode[4];

/** Returns the words of the banner, e.g. "matrix coordinate real general", in memory from malloc() that the
 *  caller frees; NULL if the typecode contains an unknown letter or there is no memory. */
char *mm_typecode_to_str(MM_typecode matcode);

/** Reads the banner, which must be on the first line of f.
 *  \param [out] matcode  type of the matrix in the file
 *  \return 0, MM_PREMATURE_EOF (the line or one of its words is missing), MM_NO_HEADER (no %%MatrixMarket),
 *          MM_UNSUPPORTED_TYPE (an unknown word; if it stands in place of "matrix", (*matcode)[0] stays
 *          blank) */
int mm_read_banner(FILE *f, MM_typecode *matcode);

/** Reads the size line of a coordinate file, skipping comments and blank lines before it.
 *  \param [out] M, N, nz  numbers of rows, columns and stored entries; 0 on failure
 *  \return 0, MM_PREMATURE_EOF (no size line, or one without three numbers), MM_UNSUPPORTED_TYPE (a size is
 *          negative or does not fit the type) */
int mm_read_mtx_crd_size(FILE *f, int *M, int *N, int *nz);
/** Like mm_read_mtx_crd_size(), for sizes up to 2^63 - 1. */
int mm_read_mtx_crd_size64(FILE *f, int64_t *M, int64_t *N, int64_t *nz);

/** Reads the size line of an array file, which gives the numbers of rows and columns. Otherwise like
 *  mm_read_mtx_crd_size(). */
int mm_read_mtx_array_size(FILE *f, int *M, int *N);
/** Like mm_read_mtx_array_size(), for sizes up to 2^63 - 1. */
int mm_read_mtx_array_size64(FILE *f, int64_t *M, int64_t *N);

/** Writes the banner. \return 0, MM_COULD_NOT_WRITE_FILE (also if the typecode has an unknown letter) */
int mm_write_banner(FILE *f, MM_typecode matcode);

/** Writes the size line of a coordinate file. \return 0, MM_COULD_NOT_WRITE_FILE */
int mm_write_mtx_crd_size(FILE *f, int M, int N, int nz);
/** Like mm_write_mtx_crd_size(), for 64-bit sizes. */
int mm_write_mtx_crd_size64(FILE *f, int64_t M, int64_t N, int64_t nz);
/** Writes the size line of an array file. \return 0, MM_COULD_NOT_WRITE_FILE */
int mm_write_mtx_array_size(FILE *f, int M, int N);
/** Like mm_write_mtx_array_size(), for 64-bit sizes. */
int mm_write_mtx_array_size64(FILE *f, int64_t M, int64_t N);

/* ---- the letters of a typecode ---- */

#define mm_is_matrix(typecode) ((typecode)[0] == 'M')

#define mm_is_sparse(typecode) ((typecode)[1] == 'C')
#define mm_is_coordinate(typecode) ((typecode)[1] == 'C')
#define mm_is_dense(typecode) ((typecode)[1] == 'A')
#define mm_is_array(typecode) ((typecode)[1] == 'A')

#define mm_is_complex(typecode) ((typecode)[2] == 'C')
#define mm_is_real(typecode) ((typecode)[2] == 'R')
#define mm_is_pattern(typecode) ((typecode)[2] == 'P')
#define mm_is_integer(typecode) ((typecode)[2] == 'I')

#define mm_is_symmetric(typecode) ((typecode)[3] == 'S')
#define mm_is_general(typecode) ((typecode)[3] == 'G')
#define mm_is_skew(typecode) ((typecode)[3] == 'K')
#define mm_is_hermitian(typecode) ((typecode)[3] == 'H')

/** Returns 1 if Matrix Market allows this typecode, else 0. The object must be a matrix. Not allowed are a
 *  pattern in array format, a real hermitian matrix, and a hermitian or skew-symmetric pattern. */
int mm_is_valid(MM_typecode matcode);

/* the following macros take the address of a typecode */
#define mm_set_matrix(typecode) ((*typecode)[0] = 'M')
#define mm_set_coordinate(typecode) ((*typecode)[1] = 'C')
#define mm_set_array(typecode) ((*typecode)[1] = 'A')
#define mm_set_dense(typecode) mm_set_array(typecode)
#define mm_set_sparse(typecode) mm_set_coordinate(typecode)

#define mm_set_complex(typecode) ((*typecode)[2] = 'C')
#define mm_set_real(typecode) ((*typecode)[2] = 'R')
#define mm_set_pattern(typecode) ((*typecode)[2] = 'P')
#define mm_set_integer(typecode) ((*typecode)[2] = 'I')

#define mm_set_symmetric(typecode) ((*typecode)[3] = 'S')
#define mm_set_general(typecode) ((*typecode)[3] = 'G')
#define mm_set_skew(typecode) ((*typecode)[3] = 'K')
#define mm_set_hermitian(typecode) ((*typecode)[3] = 'H')

/** Sets the object, format and field letters to blanks and the symmetry to general. */
#define mm_clear_typecode(typecode) \
    ((*typecode)[0] = (*typecode)[1] = (*typecode)[2] = ' ', (*typecode)[3] = 'G')
#define mm_initialize_typecode(typecode) mm_clear_typecode(typecode)

/* ---- error codes ---- */

#define MM_COULD_NOT_READ_FILE 11
#define MM_PREMATURE_EOF 12
#define MM_NOT_MTX 13
#define MM_NO_HEADER 14
#define MM_UNSUPPORTED_TYPE 15
#define MM_LINE_TOO_LONG 16
#define MM_COULD_NOT_WRITE_FILE 17

/* ---- the words of the banner ---- */

#define MM_MTX_STR "matrix"
#define MM_ARRAY_STR "array"
#define MM_DENSE_STR "array"
#define MM_COORDINATE_STR "coordinate"
#define MM_SPARSE_STR "coordinate"
#define MM_COMPLEX_STR "complex"
#define MM_REAL_STR "real"
#define MM_INT_STR "integer"
#define MM_GENERAL_STR "general"
#define MM_SYMM_STR "symmetric"
#define MM_HERM_STR "hermitian"
#define MM_SKEW_STR "skew-symmetric"
#define MM_PATTERN_STR "pattern"

/* ---- whole matrices in coordinate format ---- */

/** Writes a matrix in coordinate format. The entries are written as given: the caller passes only one
 *  triangle of a symmetric matrix.
 *  \param [in] fname  a file to create or overwrite, or "stdout"
 *  \param [in] I, J   1-based row and column indices, [nz]
 *  \param [in] val    values, [nz]; for complex matrices [2 nz], real and imaginary parts alternating; not
 *                     read for patterns
 *  \return 0, MM_COULD_NOT_WRITE_FILE, MM_UNSUPPORTED_TYPE (an unknown field) */
int mm_write_mtx_crd(const char *fname, int M, int N, int nz, int I[], int J[], double val[],
                     MM_typecode matcode);

/** Reads the entries that follow the size line into the caller's arrays.
 *  \param [in]  M, N, nz  the sizes that mm_read_mtx_crd_size() returned
 *  \param [out] I, J      1-based row and column indices, [nz]
 *  \param [out] val       values, [nz]; for complex matrices [2 nz]; for patterns not written, may be NULL
 *  \return 0, MM_PREMATURE_EOF (too few entries, a word that is not a number, or an index outside the
 *          matrix), MM_UNSUPPORTED_TYPE (an unknown field) */
int mm_read_mtx_crd_data(FILE *f, int M, int N, int nz, int I[], int J[], double val[], MM_typecode matcode);

/** Reads the next entry of a coordinate file.
 *  \param [out] I, J        1-based indices as in the file, not checked against any size
 *  \param [out] real, imag  the value; imag is written only for complex matrices, real not for patterns
 *  \return 0, MM_PREMATURE_EOF (no further entry, or a word that is not a number), MM_UNSUPPORTED_TYPE (an
 *          unknown field) */
int mm_read_mtx_crd_entry(FILE *f, int *I, int *J, double *real, double *imag, MM_typecode matcode);

/** Reads a real or integer matrix in coordinate format; symmetric matrices are not expanded.
 *  \param [in]  fname   a file, or "stdin"
 *  \param [out] I_, J_  0-based (sic) indices, from malloc(); the caller frees *I_, *J_ and *val_
 *  \return 0, or -1 on failure: then *I_, *J_ and *val_ are NULL */
int mm_read_unsymmetric_sparse(const char *fname, int *M_, int *N_, int *nz_, double **val_, int **I_,
                               int **J_);

/** Reads any matrix in coordinate format; symmetric matrices are not expanded.
 *  \param [in]  fname      a file, or "stdin"
 *  \param [out] I, J, val  arrays from malloc(), which the caller frees. The indices *I and *J are 1-based.
 *                  *val has [2 nz] elements for complex matrices and is NULL for patterns. All three are
 *                  NULL on failure
 *  \return 0, MM_COULD_NOT_READ_FILE (also if there is no memory), MM_UNSUPPORTED_TYPE, or a code of
 *          mm_read_banner(), mm_read_mtx_crd_size() or mm_read_mtx_crd_data() */
int mm_read_mtx_crd(const char *fname, int *M, int *N, int *nz, int **I, int **J, double **val,
                    MM_typecode *matcode);

#ifdef __cplusplus
}
#endif
#endif
