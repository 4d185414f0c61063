/** Reads edge lists: texts with an edge per line, `u v` or `u v weight`. */
#ifndef SP_EDGES_H
#define SP_EDGES_H

#include "io/mtx_body.h"

/** Opens an edge list as a general coordinate file of as many rows and columns as its largest vertex id asks
 *  for. The file is parsed once for that, by all threads. Then sp_reading_csr() makes the matrix, as of a
 *  Matrix Market file: edge u v is the entry (u, v), 1 where the edges have no weights. Comments begin with #
 *  or %.
 *
 *  Local. The caller must call sp_reading_end(), even if this function fails.
 *  \param [in] path     must remain valid until sp_reading_end()
 *  \param [in] fd       what sp_input_descriptor(path) returned; r owns it, also on failure
 *  \param [in] options  edges: the least vertex id plus 1, i.e. 1 or 2
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (also: no edges, the banner of Matrix Market), _UNSUPPORTED,
 *          _MEMORY */
spmm_status sp_edges_begin_open(sp_reading *r, const char *path, int fd, const sp_read_options *options);

#endif
