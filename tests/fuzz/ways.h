/** However a Matrix Market file is read (as triplets or in two passes, in pieces of any size, by any number
 *  of threads, dense) there is one outcome: the same matrix, bit for bit, or the same refusal. */
#ifndef SP_FUZZ_WAYS_H
#define SP_FUZZ_WAYS_H

#include "fuzz.h"

/** What a way of reading came to. */
typedef struct ways_outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    sp_mtx_info info;
    int64_t stored, duplicates;
    spmm_csr a;
    spmm_multivector x;
} ways_outcome;

/** Reads a file in all ways that the input's head asks for; *o, which must be zeroed, is what reading it as
 *  triplets, at once, by one thread gives.
 *
 *  Bits of in->extra: 1: sp_read_dense is looked at, too; 2: triplets are read with the input's pieces and
 *  threads, else sp_read_csr; 4: progress is told, and sp_read_sizes() and spmm_csr_read() are looked at,
 *  too. */
void ways_check(const fuzz_input *in, const char *path, ways_outcome *o);

/** Reads as triplets. A matrix of too many rows for its row starts to be made often is left out: rows is
 *  -1. */
void ways_by_triplets(const char *path, const sp_read_options *options, ways_outcome *o);

/** Abort unless both are refused alike, or are the same: the matrix, or X where there is no matrix.
 *  \param [in] info  1: and what they say of the text */
void ways_same_refusal(const ways_outcome *a, const ways_outcome *b);
void ways_same(const ways_outcome *a, const ways_outcome *b, int info);

void ways_destroy(ways_outcome *o);

#endif
