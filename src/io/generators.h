/** Generated matrices: each row is a function of the spec and the row's index alone (rmat: each
 *  edge of the edge's index), so that a matrix is the same everywhere. */
#ifndef SP_GENERATORS_H
#define SP_GENERATORS_H

#include <stddef.h>
#include "formats/csr.h"

enum { SP_GEN_ARGS = 4 };

/** One generator, for --help and for the parser. */
typedef struct sp_gen_kind {
    const char *name;              /**< "lap3d7" */
    const char *args[SP_GEN_ARGS]; /**< "N", NULL at the end */
    const char *what;
} sp_gen_kind;

/** The table of generators, *count rows. */
const sp_gen_kind *sp_gen_kinds(int *count);

/** 1 when spec starts with a generator's name and a colon. */
int sp_gen_is_spec(const char *spec);

/** "; did you mean lap3d7:N?" for a text that is nearly a spec, as lap3d7, lap3d8:10 or LAP3D7,10; else "". Names with dots or
 *  slashes are files'. \return buf */
const char *sp_gen_meant(const char *spec, char *buf, size_t n);

/** Checks a spec without making the matrix.
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is expected), SPMM_ERR_LIMIT */
spmm_status sp_gen_check(const char *spec);

/** What the spec says of the matrix, without making it. An R-MAT graph's entries are 0: how many of its edges fall together
 *  is not known before.
 *  \return as sp_gen_check() */
spmm_status sp_gen_sizes(const char *spec, sp_sizes *sizes);

/** Makes the whole matrix by `threads` OpenMP threads; the same for any number of them. */
spmm_status sp_gen_csr(const char *spec, spmm_precision precision, int threads, spmm_csr *a);

#endif
