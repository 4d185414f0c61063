/** \file spmm_extended.h
 *  Options of studies and tests: spmm_plan_create() with more to set. Programs that compute products need
 *  none of them. The conventions of spmm.h hold.
 */
#ifndef SPMM_EXTENDED_H
#define SPMM_EXTENDED_H

#include "spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a study sets beside the options of a plan. Zero-initialize the struct, then set the members that
 *  shall differ from their defaults. All members must be the same on every rank. */
typedef struct spmm_plan_study {
    double ell_limit; /**< maximum ratio of the size of the matrix in padded ELLPACK to its size in CSR; if it
                           is exceeded, SPMM_ELL is refused. 0: 3.0 */
    int block_size;   /**< threads per CUDA block, a multiple of 32 up to 1024; 0: the kernel's default */
    int subwarp; /**< GPU lanes per element of Y, for kernels with this parameter; 0: the kernel's default */
    int quick_plan;  /**< 0: kernels, and ways of moving rows between ranks, that may be the fastest are timed
                           for a few products (if 100 or more are to come). 1: nothing is timed; features of
                           the matrix and numbers of rows decide */
    int all_kernels; /**< 1: where the library chooses the kernel, all that may be of use are timed, and not
                           only those that are expected to be fast */
} spmm_plan_study;

/** Creates a plan as spmm_plan_create() does, which is this function without a study.
 *
 *  Collective over comm.
 *  \param [in]  block, k, options  as of spmm_plan_create()
 *  \param [in]  study  NULL for the defaults
 *  \param [out] plan   the caller destroys it
 *  \return the same status on every rank: as of spmm_plan_create() */
spmm_status spmm_plan_create_extended(MPI_Comm comm, const spmm_block *block, int64_t k,
                                      const spmm_plan_options *options, const spmm_plan_study *study,
                                      spmm_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
