/** The lists of messages of a halo. */
#include <string.h>

#include "base/memory.h"
#include "halo/halo.h"

static int is_run(const int32_t *list, int64_t rows)
{
    for (int64_t i = rows - 1; i > 0; i--) /* backwards: if rows are missing, the last element shows it */
        if (list[i] - list[0] != i) return 0;
    return 1;
}

/** Removes lists of contiguous rows from h->list, so that these rows are sent directly from X, without
 *  packing, and sets h->packed. On entry `first` of each target is the index at which its list begins. */
static void shorten_lists(sp_halo *h)
{
    int64_t kept = 0;
    for (int t = 0; t < h->targets; t++) {
        sp_halo_send *const g = &h->target[t];
        const int32_t *const list = h->list + g->first;
        g->packed = !is_run(list, g->rows);
        if (!g->packed) {
            g->first = list[0];
            continue;
        }
        memmove(h->list + kept, list, (size_t)g->rows * sizeof *list);
        g->first = kept;
        kept += g->rows;
    }
    h->packed = kept;
}

spmm_status sp_halo_list_neighbors(const sp_grid *grid, const int64_t *receive, const int64_t *send,
                                   sp_halo *h)
{
    const int me = grid->coords[0], parts = grid->dims[0];
    int64_t in = 0, out = 0;
    for (int p = 0; p < parts; p++) {
        h->sources += receive[p] > 0;
        h->targets += send[p] > 0;
    }
    TRY(sp_alloc((void **)&h->source, h->sources, sizeof *h->source, "neighbors"));
    TRY(sp_alloc((void **)&h->target, h->targets, sizeof *h->target, "neighbors"));
    h->sources = h->targets = 0;
    for (int p = 0; p < parts; p++) {
        if (receive[p] > 0)
            h->source[h->sources++] = (sp_halo_recv){p, in + (p > me ? h->own : 0), receive[p]};
        if (send[p] > 0) h->target[h->targets++] = (sp_halo_send){p, 0, out, send[p]};
        *(p < me ? &h->ghost_low : &h->ghost_high) += receive[p];
        in += receive[p];
        out += h->list ? send[p] : 0;
        h->sent += send[p];
    }
    if (h->list) shorten_lists(h);
    return SPMM_OK;
}

void sp_halo_lists_destroy(sp_halo *h)
{
    sp_free(h->source);
    sp_free(h->target);
    sp_free(h->list);
    if (h->renumbered) sp_free(h->local.ja);
    memset(h, 0, sizeof *h);
}
