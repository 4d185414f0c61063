/** A block in the format and the memory that a kernel wants. */
#ifndef SP_MATRIX_H
#define SP_MATRIX_H

#include "kernels/kernel.h"

/** Converts a CSR block and puts it where the kernels of that device look for it.
 *
 *  Local.
 *  \param [in]  block      in host memory; still the caller's. CSR on the CPU is read in place: block must
 *                          outlive *m then
 *  \param [in]  ell_limit  padded ELLPACK is refused beyond this many times the CSR's bytes; <= 0: 3.0
 *  \param [in]  threads    OpenMP threads
 *  \param [out] m          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the format would be too large), _NO_DEVICE, _DEVICE */
spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int threads, sp_matrix *m);

/** CSR in host memory as a kernel sees it: borrowed, nothing is copied; must not outlive `a`. */
void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m);

/** Copies a host matrix to the open GPU; complete on return.
 *
 *  SPMM_ELL_NOPAD's row_start has `rows` elements there: kernels take the length from nz_per_row.
 *  \param [in]  host    in host memory; still the caller's
 *  \param [out] device  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device);

/** Bytes of the arrays. */
int64_t sp_matrix_bytes(const sp_matrix *m);

/** Frees the arrays, wherever they are, and zeroes *m; accepts NULL and zeroed; leaves borrowed arrays. */
void sp_matrix_destroy(sp_matrix *m);

#endif
