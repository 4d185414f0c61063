/** Passes over entries that any rank may hold, each of which is sent to the rank that needs it. */
#ifndef SP_SHUFFLE_ENTRIES_H
#define SP_SHUFFLE_ENTRIES_H

#include "formats/csr_builder.h"
#include "parallel_io/parallel_read.h"
#include "parallel_io/row_counts.h"

/** Callback that returns the next entries of this rank, valid until the next call; n is 0 if none are left. Local. */
typedef spmm_status (*sp_load_next)(void *context, sp_entries *entries);

/** A source of entries on each rank. */
typedef struct sp_load_source {
    sp_load_next next;
    void *context;
    sp_symmetry symmetry; /* unless SP_GENERAL, entries off the diagonal imply their mirror images */
    int values;           /* 0: all values are 1, those of implied entries too */
} sp_load_source;

/** Counts the entries per row and per column, implied entries included, and turns the counts into starts. Collective
 *  over grid->comm.
 *  \param [in,out] rows, cols  newly created; either may be NULL and is then not counted
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI, or a failure of the source */
spmm_status sp_load_count(const sp_grid *grid, const sp_load_source *source, sp_row_counts *rows,
                          sp_row_counts *cols);

/** Counts the entries per row of each block: sp_csr_builder_count() on the block's owner. Collective over grid->comm.
 *  \param [in]     load  only row_begin and col_begin are read
 *  \param [in,out] fill  the builder of this rank's block
 *  \return as sp_load_count() */
spmm_status sp_load_lengths(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                            sp_csr_builder *fill);

/** Sends the entries to the owners of the blocks, which insert them: sp_csr_builder_insert(). Collective over
 *  grid->comm. Parameters as for sp_load_lengths().
 *  \return as sp_load_count(); SPMM_ERR_SYNTAX also if the entries are not those that were counted */
spmm_status sp_load_insert(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                           sp_csr_builder *fill);

#endif
