/** Host memory: checked against what is left, aligned, and with messages that say what it was for. */
#ifndef SP_MEMORY_H
#define SP_MEMORY_H

#include <stddef.h>
#include "base/status.h"

/** Allocates count elements of `size` bytes, not zeroed, aligned to 64 bytes; allocations of 4 MiB or more are
 *  aligned to 2 MiB, with huge pages advised. A request of 1 MiB or more that exceeds the memory budget (budget.h) is
 *  refused, although the system would grant it; SPMM_MEMORY_CHECK=0 turns that off. Local.
 *  \param [out] p     the caller frees it by sp_free(); never NULL on success, also for count 0; NULL on failure
 *  \param [in]  what  names the thing in the message, e.g. "column indices"
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figures), SPMM_ERR_LIMIT (count * size overflows) */
spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what);

/** The same, zeroed. */
spmm_status sp_alloc_zero(void **p, int64_t count, size_t size, const char *what);

/** Refuses a step that will allocate several arrays if they do not fit together into sp_available_bytes(); to be
 *  called before the first of them is allocated. Allocates and reserves nothing. Local.
 *  \param [in] bytes  lower bound of the size of all arrays of the step together
 *  \param [in] what   names them in the message
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figures) */
spmm_status sp_memory_needs(double bytes, const char *what);

/** Returns the unused end of an allocation to the system: all whole pages from offset `used` on, if the system takes
 *  them. Their contents are lost; the pointer and its alignment stay. Local.
 *  \param [in] used, bytes  bytes still needed, and bytes of the allocation */
void sp_release_tail(void *p, size_t used, size_t bytes);

/** Frees memory from sp_alloc(); accepts NULL. Local. */
void sp_free(void *p);

/** Writes a size such as "1.23 GB", in decimal units, into buf [n]. Local. \return buf */
const char *sp_bytes_text(char *buf, size_t n, double bytes);

/** Returns the peak resident set size of this process so far, in bytes (getrusage); 0 if unknown. Local. */
int64_t sp_peak_bytes(void);

/** Resets the peak of sp_peak_bytes() to what is resident now, where the system can (Linux). Local. */
void sp_peak_restart(void);

/** Returns how many bytes could be allocated now: what the machine, control groups and the limits of the process
 *  leave, minus what is allocated and not touched yet (budget.h). Very large if unknown. Local. */
int64_t sp_available_bytes(void);

/** Returns the bytes of an element: 8 or 4. */
static inline size_t sp_value_size(spmm_precision p) { return p == SPMM_F64 ? 8 : 4; }

#endif
