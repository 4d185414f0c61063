/** A CSR matrix made of entries that come in pieces and in any order, twice: first they are counted, then
 *  placed. Nothing but the matrix itself is held, and rows come out the same whatever the order. */
#ifndef SP_CSR_BUILDER_H
#define SP_CSR_BUILDER_H

#include "formats/coo.h"

/** A piece of the entries; indices count from 0. */
typedef struct sp_entries {
    int64_t n;
    const int32_t *I, *J; /**< [n], in range */
    const void *val;      /**< [n] of the matrix's precision; NULL: all are 1.0 */
} sp_entries;

typedef struct sp_csr_builder {
    spmm_csr *a;          /**< irp holds the counts, then each row's next place */
    sp_symmetry symmetry; /**< implied entries are counted and placed too */
    int threads;          /**< that count and place at once */
    uint64_t starts;      /**< a hash of the row starts, which the places must reach */
} sp_csr_builder;

/** Begins *a: its sizes, and counts of 0. *a is the caller's to destroy, whatever becomes of it. */
spmm_status sp_csr_builder_begin(int64_t rows, int64_t cols, sp_symmetry symmetry, spmm_precision precision,
                                 int threads, spmm_csr *a, sp_csr_builder *fill);

/** Only I and, with symmetry, J are looked at. */
void sp_csr_builder_count(sp_csr_builder *fill, const sp_entries *entries);

/** All are counted: allocates for them. */
spmm_status sp_csr_builder_start(sp_csr_builder *fill);

/** Returns 0, and has placed some of them or none, when they go beyond the matrix: they are not those that
 *  were counted. */
int sp_csr_builder_insert(sp_csr_builder *fill, const sp_entries *entries);

/** All are placed: puts the rows in order and sums duplicates (sp_csr_sort_sum_duplicates).
 *  \param [out] same  0: the rows did not get as many entries as were counted, *a is not to be used */
spmm_status sp_csr_builder_finish(sp_csr_builder *fill, int *same, int64_t *duplicates);

#endif
