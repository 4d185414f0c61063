/** Another library's products on the same GPU: cuSPARSE where the build found it (peer_cusparse.c), nothing
 *  where not (peer_none.c). */
#ifndef BENCH_GPU_PEER_H
#define BENCH_GPU_PEER_H

#include <stddef.h>

#include "kernels/kernel.h"

/** Of X and Y. */
typedef enum dense_layout { ROW_MAJOR, COLUMN_MAJOR } dense_layout;

/** One way to call the library. */
typedef struct peer_form {
    const char *name;
    dense_layout layout;
    int vector; /**< 1: a product with one column only, by the library's matrix x vector function */
} peer_form;

typedef struct peer_matrix peer_matrix;
typedef struct peer_product peer_product;

/** Name and version; NULL: built without. Static storage. */
const char *peer_library(void);

/** The i-th way to call it, from 0; NULL beyond the last. */
const peer_form *peer_form_at(int i);

/** Once, after sp_device_open(). */
spmm_status peer_open(void);
void peer_close(void);

/** \param [in] host, csr  the matrix in host and in device memory; both outlive *m
 *  \return SPMM_OK, SPMM_ERR_LIMIT, _MEMORY, _DEVICE */
spmm_status peer_matrix_create(const spmm_csr *host, const sp_matrix *csr, int threads, peer_matrix **m);
void peer_matrix_destroy(peer_matrix *m);

/** Descriptors, workspace, analysis; formats other than CSR are made at the first product that wants them.
 *
 *  \param [in]  x, y     in device memory, in the form's layout; they outlive *p
 *  \param [out] seconds  that this took, conversion included also where an earlier product made it
 *  \return SPMM_OK, SPMM_ERR_USAGE (not a form for this matrix or K), SPMM_ERR_UNSUPPORTED (by the
 *          library, or it would pad too much), _MEMORY, _DEVICE */
spmm_status peer_product_create(peer_matrix *m, const peer_form *form, const spmm_multivector *x,
                                const spmm_multivector *y, peer_product **p, double *seconds);
void peer_product_destroy(peer_product *p);

/** Queues Y := A X. */
spmm_status peer_product_run(const peer_product *p);

#endif
