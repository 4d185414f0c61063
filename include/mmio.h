/** \file mmio.h
 *  Matrix Market files through the C interface that NIST published for the format
 *  (https://math.nist.gov/MatrixMarket/mmio-c.html): its names, types, codes and return values, so
 *  that programs written for it compile and run; written anew from the format's description (R.
 *  Boisvert, R. Pozo, K. Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996).
 *
 *  Differences, all of them extensions
 *  - the ..._size64 functions take sizes beyond int;
 *  - the banner may follow blanks or a byte order mark, its words may be in any case, and "double" is
 *    taken for "real"; comment lines may be of any length, also between entries;
 *  - integer matrices are read and written where NIST's version knows real ones only;
 *  - numbers are read and written with a decimal point in any locale, doubles correctly rounded and
 *    written with 17 digits, so that what is written is read back unchanged; D may stand for E;
 *  - an index outside the matrix makes mm_read_mtx_crd_data() and its callers fail.
 *
 *  For big files use spmm_csr_read() of spmm.h: it reads by all cores.
 *
 *  All functions are local; several threads may use them at once on different files. Indices are
 *  1-based as in the file, except where said otherwise.
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

/** What a file holds: object M; format C (coordinate) or A (array); field R, C, P or I; symmetry G, S,
 *  H or K. Not a string: it has no end. */
typedef char MM_typecode[4];

/** The words of the banner, "matrix coordinate real general", in memory from malloc that the caller
 *  frees; NULL for a typecode of unknown letters or when there is no memory. */
char *mm_typecode_to_str(MM_typecode matcode);

/** Reads the banner, which must be the first line of f.
 *  \param [out] matcode  what the file holds
 *  \return 0, MM_PREMATURE_EOF (a line or a word is missing), MM_NO_HEADER (no %%MatrixMarket),
 *          MM_UNSUPPORTED_TYPE (an unknown word; for an unknown object matcode[0] stays blank) */
int mm_read_banner(FILE *f, MM_typecode *matcode);

/** Reads the size line of a coordinate file, behind comments and blank lines.
 *  \param [out] M, N, nz  rows, columns, stored entries; 0 on failure
 *  \return 0, MM_PREMATURE_EOF (no size line, or one without three numbers), MM_UNSUPPORTED_TYPE (a
 *          negative size, or one beyond the type) */
int mm_read_mtx_crd_size(FILE *f, int *M, int *N, int *nz);
int mm_read_mtx_crd_size64(FILE *f, int64_t *M, int64_t *N, int64_t *nz);

/** The same for an array file: rows and columns. */
int mm_read_mtx_array_size(FILE *f, int *M, int *N);
int mm_read_mtx_array_size64(FILE *f, int64_t *M, int64_t *N);

/** Writes the banner. \return 0, MM_COULD_NOT_WRITE_FILE (also for an unknown typecode) */
int mm_write_banner(FILE *f, MM_typecode matcode);

/** Write the size line. \return 0, MM_COULD_NOT_WRITE_FILE */
int mm_write_mtx_crd_size(FILE *f, int M, int N, int nz);
int mm_write_mtx_crd_size64(FILE *f, int64_t M, int64_t N, int64_t nz);
int mm_write_mtx_array_size(FILE *f, int M, int N);
int mm_write_mtx_array_size64(FILE *f, int64_t M, int64_t N);

/* ---- a typecode's letters ---- */

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

/** Whether the format knows this combination: 1 for a matrix, other than an array of patterns, a real
 *  hermitian matrix, and a pattern that is hermitian or skew-symmetric; else 0. */
int mm_is_valid(MM_typecode matcode);

/* these take the address of a typecode */
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

/** Blank, and general. */
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

/* ---- the words ---- */

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

/** Writes a matrix; symmetric ones as they are given, one triangle.
 *  \param [in] fname    a file to create, or "stdout"
 *  \param [in] I, J     1-based indices, [nz]
 *  \param [in] val      [nz]; complex: [2 nz], real and imaginary parts in turn; pattern: not read
 *  \return 0, MM_COULD_NOT_WRITE_FILE, MM_UNSUPPORTED_TYPE */
int mm_write_mtx_crd(const char *fname, int M, int N, int nz, int I[], int J[], double val[],
                     MM_typecode matcode);

/** Reads the entries behind the size line into the caller's arrays.
 *  \param [in]  M, N, nz  from mm_read_mtx_crd_size()
 *  \param [out] I, J      1-based indices, [nz]
 *  \param [out] val       [nz]; complex: [2 nz]; pattern: not touched, may be NULL
 *  \return 0, MM_PREMATURE_EOF (too few entries, something that is no number, or an index outside
 *          the matrix), MM_UNSUPPORTED_TYPE */
int mm_read_mtx_crd_data(FILE *f, int M, int N, int nz, int I[], int J[], double val[], MM_typecode matcode);

/** Reads the next entry.
 *  \param [out] I, J        1-based indices, as in the file: not checked against any size
 *  \param [out] real, imag  the value; imag is touched for complex matrices only, real not for patterns
 *  \return 0, MM_PREMATURE_EOF, MM_UNSUPPORTED_TYPE */
int mm_read_mtx_crd_entry(FILE *f, int *I, int *J, double *real, double *imag, MM_typecode matcode);

/** Reads a real (or integer) matrix in coordinate format as it stands, symmetric parts not expanded.
 *  \param [out] I_, J_  indices from 0 (sic), from malloc; the caller frees them and *val_
 *  \return 0; -1 on failure, with the pointers NULL */
int mm_read_unsymmetric_sparse(const char *fname, int *M_, int *N_, int *nz_, double **val_, int **I_,
                               int **J_);

/** Reads any matrix in coordinate format.
 *  \param [in]  fname      a file, or "stdin"
 *  \param [out] I, J, val  from malloc, the caller frees them; *val is NULL for patterns and [2 nz] for
 *                          complex matrices; all NULL on failure
 *  \return 0, MM_COULD_NOT_READ_FILE (also when there is no memory), MM_UNSUPPORTED_TYPE, or what the
 *          functions above return */
int mm_read_mtx_crd(const char *fname, int *M, int *N, int *nz, int **I, int **J, double **val,
                    MM_typecode *matcode);

#ifdef __cplusplus
}
#endif
#endif
