/** The rows of X that the ranks of a process column on one node have in common: rows of other nodes that any
 *  of them needs, each of which one rank receives for all. In common memory all of them read these rows and
 *  one another's own rows in place. */
#ifndef SP_NODE_ROWS_H
#define SP_NODE_ROWS_H

#include "halo/halo.h"

/** The rows of a node. Ranks are numbered within the node (`comm`). A zeroed object has none. */
typedef struct sp_node_rows {
    /** The block in the node's numbering of X: all rows before this rank's own in the common memory count as
     *  ghost_low and all after them as ghost_high. Sources and targets are those of messages between nodes:
     *  rows that this rank receives for its node, and own rows that it sends to ranks that receive for
     *  theirs. all_moved are the rows that cross between nodes. halo.node points to this object. */
    sp_halo halo;
    MPI_Comm comm;  /**< ranks of the process column on this node, in its order */
    int made;       /**< 1: comm exists */
    int rank, size; /**< this rank's number in comm, and how many there are */
    int first_rank; /**< number of rank 0 of comm in the process column */
    int64_t low,
        near; /**< in the node's numbering: rows before those that its ranks own, and rows that they own */
    int64_t *begin; /**< [size + 1] row where the own rows of each rank begin, in the node's numbering */
    /** [size + 1] rank i receives ghost rows share[i] .. share[i + 1] - 1, counted without the rows between
     *  that the node's ranks own: number g is row g if g < low, else row g + near */
    int64_t *share;
    char *reads_own,
        *reads_share; /**< [size] 1: this rank's block needs own rows, or ghost rows, of that rank */
    char *readers;    /**< [size] 1: that rank needs rows that this rank owns or receives */
} sp_node_rows;

/** Finds the rows of this rank's node for common memory, and numbers the block's columns by them. Columns
 *  keep their order, so that sums keep their bits. With the process column on one node there is nothing to
 *  renumber.
 *
 *  Collective over grid->comm.
 *  \param [in]  block, halo  the halo is the block's; both must outlive *node
 *  \param [in]  threads      OpenMP threads of this rank
 *  \param [out] node         the caller destroys it
 *  \param [out] why          the same on every rank: why ranks have no rows in common, in static storage;
 *                            then *node is zeroed. NULL: they have
 *  \param [out] shared       the same on every rank: 1 if at least two ranks of a process column share a node
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_node_rows_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                int threads, sp_node_rows *node, const char **why, int *shared);

/** Why ranks of a node have no rows of X in common. */
#define SP_NOT_CONSECUTIVE "the ranks of a node are not consecutive in their process column"

/** Finds out, before there is a matrix, whether the ranks of a node can have rows of X in common. Collective
 *  over grid->comm.
 *  \param [out] consecutive  the same on every rank: 1 if they can; 0: SP_NOT_CONSECUTIVE
 *  \param [out] shared       as for sp_node_rows_create()
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_node_ranks_check(const sp_grid *grid, int *consecutive, int *shared);

/** Frees the lists and the communicator, and zeroes *node; accepts zeroed objects. Collective over the ranks
 *  of the process column on this node. */
void sp_node_rows_destroy(sp_node_rows *node);

#endif
