/** Finds and loads adaptors to other libraries (peer.h), for spmm_mpi and for the benches. Nothing is linked
 *  to these libraries: an adaptor is a shared object that is looked for beside the program. */
#ifndef SP_PEER_LOAD_H
#define SP_PEER_LOAD_H

#include <stddef.h>

#include "base/status.h"
#include "kernels/peers/peer.h"

/** Finds the adaptor peer_NAME.so in the folder `peers` beside the program or one above it, or where `make
 *  install` puts it. Local.
 *  \param [out] path  [size] its path, or where it would be beside the program
 *  \return 1 if it is there, else 0 */
int sp_peer_find(const char *name, char *path, size_t size);

/** Loads an adaptor and opens its library; what was opened before, or could not be, is remembered. Local.
 *  \param [in]  threads  of the library's products; what the first call says counts
 *  \param [out] version  of the library, in static storage; may be NULL
 *  \return SPMM_OK; SPMM_ERR_NO_DEVICE, with one line, if there is no adaptor or it cannot be used */
spmm_status sp_peer_open(const char *name, int threads, const peer_adaptor **p, const char **version);

/** Closes the libraries of all adaptors, which stay loaded. Local. */
void sp_peers_close(void);

#endif
