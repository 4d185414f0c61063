/** Internal functions for plans, used by the program spmm_mpi: spmm_mpi creates a plan from its own grid
 *  and block, and times the phases of a product. Other programs use the public functions in spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "plan/decide.h"

/** Creates a plan from an existing block with its ghost rows. Its product is the fastest variant
 *  (sp_product_create_fastest()).
 *
 *  Collective over a->grid->comm. Parameters and status as for spmm_plan_create_extended(), with three
 *  differences: sp_plan_check() is not called, options must not be NULL, and options->exchange is ignored
 *  because a->kind takes its place.
 *  \param [in] a, joint, slice  as for sp_product_create_fastest(); must outlive the plan
 *  \param [in] study  NULL for the defaults */
spmm_status sp_plan_create(const sp_ghosted_block *a, const sp_ghosted_block *joint, const sp_matrix *slice,
                           int64_t k, const spmm_plan_options *options, const spmm_plan_study *study,
                           spmm_plan **plan);

/** Computes Y := alpha A X + beta Y like spmm_apply(), but does not check the argument plan. Collective as
 *  spmm_apply() is. */
spmm_status sp_plan_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y);

/** Computes Y := A X without an exchange, for timing: reads the ghost rows of X as an earlier exchange left
 *  them, but still sums over the process row. Collective; operands and status as for spmm_apply(). */
spmm_status sp_plan_apply_local(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y);

/** Performs only the exchange of a product, and waits for its end. Collective; x and status as for
 *  spmm_apply(). */
spmm_status sp_plan_exchange(spmm_plan *plan, const spmm_multivector *x);

/** Replaces sp_plan_apply() on a rank that failed before: takes part in the exchange and in the sum, so that
 *  no other rank waits forever. Preserves this rank's error message. Collective as spmm_apply() is. */
void sp_plan_skip(spmm_plan *plan);

/** Replaces sp_plan_exchange() on a rank that failed before. Preserves this rank's error message. Collective
 *  as sp_plan_exchange() is. */
void sp_plan_skip_exchange(spmm_plan *plan);

/** As sp_product_measure() and sp_product_seconds(), for the plan's products. */
spmm_status sp_plan_measure(spmm_plan *plan);
spmm_status sp_plan_seconds(const spmm_plan *plan, sp_apply_seconds *seconds);

/** The decisions made for a plan. */
typedef struct sp_plan_facts {
    const sp_kernel *kernel;
    const sp_decisions *decisions; /**< what was decided, and why; valid as long as the plan */
    spmm_transport transport;      /**< SPMM_TRANSPORT_AUTO: no row of X or Y is exchanged */
    const char *backend;           /**< name from sp_exchange_backend(); "": no row of X is exchanged */
    spmm_reduce reduce;            /**< SPMM_REDUCE_AUTO: Q is 1, nothing is summed */
    /** Number of rows of X and partial Y that all ranks receive by messages. Of rows of X that the ranks of a
     *  node share, only those are counted that cross between nodes. Equal on all ranks. */
    int64_t message_rows;
    int64_t interior_rows;           /**< number of this rank's rows that are computed during the exchange */
    int column_blocks;               /**< number of column blocks that X is split into; 1: X is not split */
    int overlap;                     /**< 1: interior rows are computed during the exchange, on any rank */
    const sp_ghosted_block *ghosted; /**< the block, with the rows that are exchanged */
    const char *steps;               /**< the steps of a product, in words; valid as long as the plan */
    const void *state; /**< the kernel's state for this rank's first row block; NULL if the kernel has none */
} sp_plan_facts;

/** Reports the decisions made for a plan. Local. */
void sp_plan_facts_of(const spmm_plan *plan, sp_plan_facts *facts);

#endif
