/** Allocates aligned host memory, checked against the memory budget. Error messages name the purpose of the
 *  memory. */
#ifndef SP_MEMORY_H
#define SP_MEMORY_H

#include <stddef.h>
#include <string.h>
#include "base/status.h"

/** Allocates `count` elements of `size` bytes, not zeroed. The memory is aligned to 64 bytes; 2 MiB or more
 *  are aligned to 2 MiB, with huge pages advised. A request of 1 MiB or more that exceeds the memory budget
 *  (budget.h) is refused, even if the system would grant it; SPMM_MEMORY_CHECK=0 disables this check. Local.
 *  \param [out] p     the memory, which the caller frees with sp_free(); NULL on failure, never NULL on
 *                     success, even for count 0
 *  \param [in]  what  what the memory is for, in the error message, e.g. "column indices"
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the message has the sizes), SPMM_ERR_LIMIT (count * size overflows) */
spmm_status sp_alloc(void **p, int64_t count, size_t size, const char *what);

/** Like sp_alloc(), but zeroes the memory. Local. */
spmm_status sp_alloc_zero(void **p, int64_t count, size_t size, const char *what);

/** Checks, before a step allocates several arrays, that their total size fits into sp_available_bytes().
 *  Allocates and reserves nothing. Local.
 *  \param [in] bytes  lower bound on the total size of the arrays
 *  \param [in] what   what the arrays are for, in the error message
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the message has the sizes) */
spmm_status sp_memory_needs(double bytes, const char *what);

/** Charges bytes that sp_alloc() does not allocate to the memory budget; refuses them if they exceed it, as
 *  sp_alloc() does. sp_memory_give() gives them back. Local.
 *  \param [in] what  what the memory is for, in the error message
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_memory_take(int64_t bytes, const char *what);

/** Gives back bytes counted by sp_memory_take(); `bytes` must be the same number. Local. */
void sp_memory_give(int64_t bytes);

/** Returns the unused end of an allocation to the system: all whole pages after the first `used` bytes. Does
 *  nothing if the system refuses. The contents of these pages are lost; p and its alignment do not change.
 *  Local.
 *  \param [in] used   size in bytes of the part that is still needed
 *  \param [in] bytes  size in bytes of the whole allocation */
void sp_release_tail(void *p, size_t used, size_t bytes);

/** Frees memory from sp_alloc(); accepts NULL. If the memory is kept (sp_keep()), the last sp_drop() frees it
 *  instead. Local; threads may free, keep and drop the same memory at the same time. */
void sp_free(void *p);

/** A claim on an allocation; private to sp_keep() and sp_drop(). */
typedef struct sp_kept {
    struct sp_kept *next;
    void *p;
    int freed; /* 1: sp_free() was called, and this claim or a later one of the same allocation frees it */
} sp_kept;

/** Keeps an allocation for another user than its owner. The owner may then call sp_free() at any time: the
 *  memory stays valid until all who keep it have called sp_drop(). Memory that is not from sp_alloc(), which
 *  its owner frees by other means, is not kept by this call. Local.
 *  \param [out] kept  must not be moved until sp_drop()
 *  \param [in]  p     NULL: nothing is kept */
void sp_keep(sp_kept *kept, void *p);

/** Ends a claim of sp_keep(), and zeroes it; accepts zeroed claims. Local. */
void sp_drop(sp_kept *kept);

/** Writes a size as text, e.g. "1.23 GB" (decimal units), into buf [n]. Local. \return buf */
const char *sp_bytes_text(char *buf, size_t n, double bytes);

/** Returns the peak resident set size of this process so far, in bytes (getrusage); 0 if unknown. Local. */
int64_t sp_peak_bytes(void);

/** Resets the peak that sp_peak_bytes() returns to the current resident set size, if the system can do that
 *  (Linux). Local. */
void sp_peak_restart(void);

/** Returns the number of bytes that can be allocated now: the memory that the machine, control groups and the
 *  resource limits of the process leave, minus memory that is allocated but not touched yet (budget.h). Very
 *  large if unknown. Local. */
int64_t sp_available_bytes(void);

#endif
