/** Generates matrices from specs such as lap3d7:100. Each row depends only on the spec and the row index (in
 *  an R-MAT graph, each edge only on the spec and the edge index), so that a matrix is the same on any
 *  machine and for any number of threads. */
#ifndef SP_GENERATORS_H
#define SP_GENERATORS_H

#include <stddef.h>
#include "formats/csr.h"

enum { SP_GEN_ARGS = 4 };

/** The name, the arguments and the description of a generator, for --help and for the parser of specs. */
typedef struct sp_gen_kind {
    const char *name;              /**< name in a spec, for example "lap3d7" */
    const char *args[SP_GEN_ARGS]; /**< names of the arguments, for example "N"; unused elements are NULL */
    const char *what;              /**< one-line description */
} sp_gen_kind;

/** Returns the table of all generators, in static storage, and sets *count to its length. */
const sp_gen_kind *sp_gen_kinds(int *count);

/** Returns 1 if spec starts with the name of a generator and a colon, else 0. */
int sp_gen_is_spec(const char *spec);

/** Checks a spec without generating the matrix.
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is expected), SPMM_ERR_LIMIT (an argument or the
 *          number of rows is too large) */
spmm_status sp_gen_check(const char *spec);

/** Determines the sizes of a matrix from its spec, without generating the matrix. For an R-MAT graph,
 *  sizes->entries is 0, because the number of coinciding edges is not known in advance.
 *  \return as sp_gen_check() */
spmm_status sp_gen_sizes(const char *spec, sp_sizes *sizes);

/** Determines the stencil of a spec such as lap3d7:100.
 *  \param [out] dimensions, star  as in sp_stencil (order/comm_volume.h)
 *  \return N, the points along an axis; 0: the matrix is not a stencil with one unknown per point */
int64_t sp_gen_stencil(const char *spec, int *dimensions, int *star);

/** Generates the whole matrix with `threads` OpenMP threads; the matrix does not depend on their number.
 *  \param [out] a  the caller destroys it
 *  \return as sp_gen_check(), or SPMM_ERR_MEMORY */
spmm_status sp_gen_csr(const char *spec, spmm_precision precision, int threads, spmm_csr *a);

#endif
