/** Reads matrices from binary files whose rows can be located and read independently: a CSR matrix in three
 *  sections, of numbers of any type and byte order. The code that opens files of a format (petsc_file.h,
 *  npz_file.c) determines where the sections are. Does not use MPI. */
#ifndef SP_CSR_FILE_H
#define SP_CSR_FILE_H

#include "files/matrix_format.h"

/** Data about the matrix from the header of a file. */
typedef struct sp_csr_file_facts {
    int64_t rows, cols, nnz;
    sp_mtx_info info; /**< kind and size of the file, and number of entries */
} sp_csr_file_facts;

/** The type of the numbers of a section. */
typedef enum sp_number {
    SP_NUMBER_I8,
    SP_NUMBER_U8, /**< also for bool */
    SP_NUMBER_I16,
    SP_NUMBER_U16,
    SP_NUMBER_I32,
    SP_NUMBER_U32,
    SP_NUMBER_I64,
    SP_NUMBER_U64,
    SP_NUMBER_F32,
    SP_NUMBER_F64
} sp_number;

/** The sections of a file. */
typedef enum sp_csr_section_name {
    SP_FILE_ROWS,
    SP_FILE_COLUMNS,
    SP_FILE_VALUES,
    SP_FILE_SECTIONS
} sp_csr_section_name;

/** An array of numbers in a file. */
typedef struct sp_csr_section {
    sp_number type;
    int64_t offset, bytes;
    int swapped;        /**< 1: the numbers have the other byte order than this machine */
    const char *memory; /**< memory in which `offset` is a position, not owned; NULL: the section is in the
                             file */
    int complex;        /**< 1: two numbers of `type` are one complex value */
} sp_csr_section;

/** An open file. The code that opens it sets all members except `row` and `start`, which are 0 at first, and
 *  has checked that the sections do not exceed the file. */
typedef struct sp_csr_file {
    const char *path;
    int fd; /**< owned */
    sp_csr_file_facts facts;
    sp_csr_section section[SP_FILE_SECTIONS];
    int lengths;    /**< 1: SP_FILE_ROWS contains the lengths of the rows; 0: it contains their starts, then
                         the number of entries */
    int transposed; /**< 1: the file contains the transpose of the matrix, so messages call its columns
                         rows */
    int64_t row,
        start; /**< if `lengths` is 1: the last row whose start was computed, and its start; later starts are
                    computed from it */
} sp_csr_file;

/** Reads up to `bytes` bytes at byte `offset`, e.g. to recognize the format of a file. Local.
 *  \return number of bytes read: fewer at the end of the file, and if it cannot be read */
int64_t sp_file_peek(int fd, void *to, int64_t bytes, int64_t offset);

/** Reads exactly `bytes` bytes at byte `offset` of the file. Local. \return SPMM_OK, SPMM_ERR_OPEN,
 *  SPMM_ERR_SYNTAX (the file is too short) */
spmm_status sp_csr_file_read_at(const sp_csr_file *file, void *to, int64_t bytes, int64_t offset);

/** Returns the size of a number in bytes. Local. */
int64_t sp_number_size(sp_number type);

/** Returns the integer stored at `at`; one of U64 above INT64_MAX becomes negative. Local.
 *  \param [in] type     not F32, F64
 *  \param [in] swapped  as in sp_csr_section */
int64_t sp_number_integer(const void *at, sp_number type, int swapped);

/** Returns the data from the header of an open file; valid until the file is closed. Local. */
const sp_csr_file_facts *sp_csr_file_facts_of(const sp_csr_file *file);

/** Closes the file and frees it; accepts NULL. */
void sp_csr_file_close(sp_csr_file *file);

/** Reads and checks elements `first` to `end`, both included, of the array of row starts. If the file
 *  contains row lengths, reads them from row 0 on, or from `end` of the previous call if that is at most
 *  `first`. Local; one thread per file.
 *  \param [out] irp  [end - first + 1]; a row start is the number of the row's first entry in the whole file
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged), SPMM_ERR_MEMORY, SPMM_ERR_USAGE (no such
 *          rows) */
spmm_status sp_csr_file_row_starts(sp_csr_file *file, int64_t first, int64_t end, int64_t *irp);

/** Reads the column indices of entries [first, end) of the file and checks their range. Local.
 *  \param [in]  first, end  entry numbers in the whole file, as sp_csr_file_row_starts() returns them
 *  \param [out] ja          column indices, [end - first]
 *  \return as sp_csr_file_row_starts() */
spmm_status sp_csr_file_columns(const sp_csr_file *file, int64_t first, int64_t end, int threads,
                                int32_t *ja);

/** The block of rows and columns to read, and how to read its values. */
typedef struct sp_csr_file_range {
    int64_t row_begin, row_end, col_begin, col_end;
    spmm_precision precision; /**< type of the matrix in memory; values of the file are converted to it */
    int allow_nonfinite;      /**< 0: inf, nan and values beyond the range of `precision` are errors */
    int threads;
} sp_csr_file_range;

/** Reads the values of entries [first, end) of the file, as sp_csr_file_columns() reads columns. Local.
 *  \param [in]  how  only precision, threads and allow_nonfinite are used; if allow_nonfinite is 0, values
 *                    beyond the range of `precision` are errors, but inf and nan in the file are not
 *  \param [out] as   [end - first], of how->precision
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX, SPMM_ERR_UNSUPPORTED (complex values, and how->precision
 *          is real), SPMM_ERR_MEMORY */
spmm_status sp_csr_file_values(const sp_csr_file *file, const sp_csr_file_range *how, int64_t first,
                               int64_t end, void *as);

/** Fails, like the readers of text files, if the block `a` of the range contains a value that is not finite.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_SYNTAX (the message has the first such value, and its row and column) */
spmm_status sp_csr_file_check_finite(const sp_csr_file *file, const sp_csr_file_range *range,
                                     const spmm_csr *a);

/** Reads a block of rows and columns as a CSR matrix; row 0 and column 0 of *a are row range->row_begin and
 *  column range->col_begin of the file.
 *
 *  Local. Memory: the block, and up to 1 MiB per thread. If the block has only some of the columns, the
 *  function also needs up to 3 MiB and the row starts of up to 2^20 rows (8 MiB); it then reads the column
 *  indices of all entries in the block's rows twice, and their values once.
 *  \param [out] a           the caller destroys it; its rows are sorted and without duplicates
 *  \param [out] duplicates  number of entries of the block that were added to another entry; may be NULL
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged, or a value that range->allow_nonfinite forbids),
 *          SPMM_ERR_MEMORY, SPMM_ERR_USAGE (no such rows or columns) */
spmm_status sp_csr_file_block(sp_csr_file *file, const sp_csr_file_range *range, spmm_csr *a,
                              int64_t *duplicates);

/** Reads the whole matrix of an open file. Local.
 *  \param [out] a           the caller destroys it; its rows are sorted and without duplicates
 *  \param [out] duplicates  number of entries of the file that were added to another entry; may be NULL
 *  \return as sp_csr_file_block() */
spmm_status sp_csr_file_whole(sp_csr_file *file, const sp_read_options *options, spmm_csr *a,
                              int64_t *duplicates);

/* functions of the formats (sp_matrix_format) whose open() creates an sp_csr_file */
sp_sizes sp_csr_file_sizes(const void *file);
spmm_status sp_csr_file_read(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                             int64_t *stored, int64_t *duplicates);
void sp_csr_file_end(void *file);
sp_csr_file *sp_csr_file_itself(void *file);

#endif
