/** What of the machine's memory is left, with what was allocated and not touched yet taken off. Host memory alone. */
#ifndef SP_BUDGET_H
#define SP_BUDGET_H

#include <stdint.h>

/** Bytes that could be allocated now, INT64_MAX / 4 where nothing is known: MemAvailable and the limits of control
 *  groups, less what was taken and is not in use yet, less a reserve for what is not counted. Reads /proc. Local. */
int64_t sp_budget_room(void);

/** Takes so many bytes where they are left; they count until they are given back. /proc is read again only after an
 *  eighth of what was left has been taken. Any thread.
 *  \param [out] room  where 0 is returned: what is left
 *  \return 1, or 0: they are not left, and nothing was taken */
int sp_budget_take(int64_t bytes, int64_t *room);

/** Gives back what was taken; negative: takes without asking. Any thread. */
void sp_budget_give(int64_t bytes);

/** The control group whose limit is the nearest, 0: none. Processes of a node that have the same one share it. */
uint64_t sp_budget_group(void);

/** Counts together with other processes, all of which have nearly nothing yet: `taken` is theirs in common, in shared
 *  memory that outlives the sharing, and 0 at first. NULL: alone again. No other thread may allocate meanwhile. */
void sp_budget_share(int64_t *taken, int sharers);

/** How many processes count together, at least 1. */
int sp_budget_sharers(void);

#endif
