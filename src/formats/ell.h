/** ELLPACK, padded and not: conversion of a CSR block to sp_matrix in host memory. */
#ifndef SP_ELL_H
#define SP_ELL_H

#include "formats/csr.h"
#include "formats/matrix.h"

/** Returns the bytes that padded ELLPACK of `a` would take; saturates at INT64_MAX instead of overflowing. Local. */
int64_t sp_ell_bytes(const spmm_csr *a);

/** Converts a CSR block to padded ELLPACK in host memory; see sp_matrix for the layout. Local.
 *
 *  \param [in]  limit    refused before anything is allocated when the result would take more than `limit` times the
 *                        bytes of the CSR; the message has the bytes, the ratio, the longest row and the alternative
 *  \param [in]  threads  OpenMP threads
 *  \param [out] m        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_LIMIT, SPMM_ERR_MEMORY */
spmm_status sp_ell_from_csr(const spmm_csr *a, double limit, int threads, sp_matrix *m);

/** Converts a CSR block to ELLPACK without padding in host memory. Local.
 *  \param [out] m  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_LIMIT (a row of 2^31 entries), SPMM_ERR_MEMORY */
spmm_status sp_ell_nopad_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

#endif
