/** Memory for multivectors that the processes of a node share: a file without a name (memfd), of which each
 *  process maps what it needs. It is no part of any mounted file system, so that the size of /dev/shm does
 *  not matter, and the system frees it when the last process has ended, however that ends. */
#ifndef SP_NODE_MEMORY_H
#define SP_NODE_MEMORY_H

#include "base/status.h"

/** What another process of the node needs to open the file. Plain data, to be sent. */
typedef struct sp_node_file {
    int64_t process;
    int64_t descriptor;
    uint64_t device, inode; /**< tell the file from another one that the numbers above may lead to */
} sp_node_file;

/** Creates a file of `bytes` zero bytes, which take no memory until they are written. Local.
 *  \param [out] descriptor  the caller closes it, when all others have opened the file
 *  \param [out] file        for sp_node_file_open()
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the system refuses, or a limit of this process is too low), _LIMIT */
spmm_status sp_node_file_create(int64_t bytes, int *descriptor, sp_node_file *file);

/** Opens a file that another process of the node created and still has open. Local.
 *  \param [out] descriptor  the caller closes it
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the system does not let this process see the other one's file) */
spmm_status sp_node_file_open(const sp_node_file *file, int *descriptor);

/** Maps part of a file, to be read and written. Local.
 *  \param [in]  at, bytes  the part; `at` is a multiple of the page size; of 2 MiB for huge pages
 *  \param [out] memory     the caller gives it to sp_node_memory_unmap(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_node_memory_map(int descriptor, int64_t at, int64_t bytes, void **memory);

/** Lends a mapping to a multivector: from now on spmm_multivector_destroy() of a multivector whose first row,
 *  ghost rows included, lies at `memory` ends the loan, instead of freeing the memory. Counts this process's
 *  own bytes against the memory budget and makes the system provide their pages now, as zeros and near the
 *  threads that will use them: later there would be no way to refuse them but a signal. Large ones are huge
 *  pages where the system has them. Local.
 *  \param [in] memory       from sp_node_memory_map(), not lent
 *  \param [in] bytes        of the mapping
 *  \param [in] at           where `memory` lies in the file
 *  \param [in] own, length  first byte, from `memory` on, and number of the bytes that this process writes;
 *                           others map them, too
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_node_memory_lend(int descriptor, void *memory, int64_t bytes, int64_t at, int64_t own,
                                int64_t length);

/** Returns 1 if the mapping is lent. Local; any thread. */
int sp_node_memory_lent(const void *memory);

/** Ends a loan: the process's own bytes become zeros, and their pages go back to the system. Local; any
 *  thread.
 *  \param [in] memory  may be NULL, or memory of another kind
 *  \return 1; 0 if `memory` is not lent, and nothing was done */
int sp_node_memory_return(void *memory);

/** Unmaps memory, or leaves it to the end of its loan if it is lent; accepts NULL. Local. */
void sp_node_memory_unmap(void *memory, int64_t bytes);

#endif
