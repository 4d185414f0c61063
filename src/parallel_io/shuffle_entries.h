/** Passes over entries that lie with any rank: who wants them gets them. */
#ifndef SP_SHUFFLE_ENTRIES_H
#define SP_SHUFFLE_ENTRIES_H

#include "formats/csr_builder.h"
#include "parallel_io/parallel_read.h"
#include "parallel_io/row_counts.h"

/** The next entries of a rank, valid until the next call; n is 0 when there are none left. Local. */
typedef spmm_status (*sp_load_next)(void *context, sp_entries *entries);

/** Where entries come from. */
typedef struct sp_load_source {
    sp_load_next next;
    void *context;
    sp_symmetry symmetry; /* entries imply others */
    int values;           /* 0: all values are 1, those that are implied too */
} sp_load_source;

/** Counts the entries of rows and of columns, or, where one is NULL, of the others only. Collective. */
spmm_status sp_load_count(const sp_grid *grid, const sp_load_source *source, sp_row_counts *rows,
                          sp_row_counts *cols);

/** Counts the entries of the rows of each block: sp_csr_builder_count() of the block's owner. Collective.
 *  \param [in] load  row_begin and col_begin are looked at */
spmm_status sp_load_lengths(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                            sp_csr_builder *fill);

/** Gives the entries to the owners of the blocks: sp_csr_builder_insert(). Collective.
 *  \return SPMM_ERR_SYNTAX also if they are not those that were counted */
spmm_status sp_load_insert(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                           sp_csr_builder *fill);

#endif
