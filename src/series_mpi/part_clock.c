/** The clock for the parts of a pass over the pairs of series. */
#include "series_mpi/part_clock.h"

#include <mpi.h>
#include <string.h>

spmm_status sp_part_clock_create(spmm_device space, sp_part_clock *clock)
{
    memset(clock, 0, sizeof *clock);
    clock->space = space;
    for (int i = 0; space == SPMM_CUDA && i < SP_PART_TIMERS; i++) TRY(sp_timer_create(&clock->timer[i]));
    return SPMM_OK;
}

void sp_part_clock_destroy(sp_part_clock *clock)
{
    for (int i = 0; i < SP_PART_TIMERS; i++)
        if (clock->timer[i]) sp_timer_destroy(clock->timer[i]);
}

void sp_part_clock_reset(sp_part_clock *clock)
{
    memset(clock->seconds, 0, sizeof clock->seconds);
    clock->begun = clock->added = 0;
}

/** Waits for the oldest timer in use, and adds its time to the seconds of the part that it measured. */
static spmm_status add_oldest(sp_part_clock *clock)
{
    const int64_t i = clock->added % SP_PART_TIMERS;
    double seconds;
    TRY(sp_timer_seconds(clock->timer[i], &seconds));
    clock->seconds[clock->part[i]] += seconds;
    clock->added++;
    return SPMM_OK;
}

spmm_status sp_part_clock_begin(sp_part_clock *clock, sp_pearson_part part)
{
    const int64_t i = clock->begun % SP_PART_TIMERS;
    if (clock->space == SPMM_CPU) {
        clock->start = MPI_Wtime();
        return SPMM_OK;
    }
    if (clock->begun - clock->added == SP_PART_TIMERS) TRY(add_oldest(clock));
    clock->part[i] = part;
    return sp_timer_start(clock->timer[i], SP_STREAM_MAIN);
}

spmm_status sp_part_clock_end(sp_part_clock *clock, sp_pearson_part part)
{
    if (clock->space == SPMM_CPU) {
        clock->seconds[part] += MPI_Wtime() - clock->start;
        return SPMM_OK;
    }
    TRY(sp_timer_stop(clock->timer[clock->begun % SP_PART_TIMERS], SP_STREAM_MAIN));
    clock->begun++;
    return SPMM_OK;
}

spmm_status sp_part_clock_finish(sp_part_clock *clock)
{
    while (clock->added < clock->begun) TRY(add_oldest(clock));
    return SPMM_OK;
}
