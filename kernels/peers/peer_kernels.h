/** The kernels of other libraries (peers.def), for comparison with this library's: `auto` and --autotune
 *  never choose one. The program adds them to the registry; libspmm itself contains none. A kernel's
 *  prepare() tries every way in which its adaptor can call the library for this matrix, precision and K, and
 *  keeps the fastest. */
#ifndef SP_PEER_KERNELS_H
#define SP_PEER_KERNELS_H

#include "kernels/kernel.h"

/** Adds the kernels to the registry, whether their libraries are installed or not. Local; must be called
 *  once, before the registry is used. */
void sp_peer_kernels_add(void);

/** Returns 1 if the adaptor of a kernel with a `library` exists, else 0. Local.
 *  \param [out] path  [size] the adaptor's path, or the path at which it is expected */
int sp_peer_kernel_found(const sp_kernel *kernel, char *path, size_t size);

/** Opens the library of a kernel with a `library`. Without this call, the kernel's prepare() opens it. Local.
 *  \param [in]  threads  number of threads of a rank
 *  \param [out] version  in static storage, e.g. "Eigen 3.4.0, AVX512"
 *  \return SPMM_OK; SPMM_ERR_NO_DEVICE, with a message of one line, if the library cannot be used */
spmm_status sp_peer_kernel_open(const sp_kernel *kernel, int threads, const char **version);

/** Returns the way in which products with this state of a kernel call the library, e.g. "mkl_sparse_d_mm"; ""
 *  if state is NULL. The state owns the text. Local. */
const char *sp_peer_kernel_way(const void *state);

#endif
