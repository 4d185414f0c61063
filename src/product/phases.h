/** Measures the phases of a product. The product marks where each phase begins and ends, and the times are
 *  read after the product. On a GPU a mark is an event in the stream in which the phase runs. */
#ifndef SP_PHASES_H
#define SP_PHASES_H

#include "device/device.h"
#include "product/column_blocks.h"

/** The phases of a product. With column blocks, each block has its own interior and boundary phases. */
typedef enum sp_phase {
    SP_PHASE_INTERIOR, /**< kernels for the interior rows */
    SP_PHASE_BOUNDARY, /**< kernels for the other rows */
    SP_PHASE_PARTIAL,  /**< kernels for partial rows of other ranks (joint exchange) */
    SP_PHASE_ADD,      /**< addition of the received partial rows to Y */
    SP_PHASE_KERNELS,  /**< from the first to the last kernel, if boundary rows are computed in a separate
                            stream */
    SP_PHASE_REDUCE,   /**< the sum over the process row, including the time spent waiting */
    SP_PHASES
} sp_phase;

/** Times of one product. A zeroed object measures nothing. */
typedef struct sp_phases {
    int on; /**< 1: marks are recorded */
    spmm_device space;
    struct sp_phase_span {
        sp_timer *timer; /**< on a GPU */
        double start, seconds;
        int ended; /**< 1: the phase took place in the last product */
    } span[SP_MOST_COLUMN_BLOCKS][SP_PHASES];
} sp_phases;

/** Starts to measure products whose X is split into `blocks` column blocks. Local.
 *  \param [in,out] phases  zeroed; the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_phases_create(spmm_device space, int blocks, sp_phases *phases);

/** Frees the timers and zeroes *phases; accepts a zeroed object. Local. */
void sp_phases_destroy(sp_phases *phases);

/** Forgets the times of the last product. Local. */
void sp_phases_clear(sp_phases *phases);

/** Marks the beginning of a phase of column block `block`. Local; on a GPU the mark is queued in `stream`.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_phase_begin(sp_phases *phases, sp_phase phase, int block, sp_stream stream);

/** Marks the end of a phase that sp_phase_begin() began, in the same way. */
spmm_status sp_phase_end(sp_phases *phases, sp_phase phase, int block, sp_stream stream);

/** Reads how long a phase took in the last product, summed over the column blocks; 0 if it did not take
 *  place. Local; on a GPU it waits for the phase's end.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_phase_seconds(const sp_phases *phases, sp_phase phase, double *seconds);

#endif
