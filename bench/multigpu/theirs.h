/** NCCL and cuSPARSE as an adaptor (../peer.h). */
#ifndef BENCH_THEIRS_H
#define BENCH_THEIRS_H

#include "../common/bench.h"

extern const peer theirs_peer;

/** Queue the two parts of a product. \return NULL or a problem */
const char *theirs_gather(void *product, double *unused);
const char *theirs_multiply(void *product, double *unused);

#endif
