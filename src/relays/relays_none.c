/** relays.h for builds without RELAYS=1. */
#include <string.h>

#include "relays/relays.h"

int sp_relays_built(void) { return 0; }

spmm_status sp_relays_create(const sp_grid *grid, const spmm_block *block, spmm_transport asked, int threads,
                             const sp_halo **halo, sp_relays **relays)
{
    const char *name;
    (void)block, (void)asked, (void)threads, (void)halo;
    *relays = NULL;
    TRY(sp_exchange_asked(grid->comm, &name));
    return name && strcmp(name, SP_RELAYED) == 0
               ? sp_fail(SPMM_ERR_USAGE, "SPMM_EXCHANGE_BACKEND=%s: built without RELAYS=1", name)
               : SPMM_OK;
}

spmm_status sp_relays_exchange(const sp_relays *relays, const sp_exchange_options *options,
                               sp_exchange **exchange)
{
    (void)relays, (void)options;
    *exchange = NULL;
    return sp_fail(SPMM_ERR_INTERNAL, "built without RELAYS=1");
}

void sp_relays_destroy(sp_relays *relays) { (void)relays; }

spmm_status sp_node_sums_exchange(const sp_grid *grid, const sp_joint *joint, spmm_transport asked,
                                  const sp_exchange_options *move, sp_exchange **exchange,
                                  const sp_halo **moves, const sp_sum_lists **lists)
{
    (void)grid, (void)joint, (void)asked, (void)move, (void)moves, (void)lists;
    *exchange = NULL;
    return SPMM_OK;
}
