/** Multiplication with the transpose of a distributed block: each rank multiplies with the transpose of its
 *  own entries. It sends the sums for rows that other ranks own to the owners of these rows. */
#ifndef SP_TRANSPOSED_H
#define SP_TRANSPOSED_H

#include "halo/halo.h"
#include "formats/csr.h"

/** Reverses a halo: the rows of X that a rank receives for A X are the rows of A^T X for which it sends
 *  partial sums. In the result, the rows of X correspond to this rank's rows of A, without ghost rows.
 *  `local` is the transpose of the block restricted to its owned columns, [own] x [rows of the block].
 *  `joint` contains the transpose restricted to the columns of other ranks, and the lists by which its
 *  partial rows are exchanged, and added in the order of their senders.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo        of kind SPMM_EXCHANGE_HALO or _BCAST; need not outlive the result
 *  \param [in]  threads     OpenMP threads of this rank
 *  \param [out] transposed  the caller destroys it; zeroed on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^31 rows or more),
 *          _MPI */
spmm_status sp_halo_transpose(const sp_grid *grid, const sp_halo *halo, int threads, sp_halo *transposed);

enum { SP_TRANSPOSED_PARTS = 2 }; /**< parts of the transpose: joint->rest and joint->moves.local */

/** The source of each value of the transpose. Zeroed: not determined yet. */
typedef struct sp_transposed_map {
    /** for each part: for each of its entries, the index of the entry of halo->local that is its source */
    sp_value_place *from[SP_TRANSPOSED_PARTS];
} sp_transposed_map;

/** Makes the map, unless it exists; this takes as long as a transposition. Local.
 *  \param [in]     halo  the halo passed to sp_halo_transpose()
 *  \param [in,out] map   zeroed before the first call; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^32 - 1 entries or more) */
spmm_status sp_halo_transpose_map(const sp_halo *halo, int threads, sp_transposed_map *map);

/** Updates the transpose with the current values of halo->local, whose pattern has not changed. Local.
 *  \param [in]     halo        the halo from which *transposed was made
 *  \param [in,out] map         zeroed, or from sp_halo_transpose_map(), which is called if necessary
 *  \param [in,out] transposed  from sp_halo_transpose()
 *  \return the status of sp_halo_transpose_map() */
spmm_status sp_halo_transpose_values(const sp_halo *halo, int threads, sp_transposed_map *map,
                                     sp_halo *transposed);

/** Frees the arrays of *map and zeroes it. Local. */
void sp_transposed_map_destroy(sp_transposed_map *map);

#endif
