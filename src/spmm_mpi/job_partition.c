/** Chooses the grid and the blocks, renumbers the matrix, selects rows to verify; implements --dry-run. */
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "partition/comm_volume.h"
#include "partition/reorder.h"
#include "spmm_mpi/grid_cost.h"
#include "spmm_mpi/job.h"
#include "spmm_mpi/kernel_rate.h"

/* ---- the grid ---- */

/** Returns the cost model of a machine of which only ratios are assumed, for a product with most columns. */
static sp_cost_model usual_model(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    return (sp_cost_model){.machine = sp_machine_unknown(),
                           .kernel_rate = 1,
                           .exchange = o->exchange,
                           .joint = o->exchange == SPMM_EXCHANGE_JOINT ||
                                    (o->exchange == SPMM_EXCHANGE_AUTO && o->any_order),
                           .k = sp_most_columns(&input->columns),
                           .threads = place->binding.threads};
}

/** With --grid auto, rank 0 finds the grid of least cost, and all ranks create it in place of *grid. */
static spmm_status choose_grid(const sp_options *o, sp_place *place, const sp_job_input *input)
{
    sp_grid *const grid = &place->grid;
    int dims[2] = {0, 0};
    spmm_status status = SPMM_OK;
    if (!o->grid_auto) return SPMM_OK;
    if (sp_is_root(place)) {
        const sp_cost_model model = usual_model(o, place, input);
        sp_grid_cost best = {0};
        status = sp_grid_cost_best(&input->a, o->partition, grid->size, &model,
                                   place->verbosity > 0 ? stdout : NULL, &best);
        dims[0] = best.p;
        dims[1] = best.q;
    }
    TRY(sp_agree(grid->comm, "grid", status));
    TRY(sp_bcast(grid->comm, SP_ROOT, dims, sizeof dims));
    sp_grid_destroy(grid);
    return sp_grid_create(MPI_COMM_WORLD, dims[0], dims[1], grid);
}

/* ---- renumbering by a graph partitioner; rank 0 ---- */

/** Counts the rows of X that all ranks together receive in a product if matrix a is split by `partition`.
 *  \param [in] blocks  the size of the grid, and for SP_PARTITION_GRAPH the row blocks */
static spmm_status count_received(const spmm_csr *a, sp_partition partition, int threads,
                                  const sp_ranges *blocks, int64_t *received)
{
    sp_grid_cost cost = {.received = 0};
    sp_ranges ranges;
    TRY(sp_ranges_create(blocks->p, blocks->q, &ranges));
    memcpy(ranges.row_begin, blocks->row_begin, (size_t)(ranges.p + 1) * sizeof *ranges.row_begin);
    spmm_status status = sp_grid_cost_ranges(a, partition, threads, &ranges);
    const sp_cost_model model = {.machine = sp_machine_unknown(),
                                 .kernel_rate = 1,
                                 .exchange = SPMM_EXCHANGE_HALO,
                                 .k = 1,
                                 .threads = threads};
    if (status == SPMM_OK) status = sp_grid_cost_count(a, &ranges, &model, NULL, &cost);
    *received = cost.received;
    sp_ranges_destroy(&ranges);
    return status;
}

/** Replaces A by P A P^T with a permutation P computed by METIS, and prints the communication volume before
 *  and after. If X comes from a file, its rows are renumbered too. */
static spmm_status renumber(const sp_place *place, sp_job_input *input, sp_distribution *dist)
{
    const int threads = place->binding.threads;
    spmm_csr renumbered, *const a = &input->a;
    sp_ranges *const r = &dist->ranges;
    int64_t before = 0, after = 0, cut = 0;
    TRY(sp_alloc((void **)&dist->perm, a->rows, sizeof *dist->perm, "new numbers of the rows"));
    TRY(count_received(a, SP_PARTITION_NNZ, threads, r, &before));
    TRY(sp_graph_partition(a, r->p, dist->perm, r->row_begin, &cut));
    TRY(sp_csr_permute(a, dist->perm, threads, &renumbered));
    spmm_csr_destroy(a);
    *a = renumbered;
    if (input->x.data) TRY(sp_job_permute(dist->perm, &input->x));
    TRY(count_received(a, SP_PARTITION_GRAPH, threads, r, &after));
    if (place->verbosity >= 0)
        printf(
            "graph      rows renumbered in %d parts, %lld edges cut; rows of X that all ranks receive: %lld before,"
            " %lld after\n",
            r->p, (long long)cut, (long long)before, (long long)after);
    return SPMM_OK;
}

/** Sends each rank the indices that its rows of X had before renumbering: the generated values of X depend on
 *  these indices. */
static spmm_status share_old_numbers(const sp_place *place, int64_t cols, int two_stage,
                                     sp_distribution *dist)
{
    const sp_grid *const grid = &place->grid;
    const sp_ranges *const r = &dist->ranges;
    const int p = grid->coords[0], q = grid->coords[1];
    const int64_t rows = sp_x_end(r, p, q) - sp_x_first(r, p, q);
    int64_t *old = NULL;
    spmm_status status = sp_alloc((void **)&dist->x_old, rows, sizeof *old, "old numbers of rows");
    if (status == SPMM_OK && sp_is_root(place)) {
        status = sp_alloc((void **)&old, cols, sizeof *old, "old numbers of rows");
        for (int64_t i = 0; status == SPMM_OK && i < cols; i++) old[dist->perm[i]] = i;
    }
    status = sp_agree(grid->comm, "partition", status);
    if (status == SPMM_OK)
        status = sp_scatter_rows(grid, r, two_stage, old, sizeof *old, dist->x_old, SP_TAG_OLD_ROWS);
    sp_free(old);
    return status;
}

/* ---- the ranges, and what is verified ---- */

double sp_job_verify_bytes(const sp_job_input *input, spmm_precision precision)
{
    return (double)(input->facts.rows + input->facts.cols) * (double)sp_most_columns(&input->columns) *
           (double)sp_value_size(precision);
}

static spmm_status partition_on_root(const sp_options *o, const sp_place *place, sp_job_input *input,
                                     sp_distribution *dist, sp_verify_mode *mode)
{
    if (o->partition == SP_PARTITION_GRAPH) TRY(renumber(place, input, dist));
    if (*mode == SP_VERIFY_FULL &&
        sp_job_verify_bytes(input, o->precision) > 0.8 * (double)sp_available_bytes())
        *mode = SP_VERIFY_SAMPLE;
    return sp_grid_cost_ranges(&input->a, o->partition, place->binding.threads, &dist->ranges);
}

spmm_status sp_job_partition(const sp_options *o, sp_place *place, sp_job_input *input, sp_distribution *dist,
                             sp_reference *reference)
{
    const sp_grid *const grid = &place->grid;
    const sp_matrix_facts *const facts = &input->facts;
    reference->mode = o->verify;
    TRY(choose_grid(o, place, input));
    spmm_status status = sp_ranges_create(grid->dims[0], grid->dims[1], &dist->ranges);
    if (status == SPMM_OK && sp_is_root(place))
        status = partition_on_root(o, place, input, dist, &reference->mode);
    TRY(sp_agree(grid->comm, "partition", status));
    TRY(sp_bcast(grid->comm, SP_ROOT, &reference->mode, sizeof reference->mode));
    TRY(sp_ranges_share(grid, SP_ROOT, facts->rows, facts->cols, &dist->ranges));
    if (o->partition == SP_PARTITION_GRAPH && !o->x_file)
        TRY(share_old_numbers(place, facts->cols, o->two_stage, dist));
    if (reference->mode != SP_VERIFY_SAMPLE) return SPMM_OK;
    TRY(sp_job_list_sample(grid, &dist->ranges, reference));
    if (sp_is_root(place))
        status = sp_csr_pick(&input->a, reference->sampled, reference->count, &reference->rows);
    return sp_agree(grid->comm, "sample", status);
}

/* ---- --dry-run; rank 0 only ---- */

/** What the lines of the table are made with. */
typedef struct planning {
    const sp_options *options;
    const sp_place *place;
    const spmm_csr *a;
    sp_machine machine; /* of --machine */
    sp_kernel_clock clock;
    sp_cost_model model; /* its kernel_rate is that of the line */
} planning;

/** A grid of a line, what its ranks have and move, and what that costs. */
typedef struct planned_grid {
    sp_ranges ranges;
    sp_rank_count *counts; /* [P*Q] */
    sp_grid_cost cost;
} planned_grid;

static void destroy_grid(planned_grid *g)
{
    sp_free(g->counts);
    sp_ranges_destroy(&g->ranges);
}

/** Counts a grid. \param [out] g  zeroed by the caller, who destroys it, also after a failure */
static spmm_status count_grid(const planning *p, int rows, int columns, planned_grid *g)
{
    TRY(sp_ranges_create(rows, columns, &g->ranges));
    TRY(sp_alloc((void **)&g->counts, (int64_t)rows * columns, sizeof *g->counts, "counts of the ranks"));
    TRY(sp_grid_cost_ranges(p->a, p->options->partition, p->model.threads, &g->ranges));
    return sp_grid_cost_count(p->a, &g->ranges, &p->model, g->counts, &g->cost);
}

/** Counts in place of g another grid of as many ranks. */
static spmm_status count_other(const planning *p, int rows, int columns, planned_grid *g)
{
    if (g->ranges.p == rows && g->ranges.q == columns) return SPMM_OK;
    destroy_grid(g);
    *g = (planned_grid){.counts = NULL};
    return count_grid(p, rows, columns, g);
}

/** Makes the line of a number of ranks: of the grid of --grid, or of the best one, which is asked for or belongs to a
 *  prediction. \param [out] g  zeroed by the caller, who destroys it, also after a failure */
static spmm_status plan_grid(planning *p, int ranks, planned_grid *g)
{
    const sp_options *const o = p->options;
    TRY(count_grid(p, ranks, 1, g));
    if (o->machine) {
        TRY(sp_kernel_rate(&p->clock, p->a, &g->ranges, g->counts, p->model.k, &p->model.kernel_rate));
        TRY(sp_grid_cost_predict(p->a, &g->ranges, &p->model, g->counts, &g->cost));
    }
    if (o->p * o->q == ranks) return count_other(p, o->p, o->q, g);
    if (!o->grid_auto && !o->machine) return SPMM_OK;
    sp_grid_cost best = g->cost;
    TRY(sp_grid_cost_best(p->a, o->partition, ranks, &p->model, NULL, &best));
    return count_other(p, best.p, best.q, g);
}

static spmm_status print_plan(const planning *p, const planned_grid *g)
{
    const sp_options *const o = p->options;
    sp_grid_cost_line(stdout, p->a, &g->cost, o->machine != NULL);
    if (o->verbosity > 0) {
        if (o->machine)
            printf("%8s a rank multiplies %.3g bytes/s of its DRAM bound\n", "", p->model.kernel_rate);
        sp_grid_cost_ranks(stdout, g->counts, g->cost.p, g->cost.q);
        printf("\n");
    }
    fflush(stdout);
    if (!o->machine) return SPMM_OK;
    const sp_prediction prediction = {o, p->a, &p->machine, p->model.kernel_rate, p->model.k, &g->cost};
    return sp_report_prediction(&prediction);
}

static spmm_status plan_one(planning *p, int ranks)
{
    planned_grid g = {.counts = NULL};
    spmm_status status = plan_grid(p, ranks, &g);
    if (status == SPMM_OK) status = print_plan(p, &g);
    destroy_grid(&g);
    return status;
}

static spmm_status plan_lines(planning *p)
{
    const sp_options *const o = p->options;
    sp_grid_cost_head(stdout, p->model.k, o->machine != NULL);
    for (int i = 0; i < o->plan_count; i++) TRY(plan_one(p, (int)o->plan_ranks[i]));
    if (o->plan_count == 0) TRY(plan_one(p, p->place->grid.size));
    return SPMM_OK;
}

/** Reads the machine file, if one is given, and prepares timings of the kernel. */
static spmm_status plan_machine(planning *p)
{
    const sp_options *const o = p->options;
    spmm_plan_options plan = sp_job_plan_options(o, &p->place->binding);
    if (!o->machine) return SPMM_OK;
    TRY(sp_machine_read(o->machine, &p->machine));
    plan.format = o->kernel ? o->kernel->format : o->format;
    plan.kernel = o->kernel ? o->kernel->id : NULL;
    p->model.machine = &p->machine;
    TRY(sp_kernel_clock_create(&p->machine, &p->place->binding, &plan, &p->clock));
    printf("machine    %s: %d nodes of %d ranks, %s; times are of the slowest rank, in ms\n", p->machine.name,
           p->machine.nodes, p->machine.ranks_per_node, sp_device_word((spmm_device)p->machine.device));
    return SPMM_OK;
}

static spmm_status plan_all(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    const spmm_csr *const a = &input->a;
    planning p = {.options = o, .place = place, .a = a, .model = usual_model(o, place, input)};
    char whole[32];
    printf("matrix     %s, %lld x %lld, %lld entries: %s as CSR, which rank 0 holds while it sends it out\n",
           o->matrix, (long long)a->rows, (long long)a->cols, (long long)a->nnz,
           sp_bytes_text(whole, sizeof whole, (double)sp_csr_bytes(a)));
    spmm_status status = plan_machine(&p);
    if (status == SPMM_OK) status = plan_lines(&p);
    sp_kernel_clock_destroy(&p.clock);
    if (status == SPMM_OK)
        printf(
            "each the most of any rank; `from`: neighbours; waiting rows: those that need a received row of X\n");
    return status;
}

spmm_status sp_job_dry_run(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    return sp_agree(place->grid.comm, "partition", sp_is_root(place) ? plan_all(o, place, input) : SPMM_OK);
}
