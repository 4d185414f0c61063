/** One product Y := alpha A X + beta Y over the ranks of a grid: its kernel, the exchange of rows of X, the
 *  sum over the process row, and its list of steps. A plan (plan/plan.h) has one product, and another one for
 *  the transpose. */
#ifndef SP_PRODUCT_H
#define SP_PRODUCT_H

#include "exchange/exchange.h"
#include "halo/ghosted_block.h"
#include "halo/node_rows.h"
#include "product/choose.h"
#include "product/column_blocks.h"
#include "product/decisions.h"
#include "product/partial_rows.h"
#include "product/phases.h"
#include "product/reduce.h"
#include "product/widths.h"

/** Buffer size for the list of the steps of a product. */
enum { SP_STEPS_BYTES = 1600 };

enum { SP_LAST_TIMES = 64 };

/** Seconds that the set-up of a product and the products themselves took on this rank. */
typedef struct sp_product_times {
    double created;
    int64_t products;
    double seconds, least, greatest; /**< sum over all products; minimum; maximum */
    double last[SP_LAST_TIMES];      /**< of the last products, as a ring */
    int64_t queued;                  /**< number of products that were queued and not waited for; their times
                                          are unknown */
} sp_product_times;

/** A step of a product (steps.c lists them), and the column block of X to which it applies. */
typedef struct sp_product_step {
    unsigned char what, block;
} sp_product_step;

/** Maximum number of entries in a list of steps: 16 steps, each once per column block. steps.c asserts that
 *  there are no more than 16. */
enum { SP_MOST_STEPS = 16 * SP_MOST_COLUMN_BLOCKS };

/** The steps of a product. */
typedef struct sp_steps {
    int count, begins; /**< begins: number of steps that sp_product_begin() runs */
    sp_product_step list[SP_MOST_STEPS];
    char words[SP_STEPS_BYTES]; /**< human-readable: "begin X | interior rows | end X | .." */
} sp_steps;

/** Kinds of steps. With SP_STEP_MOVES only, a product is an exchange. Without SP_STEP_MOVES, a product uses
 *  the ghost rows and partial rows that an earlier exchange received. */
enum { SP_STEP_COMPUTES = 1, SP_STEP_MOVES = 2, SP_STEP_SUMS = 4, SP_STEP_ALL = 7 };

/** A product between its begin and its end. */
typedef struct sp_pending {
    int open;                       /**< 1: it has begun, and has not ended */
    int kinds;                      /**< kinds of the steps to run: SP_STEP_* */
    int captured;                   /**< 1: it is being captured in a CUDA graph */
    int prepared;                   /**< 0: the product failed before its first step */
    int whole;                      /**< 1: the whole product is queued */
    int block;                      /**< the column block of the current step */
    sp_move_state x_state;          /**< state of the exchange of that column block */
    spmm_status status;             /**< status so far */
    char message[SP_MESSAGE_BYTES]; /**< message of the failure */
    sp_value alpha, beta;           /**< in the type of the operands */
    double seconds;                 /**< seconds that sp_product_begin() took */
    spmm_multivector y;             /**< the caller's Y */
    spmm_multivector x;             /**< all columns of X: the caller's, or the product's copy */
    spmm_multivector product;       /**< where kernels write A X: the caller's Y, or the product's buffer */
} sp_pending;

typedef struct sp_product {
    const sp_grid *grid;
    const spmm_block *block;
    const sp_ghosted_block *given; /**< the block passed to sp_product_create() */
    const sp_moves *moves;         /**< the rows of X that are exchanged: those of `given` or of `node` */
    const sp_local_block *local;   /**< the matrix of the kernels, in `given` or `node` */
    spmm_plan_options options;     /**< the caller's */
    spmm_plan_study study;         /**< the caller's */
    const char *function;          /**< the public function that computes the product, for messages */
    const char *formula;           /**< human-readable formula of the product */
    sp_decisions decisions;        /**< what was decided, and why */
    sp_product_times times;
    sp_node_rows node; /**< if ranks of a node keep X in common memory; else zeroed */
    int64_t k;         /**< columns of X and Y; 0: products do nothing */
    int64_t y_rows;
    spmm_precision precision;
    spmm_device space; /**< memory of X and Y */
    sp_shape shape;
    int conjugate; /**< 1: products are with the conjugate of the matrix */
    int threads;
    int overlap; /**< 1: interior rows are computed during the exchange */
    sp_conversion conversion;
    sp_row_blocks parts;
    sp_widths widths;          /**< the choice of the matrix for products of fewer columns */
    void *stream;              /**< the caller's cudaStream_t; NULL: products use the library's own streams */
    sp_stream boundary_stream; /**< on a GPU: the stream in which the kernels for boundary rows run */
    sp_column_blocks column_blocks;
    sp_steps steps;
    sp_exchange *exchange;    /**< NULL: no rows of X are exchanged */
    sp_partial_rows *partial; /**< NULL: the exchange is not the joint one */
    sp_reduction *reduction;  /**< NULL: Q is 1, nothing is summed */
    sp_phases phases;
    sp_pending pending;
    /** Copy of the caller's X, if the caller's X cannot receive ghost rows; allocated when first needed. */
    spmm_multivector x;
    /** This rank's A X, if kernels cannot write it to the caller's Y; allocated when first needed. */
    spmm_multivector y;
} sp_product;

/** Returns 1 if rows of an X of the given precision travel as f32. Local. */
static inline int sp_plan_rounds(const spmm_plan_options *o, spmm_precision precision)
{
    return sp_rounds(precision, o->exchange_precision);
}

/** Returns a trial of kernels that compute k columns per launch, without candidates. Local. */
sp_kernel_trial sp_product_trial(const sp_product *product, int64_t k);

/** Adapts the product to k columns, from 0 to the number for which it was created.
 *
 *  Collective over the grid, while no product is computed. If sp_product_converts() returns 1 for this k, the
 *  block must have its values in host memory.
 *  \return the same status on every rank: SPMM_OK, or the status of the conversion of A and of the kernel's
 *          set-up: SPMM_ERR_MEMORY, _LIMIT, _DEVICE, _MPI; then products are undefined until the next call */
spmm_status sp_product_set_k(sp_product *product, int64_t k);

/** Returns 1 if sp_product_set_k() may read values of the block that are possibly out of date in host memory.
 *  The same on all ranks. Local. */
int sp_product_converts(const sp_product *product, int64_t k);

/** As sp_row_blocks_map() and sp_row_blocks_update(), for all converted copies of the block except those for
 *  partial rows. Local. */
spmm_status sp_product_map_values(sp_product *product, int *all);
spmm_status sp_product_update_values(sp_product *product, const void *on_gpu);

/** Frees the product; accepts NULL. If a product has begun, it is ended first; queued work is waited for.
 *  Collective over the grid; after MPI_Finalize it only frees memory. */
void sp_product_destroy(sp_product *product);

/** Makes later products use the caller's stream. Call it after all work of the set-up has been queued. Local;
 *  waits for the GPU. */
void sp_product_use_stream(sp_product *product, void *stream);

/** As spmm_apply_begin(), spmm_apply_end() and spmm_apply(), but without their checks of the plan. */
spmm_status sp_product_begin(sp_product *product, sp_value alpha, const spmm_multivector *x, sp_value beta,
                             const spmm_multivector *y);
spmm_status sp_product_end(sp_product *product);
spmm_status sp_product_apply(sp_product *product, sp_value alpha, const spmm_multivector *x, sp_value beta,
                             const spmm_multivector *y);

/** Computes Y := A X with only some kinds of steps, in the library's own streams, and waits for their end.
 *  Collective, status and operands as for spmm_apply().
 *  \param [in] kinds  SP_STEP_MOVES: only the exchange; SP_STEP_COMPUTES | SP_STEP_SUMS: all but the exchange
 *  \param [in] y      ignored without SP_STEP_COMPUTES */
spmm_status sp_product_run(sp_product *product, int kinds, const spmm_multivector *x,
                           const spmm_multivector *y);

/** Takes part in the communication of these steps without computing, in place of sp_product_run(), on a rank
 *  that has failed, so that no other rank waits forever. Preserves this rank's error message. Collective. */
void sp_product_skip(sp_product *product, int kinds);

/** Returns 1 if products are queued on the GPU as a whole, without steps that need the host. Local. */
int sp_product_queues(const sp_product *product);

/** Returns the transport of rows of X or of partial rows; SPMM_TRANSPORT_AUTO if none are exchanged.
 *  Local. */
spmm_transport sp_product_transport(const sp_product *product);

/** Waits until all work queued in the caller's stream is complete, if there is a caller's stream. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI, _DEVICE */
spmm_status sp_product_wait(sp_product *product);

/** Checks shape [rows x k], precision and memory of operand v. Messages name product->function. Local.
 *  \param [in] name  name of the operand in messages
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_product_check_operand(const sp_product *product, const spmm_multivector *v, int64_t rows,
                                     int64_t k, const char *name);

/** Allocates this rank's rows of X. Local.
 *  \param [in]  k           columns of X, at most the number for which the product was created
 *  \param [in]  for_copies  1: for the product's own copy of the caller's X
 *  \param [out] x           zeroed by the caller, who destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_product_x_create(const sp_product *product, int64_t k, int for_copies, spmm_multivector *x);

/** Allocates the product's own copy of the caller's X: for the maximum number of columns, or, if ranks share
 *  X, for the current number. Local. */
spmm_status sp_product_create_copy(sp_product *product);

/** Seconds that the phases of one product took on this rank. */
typedef struct sp_apply_seconds {
    /** All kernels: those for interior and boundary rows and, in the joint exchange, those that compute and
     *  add partial rows. If boundary rows run in a separate stream: from the first to the last kernel. */
    double kernel;
    double interior; /**< kernels for the interior rows; 0 with column blocks */
    double boundary; /**< kernels for the rows that are not interior; with column blocks, for all rows */
    double reduce;   /**< the sum over the process row, including the time spent waiting */
} sp_apply_seconds;

/** Makes later products measure their phases, which costs about a microsecond per phase on a GPU. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_product_measure(sp_product *product);

/** Reads how long the phases of the last product took. Local.
 *  \param [out] seconds  zeros if sp_product_measure() was not called before the product
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_product_seconds(const sp_product *product, sp_apply_seconds *seconds);

#endif
