/** Determines which partial rows of Y are added inside a node, by which rank, and how they travel. */
#include <string.h>

#include "base/memory.h"
#include "relays/relays.h"
#include "relays/two_steps.h"

static const char what[] = "the sums of partial rows of a node";

/** A partial row: `index` is its index among those that one rank computes for another. `rank` is either of
 *  the two ranks, by context. */
typedef struct place {
    int32_t rank, index;
} place;

/** The partial rows that the ranks of one node compute for one row of this rank, and the one to which the
 *  others are added. */
typedef struct tally {
    int64_t ranks, seen; /* number of ranks that compute a partial row; of these, number visited so far */
    int64_t turn;        /* selects the adder; increases with each row, so that the ranks add equally often */
    place adder;         /* the adding rank, and the index of its partial row among those for this rank */
} tally;

/** The two steps. */
enum { INSIDE, BETWEEN, STEPS };

/** Temporary data of sp_node_sums_create(). */
typedef struct node_sums_setup {
    const sp_grid *grid;
    const sp_joint *joint;
    int parts, me;
    int *node;    /* [parts] the first rank of each rank's node */
    tally *of;    /* [parts] the tally of each node, indexed by the node's first rank */
    place *adder; /* [ghost rows of moves] the partial row to which each is added; its own place: to none */
    place *told;  /* [moves.own] for rows that this rank computes: as `adder`, received from their owners */
    place *given,
        *taken; /* [rows sent inside], [rows received inside]: the owner of each row, and an index among the
                               rows that the receiver computes for the owner or, if the receiver is the owner,
                               among the rows that the sender computes for the owner */
    int64_t *first; /* [parts] the first owned row of S that is computed for each rank */
    int64_t *ghost; /* [parts] the first ghost row of moves that is received from each rank */
    int64_t *send[STEPS], *receive[STEPS]; /* [parts] numbers of rows to and from each rank */
    int64_t *at;                           /* [parts] scratch */
    int32_t *list[STEPS];                  /* rows of S to send */
    int32_t *own_row,
        *row; /* [ghost rows of S] each is added to row own_row of S or row `row` of joint->rest; -1: none */
    int32_t *sum_row; /* [moves.own] the row of S that is sent for each owned row: its sum or the owned row */
    sp_node_sums *sums;
} node_sums_setup;

/* ---- nodes ---- */

/** Finds the ranks of each node.
 *  \param [out] some  the same on every rank: 0 if, in every process column, each rank is alone on its node
 *                     or all ranks are on one node; else 1 */
static spmm_status find_nodes(node_sums_setup *s, int *some)
{
    int first = s->me, size, simple;
    MPI_Comm *const comm = &s->sums->comm;
    TRY(sp_node_comm(s->grid->col_comm, comm));
    MPI_Comm_size(*comm, &size);
    TRY(SP_MPI(MPI_Bcast(&first, 1, MPI_INT, 0, *comm)));
    TRY(SP_MPI(MPI_Allgather(&first, 1, MPI_INT, s->node, 1, MPI_INT, s->grid->col_comm)));
    TRY(sp_all(s->grid->comm, size == 1 || size == s->parts, &simple));
    *some = !simple;
    return SPMM_OK;
}

static int near(const node_sums_setup *s, int rank) { return s->node[rank] == s->node[s->me]; }

/* ---- who adds ---- */

static spmm_status allocate(node_sums_setup *s)
{
    const sp_halo *const m = &s->joint->moves;
    TRY(sp_alloc_zero((void **)&s->of, s->parts, sizeof *s->of, what));
    TRY(sp_alloc((void **)&s->adder, m->ghost_low + m->ghost_high, sizeof *s->adder, what));
    TRY(sp_alloc((void **)&s->told, m->own, sizeof *s->told, what));
    TRY(sp_alloc_zero((void **)&s->first, s->parts, sizeof *s->first, what));
    TRY(sp_alloc_zero((void **)&s->ghost, s->parts, sizeof *s->ghost, what));
    TRY(sp_alloc_zero((void **)&s->at, s->parts, sizeof *s->at, what));
    for (int step = 0; step < STEPS; step++) {
        TRY(sp_alloc_zero((void **)&s->send[step], s->parts, sizeof *s->send[step], what));
        TRY(sp_alloc_zero((void **)&s->receive[step], s->parts, sizeof *s->receive[step], what));
    }
    return SPMM_OK;
}

/** Decides which ranks add the partial rows of one row of this rank. In s->adder, replaces each of these
 *  partial rows by the one to which it is added.
 *  \param [in] addend  [count] the partial rows, as rows of S */
static void decide(node_sums_setup *s, const int32_t *addend, int64_t count)
{
    const sp_halo *const m = &s->joint->moves;
    for (int pass = 0; pass < 4; pass++)
        for (int64_t i = 0; i < count; i++) {
            place *const p = &s->adder[addend[i] < m->ghost_low ? addend[i] : addend[i] - m->own];
            tally *const t = &s->of[s->node[p->rank]];
            if (pass == 0) t->ranks++;
            if (pass == 1 && t->seen++ == t->turn % t->ranks) t->adder = *p;
            if (pass == 2) *p = t->adder;
            if (pass < 3 || t->ranks == 0) continue;
            t->turn += t->ranks > 1;
            t->ranks = t->seen = 0;
        }
}

/** Decides which ranks add partial rows, for all rows of this rank. */
static void choose_adders(node_sums_setup *s)
{
    const sp_halo *const m = &s->joint->moves;
    const sp_sum_lists *const sums = &s->joint->sums;
    int64_t g = 0;
    for (int k = 0; k < m->sources; k++) {
        s->ghost[m->source[k].rank] = g;
        for (int64_t i = 0; i < m->source[k].rows; i++)
            s->adder[g++] = (place){m->source[k].rank, (int32_t)i};
    }
    /* Each owner of rows begins with a different adder. Otherwise, if each owner had only a few rows to add,
     * the first ranks of a node would add all of them. */
    for (int p = 0; p < s->parts; p++) s->of[p].turn = s->me;
    for (int64_t n = 0; n < sums->count; n++)
        decide(s, sums->addend + sums->start[n], sums->start[n + 1] - sums->start[n]);
}

/* ---- messages ---- */

/** Notifies the ranks that compute rows for this rank which ranks add these rows. Receives into s->told, from
 *  the owners of the rows that this rank computes, which ranks add those. Collective. */
static spmm_status tell(node_sums_setup *s)
{
    const sp_halo *const m = &s->joint->moves;
    int64_t *const comes = s->receive[BETWEEN], *const goes = s->send[BETWEEN];
    for (int k = 0; k < m->sources; k++) comes[m->source[k].rank] = m->source[k].rows;
    for (int k = 0; k < m->targets; k++) goes[m->target[k].rank] = m->target[k].rows;
    TRY(sp_swap_lists(s->grid->col_comm, s->grid->comm, 1, sizeof(place), comes, s->adder, goes, s->told));
    memset(comes, 0, (size_t)s->parts * sizeof *comes);
    memset(goes, 0, (size_t)s->parts * sizeof *goes);
    return SPMM_OK;
}

/* ---- routes ---- */

/** Returns the rank to which owned row i of S, computed for rank `owner`, is sent. *step is the step in which
 *  it is sent. */
static int way_of(const node_sums_setup *s, int owner, int64_t i, int *step)
{
    *step = near(s, owner) || s->told[i].rank != s->me ? INSIDE : BETWEEN;
    return *step == INSIDE && !near(s, owner) ? s->told[i].rank : owner;
}

/** Counts the rows that are sent to and received from each rank in each step. Collective. */
static spmm_status count_rows(node_sums_setup *s)
{
    const sp_halo *const m = &s->joint->moves;
    for (int k = 0; k < m->targets; k++) {
        const sp_halo_send *const t = &m->target[k];
        s->first[t->rank] = t->first;
        for (int64_t i = t->first; i < t->first + t->rows; i++) {
            int step;
            const int rank = way_of(s, t->rank, i, &step);
            s->send[step][rank]++;
        }
    }
    for (int k = 0; k < m->sources; k++) {
        const int rank = m->source[k].rank;
        const place *const of = s->adder + s->ghost[rank];
        for (int64_t i = 0; i < m->source[k].rows && !near(s, rank); i++)
            s->receive[BETWEEN][rank] += of[i].rank == rank;
    }
    return SP_MPI(
        MPI_Alltoall(s->send[INSIDE], 1, MPI_INT64_T, s->receive[INSIDE], 1, MPI_INT64_T, s->grid->col_comm));
}

static int64_t total(const node_sums_setup *s, const int64_t *rows)
{
    int64_t n = 0;
    for (int p = 0; p < s->parts; p++) n += rows[p];
    return n;
}

static spmm_status allocate_lists(node_sums_setup *s)
{
    const int64_t in[STEPS] = {total(s, s->receive[INSIDE]), total(s, s->receive[BETWEEN])};
    const int64_t all = in[INSIDE] + in[BETWEEN], rows = s->joint->moves.own + all;
    if (rows > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%lld partial rows of a rank in the joint exchange: expected at most 2^31 - 1",
                       (long long)rows);
    for (int step = 0; step < STEPS; step++)
        TRY(sp_alloc((void **)&s->list[step], total(s, s->send[step]), sizeof *s->list[step], what));
    TRY(sp_alloc((void **)&s->given, total(s, s->send[INSIDE]), sizeof *s->given, what));
    TRY(sp_alloc((void **)&s->taken, in[INSIDE], sizeof *s->taken, what));
    TRY(sp_alloc((void **)&s->own_row, all, sizeof *s->own_row, what));
    TRY(sp_alloc((void **)&s->sum_row, s->joint->moves.own, sizeof *s->sum_row, what));
    return sp_alloc((void **)&s->row, all, sizeof *s->row, what);
}

/** Lists the owned rows of S that are sent in a step, for each rank in the order of S. In the step INSIDE,
 *  also sets s->given for them. */
static void list_rows(node_sums_setup *s, int step)
{
    const sp_halo *const m = &s->joint->moves;
    int64_t n = 0;
    for (int p = 0; p < s->parts; n += s->send[step][p++]) s->at[p] = n;
    for (int k = 0; k < m->targets; k++) {
        const sp_halo_send *const t = &m->target[k];
        for (int64_t i = t->first; i < t->first + t->rows; i++) {
            int in;
            const int rank = way_of(s, t->rank, i, &in);
            if (in != step) continue;
            const int64_t at = s->at[rank]++;
            s->list[step][at] = (int32_t)i;
            if (step == INSIDE)
                s->given[at] = (place){t->rank, rank == t->rank ? (int32_t)(i - t->first) : s->told[i].index};
        }
    }
}

/** Makes the halo of a step, whose ghost rows begin at row `first` of S. */
static spmm_status make_halo(node_sums_setup *s, int step, int64_t first, int64_t ghosts, sp_halo *h)
{
    h->kind = SPMM_EXCHANGE_HALO;
    h->own = s->joint->moves.own;
    h->list = s->list[step];
    s->list[step] = NULL;
    TRY(sp_halo_list_neighbors(s->grid, s->receive[step], s->send[step], h));
    for (int k = 0; k < h->sources; k++) {
        h->source[k].first = first;
        first += h->source[k].rows;
    }
    h->ghost_low = 0;
    h->ghost_high = ghosts;
    return SPMM_OK;
}

/** Returns the number, within this node, of a rank of this node. */
static int number_in_node(const node_sums_setup *s, int rank)
{
    int number = 0;
    for (int p = 0; p < rank; p++) number += near(s, p);
    return number;
}

/* ---- sums ---- */

/** Lists the rows to which received rows are added. Rows for this rank are added to its rows of Y, rows for
 *  other ranks to the partial rows that this rank computes. */
static spmm_status list_sums(node_sums_setup *s)
{
    const sp_joint *const j = s->joint;
    int64_t n = 0;
    for (int p = 0; p < s->parts; p++)
        for (int64_t i = 0; i < s->receive[INSIDE][p]; i++, n++) {
            const place *const to = &s->taken[n];
            const int mine = to->rank == s->me;
            s->row[n] = mine ? j->row[s->ghost[p] + to->index] : -1;
            s->own_row[n] = mine ? -1 : (int32_t)(s->first[to->rank] + to->index);
        }
    for (int k = 0; k < j->moves.sources; k++) {
        const int rank = j->moves.source[k].rank;
        for (int64_t g = s->ghost[rank]; g < s->ghost[rank] + j->moves.source[k].rows; g++) {
            if (near(s, rank) || s->adder[g].rank != rank) continue;
            s->row[n] = j->row[g];
            s->own_row[n++] = -1;
        }
    }
    TRY(sp_sum_lists_create(s->own_row, 0, j->moves.own, n, j->moves.own, &s->sums->to_first));
    return sp_sum_lists_create(s->row, 0, j->moves.own, n, j->rest.rows, &s->sums->to_y);
}

/** Changes to_first so that the sums are formed in ghost rows: the destination is the first row received for
 *  an owned row, and the owned row is the first addend. Changes the list of rows to send so that the sum is
 *  sent in place of the owned row. */
static void send_sums(node_sums_setup *s)
{
    const sp_sum_lists *const l = &s->sums->to_first;
    const int64_t sent = total(s, s->send[BETWEEN]);
    for (int64_t i = 0; i < s->joint->moves.own; i++) s->sum_row[i] = (int32_t)i;
    for (int64_t n = 0; n < l->count; n++) {
        int32_t *const first = &l->addend[l->start[n]], own = l->row[n];
        s->sum_row[own] = l->row[n] = *first;
        *first = own;
    }
    for (int64_t i = 0; i < sent; i++) s->list[BETWEEN][i] = s->sum_row[s->list[BETWEEN][i]];
}

/** Counts the rows that all ranks receive.
 *  \param [out] direct  number of rows that would cross between nodes if no rows were added inside nodes */
static spmm_status count_moved(node_sums_setup *s, int64_t *direct)
{
    const sp_halo *const m = &s->joint->moves;
    int64_t rows[STEPS + 1] = {total(s, s->receive[INSIDE]), total(s, s->receive[BETWEEN]), 0};
    for (int k = 0; k < m->sources; k++) rows[STEPS] += near(s, m->source[k].rank) ? 0 : m->source[k].rows;
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, rows, STEPS + 1, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    s->sums->inside.all_moved = rows[INSIDE];
    s->sums->between.all_moved = rows[BETWEEN];
    *direct = rows[STEPS];
    return SPMM_OK;
}

static spmm_status make_lists(node_sums_setup *s)
{
    const int64_t own = s->joint->moves.own, in = total(s, s->receive[INSIDE]),
                  all = in + total(s, s->receive[BETWEEN]);
    TRY(list_sums(s));
    send_sums(s);
    TRY(make_halo(s, INSIDE, own, all, &s->sums->inside));
    TRY(make_halo(s, BETWEEN, own + in, all, &s->sums->between));
    for (int k = 0; k < s->sums->inside.sources; k++)
        s->sums->inside.source[k].rank = number_in_node(s, s->sums->inside.source[k].rank);
    for (int k = 0; k < s->sums->inside.targets; k++)
        s->sums->inside.target[k].rank = number_in_node(s, s->sums->inside.target[k].rank);
    return SPMM_OK;
}

/** \param [out] worth  the same on every rank: 1 if rows are added inside a node */
static spmm_status build(node_sums_setup *s, int *worth)
{
    int64_t direct;
    TRY(sp_agree(s->grid->comm, "halo", allocate(s)));
    choose_adders(s);
    TRY(tell(s));
    TRY(count_rows(s));
    TRY(count_moved(s, &direct));
    *worth = s->sums->between.all_moved < direct;
    if (!*worth) return SPMM_OK;
    TRY(sp_agree(s->grid->comm, "halo", allocate_lists(s)));
    for (int step = 0; step < STEPS; step++) list_rows(s, step);
    TRY(sp_swap_lists(s->grid->col_comm, s->grid->comm, 1, sizeof(place), s->send[INSIDE], s->given,
                      s->receive[INSIDE], s->taken));
    return sp_agree(s->grid->comm, "halo", make_lists(s));
}

static void free_setup(node_sums_setup *s)
{
    sp_free(s->node);
    sp_free(s->of);
    sp_free(s->adder);
    sp_free(s->told);
    sp_free(s->given);
    sp_free(s->taken);
    sp_free(s->first);
    sp_free(s->ghost);
    sp_free(s->at);
    sp_free(s->own_row);
    sp_free(s->sum_row);
    sp_free(s->row);
    for (int step = 0; step < STEPS; step++) {
        sp_free(s->send[step]);
        sp_free(s->receive[step]);
        sp_free(s->list[step]);
    }
}

spmm_status sp_node_sums_create(const sp_grid *grid, const sp_joint *joint, sp_node_sums **sums)
{
    node_sums_setup s = {.grid = grid, .joint = joint, .parts = grid->dims[0], .me = grid->coords[0]};
    int some = 0, worth = 0;
    *sums = NULL;
    spmm_status status = sp_alloc_zero((void **)&s.sums, 1, sizeof *s.sums, what);
    if (status == SPMM_OK) {
        s.sums->comm = MPI_COMM_NULL;
        s.sums->precision = joint->moves.local.precision;
        status = sp_alloc((void **)&s.node, s.parts, sizeof *s.node, what);
    }
    TRY_GOTO(sp_agree(grid->comm, "halo", status), done);
    TRY_GOTO(find_nodes(&s, &some), done);
    if (some) TRY_GOTO(build(&s, &worth), done);
done:
    free_setup(&s);
    if (status == SPMM_OK && worth)
        *sums = s.sums;
    else
        sp_node_sums_destroy(s.sums);
    return status;
}

void sp_node_sums_destroy(sp_node_sums *sums)
{
    if (!sums) return;
    sp_comm_free(&sums->comm);
    sp_halo_destroy(&sums->inside);
    sp_halo_destroy(&sums->between);
    sp_sum_lists_destroy(&sums->to_first);
    sp_sum_lists_destroy(&sums->to_y);
    sp_free(sums);
}

/* ---- the exchange ---- */

spmm_status sp_node_sums_exchange(const sp_grid *grid, const sp_joint *joint, spmm_transport asked,
                                  const sp_exchange_options *move, sp_exchange **exchange,
                                  const sp_halo **moves, const sp_sum_lists **lists)
{
    const char *name = NULL;
    sp_node_sums *sums;
    *exchange = NULL;
    if (asked == (move->space == SPMM_CPU ? SPMM_TRANSPORT_MPI : SPMM_TRANSPORT_PEER)) return SPMM_OK;
    if (move->space == SPMM_CUDA) TRY(sp_exchange_asked(grid->comm, &name));
    if (name && strcmp(name, SP_RELAYED) != 0) return SPMM_OK;
    TRY(sp_node_sums_create(grid, joint, &sums));
    if (!sums) return SPMM_OK;
    TRY(sp_two_steps_create(grid, sums->comm, &sums->between, &sums->inside, move, sums, exchange));
    *moves = &sums->between;
    *lists = &sums->to_y;
    return SPMM_OK;
}
