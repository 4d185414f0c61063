/** Formats the kernels run on: CSR block -> sp_matrix in host or device memory. */
#ifndef SP_ELL_H
#define SP_ELL_H

#include "../kernels/kernel.h"
#include "csr.h"

/** What padded ELLPACK of `a` would take, bytes; saturates at INT64_MAX instead of overflowing. */
int64_t sp_ell_bytes(const spmm_csr *a);

/** Padded ELLPACK in host memory; see sp_matrix for the layout.
 *
 *  Refuses before allocating when padding would take more than limit times the CSR's bytes:
 *  SPMM_ERR_LIMIT, and the message has the bytes, the ratio, the longest row and the alternative.
 *  \param [in] threads  OpenMP threads */
spmm_status sp_ell_from_csr(const spmm_csr *a, double limit, int threads, sp_matrix *m);

/** ELLPACK without padding in host memory. */
spmm_status sp_ell_nopad_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

/** CSR in host memory as a kernel sees it: a view, nothing is copied; must not outlive `a`. */
void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m);

/** Frees a host matrix made by sp_ell_from_csr or sp_ell_nopad_from_csr; accepts NULL, zeroed. */
void sp_matrix_destroy_host(sp_matrix *m);

#endif
