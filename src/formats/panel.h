/** Row panels: how many columns they have, before a block is converted to them. */
#ifndef SP_PANEL_H
#define SP_PANEL_H

#include "formats/matrix.h"

/** Estimates the number of distinct columns per panel, summed over all panels of the block `a`, from up to
 *  `samples` panels spread evenly over the block. nnz divided by this sum is the mean number of entries that
 *  use a row of X once a panel has fetched the row. Local. */
double sp_panel_columns(const spmm_csr *a, int64_t samples);

#endif
