/** Multiplication with the transpose of a distributed block: each rank multiplies with the transpose of its
 *  own entries. It sends the sums for rows that other ranks own to the owners of these rows. */
#ifndef SP_TRANSPOSED_H
#define SP_TRANSPOSED_H

#include "formats/csr.h"
#include "halo/ghosted_block.h"

/** Transposes a block and reverses its moves: the rows of X that a rank receives for A X are the rows of A^T
 *  X for which it sends partial sums. In the result, the rows of X correspond to this rank's rows of A,
 *  without ghost rows. `local` is the transpose of the block restricted to its owned columns, [own] x [rows
 *  of the block]. `joint` contains the transpose restricted to the columns of other ranks, and the lists by
 *  which its partial rows are exchanged, and added in the order of their senders.
 *
 *  Collective over ghosted->grid->comm.
 *  \param [in]  ghosted     of kind SPMM_EXCHANGE_HALO or _BCAST; need not outlive the result
 *  \param [in]  threads     OpenMP threads of this rank
 *  \param [out] transposed  the caller destroys it; zeroed on failure. `grid` and `block` are copied
 *                           from *ghosted; the caller replaces them by the grid and block of the transpose
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^31 rows or more),
 *          _MPI */
spmm_status sp_ghosted_block_transpose(const sp_ghosted_block *ghosted, int threads,
                                       sp_ghosted_block *transposed);

enum { SP_TRANSPOSED_PARTS = 2 }; /**< number of parts of the transpose: joint->rest and joint->partial */

/** The source of each value of the transpose. Zeroed: not determined yet. */
typedef struct sp_transposed_map {
    /** for each part: for each of its entries, the index of the source entry in the block */
    sp_value_place *from[SP_TRANSPOSED_PARTS];
} sp_transposed_map;

/** Makes the map, unless it exists; this takes as long as a transposition. Local.
 *  \param [in]     ghosted  the block passed to sp_ghosted_block_transpose()
 *  \param [in,out] map      zeroed before the first call; the caller destroys it
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block has 2^32 - 1 entries or more) */
spmm_status sp_transposed_map_make(const sp_ghosted_block *ghosted, int threads, sp_transposed_map *map);

/** Updates the transpose with the current values of the block, whose pattern has not changed. Local.
 *  \param [in]     ghosted     the block from which *transposed was made
 *  \param [in,out] map         zeroed, or from sp_transposed_map_make(), which is called if necessary
 *  \param [in,out] transposed  from sp_ghosted_block_transpose()
 *  \return the status of sp_transposed_map_make() */
spmm_status sp_ghosted_block_transpose_values(const sp_ghosted_block *ghosted, int threads,
                                              sp_transposed_map *map, sp_ghosted_block *transposed);

/** Frees the arrays of *map and zeroes it. Local. */
void sp_transposed_map_destroy(sp_transposed_map *map);

#endif
