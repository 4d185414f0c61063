/** A plan's members. Private to src/plan. */
#ifndef SP_PLAN_STRUCT_H
#define SP_PLAN_STRUCT_H

#include <stdatomic.h>

#include "distribute/node_rows.h"
#include "plan/column_blocks.h"
#include "exchange/exchange.h"
#include "plan/partial_rows.h"
#include "plan/phases.h"
#include "plan/plan.h"
#include "plan/reduce.h"
#include "plan/row_blocks.h"
#include "plan/transposed_plan.h"

/** What a plan owns if spmm_plan_create() made it; in memory of its own, because several plans are tried
 *  with it. */
typedef struct sp_plan_own {
    sp_grid grid;
    sp_halo halo, joint;
    /* The caller's block, if its CSR is in GPU memory, which planning copies to host memory; else NULL. Values there
     * may be newer. */
    const spmm_block *on_gpu;
    spmm_block host;
    int stale;
} sp_plan_own;

/** Copies values from the caller's CSR in GPU memory to the host, if those there are older. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_plan_refresh(sp_plan_own *own);

/** Seconds that a plan's creation and its products took on this rank. */
typedef struct sp_plan_times {
    double created;
    int64_t products;
    double seconds, least, greatest; /* of all products; of the fastest; of the slowest */
    int64_t queued;                  /* products that were queued and not waited for, which have no times */
} sp_plan_times;

/** A step of a product (product.c lists them), and the column block of X that it is for. */
typedef struct sp_plan_step {
    unsigned char what, block;
} sp_plan_step;

enum { SP_MOST_STEPS = 5 * SP_MOST_COLUMN_BLOCKS + 16 };

/** The steps of a plan's products. */
typedef struct sp_plan_steps {
    int count, begins; /* begins: number of those that spmm_apply_begin() runs */
    sp_plan_step list[SP_MOST_STEPS];
    char words[SP_STEPS_BYTES]; /* for people: "begin X | interior rows | end X | .." */
} sp_plan_steps;

/** Kinds of steps. Those of one kind alone are: the exchange without the product (SP_STEP_MOVES); or they
 *  are left out. */
enum { SP_STEP_COMPUTES = 1, SP_STEP_MOVES = 2, SP_STEP_SUMS = 4, SP_STEP_ALL = 7 };

/** A product between its begin and its end. */
typedef struct sp_pending {
    int open;                       /* 1: it has begun, and has not ended */
    int kinds;                      /* of its steps: SP_STEP_* */
    int captured;                   /* 1: it is being captured in a CUDA graph */
    int prepared;                   /* 0: it failed before its first step */
    int whole;                      /* 1: all of it is queued */
    int block;                      /* the column block of the step that runs */
    sp_move_state x_state;          /* of the exchange of that column block */
    spmm_status status;             /* so far */
    char message[SP_MESSAGE_BYTES]; /* of its failure */
    double alpha, beta;
    double seconds;           /* that the begin took */
    spmm_multivector y;       /* the caller's */
    spmm_multivector x;       /* all columns of X: the caller's, or the plan's copy */
    spmm_multivector product; /* where A X goes: the caller's Y, or the plan's */
} sp_pending;

/** Who has a plan: nobody; a thread that is in one of its functions; nobody, and a product has begun. */
enum { SP_PLAN_FREE = 0, SP_PLAN_TAKEN, SP_PLAN_BEGUN };

struct spmm_plan {
    atomic_int taken; /* one of SP_PLAN_* */
    const sp_grid *grid;
    const sp_halo *
        halo; /* of the rows that this plan moves: `given`, or node.halo if ranks of a node have rows in common */
    const sp_halo *given; /* what sp_plan_create() was told */
    const spmm_block *block;
    spmm_plan_options options; /* the caller's */
    const char *function;      /* that computes products by this plan, in messages */
    const char *product;       /* what it computes, for people */
    int all_kernels;           /* as sp_plan_create() was told */
    char why[SP_WHY_BYTES];    /* this kernel */
    sp_trial kernel_trial;     /* what it was chosen from */
    sp_plan_times times;
    sp_plan_own *own; /* what grid and halo point to, if spmm_plan_create() made the plan; else NULL */
    sp_variants variants;
    sp_trial reduce_trial; /* what its reduction was chosen from */
    sp_node_rows node;     /* if ranks of a node have rows of X in common; else zeroed */
    int64_t k, y_rows;
    spmm_precision precision;
    spmm_device space; /* memory of X and Y */
    sp_shape shape;
    int threads;
    sp_row_blocks parts;
    void *stream; /* the caller's, a cudaStream_t; NULL: products are computed in the library's own */
    sp_stream boundary_stream; /* on a GPU: the stream in which the kernels for boundary rows run */
    sp_column_blocks column_blocks;
    sp_plan_steps steps;
    sp_exchange *exchange;    /* NULL: no rows of X are exchanged */
    sp_partial_rows *partial; /* NULL: the exchange is not the joint one */
    sp_reduction *reduction;  /* NULL: Q is 1, nothing is summed */
    sp_phases phases;
    sp_pending pending;
    sp_transposed_plan *transposed; /* for products with the transpose; NULL before the first one */
    /* copy of the caller's X, if the caller's X cannot receive ghost rows; allocated when first needed */
    spmm_multivector x;
    /* this rank's A X, if kernels cannot write it to the caller's Y; allocated when first needed */
    spmm_multivector y;
};

/** Returns 1 if products of the plan are queued on the GPU as a whole: no host has a part in them. Local. */
int sp_plan_queues(const spmm_plan *plan);

/** Returns the transport of rows of X or of partial rows; SPMM_TRANSPORT_AUTO if there are none to
 *  exchange. Local. */
spmm_transport sp_plan_transport(const spmm_plan *plan);

/** Waits until what was queued in the caller's stream is done, if there is one. Local. \return SPMM_OK,
 *  SPMM_ERR_MPI, _DEVICE */
spmm_status sp_plan_wait(spmm_plan *plan);

/** Takes the plan for this thread. Local. \return 1; 0: another thread is in one of its functions */
int sp_plan_try(const spmm_plan *plan);

/** Takes the plan for a call of a public function; after SPMM_OK, sp_plan_give() ends that. Local.
 *  \param [in] function  public function, for the message
 *  \param [in] idle      1: it is to be refused between spmm_apply_begin() and spmm_apply_end()
 *  \return SPMM_OK, SPMM_ERR_USAGE (plan is NULL, another thread uses it, a product has begun, MPI is not
 *          running), _MPI */
spmm_status sp_plan_take(const spmm_plan *plan, const char *function, int idle);

/** Refuses a call because another thread uses the plan. Local. \return SPMM_ERR_USAGE */
spmm_status sp_plan_refuse(const char *function);

/** Ends the use of a plan that this thread has taken. Local. \return status */
spmm_status sp_plan_give(const spmm_plan *plan, spmm_status status);

/** spmm_apply_begin() and spmm_apply_end() without their checks of the plan. */
spmm_status sp_plan_begin(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y);
spmm_status sp_plan_end(spmm_plan *plan);

/** Checks the shape, precision and memory of operand v. Error messages name plan->function as the function.
 *  Local.
 *  \param [in] name  name of the operand in error messages
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_plan_check_operand(const spmm_plan *plan, const spmm_multivector *v, int64_t rows,
                                  const char *name);

#endif
