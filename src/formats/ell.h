/** ELLPACK, padded and not: CSR block -> sp_matrix in host memory. */
#ifndef SP_ELL_H
#define SP_ELL_H

#include "formats/csr.h"
#include "formats/matrix.h"

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

#endif
