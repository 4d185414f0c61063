/** Measures the phases of a product, with events on a GPU and with the clock on a CPU. */
#include "product/phases.h"

#include <omp.h>
#include <string.h>

spmm_status sp_phases_create(spmm_device space, int blocks, sp_phases *phases)
{
    phases->space = space;
    for (int s = 0; space == SPMM_CUDA && s < blocks; s++)
        for (int i = 0; i < SP_PHASES; i++) TRY(sp_timer_create(&phases->span[s][i].timer));
    phases->on = 1;
    return SPMM_OK;
}

void sp_phases_destroy(sp_phases *phases)
{
    for (int s = 0; s < SP_MOST_COLUMN_BLOCKS; s++)
        for (int i = 0; i < SP_PHASES; i++) sp_timer_destroy(phases->span[s][i].timer);
    memset(phases, 0, sizeof *phases);
}

void sp_phases_clear(sp_phases *phases)
{
    for (int s = 0; s < SP_MOST_COLUMN_BLOCKS; s++)
        for (int i = 0; i < SP_PHASES; i++) phases->span[s][i].ended = 0;
}

spmm_status sp_phase_begin(sp_phases *phases, sp_phase phase, int block, sp_stream stream)
{
    struct sp_phase_span *const p = &phases->span[block][phase];
    if (!phases->on) return SPMM_OK;
    if (phases->space == SPMM_CUDA) return sp_timer_start(p->timer, stream);
    p->start = omp_get_wtime();
    return SPMM_OK;
}

spmm_status sp_phase_end(sp_phases *phases, sp_phase phase, int block, sp_stream stream)
{
    struct sp_phase_span *const p = &phases->span[block][phase];
    if (!phases->on) return SPMM_OK;
    p->ended = 1;
    if (phases->space == SPMM_CUDA) return sp_timer_stop(p->timer, stream);
    p->seconds = omp_get_wtime() - p->start;
    return SPMM_OK;
}

spmm_status sp_phase_seconds(const sp_phases *phases, sp_phase phase, double *seconds)
{
    *seconds = 0;
    for (int s = 0; s < SP_MOST_COLUMN_BLOCKS; s++) {
        const struct sp_phase_span *const p = &phases->span[s][phase];
        double took = p->seconds;
        if (!p->ended) continue;
        if (phases->space == SPMM_CUDA) TRY(sp_timer_seconds(p->timer, &took));
        *seconds += took;
    }
    return SPMM_OK;
}
