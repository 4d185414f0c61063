/** Which rows of X travel between the ranks of a process column before a product, and the numbering of a
 *  block's columns that goes with it. Made once; nothing here depends on K. */
#ifndef SP_HALO_H
#define SP_HALO_H

#include "comm/grid.h"

/** Rows that come from one rank: rows [first, first + rows) of X as the block sees it (below). */
typedef struct sp_halo_recv {
    int rank; /**< in the process column */
    int64_t first, rows;
} sp_halo_recv;

/** Rows that go to one rank: where they are one run of this rank's own rows, own rows [first, first + rows);
 *  else the own rows list[first .. first + rows - 1], which must be packed. */
typedef struct sp_halo_send {
    int rank;
    int packed;
    int64_t first, rows;
} sp_halo_send;

/** X as the block sees it: `before` rows of other ranks, this rank's `own`, `behind` rows of others, in the
 *  order of their global indices. So a row's entries keep their order when its columns are renumbered, and a
 *  kernel's sums their bits. */
typedef struct sp_halo {
    spmm_exchange kind; /**< SPMM_EXCHANGE_HALO or _BCAST: what is done */
    int64_t ghost_low, own, ghost_high;
    int sources, targets; /**< neighbours to receive from and to send to */
    sp_halo_recv *source;
    sp_halo_send *target;
    int32_t *list; /**< own rows to pack, [packed] */
    int64_t packed;
    int64_t sent; /**< rows, over all targets */
    int64_t all_moved,
        all_bcast;  /**< rows that all ranks receive together, and would with SPMM_EXCHANGE_BCAST */
    spmm_csr local; /**< the block, columns numbered in X as above; irp and as are the block's */
    int renumbered; /**< 1: local.ja is the halo's own; 0: the block's */
} sp_halo;

/** Finds it out.
 *
 *  Collective over grid->comm.
 *  \param [in]  block    must outlive the halo
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] halo     the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (blocks that do not fit together), _MEMORY,
 *          _MPI */
spmm_status sp_halo_create(const sp_grid *grid, const spmm_block *block, spmm_exchange kind, int threads,
                           sp_halo *halo);

/** Local; accepts NULL and zeroed. */
void sp_halo_destroy(sp_halo *halo);

/** Rows of X as the block sees it. */
static inline int64_t sp_halo_rows(const sp_halo *halo)
{
    return halo->ghost_low + halo->own + halo->ghost_high;
}

#endif
