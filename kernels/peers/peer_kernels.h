/** The kernels of other libraries (peers.def), to compare ours with: `auto` and --autotune never take one.
 *  The program adds them to the registry; libspmm itself has none. A kernel's prepare() tries every way in
 *  which its adaptor can call the library for this matrix, precision and K, and keeps the fastest. */
#ifndef SP_PEER_KERNELS_H
#define SP_PEER_KERNELS_H

#include "kernels/kernel.h"

/** Adds the kernels to the registry, whether their libraries are here or not. Local; once, before others ask
 *  the registry. */
void sp_peer_kernels_add(void);

/** Returns 1 if there is an adaptor for a kernel with a `library`, else 0. Local.
 *  \param [out] path  [size] the adaptor's path, or where it would be */
int sp_peer_kernel_found(const sp_kernel *kernel, char *path, size_t size);

/** Opens the library of such a kernel, which its prepare() would do otherwise. Local.
 *  \param [in]  threads  of a rank
 *  \param [out] version  in static storage, e.g. "Eigen 3.4.0, AVX512"
 *  \return SPMM_OK; SPMM_ERR_NO_DEVICE, with one line, if it cannot be used */
spmm_status sp_peer_kernel_open(const sp_kernel *kernel, int threads, const char **version);

/** Returns the way in which products with such a kernel's state call the library, e.g. "mkl_sparse_d_mm"; ""
 *  for NULL. The text belongs to the state. Local. */
const char *sp_peer_kernel_way(const void *state);

#endif
