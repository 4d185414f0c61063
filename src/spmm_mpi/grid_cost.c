/** Estimates and prints what a product costs on a process grid, and finds the grid of least cost. */
#include "spmm_mpi/grid_cost.h"

#include <string.h>

#include "base/memory.h"
#include "formats/multivector.h"

/** Weight of a received byte relative to a byte of local memory traffic: about the ratio of a GPU's memory
 *  bandwidth to NVLink's, and of a socket's memory bandwidth to InfiniBand's. */
enum { WIRE = 8 };

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
    if (c->receives_from > most->receives_from) most->receives_from = c->receives_from;
    if (c->sends_to > most->sends_to) most->sends_to = c->sends_to;
}

static void add_rank(const sp_rank_count *c, int64_t k, spmm_precision precision, int steps,
                     sp_grid_cost *cost)
{
    const double size = (double)sp_value_size(precision);
    const double row = (double)sp_multivector_ld(k, precision) * size;
    const double block = (double)c->nnz * (size + 4) + 8 * ((double)c->rows + 1);
    const double x_and_y = row * (double)(c->x_rows + c->halo_rows + c->rows);
    const double moved = row * (double)(c->halo_rows + steps * c->partial_rows);
    const double held = block + 4 * (double)c->nnz + x_and_y + row * (double)c->sent_rows;
    const double all = block + x_and_y + WIRE * moved;
    take_most(c, &cost->most);
    cost->received += c->halo_rows;
    if (moved > cost->moved) cost->moved = moved;
    if (held > cost->held) cost->held = held;
    if (all > cost->cost) cost->cost = all;
}

spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *r, int64_t k, int threads,
                               sp_rank_count *counts, sp_grid_cost *cost)
{
    sp_rank_count *own = NULL;
    *cost = (sp_grid_cost){.p = r->p, .q = r->q};
    if (!counts) TRY(sp_alloc((void **)&own, (int64_t)r->p * r->q, sizeof *own, "counts of the ranks"));
    if (!counts) counts = own;
    const spmm_status status = sp_comm_volume(a, r->p, r->q, r->row_begin, r->col_begin, r->x_begin, threads,
                                              counts);
    for (int64_t i = 0; status == SPMM_OK && i < (int64_t)r->p * r->q; i++)
        add_rank(&counts[i], k, a->precision, steps_of_tree(r->q), cost);
    sp_free(own);
    return status;
}

void sp_grid_cost_head(FILE *out, int64_t k)
{
    fprintf(
        out,
        "\n   ranks        grid  entries a rank  imbalance  rows of X: own  received  by all ranks  from  waiting rows"
        "  moved, K = %-4lld  memory a rank\n",
        (long long)k);
}

void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *c, const char *remark)
{
    char grid[32], moved[32], held[32];
    const double ranks = (double)c->p * c->q;
    snprintf(grid, sizeof grid, "%dx%d", c->p, c->q);
    fprintf(out, "%8.0f %11s %15lld %10.3f %15lld %9lld %13lld %5d %13lld %15s %14s  %s\n", ranks, grid,
            (long long)c->most.nnz, a->nnz ? (double)c->most.nnz * ranks / (double)a->nnz : 1,
            (long long)c->most.x_rows, (long long)c->most.halo_rows, (long long)c->received,
            c->most.receives_from, (long long)c->most.boundary_rows,
            sp_bytes_text(moved, sizeof moved, c->moved), sp_bytes_text(held, sizeof held, c->held), remark);
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

static spmm_status cost_of(const spmm_csr *a, sp_partition partition, int p, int q, int64_t k, int threads,
                           sp_grid_cost *cost)
{
    sp_ranges ranges;
    TRY(sp_ranges_create(p, q, &ranges));
    spmm_status status = sp_grid_cost_ranges(a, partition, threads, &ranges);
    if (status == SPMM_OK) status = sp_grid_cost_count(a, &ranges, k, threads, NULL, cost);
    sp_ranges_destroy(&ranges);
    return status;
}

spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, int threads,
                              FILE *table, int *p, int *q)
{
    double least = 0;
    /* METIS would have to cut the graph for each number of row blocks; balance the blocks by entries
       instead */
    const sp_partition by = partition == SP_PARTITION_GRAPH ? SP_PARTITION_NNZ : partition;
    if (table) sp_grid_cost_head(table, k);
    for (int columns = 1; columns <= ranks; columns++) {
        sp_grid_cost cost;
        if (ranks % columns) continue;
        TRY(cost_of(a, by, ranks / columns, columns, k, threads, &cost));
        if (table) sp_grid_cost_line(table, a, &cost, "");
        if (columns > 1 && cost.cost >= least) continue;
        least = cost.cost;
        *p = ranks / columns;
        *q = columns;
    }
    return SPMM_OK;
}
