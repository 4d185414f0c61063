/** Plans for spmm_mpi, which creates their parts itself and times the phases of a product apart. Other programs use
 *  spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "distribute/halo.h"
#include "plan/choose.h"

/** Creates a plan from an existing grid, block and halo, which must outlive it.
 *
 *  Collective over grid->comm. Parameters and status as for spmm_plan_create(), except that sp_plan_check() is not
 *  called, that options must not be NULL, and that options->exchange is ignored: the halo has its kind. */
spmm_status sp_plan_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                           const spmm_plan_options *options, spmm_plan **plan);

/** Seconds that one product took on this rank. On a GPU, kernels are timed by events. */
typedef struct sp_apply_seconds {
    double kernel;   /**< all kernels: interior + boundary, or the span of both where they run concurrently */
    double interior; /**< kernels of the interior rows */
    double boundary; /**< kernels of the other rows; with column blocks, of all rows */
    double reduce;   /**< the sum over the process row, waiting included */
} sp_apply_seconds;

/** Does what spmm_apply() does, but does not check plan, and also measures the phases.
 *  \param [out] seconds  may be NULL */
spmm_status sp_plan_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y, sp_apply_seconds *seconds);

/** Computes Y := A X without the exchange, for timing: takes the ghost rows of X as an earlier exchange left them.
 *  Sums over the process row all the same. Otherwise as spmm_apply(). */
spmm_status sp_plan_apply_local(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y);

/** Performs only the exchange of a product; complete on return. Otherwise as spmm_apply(). */
spmm_status sp_plan_exchange(spmm_plan *plan, const spmm_multivector *x);

/** Takes the place of a product on a rank that failed before: does what other ranks wait for in its exchange and its
 *  sum, and keeps the error message. Collective as spmm_apply() is. */
void sp_plan_skip(spmm_plan *plan);

/** The same for sp_plan_exchange(); does not keep the error message. */
void sp_plan_skip_exchange(spmm_plan *plan);

/** The decisions made for a plan. */
typedef struct sp_plan_facts {
    const sp_kernel *kernel;
    spmm_transport transport; /**< SPMM_TRANSPORT_AUTO: there is no row of X to exchange */
    spmm_reduce reduce;       /**< SPMM_REDUCE_AUTO: Q is 1, and nothing is summed */
    int64_t interior_rows;    /**< rows of this rank that are computed during the exchange */
    int column_blocks;        /**< column blocks that X is exchanged in; 1: X is exchanged as a whole */
} sp_plan_facts;

/** Reports the decisions made for a plan. Local. */
void sp_plan_facts_of(const spmm_plan *plan, sp_plan_facts *facts);

/** Determines the features that a kernel is chosen by, of all ranks' blocks together.
 *
 *  Collective over comm.
 *  \param [in]  threads  OpenMP threads of this rank; 0: sp_threads_default()
 *  \param [out] f        the same on every rank
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_plan_features(MPI_Comm comm, const spmm_csr *block, int threads, sp_features *f);

#endif
