/** The least time that a product's traffic takes, as a measure for its kernels. */
#ifndef SP_FLOOR_H
#define SP_FLOOR_H

#include "status.h"

/** Columns that have an entry: rows of X that a product needs. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns);

/** Bytes that a product with K columns moves at least: entries and row starts of the CSR and the touched
 *  rows of X are read once, Y is written once: nnz (s + 4) + 8 (rows + 1) + s K (touched + rows). */
double sp_floor_bytes(const spmm_csr *block, int64_t touched, int64_t k);

/** Two arrays in a rank's memory that no cache keeps, as far as the system tells its size. */
typedef struct sp_copy_probe {
    spmm_device device;
    int threads;
    int64_t bytes; /**< of each */
    void *to, *from;
} sp_copy_probe;

/** Local. \param [in] sharers  ranks that share the memory, and its bandwidth
 *  \param [out] probe  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_copy_probe_create(spmm_device device, int threads, int sharers, sp_copy_probe *probe);
void sp_copy_probe_destroy(sp_copy_probe *probe);

/** Copies one onto the other: 2 * bytes read and written. Complete on return. */
spmm_status sp_copy_probe_run(const sp_copy_probe *probe);

#endif
