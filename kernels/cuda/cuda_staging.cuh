/** The plan according to which the kernel panel_staged keeps rows of X in shared memory. It is created once
 *  per matrix (cuda_staging.cu); the kernel follows it (cuda_panel_staged.cu). */
#ifndef SP_CUDA_STAGING_CUH
#define SP_CUDA_STAGING_CUH

#include <cuda_runtime.h>

extern "C" {
#include "formats/matrix.h"
#include "formats/panel.h"
}

enum {
    SP_STEP_PANELS = 16,  /**< maximum number of panels per step */
    SP_STEP_DEPTH = 2,    /**< number of steps whose rows of X are in shared memory together: one is
                               multiplied, one arrives */
    SP_STAGED_ROWS = 848, /**< maximum number of rows of X in shared memory */
    SP_STAGED_PITCH = SP_STAGED_BYTES + 16 /**< distance in bytes between rows of X in shared memory; rows
                                                whose slots differ mod 4 are in different banks */
};

/** A step: panels that a block multiplies after one wait. The block copies to shared memory the tiles and
 *  values of the panels, and the rows of X that they need and that are not there yet. */
struct alignas(16) sp_step {
    int64_t first_tile, first_value, first_load;
    int32_t first_panel, panels, tiles, values, loads;
    uint16_t end[SP_STEP_PANELS]; /* number of tiles of the step up to the end of each panel */
};

/** A row of X to copy: its number, and its destination in shared memory, in units of 16 bytes. */
struct sp_row_copy {
    int32_t row, place;
};

/** The shape of a plan. */
struct sp_stage_shape {
    int room;        /* bytes of shared memory for SP_STEP_DEPTH steps and the slots */
    int slots;       /* number of rows of X in shared memory */
    int capacity;    /* bytes for the tiles and values of a step */
    int value_bytes; /* bytes per value */
    int sequences;   /* number of sequences of steps; each is run by one block, or by one block per tile of
                        columns */
};

/** A plan, in GPU memory. */
struct sp_staging {
    sp_stage_shape shape;
    int most_steps; /* steps per sequence for which `step` has memory */
    /* over all sequences: number of steps, and number of rows of X that they copy */
    int64_t all_steps, copies;
    sp_step *step;     /* [sequences * most_steps]: the steps of sequence s begin at s * most_steps */
    int32_t *steps;    /* [sequences] number of steps of each sequence */
    uint4 *tile;       /* [tiles] places of four rows of X in 16 bits each, the mask, and the index of the
                          first value, relative to the step's first value */
    sp_row_copy *load; /* [4 * tiles]: the copies of a step begin at its first_load */
};

/** Makes the plan for row panels in GPU memory. Local; complete on return.
 *  \param [out] plan  the caller frees it with sp_staging_free(); NULL on failure, and if a panel needs more
 *                     rows of X than fit
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_staging_plan(const sp_matrix *m, const sp_stage_shape *shape, sp_staging **plan);

/** Frees a plan; accepts NULL. Local. */
void sp_staging_free(sp_staging *plan);

#endif
