/** Reads edge lists: texts with an edge per line, `u v` or `u v weight`. */
#ifndef SP_EDGES_H
#define SP_EDGES_H

#include "io/mtx_body.h"

/** Opens an edge list as a general coordinate file with one row and one column per vertex id up to the
 *  largest id. To find the largest id, all threads parse the file once. sp_reading_csr() then makes the
 *  matrix as it does from a Matrix Market file: edge u v is the entry (u, v), of value 1 if the edges have no
 *  weights. Comments begin with # or %.
 *
 *  Local. The caller must call sp_reading_end(), even if this function fails.
 *  \param [in] path     must remain valid until sp_reading_end()
 *  \param [in] fd       what sp_input_descriptor(path) returned; r owns it, also on failure
 *  \param [in] options  options->edges is the smallest possible vertex id plus 1, i.e. 1 or 2
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (also: no edges, the banner of Matrix Market), _UNSUPPORTED,
 *          _MEMORY */
spmm_status sp_edges_begin_open(sp_reading *r, const char *path, int fd, const sp_read_options *options);

#endif
