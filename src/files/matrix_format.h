/** The interface of a format of matrix files: functions that recognize, open, read and close such a file.
 *  matrix_file.c has the table of all formats. Does not use MPI. */
#ifndef SP_MATRIX_FORMAT_H
#define SP_MATRIX_FORMAT_H

#include "formats/csr.h"
#include "io/mtx_read.h"

struct sp_csr_file; /* csr_file.h */

/** How all ranks can read a file of a format, each a part of it (--io parallel). */
typedef enum sp_file_way {
    SP_FILE_WHOLE, /**< they cannot: one rank reads the whole file */
    SP_FILE_TEXT,  /**< each parses a part of the text: sp_load_text() */
    SP_FILE_CSR    /**< each reads its rows, if csr() allows it: sp_load_csr() */
} sp_file_way;

/** A format. The functions are local; `file` is the object that open() created. */
typedef struct sp_matrix_format {
    const char *name; /**< name of the format, as in "a file of the format ..." */
    sp_file_way way;
    int binary; /**< 1: numbers are stored in binary, so a file is about as large as its matrix in memory; 0:
                     text */
    /** Returns 1 if the open file `fd` has this format, as its first bytes or `options` show. Must not move
     *  the position of fd, which is >= 0. */
    int (*is)(int fd, const sp_read_options *options);
    /** Opens the file and reads its header, so that the sizes are known.
     *  \param [in]  path  for messages; remains valid until close()
     *  \param [in]  fd    the result of sp_input_descriptor(path), which may be an error; the function owns
     *                     it, also on failure
     *  \param [out] file  closed by close(); NULL on failure
     *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED, _MEMORY, with a message that names the file */
    spmm_status (*open)(const char *path, int fd, const sp_read_options *options, void **file);
    /** Returns the sizes as sp_matrix_file_sizes() does. */
    sp_sizes (*sizes)(const void *file);
    /** Reads the whole matrix; called at most once. Parameters and errors are those of sp_read_csr(), except
     *  that no parameter is NULL; on failure *a is zeroed. */
    spmm_status (*read)(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates);
    void (*close)(void *file); /**< also frees `file`; keeps the error message */
    /** SP_FILE_CSR: returns the object from which rows are read; NULL: one rank must read the whole file. */
    struct sp_csr_file *(*csr)(void *file);
} sp_matrix_format;

extern const sp_matrix_format sp_file_format_npz;   /**< SciPy's save_npz(): npz_file.c */
extern const sp_matrix_format sp_file_format_mtx;   /**< Matrix Market: mtx_file.c */
extern const sp_matrix_format sp_file_format_edges; /**< edge lists, by sp_read_options.edges: mtx_file.c */

#endif
