/** Storage formats and their functions. To add a format, add a file to this folder that defines an sp_format,
 *  and a row to SPMM_FORMAT_LIST (spmm_types.h), from which all lists of formats are generated. */
#ifndef SP_FORMAT_H
#define SP_FORMAT_H

#include "base/status.h"
#include "formats/matrix.h"

/** The entries of a row: [begin, end) in the arrays of the matrix. */
typedef struct sp_row_range {
    int64_t begin, end;
} sp_row_range;

/** The operations of a format. */
typedef struct sp_format {
    /** Converts a CSR block in host memory; NULL: only convert_on_gpu() is available. Local.
     *  \param [in]     ell_limit, k, threads  as in sp_matrix_create()
     *  \param [in,out] m  on entry, its format, its precision and the sizes of the block are set; the
     *                     function sets the arrays (sp_matrix_alloc()) and the other numbers. The caller
     *                     destroys it, also on failure
     *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (the block would be too large in this format) */
    spmm_status (*convert)(const spmm_csr *block, double ell_limit, int64_t k, int threads, sp_matrix *m);
    /** Converts a CSR matrix within GPU memory, without a copy in host memory; NULL: only convert() is
     *  available. Local; complete on return.
     *  \param [in]  csr  SPMM_CSR; the caller keeps it
     *  \param [in]  k    as in sp_matrix_create()
     *  \param [out] m    the caller destroys it; zeroed on failure
     *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
    spmm_status (*convert_on_gpu)(const sp_matrix *csr, int64_t k, sp_matrix *m);
    /** Returns the entries of row i of a matrix in host memory. NULL: the format does not store rows
     *  contiguously. Local. */
    sp_row_range (*row)(const sp_matrix *m, int64_t i);
} sp_format;

#define SP_FORMAT_OBJECT(name, object, word) extern const sp_format sp_format_##object;
SPMM_FORMAT_LIST(SP_FORMAT_OBJECT)
#undef SP_FORMAT_OBJECT

extern const sp_format *const sp_formats[SP_FORMATS]; /**< index: spmm_format; NULL for SPMM_FORMAT_AUTO */

#endif
