/** The cache of --autotune: a small text file with one line per answer, appended to and never rewritten.
 *
 *      KEY <tab> KERNEL <tab> SECONDS
 *
 *  The last line with a key counts. Damaged lines, and lines that name a kernel which does not exist any more, are
 *  ignored. The caller treats a failure here as a warning, not as a failure of the run. */
#ifndef SP_SPMM_MPI_TUNE_H
#define SP_SPMM_MPI_TUNE_H

#include <stddef.h>

#include "kernels/kernel.h"

enum { SP_TUNE_KEY_BYTES = 768 };

/** Hash of a block's sparsity pattern. The hashes of row blocks add up (mod 2^64) to that of the whole matrix,
 *  wherever its rows are cut; with Q > 1 the sum depends on the column cuts too, since column indices are local.
 *
 *  Local. \param [in] row_begin  global index of the block's first row */
uint64_t sp_structure_hash(const spmm_csr *block, int64_t row_begin, int threads);

/** Writes the processor's name from /proc/cpuinfo, else "cpu", into text [n]; returns text. Local. */
const char *sp_cpu_name(char *text, size_t n);

/** Determines the path of the cache: SPMM_TUNE_CACHE (if "": no cache is kept, and path is ""), else spmm_mpi/tune in
 *  XDG_CACHE_HOME or ~/.cache. Its directories need not exist.
 *
 *  Local. \return SPMM_OK, SPMM_ERR_OPEN (none of the variables is set, or the path exceeds n) */
spmm_status sp_tune_path(char *path, size_t n);

/** Looks up a key.
 *
 *  Local.
 *  \param [in]  list     [count] kernels that may be the answer
 *  \param [out] index    of the answer in list; -1: none
 *  \param [out] seconds  that a product took; unchanged where there is no answer
 *  \return SPMM_OK, also where there is no file; SPMM_ERR_OPEN, _LIMIT (too large to be such a file), _MEMORY */
spmm_status sp_tune_find(const char *path, const char *key, const sp_kernel *const *list, int count,
                         int *index, double *seconds);

/** Appends an answer as one line, which never mixes with those of other processes (base/append.h); makes the
 *  directories of the file.
 *
 *  Local. \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_tune_store(const char *path, const char *key, const char *kernel, double seconds);

#endif
