/** cuSPARSE's product of a sparse and a dense matrix, from descriptors to the end. */
#ifndef BENCH_CUSPARSE_H
#define BENCH_CUSPARSE_H

#include <cusparse.h>

#include "base/status.h"
#include "../peer.h"

/** products on blocks, and an analysis for SpMV, came with later versions */
#define CUSPARSE_IS_RECENT (CUSPARSE_VERSION >= 12600)

typedef struct cusparse_product {
    cusparseSpMatDescr_t
        a; /**< the caller creates it, for this product alone: it keeps what preprocess makes */
    int algorithm, vector; /**< the caller's choice; vector: by SpMV */
    cusparseDnMatDescr_t x, y;
    cusparseDnVecDescr_t vx, vy; /**< with `vector` */
    int f32;
    void *workspace;
} cusparse_product;

/** Opens the library, once, in the GPU's main stream. */
spmm_status cusparse_open(void);
void cusparse_close(void);

/** Copies an array to memory of the GPU, to which the pointer at `device` points then. */
spmm_status cusparse_upload(void *device, const void *host, int64_t bytes);

/** \return SPMM_OK, SPMM_ERR_UNSUPPORTED (what the library does not offer), _MEMORY, _DEVICE */
spmm_status cusparse_checked(cusparseStatus_t status, const char *what);

/** Describes A in CSR with 32-bit row starts, arrays in GPU memory. */
spmm_status cusparse_describe(const peer_matrix *a, int64_t cols, void *start, void *col, void *val,
                              cusparse_product *q);

/** Describes X and Y, in GPU memory, makes the workspace and the analysis, and waits for it. */
spmm_status cusparse_prepare(cusparse_product *q, const spmm_multivector *x, const spmm_multivector *y,
                             peer_layout layout);
/** Queues Y := A X. */
spmm_status cusparse_multiply(const cusparse_product *q);
/** Destroys A's descriptor, too, and zeroes *q. */
void cusparse_release(cusparse_product *q);

#endif
