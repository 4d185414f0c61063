/** The memory budget: how much host memory is left, not counting what has been allocated but not touched yet. */
#ifndef SP_BUDGET_H
#define SP_BUDGET_H

#include <stdint.h>

/** Returns how many bytes could be allocated now: MemAvailable and the limits of control groups, minus what was taken
 *  and is not in use yet, minus a reserve for what is not counted; INT64_MAX / 4 if nothing is known. Reads /proc.
 *  Local; any thread. */
int64_t sp_budget_room(void);

/** Takes bytes from the budget if they are left; they count until they are given back. /proc is read again only when
 *  more than an eighth of what was left at the last reading has been taken. Local; any thread.
 *  \param [out] room  bytes that were left
 *  \return 1; 0: they are not left, and nothing was taken */
int sp_budget_take(int64_t bytes, int64_t *room);

/** Gives back bytes that were taken; a negative number takes without checking. Local; any thread. */
void sp_budget_give(int64_t bytes);

/** Returns the number of the control group with the tightest limit, 0 for none. Processes of a node that have the
 *  same one share its memory. Local. */
uint64_t sp_budget_group(void);

/** Makes this process count together with others, each of which has taken next to nothing so far. Local; no other
 *  thread may allocate meanwhile.
 *  \param [in] taken    the common counter, initially 0, in shared memory that outlives the sharing; NULL: count
 *                       alone again
 *  \param [in] sharers  number of processes that share it */
void sp_budget_share(int64_t *taken, int sharers);

/** Returns how many processes count together, at least 1. Local. */
int sp_budget_sharers(void);

#endif
