/** Counts and prints the cost of a product on a process grid, and finds the grid with the least cost. */
#include "spmm_mpi/grid_cost.h"

#include <math.h>

#include "base/memory.h"
#include "formats/multivector.h"

spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, const sp_cost_model *model,
                                sp_ranges *r)
{
    if (partition == SP_PARTITION_ROWS) {
        sp_partition_even(a->rows, r->p, r->row_begin);
        sp_partition_even(a->cols, r->q, r->col_begin);
    } else if (model->stencil.side > 0) {
        sp_partition_starts(sp_stencil_start, &model->stencil, a->rows, r->p, r->row_begin);
        sp_partition_starts(sp_stencil_start, &model->stencil, a->cols, r->q, r->col_begin);
    } else {
        if (!sp_partition_renumbers(partition)) sp_partition_entries(a->irp, a->rows, r->p, r->row_begin);
        TRY(sp_partition_columns(a, model->threads, r->q, r->col_begin));
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

/* Cost per byte, in copied bytes: of a received row; of a partial row of Y, which is received and added. */
enum { RECEIVED = 8, ADDED = RECEIVED + 3 };

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

static double row_bytes(int64_t k, spmm_precision precision)
{
    return (double)(sp_multivector_ld(k, precision) * sp_value_size(precision));
}

/** Returns the minimum number of bytes that the kernel of a rank moves: the DRAM bound of its block. */
static double block_bytes(const sp_rank_count *c, spmm_precision precision, int64_t k)
{
    return (double)c->nnz * (double)(sp_value_size(precision) + 4) + 8 * ((double)c->rows + 1) +
           row_bytes(k, precision) * (double)(c->x_rows + c->halo_rows + c->rows);
}

/** Returns the cost of an exchange for a rank, in copied rows. */
static double exchange_rows(spmm_exchange exchange, const sp_rank_count *c, int p, int64_t column_rows)
{
    if (exchange == SPMM_EXCHANGE_HALO)
        return (double)(2 * c->packed_rows + RECEIVED * greater(c->halo_rows, c->sent_rows));
    if (exchange == SPMM_EXCHANGE_BCAST)
        return RECEIVED * (double)greater(column_rows - c->x_rows, (p - 1) * c->x_rows);
    return (double)(2 * c->joint.sent + RECEIVED * greater(c->joint.received, c->joint.sent));
}

/** Returns the cost of the slowest rank with one kind of exchange. */
static double slowest_rank(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *model,
                           spmm_exchange exchange, const sp_rank_count *counts)
{
    const double row = row_bytes(model->k, a->precision);
    double most = 0;
    for (int i = 0; i < r->p * r->q; i++) {
        const sp_rank_count *const c = &counts[i];
        const int64_t column_rows = r->col_begin[i % r->q + 1] - r->col_begin[i % r->q];
        const double partial = (double)c->partial_rows * ADDED * steps_of_tree(r->q);
        const double cost = block_bytes(c, a->precision, model->k) +
                            row * (exchange_rows(exchange, c, r->p, column_rows) + partial);
        if (cost > most) most = cost;
    }
    return most;
}

/** Returns the cost with the exchange of the model, or with the cheapest exchange if the model allows
 *  several. */
static double least_cost(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *model,
                         const sp_rank_count *counts)
{
    static const spmm_exchange kinds[] = {SPMM_EXCHANGE_HALO, SPMM_EXCHANGE_BCAST, SPMM_EXCHANGE_JOINT};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (model->exchange != SPMM_EXCHANGE_AUTO && model->exchange != kinds[i]) continue;
        if (kinds[i] == SPMM_EXCHANGE_JOINT && !model->joint) continue;
        least = fmin(least, slowest_rank(a, r, model, kinds[i], counts));
    }
    return least;
}

/** Returns a lower bound of the cost of any p x q grid: the mean cost of the ranks' kernels plus the cost of
 *  the reduction. Both depend only on the sizes of the matrix. */
static double lower_bound(const spmm_csr *a, int p, int q, const sp_cost_model *model)
{
    const sp_rank_count whole = {.nnz = a->nnz, .rows = a->rows * q, .x_rows = a->cols};
    return block_bytes(&whole, a->precision, model->k) / ((double)p * q) +
           row_bytes(model->k, a->precision) * (double)a->rows / p * ADDED * steps_of_tree(q);
}

/* ---- a grid ---- */

static void add_rank(const sp_rank_count *c, int64_t k, spmm_precision precision, int steps,
                     sp_grid_cost *cost)
{
    const double row = row_bytes(k, precision);
    take_most(c, &cost->most);
    cost->received += c->halo_rows;
    if (cost->joint >= 0) cost->joint += c->joint.received;
    cost->moved = fmax(cost->moved, row * (double)(c->halo_rows + steps * c->partial_rows));
    cost->held = fmax(cost->held,
                      block_bytes(c, precision, k) + 4 * (double)c->nnz + row * (double)c->sent_rows);
}

sp_crossing sp_crossing_of(const sp_cost_model *model)
{
    return (sp_crossing){model->per_node > 0 ? model->per_node : INT32_MAX, model->device == SPMM_CPU};
}

static spmm_status count_ranks(const spmm_csr *a, const sp_ranges *r, const sp_cost_model *model,
                               sp_rank_count *counts, sp_grid_cost *cost)
{
    const sp_crossing crossing = sp_crossing_of(model);
    if (model->stencil.side > 0)
        TRY(sp_stencil_volume(&model->stencil, r->p, r->q, r->row_begin, r->col_begin, r->x_begin,
                              crossing.per_node, model->threads, counts));
    else
        TRY(sp_comm_volume(a, r->p, r->q, r->row_begin, r->col_begin, r->x_begin, crossing, model->threads,
                           counts));
    if (model->joint)
        TRY(sp_joint_volume(a, r->p, r->q, r->row_begin, r->x_begin, crossing, model->threads, counts));
    for (int64_t i = 0; i < (int64_t)r->p * r->q; i++)
        add_rank(&counts[i], model->k, a->precision, steps_of_tree(r->q), cost);
    cost->cost = least_cost(a, r, model, counts);
    return SPMM_OK;
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

void sp_grid_cost_head(FILE *out, int64_t k)
{
    fprintf(
        out,
        "\n   ranks        grid  entries per rank  imbalance  rows of X: own  received  by all ranks  from "
        " waiting rows"
        "  moved, K = %-4lld  memory per rank\n",
        (long long)k);
}

void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *c)
{
    char grid[32], moved[32], held[32];
    const double ranks = (double)c->p * c->q;
    snprintf(grid, sizeof grid, "%dx%d", c->p, c->q);
    fprintf(out, "%8.0f %11s %17lld %10.3f %15lld %9lld %13lld %5d %13lld %15s %16s\n", ranks, grid,
            (long long)c->most.nnz, a->nnz ? (double)c->most.nnz * ranks / (double)a->nnz : 1,
            (long long)c->most.x_rows, (long long)c->most.halo_rows, (long long)c->received,
            c->most.receives_from, (long long)c->most.boundary_rows,
            sp_bytes_text(moved, sizeof moved, c->moved), sp_bytes_text(held, sizeof held, c->held));
    if (c->joint > 0)
        fprintf(out,
                "%20s joint exchange: at most %lld rows of X and partial Y received, %lld by all ranks\n", "",
                (long long)c->most.joint.received, (long long)c->joint);
}

void sp_grid_cost_ranks(FILE *out, const sp_rank_count *c, int p, int q)
{
    fprintf(out,
            "\n    rank      (p,q)        rows       entries  rows of X: own  received  from    sent    to  "
            "waiting rows\n");
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
    spmm_status status = sp_grid_cost_ranges(a, partition, model, &ranges);
    if (status == SPMM_OK) status = sp_grid_cost_count(a, &ranges, model, NULL, cost);
    sp_ranges_destroy(&ranges);
    return status;
}

spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks,
                              const sp_cost_model *model, FILE *table, sp_grid_cost *best)
{
    /* the rows would have to be renumbered for each number of row blocks; instead, balance the blocks by
       entries */
    const sp_partition by = sp_partition_renumbers(partition) ? SP_PARTITION_NNZ : partition;
    if (table) sp_grid_cost_head(table, model->k);
    for (int columns = 1; columns <= ranks; columns++) {
        sp_grid_cost cost;
        const int rows = ranks / columns;
        if (ranks % columns || (columns == 1 && best->p == ranks)) continue;
        if (!table && columns > 1 && lower_bound(a, rows, columns, model) >= best->cost) continue;
        TRY(cost_of(a, by, rows, columns, model, &cost));
        if (table) sp_grid_cost_line(table, a, &cost);
        if (best->p == 0 || cost.cost < best->cost) *best = cost;
    }
    return SPMM_OK;
}
