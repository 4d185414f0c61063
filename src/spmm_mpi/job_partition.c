/** Chooses the grid and the blocks, and selects rows to verify. Implements --dry-run. */
#include "base/memory.h"
#include "base/words.h"
#include "order/comm_volume.h"
#include "spmm_mpi/grid_cost.h"
#include "spmm_mpi/job.h"

/* ---- the grid ---- */

/** Returns the cost model for the largest K of the run. */
static sp_cost_model usual_model(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    return (sp_cost_model){.exchange = o->exchange,
                           .joint = sp_options_may_join(o),
                           .k = sp_most_columns(&input->columns),
                           .threads = place->binding.threads,
                           .per_node = o->ranks_per_node,
                           .device = o->device == SP_DEVICE_AUTO ? place->binding.device
                                                                 : (spmm_device)o->device,
                           .stencil = sp_job_stencil(o, place)};
}

/** With --grid auto, rank 0 finds the grid with the least cost, and all ranks replace *grid by it. */
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

/* ---- renumbered rows ---- */

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

/* ---- the ranges, and the verified rows ---- */

double sp_job_verify_bytes(const sp_job_input *input, spmm_precision precision)
{
    return (double)(input->facts.rows + input->facts.cols) * (double)sp_most_columns(&input->columns) *
           (double)sp_value_size(precision);
}

static spmm_status partition_on_root(const sp_options *o, const sp_place *place, sp_job_input *input,
                                     sp_distribution *dist, sp_verify_mode *mode)
{
    if (*mode == SP_VERIFY_FULL &&
        sp_job_verify_bytes(input, o->precision) > 0.8 * (double)sp_available_bytes())
        *mode = SP_VERIFY_SAMPLE;
    const sp_cost_model model = {.threads = place->binding.threads};
    return sp_grid_cost_ranges(&input->a, dist->cut.taken, &model, &dist->ranges);
}

spmm_status sp_job_partition(const sp_options *o, sp_place *place, sp_job_input *input, sp_distribution *dist,
                             sp_reference *reference)
{
    const sp_grid *const grid = &place->grid;
    const sp_matrix_facts *const facts = &input->facts;
    reference->mode = o->verify;
    TRY(choose_grid(o, place, input));
    TRY(sp_agree(grid->comm, "partition", sp_ranges_create(grid->dims[0], grid->dims[1], &dist->ranges)));
    TRY(sp_job_renumber(o, place, input, dist));
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) status = partition_on_root(o, place, input, dist, &reference->mode);
    TRY(sp_agree(grid->comm, "partition", status));
    TRY(sp_bcast(grid->comm, SP_ROOT, &reference->mode, sizeof reference->mode));
    TRY(sp_ranges_share(grid, SP_ROOT, facts->rows, facts->cols, &dist->ranges));
    if (sp_partition_renumbers(dist->cut.taken) && !o->x_file)
        TRY(share_old_numbers(place, facts->cols, o->two_stage, dist));
    if (reference->mode != SP_VERIFY_SAMPLE) return SPMM_OK;
    TRY(sp_job_list_sample(grid, &dist->ranges, reference));
    if (sp_is_root(place))
        status = sp_csr_pick(&input->a, reference->sampled, reference->count, &reference->rows);
    return sp_agree(grid->comm, "sample", status);
}

/* ---- --dry-run; rank 0 only ---- */

/** A grid in the table, with the memory, communication and cost of its ranks. */
typedef struct planned_grid {
    sp_ranges ranges;
    sp_rank_count *counts; /* [P*Q] */
    sp_grid_cost cost;
} planned_grid;

/** Determines the grid for a number of ranks: the grid of --grid if it has that number, else the best grid
 *  with --grid auto, else P x 1. */
static spmm_status grid_of(const sp_options *o, const spmm_csr *a, const sp_cost_model *model, int ranks,
                           int dims[2])
{
    sp_grid_cost best = {.p = 0};
    const int given = o->p * o->q == ranks;
    if (o->grid_auto) TRY(sp_grid_cost_best(a, o->partition, ranks, model, NULL, &best));
    dims[0] = given ? o->p : o->grid_auto ? best.p : ranks;
    dims[1] = ranks / dims[0];
    return SPMM_OK;
}

/** Counts the cost of a grid. \param [out] g zeroed by the caller, who destroys it, also after a failure */
static spmm_status count_grid(const sp_options *o, const spmm_csr *a, const sp_cost_model *model,
                              const int dims[2], planned_grid *g)
{
    TRY(sp_ranges_create(dims[0], dims[1], &g->ranges));
    TRY(sp_alloc((void **)&g->counts, (int64_t)dims[0] * dims[1], sizeof *g->counts, "counts of the ranks"));
    TRY(sp_grid_cost_ranges(a, o->partition, model, &g->ranges));
    return sp_grid_cost_count(a, &g->ranges, model, g->counts, &g->cost);
}

static spmm_status print_grid(const sp_options *o, const spmm_csr *a, const sp_cost_model *model,
                              const planned_grid *g)
{
    sp_grid_cost_line(stdout, a, &g->cost);
    if (o->verbosity > 0) {
        sp_grid_cost_ranks(stdout, g->counts, g->cost.p, g->cost.q);
        printf("\n");
    }
    fflush(stdout);
    return sp_report_counts(&(sp_counts_record){o, a, model, &g->cost, g->counts});
}

static spmm_status plan_one(const sp_options *o, const spmm_csr *a, const sp_cost_model *model, int ranks)
{
    planned_grid g = {.counts = NULL};
    int dims[2];
    TRY(grid_of(o, a, model, ranks, dims));
    spmm_status status = count_grid(o, a, model, dims, &g);
    if (status == SPMM_OK) status = print_grid(o, a, model, &g);
    sp_free(g.counts);
    sp_ranges_destroy(&g.ranges);
    return status;
}

static spmm_status plan_all(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    const spmm_csr *const a = &input->a;
    const sp_cost_model model = usual_model(o, place, input);
    char whole[32];
    printf("matrix     %s, %lld x %lld, %lld entries: %s as CSR, which rank 0 holds during the scatter\n",
           SHOWN_WHOLE(o->matrix), (long long)a->rows, (long long)a->cols, (long long)a->nnz,
           sp_bytes_text(whole, sizeof whole, (double)sp_csr_bytes(a)));
    sp_grid_cost_head(stdout, model.k);
    for (int i = 0; i < o->plan_count; i++) TRY(plan_one(o, a, &model, (int)o->plan_ranks[i]));
    if (o->plan_count == 0) TRY(plan_one(o, a, &model, place->grid.size));
    printf("maxima over the ranks; from: number of neighbors; waiting rows: rows that need a received row of "
           "X\n");
    return SPMM_OK;
}

spmm_status sp_job_dry_run(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    return sp_agree(place->grid.comm, "partition", sp_is_root(place) ? plan_all(o, place, input) : SPMM_OK);
}
