/** One product Y := alpha A X + beta Y over the ranks of a grid: its kernel, the exchange of rows of X, the
 *  sum over the process row, and the list of steps that it is computed by. A plan (plan/plan.h) has one, and
 *  one more for the transpose. */
#ifndef SP_PRODUCT_H
#define SP_PRODUCT_H

#include "halo/node_rows.h"
#include "exchange/exchange.h"
#include "product/choose.h"
#include "product/column_blocks.h"
#include "product/partial_rows.h"
#include "product/phases.h"
#include "product/reduce.h"
#include "product/widths.h"
#include "relays/relays.h"

/** Sizes of a text that says why a kernel was chosen, and of one that lists the steps of a product. */
enum { SP_WHY_BYTES = 320, SP_STEPS_BYTES = 1600 };

/** Seconds that the set-up of a product and the products took on this rank. */
typedef struct sp_product_times {
    double created;
    int64_t products;
    double seconds, least, greatest; /**< of all products; of the fastest; of the slowest */
    int64_t queued;                  /**< products that were queued and not waited for, which have no times */
} sp_product_times;

/** A step of a product (steps.c lists them), and the column block of X that it is for. */
typedef struct sp_product_step {
    unsigned char what, block;
} sp_product_step;

/** Room for 16 steps, each once for each column block: steps.c asserts that it has no more. */
enum { SP_MOST_STEPS = 16 * SP_MOST_COLUMN_BLOCKS };

/** The steps of a product. */
typedef struct sp_steps {
    int count, begins; /**< begins: number of steps that sp_product_begin() runs */
    sp_product_step list[SP_MOST_STEPS];
    char words[SP_STEPS_BYTES]; /**< for people: "begin X | interior rows | end X | .." */
} sp_steps;

/** Kinds of steps. With SP_STEP_MOVES alone a product is an exchange; without it, a product that reads ghost
 *  rows and partial rows of other ranks as an earlier exchange left them. */
enum { SP_STEP_COMPUTES = 1, SP_STEP_MOVES = 2, SP_STEP_SUMS = 4, SP_STEP_ALL = 7 };

/** A product between its begin and its end. */
typedef struct sp_pending {
    int open;                       /**< 1: it has begun, and has not ended */
    int kinds;                      /**< of its steps: SP_STEP_* */
    int captured;                   /**< 1: it is being captured in a CUDA graph */
    int prepared;                   /**< 0: it failed before its first step */
    int whole;                      /**< 1: all of it is queued */
    int block;                      /**< the column block of the step that runs */
    sp_move_state x_state;          /**< of the exchange of that column block */
    spmm_status status;             /**< so far */
    char message[SP_MESSAGE_BYTES]; /**< of its failure */
    double alpha, beta;
    double seconds;           /**< that the begin took */
    spmm_multivector y;       /**< the caller's */
    spmm_multivector x;       /**< all columns of X: the caller's, or the product's copy */
    spmm_multivector product; /**< where A X goes: the caller's Y, or the product's */
} sp_pending;

typedef struct sp_product {
    const sp_grid *grid;
    const sp_halo *halo;  /**< of the rows that are moved: `given`, or that of `node` or `relays` */
    const sp_halo *given; /**< what sp_product_create() was told */
    const spmm_block *block;
    spmm_plan_options options; /**< the caller's */
    spmm_plan_study study;     /**< the caller's */
    const char *function;      /**< public function that computes it, in messages */
    const char *formula;       /**< what it computes, for people */
    char why[SP_WHY_BYTES];    /**< this kernel */
    sp_trial kernel_trial;     /**< what it was chosen from */
    sp_trial reduce_trial;     /**< what its reduction was chosen from */
    sp_product_times times;
    sp_node_rows node; /**< if ranks of a node have rows of X in common; else zeroed */
    sp_relays *relays; /**< if they hand rows of X on; else NULL */
    int64_t k;         /**< columns of X and Y; 0: products do nothing */
    int64_t y_rows;
    spmm_precision precision;
    spmm_device space; /**< memory of X and Y */
    sp_shape shape;
    int threads;
    sp_row_blocks parts;
    sp_widths widths; /**< what it takes for products of fewer columns */
    void *stream;     /**< the caller's, a cudaStream_t; NULL: products are computed in the library's own */
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

/** Creates a product from a grid, a block and a halo, which must outlive it: chooses kernel, exchange and
 *  reduction, converts the block, and lists the steps. spmm_plan_create_extended() says what the options
 *  mean, of which `exchange` is ignored: the halo has a kind.
 *
 *  Collective over grid->comm.
 *  \param [in]  study    not NULL
 *  \param [out] product  the caller destroys it; NULL on failure
 *  \return status as of spmm_plan_create_extended(), the same on every rank */
spmm_status sp_product_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                              const spmm_plan_options *options, const spmm_plan_study *study,
                              sp_product **product);

/** Makes products ones of k columns, from 0 to those that the product was created for.
 *
 *  Collective over the grid, while no product is computed. If sp_product_converts() returns 1 for that k, the
 *  block has its values in host memory.
 *  \return the same status on every rank: SPMM_OK, or of the conversion of A and the kernel's set-up:
 *          SPMM_ERR_MEMORY, _LIMIT, _DEVICE, _MPI; then products are undefined until the next call */
spmm_status sp_product_set_k(sp_product *product, int64_t k);

/** Returns 1 if sp_product_set_k() may read values of the block. The same on all ranks. Local. */
int sp_product_converts(const sp_product *product, int64_t k);

/** As sp_row_blocks_map() and sp_row_blocks_update(), of all that the product has converted of its block, but
 *  for partial rows. Local. */
spmm_status sp_product_map_values(sp_product *product, int *all);
spmm_status sp_product_update_values(sp_product *product, const void *on_gpu);

/** Ends a product that has begun, waits for what was queued, and frees all; accepts NULL. Collective over the
 *  grid; after MPI_Finalize it only frees memory. */
void sp_product_destroy(sp_product *product);

/** Later products are computed in the caller's stream: to be called when nothing of the set-up is left to be
 *  queued. Local; waits for the GPU. */
void sp_product_use_stream(sp_product *product, void *stream);

/** As spmm_apply_begin(), spmm_apply_end() and spmm_apply(), without their checks of the plan. */
spmm_status sp_product_begin(sp_product *product, double alpha, const spmm_multivector *x, double beta,
                             const spmm_multivector *y);
spmm_status sp_product_end(sp_product *product);
spmm_status sp_product_apply(sp_product *product, double alpha, const spmm_multivector *x, double beta,
                             const spmm_multivector *y);

/** Computes Y := A X by steps of some kinds alone, in the library's own streams, and waits for their end.
 *  Collective, status and operands as of spmm_apply().
 *  \param [in] kinds  SP_STEP_MOVES: the exchange alone; SP_STEP_COMPUTES | SP_STEP_SUMS: without it
 *  \param [in] y      ignored without SP_STEP_COMPUTES */
spmm_status sp_product_run(sp_product *product, int kinds, const spmm_multivector *x,
                           const spmm_multivector *y);

/** Takes the place of steps of these kinds on a rank that failed before: no other rank waits in vain.
 *  Preserves this rank's error message. Collective as sp_product_run() is. */
void sp_product_skip(sp_product *product, int kinds);

/** Returns 1 if all of a product is queued on the GPU: no host has a part in it. Local. */
int sp_product_queues(const sp_product *product);

/** Returns the transport of rows of X or of partial rows; SPMM_TRANSPORT_AUTO if there are none to
 *  exchange. Local. */
spmm_transport sp_product_transport(const sp_product *product);

/** Waits until what was queued in the caller's stream is done, if there is one. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI, _DEVICE */
spmm_status sp_product_wait(sp_product *product);

/** Checks shape, precision and memory of operand v. Messages name product->function. Local.
 *  \param [in] name  of the operand, in messages
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_product_check_operand(const sp_product *product, const spmm_multivector *v, int64_t rows,
                                     const char *name);

/** Allocates this rank's rows of X. Local.
 *  \param [in]  k           columns of X, at most those that the product was created for
 *  \param [in]  for_copies  1: for the product's own copy of the caller's X
 *  \param [out] x           zeroed by the caller, who destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_product_x_create(const sp_product *product, int64_t k, int for_copies, spmm_multivector *x);

/** Allocates the product's own copy of the caller's X, for all numbers of columns unless ranks share it.
 *  Local. */
spmm_status sp_product_create_copy(sp_product *product);

/** Seconds that the phases of one product took on this rank. */
typedef struct sp_apply_seconds {
    /** All kernels: interior, boundary and, of the joint exchange, partial rows; or the span from the first
     *  to the last if they run concurrently. */
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
