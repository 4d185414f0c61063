/** Generates matrices. Each row is a function of the spec and the row index alone (for rmat, each edge of the spec
 *  and the edge index), so that a matrix is the same on any machine and for any number of threads. */
#ifndef SP_GENERATORS_H
#define SP_GENERATORS_H

#include <stddef.h>
#include "formats/csr.h"

enum { SP_GEN_ARGS = 4 };

/** One generator, for --help and for the parser. */
typedef struct sp_gen_kind {
    const char *name;              /**< "lap3d7" */
    const char *args[SP_GEN_ARGS]; /**< names of the arguments, "N"; NULL where there is no more */
    const char *what;              /**< one-line description */
} sp_gen_kind;

/** Returns the table of generators, of *count rows, in static storage. */
const sp_gen_kind *sp_gen_kinds(int *count);

/** Returns 1 if spec starts with a generator's name and a colon. */
int sp_gen_is_spec(const char *spec);

/** Writes "; did you mean lap3d7:N?" to buf for a text that is almost a spec, such as lap3d7, lap3d8:10 or LAP3D7,10,
 *  otherwise "". Texts with dots or slashes are taken for file names.
 *  \param [in] n  bytes in buf
 *  \return buf */
const char *sp_gen_meant(const char *spec, char *buf, size_t n);

/** Checks a spec without generating the matrix.
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is expected), SPMM_ERR_LIMIT */
spmm_status sp_gen_check(const char *spec);

/** Determines the sizes of the matrix from the spec, without generating it. For an R-MAT graph, entries is 0: how
 *  many of its edges coincide is not known in advance.
 *  \return as sp_gen_check() */
spmm_status sp_gen_sizes(const char *spec, sp_sizes *sizes);

/** Generates the whole matrix with `threads` OpenMP threads; the result is the same for any number of them.
 *  \param [out] a  the caller destroys it
 *  \return as sp_gen_check(), or SPMM_ERR_MEMORY */
spmm_status sp_gen_csr(const char *spec, spmm_precision precision, int threads, spmm_csr *a);

#endif
