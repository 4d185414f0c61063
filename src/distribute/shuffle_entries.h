/** Passes over the entries of a matrix: each entry is sent from the rank that has read it to the rank that
 *  counts or stores it. */
#ifndef SP_SHUFFLE_ENTRIES_H
#define SP_SHUFFLE_ENTRIES_H

#include "formats/csr_builder.h"
#include "distribute/parallel_read.h"
#include "distribute/row_counts.h"

/** Callback that returns the next entries of this rank, which are valid until the next call; entries->n is 0
 *  if no entries are left. Local. */
typedef spmm_status (*sp_load_next)(void *context, sp_entries *entries);

/** The source of the entries of a pass on a rank. */
typedef struct sp_load_source {
    sp_load_next next;
    void *context;
    sp_symmetry symmetry; /* unless SP_GENERAL, entries off the diagonal imply their mirror images */
    int values;           /* 0: all values are 1, also those of the mirror images */
} sp_load_source;

/** Counts the entries per row and per column, including entries that symmetry implies, and turns the counts
 *  into row starts and column starts. Collective over grid->comm.
 *  \param [in,out] rows, cols  newly created counts of rows and of columns; NULL: rows, or columns, are not
 *                              counted
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI, or a failure of the source */
spmm_status sp_load_count(const sp_grid *grid, const sp_load_source *source, sp_row_counts *rows,
                          sp_row_counts *cols);

/** Counts the entries per row of each block: the owner of a block receives the block's entries, and passes
 *  them to sp_csr_builder_count(). Collective over grid->comm.
 *  \param [in]     load  the block boundaries; only load->row_begin and load->col_begin are read
 *  \param [in,out] fill  the builder of this rank's block
 *  \return the errors of sp_load_count() */
spmm_status sp_load_lengths(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                            sp_csr_builder *fill);

/** Sends the entries to the owners of the blocks, which pass them to sp_csr_builder_insert(). Collective over
 *  grid->comm. Parameters as for sp_load_lengths().
 *  \return the errors of sp_load_count(); SPMM_ERR_SYNTAX also if the entries differ from those that were
 *          counted */
spmm_status sp_load_insert(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                           sp_csr_builder *fill);

#endif
