/** The rows that the ranks of a process column send each other: rows of X before a product, or partial rows
 *  of Y after one. Nothing here depends on K or on the entries of a matrix. */
#ifndef SP_MOVES_H
#define SP_MOVES_H

#include "comm/grid.h"

/** Rows received from one rank: ghost rows [first, first + rows) in the numbering of sp_moves. */
typedef struct sp_source {
    int rank; /**< the sending rank, in the process column's communicator */
    int64_t first, rows;
} sp_source;

/** Rows sent to one rank. If `packed` is 0, the rows are contiguous: owned rows [first, first + rows), which
 *  are sent directly from X. Otherwise the numbers of the owned rows are sp_moves.list[first .. first + rows
 *  - 1], and the rows must be packed before they are sent. */
typedef struct sp_target {
    int rank;
    int packed;
    int64_t first, rows;
} sp_target;

/** Who sends which rows. Rows are numbered in this order: `ghost_low` rows of other ranks, this rank's `own`
 *  rows, `ghost_high` rows of other ranks. Members are read-only except for the creator. Zeroed: no rows. */
typedef struct sp_moves {
    int64_t ghost_low, own, ghost_high;
    int sources, targets; /**< number of ranks to receive from (sources), and to send to (targets) */
    sp_source *source;
    sp_target *target;
    int32_t *list; /**< owned rows that are packed for sending, [packed]; NULL for a broadcast */
    int64_t packed;
    int64_t sent;      /**< number of rows sent, summed over all targets */
    int64_t all_moved; /**< number of rows that all ranks of the grid receive; set by the creator */
} sp_moves;

/** Lists the moves for given rows of X that each rank of a process column wants to receive, whatever the
 *  entries of its block. Ghost rows are in the order of their global indices; lists of contiguous rows are
 *  not packed. all_moved is left 0.
 *
 *  Collective over grid->comm.
 *  \param [in]  first   [P + 1] from sp_blocks_fit(): rank p of the process column owns rows first[p] to
 *                       first[p + 1] - 1
 *  \param [in]  needed  bitmap (column_set.h) of the rows to receive; this rank owns none of them. NULL on
 *                       all ranks: every rank receives all rows of the others (a broadcast)
 *  \param [out] moves   the caller destroys it; zeroed on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_moves_create(const sp_grid *grid, const int64_t *first, const uint64_t *needed,
                            sp_moves *moves);

/** Frees the lists and zeroes *moves; accepts zeroed objects. Local. */
void sp_moves_destroy(sp_moves *moves);

/** Returns the number of rows in the local numbering, ghost rows included. Local. */
static inline int64_t sp_moves_rows(const sp_moves *moves)
{
    return moves->ghost_low + moves->own + moves->ghost_high;
}

#endif
