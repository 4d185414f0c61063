/** Measures the time of messages between two ranks with round trips. */
#ifndef SP_MESSAGE_TIMES_H
#define SP_MESSAGE_TIMES_H

#include "comm/grid.h"

/** Times of messages between the first and the last rank, in seconds; 0 if there is only one rank. */
typedef struct sp_message_times {
    double latency;  /**< time of a message of 8 bytes */
    double per_byte; /**< time of an additional byte */
} sp_message_times;

/** Measures the times of messages, as medians of half round trips, which takes some hundredths of a second.
 *  The ranks other than the first and the last one wait.
 *
 *  Collective over grid->comm.
 *  \param [out] times  the same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_time_messages(const sp_grid *grid, sp_message_times *times);

#endif
