/** Lists the kernels that may be the fastest for a matrix (`--kernel auto`), in the order in which a trial
 *  times them. On the CPU, conditions of the kernels (SP_SUITS() in their files) select the first one; the
 *  default kernel follows. On a GPU, the order is taken from a leaf of a decision tree, which
 *  bench/calibrate.py makes from measurements; conditions omit, postpone or add kernels. */
#ifndef SP_CHOOSE_H
#define SP_CHOOSE_H

#include <stddef.h>

#include "comm/comm.h"
#include "kernels/features.h"
#include "kernels/kernel.h"
#include "product/row_blocks.h"
#include "spmm_extended.h"

/** Computes the features of the whole matrix from the blocks of all ranks, for sp_choose().
 *
 *  Collective over comm.
 *  \param [in]  on_gpu   the block's matrix in GPU memory, on one rank, which is examined there; NULL: the
 *                        one in host memory is examined
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] f        equal on all ranks
 *  \return SPMM_OK, SPMM_ERR_MPI; with on_gpu also SPMM_ERR_MEMORY, _DEVICE */
spmm_status sp_features_of_blocks(MPI_Comm comm, const spmm_block *block, const spmm_csr *on_gpu, int threads,
                                  sp_features *f);

enum { SP_PRODUCTS_EXPECTED = 1000 };

/** Number of expected products that repay a trial of kernels, exchanges or reductions. */
enum { SP_PRODUCTS_TIMED = 100 };

/** Returns the expected number of products; asked <= 0: SP_PRODUCTS_EXPECTED. Local. */
static inline int64_t sp_products_of(int64_t asked) { return asked > 0 ? asked : SP_PRODUCTS_EXPECTED; }

/** Returns 1 if enough products are expected for a plan to time its candidates. Local. */
static inline int sp_plan_tries(const spmm_plan_options *options, const spmm_plan_study *study)
{
    return !study->quick_plan && sp_products_of(options->products) >= SP_PRODUCTS_TIMED;
}

enum { SP_MAX_CANDIDATES = 16 };

/** On GPUs: number of kernels that a trial takes from a leaf of the decision tree, unless all kernels are
 *  timed; kernels that are in no leaf may be added. */
enum { SP_TRIED = 3 };

/** Lists kernels for products with k columns. The kernel that is expected to be the fastest comes first.
 *  Local.
 *
 *  \param [in]  products  expected number of products; <= 0: SP_PRODUCTS_EXPECTED. Kernels whose set-up would
 *                         not be repaid come last, or are not listed
 *  \param [in]  format  only kernels of this format are listed; SPMM_FORMAT_AUTO: kernels of all formats
 *  \param [in]  all     0: only kernels that are worth a trial; 1: all kernels that suit some matrix, those
 *                       that are worth a trial first
 *  \param [out] list    in static storage, all different
 *  \param [out] why     why the first kernel is expected to be the fastest, in a few words; may be NULL
 *  \param [in]  n       size of the buffer `why` in bytes
 *  \return the number of kernels in `list`, with `all` 0 at most SP_TRIED + 2; 0: no kernel multiplies
 *          such values on that device in that format */
int sp_order_kernels(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                     spmm_device device, spmm_format format, int all,
                     const sp_kernel *list[SP_MAX_CANDIDATES], char *why, size_t n);

/** Removes from a list the kernels that do not give the bits of the serial product. Keeps the order. Local.
 *  \return the number of remaining kernels */
int sp_keep_exact(spmm_precision precision, const sp_kernel **list, int count);

/** Sets the message that no kernel multiplies values of this type in the required format on the device.
 *  Local. \return SPMM_ERR_USAGE */
spmm_status sp_no_kernel(spmm_precision precision);

/** Chooses the kernel for products with k columns without a trial: the first one that sp_order_kernels()
 *  lists with `all` 0. Local.
 *
 *  \param [in]  products, format  as for sp_order_kernels()
 *  \param [out] kernel  the chosen kernel, in static storage; NULL on failure
 *  \param [out] why     the reason for the choice, in a few words; may be NULL
 *  \param [in]  n       size of the buffer `why` in bytes
 *  \return SPMM_OK, SPMM_ERR_USAGE (no kernel multiplies such values on that device in that format) */
spmm_status sp_choose(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                      spmm_device device, spmm_format format, const sp_kernel **kernel, char *why, size_t n);

/** Parameters that all candidates of a trial of kernels have in common. */
typedef struct sp_kernel_trial {
    MPI_Comm comm;                /**< communicator of all ranks that choose the same kernel */
    const spmm_csr *a;            /**< the block with local column indices */
    const sp_kernel *const *list; /**< [count] candidates, the one expected to be the fastest first */
    int count;
    int64_t k;    /**< columns of X in a kernel launch */
    int64_t most; /**< maximum k of later launches, see sp_row_blocks_create() */
    sp_conversion conversion;
    int threads;
    sp_shape shape;
    double products; /**< expected number of products; candidates are timed if it repays a trial, and always
                          if it is infinity */
} sp_kernel_trial;

/** Times the candidate kernels on an X of t->k columns, and converts the row blocks for the fastest kernel.
 *  The timed products are local: no rank exchanges rows. If the first kernel is so fast that the expected
 *  products do not repay a trial, the other kernels are neither converted nor timed. If there is not enough
 *  memory for X and Y, the first kernel is selected. On CPUs, if the matrix is large and its rows have
 *  columns near one another, kernels are timed with a share of the rows, and *trial has times divided by it.
 *
 *  Collective over t->comm.
 *  \param [in,out] parts  as for sp_row_blocks_create(); destroyed by the caller, also on failure
 *  \param [out]    trial  the timed candidates
 *  \return the same status on every rank, that of sp_row_blocks_create() or of a kernel's run() */
spmm_status sp_kernel_trial_run(const sp_kernel_trial *t, sp_row_blocks *parts, sp_trial *trial);

/** Times the kernel of converted row blocks as sp_kernel_trial_run() does; t->list is not read.
 *
 *  Collective over t->comm.
 *  \param [out] seconds  time of a product, the same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, or the status of a kernel's run() */
spmm_status sp_kernel_trial_time(const sp_kernel_trial *t, sp_row_blocks *parts, double *seconds);

/** Returns 1 if products of `seconds` repay a trial. Local. */
int sp_kernel_trial_pays(const sp_kernel_trial *t, double seconds);

#endif
