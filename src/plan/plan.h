/** What a plan is made of, for spmm_mpi: phases timed apart. Embedders use spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "distribute/halo.h"
#include "plan/choose.h"

/** Makes a plan on what there is already; all three must outlive it.
 *
 *  Collective over grid->comm; the rest as spmm_plan_create(). options->exchange is not looked at: halo has it. */
spmm_status sp_plan_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                           const spmm_plan_options *options, spmm_plan **plan);

/** Seconds of one product on this rank. On a GPU the kernels' are by its own clock. */
typedef struct sp_apply_seconds {
    double kernel; /**< both together: their sum, or where they run side by side from the first to the last */
    double interior; /**< kernels of rows that need no other rank's X */
    double boundary; /**< kernels of the others */
    double reduce;   /**< the sum over the process row, waiting for it included */
} sp_apply_seconds;

/** spmm_apply() that also tells where its time went. \param [out] seconds  may be NULL */
spmm_status sp_plan_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y, sp_apply_seconds *seconds);

/** The product without its exchange, for timing: other ranks' rows of X are what an earlier one left there. A sum over
 *  the process row is made. As spmm_apply(). */
spmm_status sp_plan_apply_local(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y);

/** The exchange of a product alone, complete on return. As spmm_apply(). */
spmm_status sp_plan_exchange(spmm_plan *plan, const spmm_multivector *x);

/** Takes part in a product as far as neighbours depend on it, without a product: for a rank that failed before. */
void sp_plan_skip(spmm_plan *plan);
void sp_plan_skip_exchange(spmm_plan *plan);

/** What was decided. */
typedef struct sp_plan_facts {
    const sp_kernel *kernel;
    spmm_transport transport; /**< SPMM_TRANSPORT_AUTO: no row of X moves */
    spmm_reduce reduce;       /**< SPMM_REDUCE_AUTO: nothing is summed, Q is 1 */
    int64_t interior_rows;    /**< that are computed during the exchange */
    int column_blocks; /**< of X that are exchanged one after another, beside the products; 1: all at once */
} sp_plan_facts;
void sp_plan_facts_of(const spmm_plan *plan, sp_plan_facts *facts);

/** The facts that a kernel is chosen by, of all ranks' blocks together.
 *
 *  Collective over comm; the same on every rank.
 *  \param [in] threads  OpenMP threads of this rank; 0: sp_threads_default() */
spmm_status sp_plan_features(MPI_Comm comm, const spmm_csr *block, int threads, sp_features *f);

#endif
