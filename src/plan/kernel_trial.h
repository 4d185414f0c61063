/** Chooses a plan's kernel by timing those that are expected to be fast on its row blocks. */
#ifndef SP_KERNEL_TRIAL_H
#define SP_KERNEL_TRIAL_H

#include "comm/trial.h"
#include "plan/row_blocks.h"

/** What all candidates have in common. */
typedef struct sp_kernel_trial {
    MPI_Comm comm; /**< of all ranks that take the same kernel */
    const sp_halo *halo;
    const sp_kernel *const *list; /**< [count] candidates, the one expected to be the fastest first */
    int count;
    int64_t k; /**< columns of X in a launch */
    double ell_limit;
    int threads;
    sp_shape shape;
    double products; /**< to come: candidates are compared if that repays it */
} sp_kernel_trial;

/** Converts the row blocks for the kernel that takes the least time, on an X of this size. Products are local: no rank exchanges
 *  anything. Only the first kernel is converted for and timed if so many of its products take no time that is worth a trial;
 *  where there is not enough memory for X and Y the first kernel is taken.
 *
 *  Collective over t->comm.
 *  \param [in,out] parts  as for sp_row_blocks_create(); destroyed by the caller, also on failure
 *  \param [out]    trial  what was timed
 *  \return the same status on every rank, that of sp_row_blocks_create() or of a kernel's run() */
spmm_status sp_kernel_trial_run(const sp_kernel_trial *t, sp_row_blocks *parts, sp_trial *trial);

#endif
