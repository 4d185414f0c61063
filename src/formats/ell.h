/** ELLPACK with and without padding: conversion of a CSR block to an sp_matrix in host memory. */
#ifndef SP_ELL_H
#define SP_ELL_H

#include "formats/csr.h"
#include "formats/matrix.h"

/** Returns the size in bytes that `a` would have in padded ELLPACK; INT64_MAX if that exceeds 64 bits.
 *  Local. */
int64_t sp_ell_bytes(const spmm_csr *a);

/** Converts a CSR block to padded ELLPACK in host memory; see sp_matrix for the layout. Local.
 *
 *  \param [in]  limit    the conversion fails, before it allocates anything, if the result would take more
 *                        than `limit` times the memory of the CSR block; the message states the size, the
 *                        ratio, the longest row and the alternatives
 *  \param [in]  threads  OpenMP threads
 *  \param [out] m        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_LIMIT, SPMM_ERR_MEMORY */
spmm_status sp_ell_from_csr(const spmm_csr *a, double limit, int threads, sp_matrix *m);

/** Converts a CSR block to ELLPACK without padding in host memory. Local.
 *  \param [out] m  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_LIMIT (a row of 2^31 or more entries), SPMM_ERR_MEMORY */
spmm_status sp_ell_nopad_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

#endif
