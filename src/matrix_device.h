/** A matrix in device memory, any format. */
#ifndef SP_MATRIX_DEVICE_H
#define SP_MATRIX_DEVICE_H

#include "../kernels/kernel.h"

/** Copies a host matrix to the open GPU; complete on return.
 *
 *  Local. SPMM_ELL_NOPAD's row_start has `rows` elements there: kernels take the length from
 *  nz_per_row.
 *  \param [in]  host    in host memory; still the caller's
 *  \param [out] device  the caller frees it by sp_matrix_destroy_device(); zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device);

/** Frees the arrays and zeroes *m; accepts NULL and zeroed. */
void sp_matrix_destroy_device(sp_matrix *m);

#endif
