/** Memory for multivectors that the processes of a node share: an unnamed file (memfd), of which each process
 *  maps the parts that it needs. It belongs to no mounted file system, so the size of /dev/shm does not
 *  matter. The system frees it when the last process has ended, even if that process was killed. */
#ifndef SP_NODE_MEMORY_H
#define SP_NODE_MEMORY_H

#include "base/status.h"

/** The data with which another process of the node opens the file. Without pointers, so that it can be
 *  sent. */
typedef struct sp_node_file {
    int64_t process;
    int64_t descriptor;
    uint64_t device, inode; /**< identify the file, in case the numbers above refer to another file */
} sp_node_file;

/** Creates a file of `bytes` zero bytes, which take no memory until they are written. Local.
 *  \param [out] descriptor  the caller closes it after all other processes have opened the file
 *  \param [out] file        for sp_node_file_open()
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the system refuses, or a limit of this process is too low), _LIMIT */
spmm_status sp_node_file_create(int64_t bytes, int *descriptor, sp_node_file *file);

/** Opens a file that another process of the node created and still has open. Local.
 *  \param [out] descriptor  the caller closes it
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the system denies access to the file of the other process) */
spmm_status sp_node_file_open(const sp_node_file *file, int *descriptor);

/** Maps part of a file, to be read and written. Local.
 *  \param [in]  at, bytes  the part; `at` is a multiple of the page size; of 2 MiB for huge pages
 *  \param [out] memory     the caller passes it to sp_node_memory_unmap(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_node_memory_map(int descriptor, int64_t at, int64_t bytes, void **memory);

/** Lends a mapping to a multivector. When spmm_multivector_destroy() is called for a multivector whose first
 *  row, ghost rows included, is at `memory`, it ends the loan instead of freeing the memory. Counts the
 *  bytes that this process writes (own, length) against the memory budget. Makes the system allocate the
 *  pages of these bytes now, because a failure to allocate them later would end the process by a signal. The
 *  pages are zeroed, and near the threads that will use them. Large mappings use huge pages if the system
 *  supports it. Local.
 *  \param [in] memory       from sp_node_memory_map(), not lent
 *  \param [in] bytes        size of the mapping
 *  \param [in] at           offset of `memory` in the file
 *  \param [in] own, length  offset from `memory` and number of the bytes that this process writes; other
 *                           processes map them as well
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_node_memory_lend(int descriptor, void *memory, int64_t bytes, int64_t at, int64_t own,
                                int64_t length);

/** Returns 1 if the mapping is lent. Local; any thread. */
int sp_node_memory_lent(const void *memory);

/** Ends a loan: zeroes the bytes that this process writes, and returns their pages to the system. Local; any
 *  thread.
 *  \param [in] memory  may be NULL, or memory that was not lent
 *  \return 1; 0 if `memory` is not lent: nothing was done */
int sp_node_memory_return(void *memory);

/** Unmaps memory; if it is lent, unmaps it at the end of the loan. Accepts NULL. Local. */
void sp_node_memory_unmap(void *memory, int64_t bytes);

#endif
