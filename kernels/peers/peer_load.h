/** Finds and loads adaptors to other libraries (peer.h), for spmm_mpi and for the benches. No program is
 *  linked to these libraries: an adaptor is a shared object, which is searched for near the program. */
#ifndef SP_PEER_LOAD_H
#define SP_PEER_LOAD_H

#include <stddef.h>

#include "base/status.h"
#include "kernels/peers/peer.h"

/** Finds the adaptor peer_NAME.so in the folder `peers` of the program's folder or of the folder above that,
 *  or where `make install` puts it. Local.
 *  \param [out] path  [size] its path, or the path at which it is expected in the program's folder
 *  \return 1 if it exists, else 0 */
int sp_peer_find(const char *name, char *path, size_t size);

/** Loads an adaptor and opens its library. Later calls return the result of the first call. Local.
 *  \param [in]  threads  number of threads of the library's products; only that of the first call is used
 *  \param [out] version  of the library, in static storage; may be NULL
 *  \return SPMM_OK; SPMM_ERR_NO_DEVICE, with a message of one line, if there is no adaptor or it cannot be
 *          used */
spmm_status sp_peer_open(const char *name, int threads, const peer_adaptor **p, const char **version);

/** Closes the libraries of all adaptors; the adaptors stay loaded. Local. */
void sp_peers_close(void);

#endif
