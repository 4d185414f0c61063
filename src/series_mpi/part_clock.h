/** Measures how long the parts of a pass take on this rank: on a CPU by the wall clock, on a GPU by pairs of
 *  events in its main stream, so that the host does not wait for a part before it enqueues the next one. */
#ifndef SP_SERIES_MPI_PART_CLOCK_H
#define SP_SERIES_MPI_PART_CLOCK_H

#include "device/device.h"
#include "series_mpi/pearson.h"

/** Number of GPU timers. If all of them are in use, the host waits for the oldest one. */
enum { SP_PART_TIMERS = 16 };

/** A clock for the parts of passes. A zeroed clock can be destroyed. */
typedef struct sp_part_clock {
    spmm_device space;
    double seconds[SP_PEARSON_PARTS];     /**< of each part since sp_part_clock_reset() */
    double start;                         /**< on a CPU: time at which the current part began */
    sp_timer *timer[SP_PART_TIMERS];      /**< on a GPU: used in turn */
    sp_pearson_part part[SP_PART_TIMERS]; /**< what each timer measures */
    int64_t begun, added; /**< begun: number of parts that have ended; added: number of those whose times are
                               in `seconds` */
} sp_part_clock;

/** Creates a clock for work in the memory of a device. The caller destroys it, also after an error. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_part_clock_create(spmm_device space, sp_part_clock *clock);

/** Frees the timers. Local. */
void sp_part_clock_destroy(sp_part_clock *clock);

/** Sets all times to 0, and forgets parts that are not complete. Local. */
void sp_part_clock_reset(sp_part_clock *clock);

/** Begins a part: work that is done, or enqueued in the main stream, until sp_part_clock_end(). Parts do not
 *  nest. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_part_clock_begin(sp_part_clock *clock, sp_pearson_part part);

/** Ends the part that was begun last. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_part_clock_end(sp_part_clock *clock, sp_pearson_part part);

/** Waits for the work of all parts, and adds their times to clock->seconds. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_part_clock_finish(sp_part_clock *clock);

#endif
