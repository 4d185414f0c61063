/** The memory budget: how much host memory can still be allocated, on the assumption that all memory
 *  allocated so far will be used. */
#ifndef SP_BUDGET_H
#define SP_BUDGET_H

#include <stdint.h>

/** Returns the number of bytes that can be allocated now. Starts from the bytes that the system reports as
 *  available (MemAvailable), or that the limits of control groups leave, whichever is less. Subtracts the
 *  bytes that were taken but not touched yet, and a reserve for allocations that are not counted. Returns
 *  INT64_MAX / 4 if nothing is known. Reads /proc. Local; any thread. */
int64_t sp_budget_room(void);

/** Takes `bytes` bytes from the budget if that many are left; sp_budget_give() gives them back. /proc is
 *  read again only when more than an eighth of what was left at the last reading has been taken. Local; any
 *  thread.
 *  \param [out] room  bytes that were left before the call
 *  \return 1 if the bytes were taken; 0 if fewer are left, and nothing was taken */
int sp_budget_take(int64_t bytes, int64_t *room);

/** Gives bytes from sp_budget_take() back to the budget; a negative number takes bytes without any check.
 *  Local; any thread. */
void sp_budget_give(int64_t bytes);

/** Returns the number of the control group that leaves the least memory; 0 if no group has a limit.
 *  Processes of a node with the same number share the memory of that group. Local. */
uint64_t sp_budget_group(void);

/** Makes this process count its allocations together with other processes. Each of the processes must have
 *  taken almost nothing so far. Local; no other thread may allocate during the call.
 *  \param [in] taken    the common counter, initially 0, in memory that the processes share; must exist until
 *                       this process counts separately again. NULL: count separately again
 *  \param [in] sharers  number of processes that count together */
void sp_budget_share(int64_t *taken, int sharers);

/** Returns how many processes count together, at least 1. Local. */
int sp_budget_sharers(void);

#endif
