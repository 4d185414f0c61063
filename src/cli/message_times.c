/** Measures the time of messages between the first and the last rank with round trips. */
#include "cli/message_times.h"

#include <string.h>

#include "base/memory.h"
#include "cli/stats.h"

enum { SMALL = 8, MIDDLE = 64 << 10, LARGE = 4 << 20, TRIALS = 9 };

/** Measures the time of a message between the first and the last rank: half a round trip, averaged over
 *  `count` round trips. The other ranks do nothing, and their *seconds is meaningless. */
static spmm_status to_and_fro(const sp_grid *g, char *data, int bytes, int count, double *seconds)
{
    const int last = g->size - 1, other = g->rank == 0 ? last : 0;
    const double start = MPI_Wtime();
    for (int i = 0; i < count && (g->rank == 0 || g->rank == last); i++) {
        if (g->rank == 0) TRY(SP_MPI(MPI_Send(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm)));
        TRY(SP_MPI(MPI_Recv(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm, MPI_STATUS_IGNORE)));
        if (g->rank != 0) TRY(SP_MPI(MPI_Send(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm)));
    }
    *seconds = (MPI_Wtime() - start) / (2.0 * count);
    return SPMM_OK;
}

static spmm_status one_way(const sp_grid *g, char *data, int bytes, int count, double *median)
{
    double seconds[TRIALS];
    double warm;
    TRY(to_and_fro(g, data, bytes, count, &warm));
    for (int i = 0; i < TRIALS; i++) TRY(to_and_fro(g, data, bytes, count, &seconds[i]));
    *median = sp_stats_of(seconds, TRIALS).median;
    return SPMM_OK;
}

static spmm_status measure(const sp_grid *g, char *data, sp_message_times *times)
{
    double middle, large;
    memset(data, 1, LARGE); /* pages never written map to one shared zero page: reads would be too fast */
    TRY(one_way(g, data, SMALL, 100, &times->latency));
    TRY(one_way(g, data, MIDDLE, 10, &middle));
    TRY(one_way(g, data, LARGE, 2, &large));
    times->per_byte = large > middle ? (large - middle) / (LARGE - MIDDLE) : large / LARGE;
    return SPMM_OK;
}

spmm_status sp_time_messages(const sp_grid *grid, sp_message_times *times)
{
    char *data = NULL;
    *times = (sp_message_times){0};
    if (grid->size == 1) return SPMM_OK;
    TRY(sp_agree(grid->comm, "probe", sp_alloc((void **)&data, LARGE, 1, "a message")));
    const spmm_status status = measure(grid, data, times);
    sp_free(data);
    TRY(sp_agree(grid->comm, "probe", status));
    return sp_bcast(grid->comm, 0, times, sizeof *times);
}
