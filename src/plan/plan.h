/** Internal functions for plans, used by the program spmm_mpi: it creates a plan from a grid, a block and a
 *  halo of its own, and times the phases of a product. Other programs use the public functions in spmm.h. */
#ifndef SP_PLAN_H
#define SP_PLAN_H

#include "distribute/halo.h"
#include "plan/choose.h"
#include "plan/reduce.h"

/** Sizes of a text that says why a kernel was chosen, and of one that lists the steps of a product. */
enum { SP_WHY_BYTES = 320, SP_STEPS_BYTES = 1600 };

/** Creates a plan from an existing grid, block and halo, which must outlive the plan.
 *
 *  Collective over grid->comm. Parameters and status as for spmm_plan_create(), with three differences:
 *  sp_plan_check() is not called, options must not be NULL, and options->exchange is ignored because
 *  halo->kind takes its place.
 *  \param [in] all_kernels  1: where the library chooses the kernel, all that may be of use are timed, and not only those
 *                           that are expected to be fast */
spmm_status sp_plan_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                           const spmm_plan_options *options, int all_kernels, spmm_plan **plan);

/** Returns 1 if so many products are to come that a plan may time what it chooses from. Local. */
static inline int sp_plan_tries(const spmm_plan_options *options)
{
    return !options->quick_plan && sp_products_of(options->products) >= SP_PRODUCTS_TIMED;
}

/** Computes Y := alpha A X + beta Y like spmm_apply(), but does not check the argument plan. Collective as
 *  spmm_apply() is. */
spmm_status sp_plan_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y);

/** Seconds that the phases of one product took on this rank. */
typedef struct sp_apply_seconds {
    double
        kernel; /**< all kernels: interior + boundary and, of the joint exchange, partial rows; or their joint span if they run concurrently */
    double interior; /**< kernels for the interior rows; 0 with column blocks */
    double boundary; /**< kernels for the rows that are not interior; with column blocks, for all rows */
    double reduce;   /**< the sum over the process row, including the time spent waiting */
} sp_apply_seconds;

/** Makes the plan's later products measure their phases, which costs about a microsecond per phase on a GPU.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_plan_measure(spmm_plan *plan);

/** Reads how long the phases of the plan's last product took. Local.
 *  \param [out] seconds  zeros if sp_plan_measure() was not called before the product
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_plan_seconds(const spmm_plan *plan, sp_apply_seconds *seconds);

/** Computes Y := A X without an exchange, for timing: reads the ghost rows of X as an earlier exchange left
 *  them, but still sums over the process row. Collective; operands and status as for spmm_apply(). */
spmm_status sp_plan_apply_local(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y);

/** Performs only the exchange of a product, and waits for its end. Collective; x and status as for
 *  spmm_apply(). */
spmm_status sp_plan_exchange(spmm_plan *plan, const spmm_multivector *x);

/** Takes the place of sp_plan_apply() on a rank that failed before: takes part in the exchange and in the
 *  sum, so that no other rank waits in vain. Preserves this rank's error message. Collective as spmm_apply()
 *  is. */
void sp_plan_skip(spmm_plan *plan);

/** Takes the place of sp_plan_exchange() on a rank that failed before. Preserves this rank's error message. Collective as
 *  sp_plan_exchange() is. */
void sp_plan_skip_exchange(spmm_plan *plan);

/** A way in which a plan can move rows between ranks. */
typedef struct sp_variant {
    spmm_exchange exchange; /**< never SPMM_EXCHANGE_AUTO */
    int column_blocks;
    int overlap;     /**< 1: interior rows are computed during the exchange */
    double modelled; /**< seconds of a product by the model; NaN: it was not needed */
    double
        measured; /**< seconds of a product, least of a few, slowest rank; NaN: not timed; infinity: there was not
                          enough memory */
} sp_variant;

enum { SP_MOST_VARIANTS = 8 };

/** The variants that a plan was chosen from. */
typedef struct sp_variants {
    int count;  /**< 0: the plan was made as the options say */
    int chosen; /**< number of the plan's variant */
    sp_variant variant[SP_MOST_VARIANTS];
} sp_variants;

/** The decisions made for a plan. */
typedef struct sp_plan_facts {
    const sp_kernel *kernel;
    const char *why;              /**< this kernel, in words; valid as long as the plan */
    const sp_trial *kernel_trial; /**< what the kernel was chosen from; valid as long as the plan */
    spmm_transport transport;     /**< SPMM_TRANSPORT_AUTO: there is no row of X or Y to exchange */
    const char *backend;          /**< sp_exchange_backend(); "": no row of X is exchanged */
    spmm_reduce reduce;           /**< SPMM_REDUCE_AUTO: Q is 1, so that nothing is summed */
    /** Number of rows of X and partial Y that all ranks receive by messages; where a node's ranks share X or add partial rows,
     *  those that cross between nodes. Equal on all ranks. */
    int64_t message_rows;
    int64_t interior_rows;        /**< number of this rank's rows that are computed during the exchange */
    int column_blocks;            /**< number of column blocks that X is split into; 1: X is not split */
    const sp_halo *halo;          /**< which rows are exchanged */
    const sp_variants *variants;  /**< what the plan was chosen from; valid as long as the plan */
    const sp_trial *reduce_trial; /**< what `reduce` was chosen from; valid as long as the plan */
    const char *steps;            /**< of a product, in words; valid as long as the plan */
    const void *state; /**< the kernel's state of this rank's first row block; NULL if there is none */
} sp_plan_facts;

/** Reports the decisions made for a plan. Local. */
void sp_plan_facts_of(const spmm_plan *plan, sp_plan_facts *facts);

/** Computes the features of the whole matrix from the blocks of all ranks. sp_choose() needs them.
 *
 *  Collective over comm.
 *  \param [in]  threads  OpenMP threads of this rank; 0: sp_threads_default()
 *  \param [out] f        equal on all ranks
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_plan_features(MPI_Comm comm, const spmm_block *block, int threads, sp_features *f);

#endif
