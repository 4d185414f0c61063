/** Builds a CSR matrix from entries that arrive in batches, in any order, and twice: in the first pass they are
 *  counted, in the second they are inserted. Nothing but the matrix itself is in memory, and the result does not
 *  depend on the order of the entries. Calls: begin, count .., start, insert .., finish. */
#ifndef SP_CSR_BUILDER_H
#define SP_CSR_BUILDER_H

#include "formats/coo.h"

/** A batch of entries; indices are 0-based. */
typedef struct sp_entries {
    int64_t n;
    const int32_t *I, *J; /**< row and column indices, [n], in range */
    const void *val;      /**< values, [n], of the matrix's precision; NULL: all are 1.0 */
} sp_entries;

typedef struct sp_csr_builder {
    spmm_csr *a;          /**< its irp holds the counts per row, then the insert position of each row */
    sp_symmetry symmetry; /**< implied entries are counted and inserted too */
    int threads;          /**< threads that may count and insert at the same time */
    uint64_t starts;      /**< hash of the row ends, which the insert positions must reach */
} sp_csr_builder;

/** Sets the sizes of *a and allocates its counts per row, zeroed. Local.
 *  \param [in]  threads  OpenMP threads that may count and insert at the same time; > 1: by atomic additions
 *  \param [out] a        the caller destroys it, also when this or a later call fails
 *  \param [out] fill     refers to *a; needs no destruction
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_begin(int64_t rows, int64_t cols, sp_symmetry symmetry, spmm_precision precision,
                                 int threads, spmm_csr *a, sp_csr_builder *fill);

/** Counts a batch of entries; reads only I and, with symmetry, J. Any of the threads. */
void sp_csr_builder_count(sp_csr_builder *fill, const sp_entries *entries);

/** Ends the first pass: turns the counts into row starts and allocates columns and values. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_start(sp_csr_builder *fill);

/** Inserts a batch of entries. Any of the threads.
 *  \return 1; 0: they do not fit into the matrix, so they are not those that were counted (some may be inserted) */
int sp_csr_builder_insert(sp_csr_builder *fill, const sp_entries *entries);

/** Ends the second pass: sorts the rows and sums duplicates (sp_csr_sort_sum_duplicates()). Local.
 *  \param [out] same        0: the rows did not get as many entries as were counted, and *a must not be used
 *  \param [out] duplicates  entries that were added to another one
 *  \return SPMM_OK (also where *same is 0), SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_finish(sp_csr_builder *fill, int *same, int64_t *duplicates);

#endif
