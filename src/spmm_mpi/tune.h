/** The cache of --autotune: a text file that stores the fastest kernel for each tuned product, one per line.
 *  Lines are appended and never rewritten:
 *
 *      KEY <tab> KERNEL <tab> SECONDS
 *
 *  If several lines have the same key, the last one is used. Damaged lines and lines with an unknown kernel
 *  are ignored. The caller reports a failure of these functions as a warning and continues. */
#ifndef SP_SPMM_MPI_TUNE_H
#define SP_SPMM_MPI_TUNE_H

#include <stddef.h>

#include "kernels/kernel.h"

enum { SP_TUNE_KEY_BYTES = 768 };

/** Returns a hash of the sparsity pattern of one block of a matrix. The hashes of all blocks add up (mod
 *  2^64) to a hash of the matrix. That hash does not depend on the boundaries of the row blocks. With several
 *  column blocks (Q > 1) it depends on their boundaries, since column indices are local to a block.
 *
 *  Local. \param [in] row_begin  global index of the block's first row */
uint64_t sp_structure_hash(const spmm_csr *block, int64_t row_begin, int threads);

/** Copies the processor's name from /proc/cpuinfo to text [n], or "cpu" if there is none; returns text.
 *  Local. */
const char *sp_cpu_name(char *text, size_t n);

/** Determines the path of the cache file. If the environment variable SPMM_TUNE_CACHE is set, its value is
 *  the path, and an empty value disables the cache. Otherwise the path is spmm_mpi/tune in the directory
 *  XDG_CACHE_HOME or, by default, in $HOME/.cache. The directories need not exist. Relative paths in
 *  XDG_CACHE_HOME and HOME are ignored, as the XDG specification requires.
 *
 *  Local.
 *  \param [out] path  [n]; "" if the cache is disabled
 *  \return SPMM_OK, SPMM_ERR_OPEN if no variable gives a path, or the path is too long */
spmm_status sp_tune_path(char *path, size_t n);

/** Looks up the fastest kernel for a key in the cache file.
 *
 *  Local.
 *  \param [in]  device, format  a kernel for another device or format is ignored; SPMM_FORMAT_AUTO: any
 *                               format
 *  \param [out] kernel          the fastest kernel, in static storage; NULL: the cache has none for this key
 *  \param [out] seconds         time of a product with that kernel; unchanged if `kernel` is NULL
 *  \return SPMM_OK, also if the file does not exist; SPMM_ERR_OPEN, _LIMIT (file too large), _MEMORY */
spmm_status sp_tune_find(const char *path, const char *key, spmm_device device, spmm_format format,
                         const sp_kernel **kernel, double *seconds);

/** Appends the fastest kernel for a key to the cache file, as one line that is never mixed with lines of
 *  other processes (cli/append.h). Creates missing directories.
 *
 *  Local.
 *  \param [in] seconds  time of a product with the kernel
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_tune_store(const char *path, const char *key, const char *kernel, double seconds);

#endif
