/** All ways of reading a Matrix Market file (as triplets or in two passes, in pieces of any size, with any
 *  number of threads, dense) have one outcome: the same matrix, bit for bit, or the same refusal. */
#ifndef SP_FUZZ_WAYS_H
#define SP_FUZZ_WAYS_H

#include "fuzz.h"

/** The outcome of one way of reading. */
typedef struct ways_outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    sp_mtx_info info;
    int64_t stored, duplicates;
    spmm_csr a;
    spmm_multivector x;
} ways_outcome;

/** Reads a file in all ways that the input's head selects, and aborts if their outcomes differ. *o, which
 *  must be zeroed, becomes the outcome of reading triplets in one piece with one thread.
 *
 *  Bits of in->extra: 1: check sp_read_dense(), too; 2: read triplets with the input's pieces and threads,
 *  else use sp_read_csr(); 4: report progress, and check sp_read_sizes() and spmm_csr_read(), too. */
void ways_check(const fuzz_input *in, const char *path, ways_outcome *o);

/** Reads triplets. Skips a matrix with so many rows that allocating its row starts repeatedly is slow:
 *  o->a.rows is then -1. */
void ways_by_triplets(const char *path, const sp_read_options *options, ways_outcome *o);

/** Abort unless both were refused alike, or have equal results: the matrix, or X if there is no matrix.
 *  \param [in] info  1: compare the info on the text, too */
void ways_same_refusal(const ways_outcome *a, const ways_outcome *b);
void ways_same(const ways_outcome *a, const ways_outcome *b, int info);

void ways_destroy(ways_outcome *o);

#endif
