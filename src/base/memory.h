/** Host memory: checked, aligned, and with a message that says what it was for. */
#ifndef SP_MEMORY_H
#define SP_MEMORY_H

#include <stddef.h>
#include "base/status.h"

/** Allocates count elements of `size` bytes, 64-byte aligned (2 MiB and huge pages from 4 MiB up).
 *  Not zeroed. *p is never NULL on success, also for count 0; NULL on failure.
 *  \param [in] what  names the thing in the message, e.g. "column indices"
 *  A request that exceeds sp_available_bytes() is refused before the system grants it; below 1 MiB none is held
 *  against it. (SPMM_MEMORY_CHECK=0: none at all.)
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figure), SPMM_ERR_LIMIT (count*size overflows) */
spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what);

/** The same, zeroed. */
spmm_status sp_alloc_zero(void **p, int64_t count, size_t size, const char *what);

/** For a step that allocates several arrays, before the first one is made and touched: refuses where they do not fit
 *  together. Nothing is allocated or put aside. Local.
 *  \param [in] bytes  of all arrays of the step together, at least
 *  \param [in] what   names them in the message
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figures) */
spmm_status sp_memory_needs(double bytes, const char *what);

/** The bytes of an allocation from `used` on are of no use any more: its whole pages there go back to the
 *  system, where it takes them. What was in them is lost; the pointer and its alignment stay. */
void sp_release_tail(void *p, size_t used, size_t bytes);

/** Frees what sp_alloc gave; accepts NULL. */
void sp_free(void *p);

/** "1.23 GB" into buf; decimal units. Returns buf. */
const char *sp_bytes_text(char *buf, size_t n, double bytes);

/** Peak resident set of this process so far, bytes (getrusage); 0 where unknown. */
int64_t sp_peak_bytes(void);

/** Lets sp_peak_bytes() start anew from what is resident, where the system can (Linux). */
void sp_peak_restart(void);

/** Memory that could be allocated now, bytes: what the machine, control groups and limits of the process leave, less
 *  what is allocated and not touched yet (budget.h). Very large if unknown. */
int64_t sp_available_bytes(void);

static inline size_t sp_value_size(spmm_precision p) { return p == SPMM_F64 ? 8 : 4; }

#endif
