/** The rows of X that the ranks of a process column on one node share. Each row of another node that any of
 *  these ranks needs is received by one of them for all. All of these ranks read such rows, and one another's
 *  owned rows, in place in common memory. */
#ifndef SP_NODE_ROWS_H
#define SP_NODE_ROWS_H

#include "halo/local_block.h"
#include "halo/moves.h"

/** The shared rows of a node. Ranks are numbered within the node (`comm`). A zeroed object has no shared
 *  rows. */
typedef struct sp_node_rows {
    /** The node's numbering of X: all rows before this rank's owned rows in the common memory count as
     *  ghost_low, and all rows after them as ghost_high. Sources and targets describe only messages between
     *  nodes: rows that this rank receives for its node, and owned rows that it sends to ranks that receive
     *  them for their nodes. all_moved is the number of rows that cross between nodes. */
    sp_moves moves;
    sp_local_block local; /**< the block in the node's numbering of X */
    MPI_Comm comm;        /**< ranks of the process column on this node, in the column's order */
    int made;             /**< 1: comm must be freed */
    int rank, size;       /**< this rank's number in comm; number of ranks in comm */
    int first_rank;       /**< the number that rank 0 of comm has in the process column */
    int64_t low,
        near; /**< low: number of rows before the rows that the node's ranks own, in its numbering; near:
                   number of rows that these ranks own */
    int64_t *begin; /**< [size + 1] first owned row of each rank, in the node's numbering */
    /** [size + 1] rank i receives the ghost rows with numbers share[i] to share[i + 1] - 1. Ghost rows are
     *  counted without the owned rows between them: ghost row g is row g of the common memory if g < low,
     *  else row g + near */
    int64_t *share;
    char *reads_own,
        *reads_share; /**< [size] 1: this rank's block needs rows that rank i owns (reads_own) or receives
                           (reads_share) */
    char *readers;    /**< [size] 1: rank i needs rows that this rank owns or receives */
} sp_node_rows;

/** Numbers the rows of this rank's node in common memory, and renumbers the block's columns accordingly.
 *  Columns keep their order, so that sums keep their bits. If the process column is on one node, nothing is
 *  renumbered.
 *
 *  Collective over grid->comm.
 *  \param [in]  block        the entries that this rank multiplies; must outlive *node
 *  \param [in]  moves        the rows of X that this rank receives without common memory
 *  \param [in]  threads      OpenMP threads of this rank
 *  \param [out] node         the caller destroys it
 *  \param [out] why          the same on every rank: the reason why ranks cannot share rows, in static
 *                            storage; then *node is zeroed. NULL: they can
 *  \param [out] shared       the same on every rank: 1 if at least two ranks of a process column are on one
 *                            node
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_node_rows_create(const sp_grid *grid, const spmm_block *block, const sp_moves *moves,
                                int threads, sp_node_rows *node, const char **why, int *shared);

/** The reason why ranks of a node cannot share rows of X. */
#define SP_NOT_CONSECUTIVE "the ranks of a node are not consecutive in their process column"

/** Determines, before there is a matrix, whether the ranks of a node can share rows of X. Collective over
 *  grid->comm.
 *  \param [out] consecutive  the same on every rank: 1 if they can; 0: SP_NOT_CONSECUTIVE
 *  \param [out] shared       as for sp_node_rows_create()
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_node_ranks_check(const sp_grid *grid, int *consecutive, int *shared);

/** Frees the lists and the communicator, and zeroes *node; accepts zeroed objects. Collective over the ranks
 *  of the process column on this node. */
void sp_node_rows_destroy(sp_node_rows *node);

#endif
