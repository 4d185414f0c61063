/** How the transpose of a distributed block is multiplied: each rank multiplies the transpose of its own
 *  entries, and sends the sums of rows that other ranks own to them. */
#ifndef SP_TRANSPOSED_H
#define SP_TRANSPOSED_H

#include "halo/halo.h"
#include "formats/csr.h"

/** Turns a halo round: the rows of X that a rank receives for A X are the rows of A^T X of which it sends
 *  partial sums. In the result, X has this rank's rows of A, without ghost rows; `local` is the transpose of
 *  the block in its own columns, [own] x [rows of the block]; and `joint` has the transpose in the columns of
 *  others and the lists by which its partial rows travel and are added, in the order of the ranks that they
 *  come from.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo        of kind SPMM_EXCHANGE_HALO or _BCAST; need not outlive the result
 *  \param [in]  threads     OpenMP threads of this rank
 *  \param [out] transposed  the caller destroys it; zeroed on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^31 rows or more),
 *          _MPI */
spmm_status sp_halo_transpose(const sp_grid *grid, const sp_halo *halo, int threads, sp_halo *transposed);

enum { SP_TRANSPOSED_PARTS = 2 }; /**< joint->rest and joint->moves.local */

/** Where the values of the transpose come from. Zeroed: not known yet. */
typedef struct sp_transposed_map {
    /** for each part and each of its entries, the entry of the matrix of the halo */
    sp_value_place *from[SP_TRANSPOSED_PARTS];
} sp_transposed_map;

/** Makes the map, unless it is there. Local. It takes as long as a transposition.
 *  \param [in]     halo  what sp_halo_transpose() was given
 *  \param [in,out] map   zeroed before the first call; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^32 - 1 entries or more) */
spmm_status sp_halo_transpose_map(const sp_halo *halo, int threads, sp_transposed_map *map);

/** Takes over the values that the matrix of `halo` has now, on the same pattern. Local.
 *  \param [in]     halo        what *transposed was made of
 *  \param [in,out] map         zeroed, or of sp_halo_transpose_map(), which is called if need be
 *  \param [in,out] transposed  from sp_halo_transpose()
 *  \return the status of sp_halo_transpose_map() */
spmm_status sp_halo_transpose_values(const sp_halo *halo, int threads, sp_transposed_map *map,
                                     sp_halo *transposed);

/** Frees the arrays of *map and zeroes it. Local. */
void sp_transposed_map_destroy(sp_transposed_map *map);

#endif
