/** Row panels: CSR block -> SPMM_PANEL in host memory; see sp_matrix for the layout. */
#ifndef SP_PANEL_H
#define SP_PANEL_H

#include "formats/matrix.h"

/** \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_panel_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

/** Distinct columns that a panel's rows touch, all panels together, counted on about `samples` panels
 *  spread over the block and scaled: nnz over it is how often a row of X that was fetched for a panel is
 *  used. */
double sp_panel_columns(const spmm_csr *a, int64_t samples);

#endif
