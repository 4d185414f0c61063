/** The halo: which rows of X are exchanged within a process column before a product, and the corresponding
 *  local numbering of the block's columns. Created once per block; nothing here depends on K. */
#ifndef SP_HALO_H
#define SP_HALO_H

#include "comm/grid.h"
#include "formats/matrix.h"

/** Rows of X received from one rank: ghost rows [first, first + rows) in the local numbering of X (see
 *  sp_halo). */
typedef struct sp_halo_recv {
    int rank; /**< the sending rank, in the process column's communicator */
    int64_t first, rows;
} sp_halo_recv;

/** Rows of X sent to one rank. If `packed` is 0, the rows are contiguous: owned rows [first, first + rows),
 *  which are sent directly from X. Otherwise the numbers of the owned rows are sp_halo.list[first .. first +
 *  rows - 1], and the rows must be packed before they are sent. */
typedef struct sp_halo_send {
    int rank;
    int packed;
    int64_t first, rows;
} sp_halo_send;

/** The additional data of a joint exchange, see halo/joint.h. */
typedef struct sp_joint sp_joint;

/** The halo of a block. The local numbering of X consists of `ghost_low` rows of other ranks, then this
 *  rank's `own` rows, then `ghost_high` rows of other ranks, all in the order of their global indices.
 *  Renumbering the columns therefore keeps the order of a row's entries, and the sums that a kernel computes
 *  have the same bits. */
typedef struct sp_halo {
    spmm_exchange kind; /**< SPMM_EXCHANGE_HALO, _BCAST or _JOINT, never _AUTO */
    int64_t ghost_low, own, ghost_high;
    int sources, targets; /**< numbers of ranks: to receive from (sources), to send to (targets) */
    sp_halo_recv *source;
    sp_halo_send *target;
    int32_t *list; /**< owned rows that are packed for sending, [packed]; NULL for a broadcast */
    int64_t packed;
    int64_t sent; /**< number of rows of X sent, summed over all targets */
    int64_t all_moved,
        all_bcast;  /**< rows received by all ranks: all_moved with `kind`, all_bcast with a broadcast */
    spmm_csr local; /**< the block with local column indices. Its row starts and values are those of the block
                         or, with the joint exchange, of joint->rest */
    int renumbered; /**< 1: the halo owns local.ja; 0: local.ja is the block's array */
    int any_order;  /**< 1: the columns of a row may be in any order */
    sp_joint *joint; /**< data of the joint exchange: the rest of the block, and the partial rows that ranks
                          compute for each other. NULL unless `kind` is SPMM_EXCHANGE_JOINT and the process
                          column has several ranks */
    /** The block in padded ELLPACK, as it was scattered. Its column indices are those of the block, not
     *  those of `local`. Plans without a joint exchange use its values in kernels for SPMM_ELL; such plans
     *  cannot take new values. The creator of the halo sets this pointer; *slice must outlive the plans.
     *  NULL: the block was not scattered in padded ELLPACK. */
    const sp_matrix *slice;
    const struct sp_node_rows *node; /**< common memory of this node's ranks (node_rows.h), or NULL */
} sp_halo;

/** Determines which rows of X this rank receives from each owner and which rows it sends to each rank, and
 *  renumbers the columns of the block accordingly. Checks the blocks first (sp_block_check(),
 *  sp_blocks_fit(), and the column indices).
 *
 *  Collective over grid->comm.
 *  \param [in]  block    must outlive the halo
 *  \param [in]  kind     SPMM_EXCHANGE_AUTO: a halo exchange if it moves clearly fewer rows of X than a
 *                        broadcast, summed over all ranks; otherwise a broadcast; never the joint exchange
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] halo     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a block is invalid, or the blocks do not
 *          fit together), _MEMORY, _MPI */
spmm_status sp_halo_create(const sp_grid *grid, const spmm_block *block, spmm_exchange kind, int threads,
                           sp_halo *halo);

/** Returns the number of rows that all ranks receive in an exchange: rows of X and partial rows of Y.
 *  Local. */
int64_t sp_halo_all_moved(const sp_halo *halo);

/** Makes the lists of messages for given rows of X that each rank of a process column wants to receive,
 *  whatever the entries of its block: sources, targets, their rows, `list`, ghost_low, ghost_high and sent.
 *  Received rows are numbered from 0 in the order of their columns, without room for owned rows between them.
 *  The other members of *halo, also `own`, are zero. Collective over grid->comm.
 *  \param [in] first   first row of X of each rank of the process column, [P + 1]; not changed
 *  \param [in] needed  bitmap of the columns of the block to receive, without columns that this rank owns;
 *                      not changed
 *  \param [out] halo   the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_halo_of_columns(const sp_grid *grid, const spmm_block *block, int64_t *first, uint64_t *needed,
                               sp_halo *halo);

/** Lists the messages of a halo: sets its sources, targets, ghost_low, ghost_high and sent, and removes lists
 *  of contiguous rows from halo->list. Local.
 *  \param [in]     receive  [P] number of rows to receive from each rank of the process column
 *  \param [in]     send     [P] number of rows to send to each rank
 *  \param [in,out] halo     on entry `own` and `list` are set, and the members to set are zero. `list`
 *                           contains the owned rows to send to each rank, in increasing order, one rank after
 *                           another; NULL: all owned rows are sent to each rank. The caller destroys it, also
 *                           on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_halo_list_neighbors(const sp_grid *grid, const int64_t *receive, const int64_t *send,
                                   sp_halo *halo);

/** Frees the lists and the renumbered column indices of a halo without a joint exchange, and zeroes *halo.
 *  Local. */
void sp_halo_lists_destroy(sp_halo *halo);

/** Frees the members of *halo, also its joint exchange, and zeroes *halo; accepts NULL and zeroed objects.
 *  Local. */
void sp_halo_destroy(sp_halo *halo);

/** Returns the number of rows of X in the local numbering, ghost rows included. Local. */
static inline int64_t sp_halo_rows(const sp_halo *halo)
{
    return halo->ghost_low + halo->own + halo->ghost_high;
}

#endif
