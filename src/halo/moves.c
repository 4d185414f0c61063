/** Determines which rows the ranks of a process column send each other. */
#include "halo/moves.h"

#include <string.h>

#include "base/memory.h"
#include "order/column_set.h"

/** Temporary data of sp_moves_create(). */
typedef struct listing {
    const sp_grid *grid;
    const int64_t *first; /* [P + 1] */
    int64_t words;        /* of the bitmap; 0 for a broadcast */
    int64_t *receive;     /* [P] numbers of rows to receive from each rank */
    int64_t *send;        /* [P] numbers of rows to send to each rank */
    int32_t *wanted;      /* rows to receive, each numbered from the first row of its owner */
} listing;

static void count_all_rows(listing *s)
{
    const int me = s->grid->coords[0];
    for (int p = 0; p < s->grid->dims[0]; p++) {
        s->receive[p] = p == me ? 0 : s->first[p + 1] - s->first[p];
        s->send[p] = p == me ? 0 : s->first[me + 1] - s->first[me];
    }
}

static spmm_status moves_allocate(listing *s, const uint64_t *needed)
{
    const int parts = s->grid->dims[0];
    int64_t wanted = 0;
    for (int64_t w = 0; w < s->words; w++) wanted += __builtin_popcountll(needed[w]);
    TRY(sp_alloc_zero((void **)&s->receive, parts, sizeof *s->receive, "neighbors"));
    TRY(sp_alloc_zero((void **)&s->send, parts, sizeof *s->send, "neighbors"));
    return sp_alloc((void **)&s->wanted, wanted, sizeof *s->wanted, "rows of the halo");
}

/** Lists in s->wanted the rows that this rank needs. Sets s->receive[p] to the number of them that rank p
 *  owns. */
static void list_wanted(listing *s, const uint64_t *needed)
{
    int64_t n = 0;
    int p = 0;
    for (int64_t w = 0; w < s->words; w++)
        for (uint64_t bits = needed[w]; bits; bits &= bits - 1) {
            const int64_t j = w * SP_SET_WORD + __builtin_ctzll(bits);
            while (j >= s->first[p + 1]) p++;
            s->wanted[n++] = (int32_t)(j - s->first[p]);
            s->receive[p]++;
        }
}

/** Sends each owner the list of its rows that this rank needs. Receives into m->list the lists of the ranks
 *  that need rows from this rank, one list after another. Collective. */
static spmm_status swap_lists(listing *s, sp_moves *m)
{
    TRY(SP_MPI(MPI_Alltoall(s->receive, 1, MPI_INT64_T, s->send, 1, MPI_INT64_T, s->grid->col_comm)));
    for (int p = 0; p < s->grid->dims[0]; p++) m->packed += s->send[p];
    const spmm_status status = sp_alloc((void **)&m->list, m->packed, sizeof *m->list, "rows to send");
    TRY(sp_agree(s->grid->comm, "halo", status));
    return sp_swap_lists(s->grid->col_comm, s->grid->comm, sizeof *m->list, s->receive, s->wanted, s->send,
                         m->list);
}

static int is_run(const int32_t *list, int64_t rows)
{
    for (int64_t i = rows - 1; i > 0; i--) /* the last element shows at once if rows are missing */
        if (list[i] - list[0] != i) return 0;
    return 1;
}

/** Removes lists of contiguous rows from m->list, so that these rows are sent directly from X, without
 *  packing, and sets m->packed. On entry `first` of each target is the index at which its list begins. */
static void shorten_lists(sp_moves *m)
{
    int64_t kept = 0;
    for (int t = 0; t < m->targets; t++) {
        sp_target *const g = &m->target[t];
        const int32_t *const list = m->list + g->first;
        g->packed = !is_run(list, g->rows);
        if (!g->packed) {
            g->first = list[0];
            continue;
        }
        memmove(m->list + kept, list, (size_t)g->rows * sizeof *list);
        g->first = kept;
        kept += g->rows;
    }
    m->packed = kept;
}

/** Lists sources and targets from the counts of rows; without m->list, all owned rows go to each target. */
static spmm_status list_neighbors(const listing *s, sp_moves *m)
{
    const int me = s->grid->coords[0], parts = s->grid->dims[0];
    int64_t in = 0, out = 0;
    for (int p = 0; p < parts; p++) {
        m->sources += s->receive[p] > 0;
        m->targets += s->send[p] > 0;
    }
    TRY(sp_alloc((void **)&m->source, m->sources, sizeof *m->source, "neighbors"));
    TRY(sp_alloc((void **)&m->target, m->targets, sizeof *m->target, "neighbors"));
    m->sources = m->targets = 0;
    for (int p = 0; p < parts; p++) {
        const int64_t comes = s->receive[p], goes = s->send[p];
        if (comes > 0) m->source[m->sources++] = (sp_source){p, in + (p > me ? m->own : 0), comes};
        if (goes > 0) m->target[m->targets++] = (sp_target){p, 0, out, goes};
        *(p < me ? &m->ghost_low : &m->ghost_high) += comes;
        in += comes;
        out += m->list ? goes : 0;
        m->sent += goes;
    }
    if (m->list) shorten_lists(m);
    return SPMM_OK;
}

static spmm_status moves_build(listing *s, const uint64_t *needed, sp_moves *m)
{
    TRY(sp_agree(s->grid->comm, "halo", moves_allocate(s, needed)));
    if (needed) {
        list_wanted(s, needed);
        TRY(swap_lists(s, m));
    } else {
        count_all_rows(s);
    }
    return sp_agree(s->grid->comm, "halo", list_neighbors(s, m));
}

spmm_status sp_moves_create(const sp_grid *grid, const int64_t *first, const uint64_t *needed,
                            sp_moves *moves)
{
    const int me = grid->coords[0];
    listing s = {.grid = grid, .first = first, .words = needed ? sp_set_words(first[grid->dims[0]]) : 0};
    *moves = (sp_moves){.own = first[me + 1] - first[me]};
    const spmm_status status = moves_build(&s, needed, moves);
    sp_free(s.receive);
    sp_free(s.send);
    sp_free(s.wanted);
    if (status != SPMM_OK) sp_moves_destroy(moves);
    return status;
}

void sp_moves_destroy(sp_moves *m)
{
    sp_free(m->source);
    sp_free(m->target);
    sp_free(m->list);
    *m = (sp_moves){0};
}
