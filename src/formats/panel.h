/** Row panels: conversion of a CSR block to SPMM_PANEL in host memory; see sp_matrix for the layout. */
#ifndef SP_PANEL_H
#define SP_PANEL_H

#include "formats/matrix.h"

/** Converts a CSR block to SPMM_PANEL in host memory. Local.
 *  \param [in]  threads  OpenMP threads
 *  \param [out] m        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_panel_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

/** Estimates the number of distinct columns per panel, summed over all panels of the block `a`, from up to
 *  `samples` panels spread evenly over the block. nnz divided by this sum is the mean number of entries that
 *  use a row of X once a panel has fetched the row. Local. */
double sp_panel_columns(const spmm_csr *a, int64_t samples);

#endif
