/** Host memory: checked, aligned, and with a message that says what it was for. */
#ifndef SP_MEMORY_H
#define SP_MEMORY_H

#include <stddef.h>
#include "status.h"

/** Allocates count elements of `size` bytes, 64-byte aligned (2 MiB and huge pages from 4 MiB up).
 *  Not zeroed. *p is never NULL on success, also for count 0; NULL on failure.
 *  \param [in] what  names the thing in the message, e.g. "column indices"
 *  A request of 1 GiB and more that exceeds the available memory is refused before the system grants it.
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figure), SPMM_ERR_LIMIT (count*size overflows) */
spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what);

/** The same, zeroed. */
spmm_status sp_alloc_zero(void **p, int64_t count, size_t size, const char *what);

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

/** Memory that could be allocated now, bytes (MemAvailable, a cgroup's limit); INT64_MAX if unknown. */
int64_t sp_available_bytes(void);

static inline size_t sp_value_size(spmm_precision p) { return p == SPMM_F64 ? 8 : 4; }

/** By spmm_precision, NULL behind the last: "f64", "f32". */
extern const char *const sp_precision_words[];
static inline const char *sp_precision_word(spmm_precision p) { return sp_precision_words[p]; }

#endif
