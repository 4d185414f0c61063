/** What --autotune remembers: a small text file, a line an answer, added to and never rewritten.
 *
 *      KEY <tab> KERNEL <tab> SECONDS
 *
 *  The last line with a key counts; lines that are damaged, or name a kernel that there is not any more, are
 *  as if not there. No failure here is a failure of the run. */
#ifndef SP_SPMM_MPI_TUNE_H
#define SP_SPMM_MPI_TUNE_H

#include <stddef.h>

#include "kernels/kernel.h"

enum { SP_TUNE_KEY_BYTES = 768 };

/** Hash of where a block's entries are; those of all blocks add up (mod 2^64) to the matrix's, however it is
 *  cut. \param [in] row_begin  global index of the block's first row */
uint64_t sp_structure_hash(const spmm_csr *block, int64_t row_begin, int threads);

/** The processor's name, as Linux tells it, else "cpu". Returns text. */
const char *sp_cpu_name(char *text, size_t n);

/** Where the file is: SPMM_TUNE_CACHE ("": none is kept, and path is ""), or spmm_mpi/tune in XDG_CACHE_HOME
 *  or ~/.cache. Its folders need not exist. \return SPMM_OK, SPMM_ERR_OPEN (no such variable is set) */
spmm_status sp_tune_path(char *path, size_t n);

/** Looks a key up.
 *  \param [in]  list     [count] kernels that may be the answer
 *  \param [out] index    of the answer in list; -1: none
 *  \param [out] seconds  that it took
 *  \return SPMM_OK, also without a file; SPMM_ERR_OPEN, _LIMIT (a file that is too large to be ours), _MEMORY */
spmm_status sp_tune_find(const char *path, const char *key, const sp_kernel *const *list, int count,
                         int *index, double *seconds);

/** Adds an answer as a line that no other process's can be mixed into (append.h); makes the folders.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason */
spmm_status sp_tune_store(const char *path, const char *key, const char *kernel, double seconds);

#endif
