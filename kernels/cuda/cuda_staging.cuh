/** How the kernel panel_staged keeps rows of X in shared memory: a plan made once per matrix
 *  (cuda_staging.cu), which the kernel follows (cuda_panel_staged.cu). */
#ifndef SP_CUDA_STAGING_CUH
#define SP_CUDA_STAGING_CUH

#include <cuda_runtime.h>

extern "C" {
#include "formats/matrix.h"
#include "formats/panel.h"
}

enum {
    SP_STEP_PANELS = 16,  /**< most panels per step */
    SP_STEP_DEPTH = 2,    /**< steps whose rows of X are in shared memory together: one is multiplied, one
                                  arrives */
    SP_STAGED_ROWS = 848, /**< most rows of X in shared memory */
    SP_STAGED_PITCH = SP_STAGED_BYTES + 16 /**< from one row of X in shared memory to the next: rows whose
                                                slots differ mod 4 are in different banks */
};

/** A step: panels that a block multiplies after one wait. The block copies to shared memory the rows of X
 *  that they need and that are not there, and the panels' tiles and values. */
struct alignas(16) sp_step {
    int64_t first_tile, first_value, first_load;
    int32_t first_panel, panels, tiles, values, loads;
    uint16_t end[SP_STEP_PANELS]; /* tiles of the step up to the end of each panel */
};

/** A row of X to copy: its number, and where it goes in shared memory, in units of 16 bytes. */
struct sp_row_copy {
    int32_t row, place;
};

/** The shape of a plan. */
struct sp_stage_shape {
    int room;        /* bytes of shared memory for SP_STEP_DEPTH steps and the slots */
    int slots;       /* rows of X in shared memory */
    int capacity;    /* bytes for the tiles and values of a step */
    int value_bytes; /* per value */
    int sequences;   /* of steps: each is one block's, or one block's per tile of columns */
};

/** A plan, in GPU memory. */
struct sp_staging {
    sp_stage_shape shape;
    int most_steps;            /* per sequence */
    int64_t all_steps, copies; /* of all sequences; rows of X that they copy */
    sp_step *step;             /* [sequences * most_steps]: those of sequence s begin at s * most_steps */
    int32_t *steps;            /* [sequences] */
    uint4 *tile;       /* [tiles] places of four rows of X in 16 bits each, the mask, and the first value,
                          counted from the step's */
    sp_row_copy *load; /* [4 * tiles], where the steps say */
};

/** Makes the plan for row panels in GPU memory. Local; complete on return.
 *  \param [out] plan  the caller frees it by sp_staging_free(); NULL on failure, and where a panel needs more
 *                     rows of X than there is room for
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_staging_plan(const sp_matrix *m, const sp_stage_shape *shape, sp_staging **plan);

/** Frees a plan; accepts NULL. Local. */
void sp_staging_free(sp_staging *plan);

#endif
