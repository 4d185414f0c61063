/** CSR to the formats that a peer reads, in host memory, with 32-bit starts. */
#ifndef BENCH_GPU_PEER_FORMATS_H
#define BENCH_GPU_PEER_FORMATS_H

#include "spmm.h"

enum { PEER_SLICE = 32 }; /**< rows of a slice of sliced ELLPACK */

typedef struct peer_arrays {
    int64_t groups; /**< rows, rows of blocks, or slices */
    int64_t stored; /**< entries, blocks, or entries with padding */
    int64_t block;  /**< rows and columns of a block; else 1 */
    int32_t *start; /**< [groups + 1], in the unit of `stored` */
    int32_t *col;   /**< [stored] */
    void *val;      /**< [stored * block^2] */
} peer_arrays;

/** Sliced ELLPACK, rows in their order: slices stored by columns, padded by column -1.
 *  \return SPMM_OK, SPMM_ERR_UNSUPPORTED (more than `limit` stored entries an entry), _MEMORY */
spmm_status peer_sell(const spmm_csr *a, int threads, double limit, peer_arrays *p);

/** Dense square blocks, row-major inside, where A consists of them without a gap; the largest that do, of at
 *  most `most` rows. \return SPMM_OK, SPMM_ERR_USAGE (A does not), _MEMORY */
spmm_status peer_blocks(const spmm_csr *a, int threads, int most, peer_arrays *p);

void peer_arrays_destroy(peer_arrays *p);

#endif
