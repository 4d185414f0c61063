/** Builds a CSR matrix from entries that arrive twice, in batches and in any order: the first pass counts
 *  them, the second pass inserts them. No memory is needed besides the matrix itself, and the result does not
 *  depend on the order of the entries. Order of the calls: sp_csr_builder_begin(), sp_csr_builder_count() for
 *  each batch, sp_csr_builder_start(), sp_csr_builder_insert() for each batch, sp_csr_builder_finish(). */
#ifndef SP_CSR_BUILDER_H
#define SP_CSR_BUILDER_H

#include "formats/coo.h"

/** A batch of entries; indices are 0-based. */
typedef struct sp_entries {
    int64_t n;
    const int32_t *I, *J; /**< row and column indices, [n], in range */
    const void *val;      /**< values, [n], in the precision of the matrix; NULL: all values are 1.0 */
    int64_t first;        /**< index of the first entry in the file, starting at 0; only set by passes in file
                               order */
} sp_entries;

typedef struct sp_csr_builder {
    spmm_csr *a;          /**< the matrix; a->irp: entries per row in pass 1, insert positions in pass 2 */
    sp_symmetry symmetry; /**< unless SP_GENERAL, entries that symmetry implies are added too */
    int threads;          /**< OpenMP threads that may count and insert at the same time */
    uint64_t starts;      /**< hash of the row ends; after pass 2, insert positions must have this hash */
} sp_csr_builder;

/** Begins the first pass: sets the sizes of *a and allocates its row starts, zeroed, to count the entries per
 *  row. Local.
 *  \param [in]  threads  OpenMP threads that may count and insert at the same time; if > 1, they use atomic
 *                        additions
 *  \param [out] a        the caller destroys it, also if this call or a later call for the builder fails
 *  \param [out] fill     the builder; it points to *a and needs no destruction
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_begin(int64_t rows, int64_t cols, sp_symmetry symmetry, spmm_precision precision,
                                 int threads, spmm_csr *a, sp_csr_builder *fill);

/** Counts a batch of entries. Reads only entries->I and, if the matrix has a symmetry, entries->J. Local. The
 *  threads of the builder may call this function at the same time. */
void sp_csr_builder_count(sp_csr_builder *fill, const sp_entries *entries);

/** Ends the first pass: turns the counts into row starts, and allocates the column indices and values. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_start(sp_csr_builder *fill);

/** Inserts a batch of entries. Local. The threads of the builder may call this function at the same time.
 *  \return 1; 0 if the entries do not fit into the matrix, which means that they differ from the entries that
 *          were counted (some of them may have been inserted) */
int sp_csr_builder_insert(sp_csr_builder *fill, const sp_entries *entries);

/** Ends the second pass: sorts the rows and sums duplicates (sp_csr_sort_sum_duplicates()). Local.
 *  \param [out] same        1; 0 if, for some row, the number of entries inserted differs from the number
 *                           counted: *a must not be used then
 *  \param [out] duplicates  number of entries that were added to another entry
 *  \return SPMM_OK (also if *same is 0), SPMM_ERR_MEMORY */
spmm_status sp_csr_builder_finish(sp_csr_builder *fill, int *same, int64_t *duplicates);

#endif
