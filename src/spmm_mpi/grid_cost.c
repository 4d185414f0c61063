/** Estimates and prints what a product costs on a process grid, and finds the grid of least cost. */
#include "spmm_mpi/grid_cost.h"

#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/multivector.h"
#include "plan/column_blocks.h"

const sp_machine *sp_machine_unknown(void)
{
    static const sp_machine unknown = {.nodes = 1,
                                       .ranks_per_node = INT32_MAX,
                                       .threads = 1,
                                       .copy_rate = 1,
                                       .node_copy_rate = INT32_MAX,
                                       .inside_rate = 1.0 / 8,
                                       .efficiency = 1};
    return &unknown;
}

spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, int threads, sp_ranges *r)
{
    if (partition == SP_PARTITION_ROWS) {
        sp_partition_even(a->rows, r->p, r->row_begin);
        sp_partition_even(a->cols, r->q, r->col_begin);
    } else {
        if (partition != SP_PARTITION_GRAPH) sp_partition_entries(a->irp, a->rows, r->p, r->row_begin);
        TRY(sp_partition_columns(a, threads, r->q, r->col_begin));
    }
    sp_x_ranges(a->rows, a->cols, r->p, r->q, r->row_begin, r->col_begin, r->x_begin);
    return SPMM_OK;
}

static int steps_of_tree(int q)
{
    int steps = 0;
    while (1 << steps < q) steps++;
    return steps;
}

static void raise_to(int64_t *most, int64_t value)
{
    if (value > *most) *most = value;
}

static void take_most(const sp_rank_count *c, sp_rank_count *most)
{
    raise_to(&most->rows, c->rows);
    raise_to(&most->nnz, c->nnz);
    raise_to(&most->x_rows, c->x_rows);
    raise_to(&most->halo_rows, c->halo_rows);
    raise_to(&most->sent_rows, c->sent_rows);
    raise_to(&most->partial_rows, c->partial_rows);
    raise_to(&most->boundary_rows, c->boundary_rows);
    raise_to(&most->joint.received, c->joint.received);
    if (c->receives_from > most->receives_from) most->receives_from = c->receives_from;
    if (c->sends_to > most->sends_to) most->sends_to = c->sends_to;
}

/* ---- the model ---- */

/** A grid whose time is predicted. */
typedef struct grid_model {
    const sp_cost_model *given;
    const sp_ranges *ranges;
    spmm_precision precision;
    double row;     /* bytes of a row of X or Y */
    int active;     /* ranks of the product on a full node */
    double copy;    /* copy rate of a rank while these are busy */
    double *far_in; /* [2 * nodes] per node: bytes that its ranks receive from other nodes by one exchange; */
    double *far_out; /* bytes that they send there; points into far_in */
} grid_model;

/** What a rank communicates by one exchange: [0] inside its node, [1] with other nodes. */
typedef struct traffic {
    double rows_in[2], rows_out[2];
    double packed;         /* rows that are copied before they are sent */
    double from[2], to[2]; /* numbers of ranks */
} traffic;

static traffic halo_traffic(const grid_model *m, const sp_rank_count *c, int rank)
{
    (void)m, (void)rank;
    return (traffic){{(double)(c->halo_rows - c->far_rows), (double)c->far_rows},
                     {(double)(c->sent_rows - c->far_sent), (double)c->far_sent},
                     (double)c->packed_rows,
                     {(double)(c->receives_from - c->far_from), (double)c->far_from},
                     {(double)(c->sends_to - c->far_to), (double)c->far_to}};
}

/** Every rank of a process column sends its rows of X to all others of the column, to each node once; its ranks share in receiving
 *  them, and hand them on. */
static traffic bcast_traffic(const grid_model *m, const sp_rank_count *c, int rank)
{
    const sp_ranges *const r = m->ranges;
    const int q = rank % r->q, per_node = m->given->machine->ranks_per_node;
    const int64_t node = rank / per_node, *const owned = r->x_begin + (int64_t)q * (r->p + 1);
    /* the ranks o*Q + q of this node are those of the process rows [first, end) */
    const int64_t first = (node * per_node - q + r->q - 1) / r->q;
    int64_t end = ((node + 1) * per_node - q + r->q - 1) / r->q;
    if (end > r->p) end = r->p;
    const double here = (double)(end - first), near = here - 1, own = (double)c->x_rows;
    const double near_rows = (double)(owned[end] - owned[first]) - own;
    /* what each of the node's ranks has to do with others, if these have as many on theirs */
    const double far_ranks = ((double)r->p - here) / here;
    const double far_rows = ((double)(owned[r->p] - owned[0]) - own - near_rows) / here;
    return (traffic){{near_rows + near * far_rows, far_rows},
                     {near * (own + far_rows), own * far_ranks},
                     0,
                     {near, far_ranks},
                     {near, far_ranks}};
}

/** Rows of X and partial rows of Y travel from the same ranks. */
static traffic joint_traffic(const grid_model *m, const sp_rank_count *c, int rank)
{
    (void)m, (void)rank;
    const sp_joint_count *const j = &c->joint;
    return (traffic){{(double)(j->received - j->far_received), (double)j->far_received},
                     {(double)(j->sent - j->far_sent), (double)j->far_sent},
                     (double)j->sent,
                     {(double)(j->receives_from - j->far_from), (double)j->far_from},
                     {(double)(j->sends_to - j->far_to), (double)j->far_to}};
}

/** The exchanges among which the model chooses: a further kind is a row. Of equal times the first is taken. */
static const struct exchange_row {
    spmm_exchange kind;
    traffic (*of)(const grid_model *m, const sp_rank_count *c, int rank);
} exchanges[] = {
    {SPMM_EXCHANGE_HALO, halo_traffic},
    {SPMM_EXCHANGE_BCAST, bcast_traffic},
    {SPMM_EXCHANGE_JOINT, joint_traffic},
};

enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

static double greater(double a, double b) { return a > b ? a : b; }

double sp_rank_bytes(const sp_rank_count *c, spmm_precision precision, int64_t k)
{
    const double size = (double)sp_value_size(precision);
    const double row = (double)sp_multivector_ld(k, precision) * size;
    return (double)c->nnz * (size + 4) + 8 * ((double)c->rows + 1) +
           row * (double)(c->x_rows + c->halo_rows + c->rows);
}

/** Returns the latencies of a rank's messages. */
static double message_seconds(const sp_machine *machine, const traffic *t)
{
    return greater(t->from[0], t->to[0]) * machine->inside_latency +
           greater(t->from[1], t->to[1]) * machine->between_latency;
}

/** Returns the time of packing and moving a rank's rows, without latencies, if nothing else is done meanwhile. */
static double moving_seconds(const grid_model *m, const traffic *t, int rank)
{
    const sp_machine *const machine = m->given->machine;
    const int node = rank / machine->ranks_per_node, far = t->from[1] > 0 || t->to[1] > 0;
    double seconds = 0;
    /* GPUs of one node write scattered rows where they are needed */
    if (far || machine->device == SPMM_CPU) seconds += 2 * m->row * t->packed / m->copy;
    if (t->rows_in[0] > 0 || t->rows_out[0] > 0)
        seconds += m->row * greater(t->rows_in[0], t->rows_out[0]) / machine->inside_rate;
    if (!far) return seconds;
    return seconds + greater(m->far_in[node], m->far_out[node]) / machine->between_rate;
}

/** Returns the time of the sum over a process row, of which a rank has `rows` rows. Step s of the tree joins ranks at a
 *  distance of 2^s; they are on one node if the node has whole groups of 2^(s+1) ranks. */
static double reduce_seconds(const sp_cost_model *model, double bytes, double copy, int q)
{
    const sp_machine *const m = model->machine;
    double seconds = 0;
    for (int64_t distance = 1; distance < q; distance *= 2) {
        const int inside = m->nodes == 1 || m->ranks_per_node % (2 * distance) == 0;
        seconds += (inside ? m->inside_latency : m->between_latency) +
                   bytes / (inside ? m->inside_rate : m->between_rate) + 3 * bytes / copy;
    }
    return seconds;
}

/** Returns log2(ranks) latencies; those between nodes cost a latency between nodes. */
static double barrier_seconds(const sp_machine *m, int64_t ranks)
{
    double seconds = 0;
    for (int64_t distance = 1; distance < ranks; distance *= 2)
        seconds += distance < m->ranks_per_node ? m->inside_latency : m->between_latency;
    return seconds;
}

/** Returns how much of an exchange passes while a GPU multiplies column blocks (plan/column_blocks.h), less what further
 *  exchanges and reading A again cost.
 *  \param [in] kernel, alone  seconds of the kernel and of the exchange if they follow one another */
static double hidden_by_blocks(const grid_model *m, const sp_rank_count *c, double kernel, double alone)
{
    const sp_machine *const machine = m->given->machine;
    const int n = sp_column_blocks_best(m->given->k, m->precision, c->halo_rows);
    const double a = (double)c->nnz * (4 + (double)sp_value_size(m->precision)) / m->given->kernel_rate;
    const double hidden = alone < kernel ? alone : kernel;
    return machine->device == SPMM_CPU ? 0 : (n - 1) * (hidden / n - a - machine->inside_latency);
}

static sp_product_time rank_time(const grid_model *m, const traffic *t, const sp_rank_count *c, int rank)
{
    const sp_machine *const machine = m->given->machine;
    /* rows that are computed apart are consecutive (plan/row_blocks.h) */
    const double interior = c->rows > 0 ? (double)c->interior_run / (double)c->rows : 0;
    sp_product_time s = {.kernel = sp_rank_bytes(c, m->precision, m->given->k) / m->given->kernel_rate};
    const double moving = moving_seconds(m, t, rank), alone = message_seconds(machine, t) + moving;
    const double beside = machine->overlap * moving;
    const double by_rows = beside < interior * s.kernel ? beside : interior * s.kernel;
    s.exchange = alone - greater(by_rows, machine->overlap * hidden_by_blocks(m, c, s.kernel, alone));
    s.reduce = reduce_seconds(m->given, m->row * (double)c->partial_rows, m->copy, m->ranges->q);
    s.barrier = barrier_seconds(machine, (int64_t)m->ranges->p * m->ranges->q);
    s.total = s.kernel + s.exchange + s.reduce + s.barrier;
    return s;
}

/** Returns the time of the slowest rank with one kind of exchange. */
static sp_product_time exchange_time(grid_model *m, const struct exchange_row *exchange,
                                     const sp_rank_count *counts)
{
    const int ranks = m->ranges->p * m->ranges->q, per_node = m->given->machine->ranks_per_node;
    sp_product_time slowest = {.total = -1};
    for (int node = 0; node <= (ranks - 1) / per_node; node++) m->far_in[node] = m->far_out[node] = 0;
    for (int r = 0; r < ranks; r++) {
        const traffic t = exchange->of(m, &counts[r], r);
        m->far_in[r / per_node] += m->row * t.rows_in[1];
        m->far_out[r / per_node] += m->row * t.rows_out[1];
    }
    for (int r = 0; r < ranks; r++) {
        const traffic t = exchange->of(m, &counts[r], r);
        const sp_product_time time = rank_time(m, &t, &counts[r], r);
        if (time.total > slowest.total) slowest = time;
    }
    return slowest;
}

static grid_model model_of(const sp_cost_model *given, const sp_ranges *ranges, spmm_precision precision,
                           int64_t ranks)
{
    const sp_machine *const machine = given->machine;
    grid_model m = {.given = given, .ranges = ranges, .precision = precision};
    m.row = (double)(sp_multivector_ld(given->k, precision) * sp_value_size(precision));
    m.active = ranks < machine->ranks_per_node ? (int)ranks : machine->ranks_per_node;
    m.copy = sp_machine_copy_rate(machine, m.active);
    return m;
}

spmm_status sp_grid_cost_predict(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *given,
                                 const sp_rank_count *counts, sp_grid_cost *cost)
{
    const int64_t ranks = (int64_t)r->p * r->q, nodes = (ranks - 1) / given->machine->ranks_per_node + 1;
    grid_model m = model_of(given, r, a->precision, ranks);
    TRY(sp_alloc((void **)&m.far_in, 2 * nodes, sizeof *m.far_in, "bytes of the nodes"));
    m.far_out = m.far_in + nodes;
    cost->exchange = SPMM_EXCHANGE_AUTO;
    for (int e = 0; e < EXCHANGES; e++) {
        if (given->exchange != SPMM_EXCHANGE_AUTO && given->exchange != exchanges[e].kind) continue;
        if (exchanges[e].kind == SPMM_EXCHANGE_JOINT && !given->joint) continue;
        const sp_product_time time = exchange_time(&m, &exchanges[e], counts);
        if (cost->exchange != SPMM_EXCHANGE_AUTO && time.total >= cost->time.total) continue;
        cost->time = time;
        cost->exchange = exchanges[e].kind;
    }
    sp_free(m.far_in);
    return SPMM_OK;
}

/** Returns a time that no p x q grid is faster than: its mean kernel, and the sum and the barrier, which depend on the
 *  sizes of the matrix alone. */
static double least_seconds(const spmm_csr *a, int p, int q, const sp_cost_model *given)
{
    const int64_t ranks = (int64_t)p * q;
    const grid_model m = model_of(given, NULL, a->precision, ranks);
    const sp_rank_count whole = {.nnz = a->nnz, .rows = a->rows * q, .x_rows = a->cols};
    const double bytes = sp_rank_bytes(&whole, a->precision, given->k) / (double)ranks;
    return bytes / given->kernel_rate +
           reduce_seconds(given, m.row * (double)a->rows / (double)p, m.copy, q) +
           barrier_seconds(given->machine, ranks);
}

/* ---- a grid ---- */

static void add_rank(const sp_rank_count *c, int64_t k, spmm_precision precision, int steps,
                     sp_grid_cost *cost)
{
    const double row = (double)(sp_multivector_ld(k, precision) * sp_value_size(precision));
    take_most(c, &cost->most);
    cost->received += c->halo_rows;
    if (cost->joint >= 0) cost->joint += c->joint.received;
    cost->moved = greater(cost->moved, row * (double)(c->halo_rows + steps * c->partial_rows));
    cost->held = greater(cost->held,
                         sp_rank_bytes(c, precision, k) + 4 * (double)c->nnz + row * (double)c->sent_rows);
}

static spmm_status count_ranks(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *model,
                               sp_rank_count *counts, sp_grid_cost *cost)
{
    /* ranks of a node read each other's rows of X or hand them on, and add their partial rows */
    const sp_crossing crossing = {model->machine->ranks_per_node, 1};
    TRY(sp_comm_volume(a, r->p, r->q, r->row_begin, r->col_begin, r->x_begin, crossing, model->threads,
                       counts));
    if (model->joint)
        TRY(sp_joint_volume(a, r->p, r->q, r->row_begin, r->x_begin, crossing, model->threads, counts));
    for (int64_t i = 0; i < (int64_t)r->p * r->q; i++)
        add_rank(&counts[i], model->k, a->precision, steps_of_tree(r->q), cost);
    return sp_grid_cost_predict(a, r, model, counts, cost);
}

spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *model,
                               sp_rank_count *counts, sp_grid_cost *cost)
{
    sp_rank_count *own = NULL;
    *cost = (sp_grid_cost){.p = r->p, .q = r->q, .joint = model->joint ? 0 : -1};
    if (!counts) TRY(sp_alloc((void **)&own, (int64_t)r->p * r->q, sizeof *own, "counts of the ranks"));
    const spmm_status status = count_ranks(a, r, model, counts ? counts : own, cost);
    sp_free(own);
    return status;
}

/* ---- the tables ---- */

static void print_time(FILE *out, const sp_grid_cost *c)
{
    const sp_product_time *const t = &c->time;
    fprintf(out, " %9s %11.4g %9.4g %9.4g %9.4g %9.4g",
            c->received > 0 ? sp_exchange_word(c->exchange) : "none", 1e3 * t->total, 1e3 * t->kernel,
            1e3 * t->exchange, 1e3 * t->reduce, 1e3 * t->barrier);
}

void sp_grid_cost_head(FILE *out, int64_t k, int timed)
{
    fprintf(
        out,
        "\n   ranks        grid  entries per rank  imbalance  rows of X: own  received  by all ranks  from  waiting rows"
        "  moved, K = %-4lld  memory per rank%s\n",
        (long long)k, timed ? "  exchange  product ms    kernel  exchange    reduce   barrier" : "");
}

void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *c, int timed)
{
    char grid[32], moved[32], held[32];
    const double ranks = (double)c->p * c->q;
    snprintf(grid, sizeof grid, "%dx%d", c->p, c->q);
    fprintf(out, "%8.0f %11s %17lld %10.3f %15lld %9lld %13lld %5d %13lld %15s %16s", ranks, grid,
            (long long)c->most.nnz, a->nnz ? (double)c->most.nnz * ranks / (double)a->nnz : 1,
            (long long)c->most.x_rows, (long long)c->most.halo_rows, (long long)c->received,
            c->most.receives_from, (long long)c->most.boundary_rows,
            sp_bytes_text(moved, sizeof moved, c->moved), sp_bytes_text(held, sizeof held, c->held));
    if (timed) print_time(out, c);
    fprintf(out, "\n");
    if (c->joint > 0)
        fprintf(out,
                "%20s joint exchange: at most %lld rows of X and partial Y received, %lld by all ranks\n", "",
                (long long)c->most.joint.received, (long long)c->joint);
}

void sp_grid_cost_ranks(FILE *out, const sp_rank_count *c, int p, int q)
{
    fprintf(
        out,
        "\n    rank      (p,q)        rows       entries  rows of X: own  received  from    sent    to  waiting rows\n");
    for (int r = 0; r < p * q; r++) {
        char place[32];
        snprintf(place, sizeof place, "(%d,%d)", r / q, r % q);
        fprintf(out, "%8d %10s %11lld %13lld %15lld %9lld %5d %7lld %5d %13lld\n", r, place,
                (long long)c[r].rows, (long long)c[r].nnz, (long long)c[r].x_rows, (long long)c[r].halo_rows,
                c[r].receives_from, (long long)c[r].sent_rows, c[r].sends_to, (long long)c[r].boundary_rows);
    }
}

/* ---- the best grid ---- */

static spmm_status cost_of(const spmm_csr *a, sp_partition partition, int p, int q,
                           const sp_cost_model *model, sp_grid_cost *cost)
{
    sp_ranges ranges;
    TRY(sp_ranges_create(p, q, &ranges));
    spmm_status status = sp_grid_cost_ranges(a, partition, model->threads, &ranges);
    if (status == SPMM_OK) status = sp_grid_cost_count(a, &ranges, model, NULL, cost);
    sp_ranges_destroy(&ranges);
    return status;
}

spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks,
                              const sp_cost_model *model, FILE *table, sp_grid_cost *best)
{
    /* METIS would have to cut the graph for each number of row blocks; balance the blocks by entries
       instead */
    const sp_partition by = partition == SP_PARTITION_GRAPH ? SP_PARTITION_NNZ : partition;
    if (table) sp_grid_cost_head(table, model->k, 0);
    for (int columns = 1; columns <= ranks; columns++) {
        sp_grid_cost cost;
        const int rows = ranks / columns;
        if (ranks % columns || (columns == 1 && best->p == ranks)) continue;
        if (!table && columns > 1 && least_seconds(a, rows, columns, model) >= best->time.total) continue;
        TRY(cost_of(a, by, rows, columns, model, &cost));
        if (table) sp_grid_cost_line(table, a, &cost, 0);
        if (best->p == 0 || cost.time.total < best->time.total) *best = cost;
    }
    return SPMM_OK;
}
