/** Chooses the grid and the blocks, renumbers the matrix, selects rows to verify; implements --dry-run. */
#include <string.h>

#include "base/memory.h"
#include "distribute/comm_volume.h"
#include "distribute/reorder.h"
#include "spmm_mpi/grid_cost.h"
#include "spmm_mpi/job.h"

static int is_verbose(const sp_job *job) { return sp_is_root(job) && job->options.verbosity >= 0; }

static int64_t greatest_k(const sp_job *job)
{
    int64_t k = 1;
    for (int i = 0; i < job->options.k_count; i++)
        if (job->options.k[i] > k) k = job->options.k[i];
    return k;
}

/* ---- the grid ---- */

/** With --grid auto, rank 0 finds the grid of least cost, and all ranks create it in place of job->grid. */
static spmm_status choose_grid(sp_job *job)
{
    int dims[2] = {0, 0};
    spmm_status status = SPMM_OK;
    if (!job->options.grid_auto) return SPMM_OK;
    if (sp_is_root(job))
        status = sp_grid_cost_best(&job->a, job->options.partition, job->grid.size, greatest_k(job),
                                   job->binding.threads, job->options.verbosity > 0 ? stdout : NULL, &dims[0],
                                   &dims[1]);
    TRY(sp_agree(job->grid.comm, "grid", status));
    TRY(sp_bcast(job->grid.comm, SP_ROOT, dims, sizeof dims));
    sp_grid_destroy(&job->grid);
    return sp_grid_create(MPI_COMM_WORLD, dims[0], dims[1], &job->grid);
}

/* ---- renumbering by a graph partitioner; rank 0 ---- */

/** Counts the rows of X that all ranks together receive in a product if matrix a is split by `partition`. */
static spmm_status count_received(const sp_job *job, const spmm_csr *a, sp_partition partition,
                                  int64_t *received)
{
    sp_grid_cost cost = {.received = 0};
    sp_ranges ranges;
    TRY(sp_ranges_create(job->ranges.p, job->ranges.q, &ranges));
    memcpy(ranges.row_begin, job->ranges.row_begin, (size_t)(ranges.p + 1) * sizeof *ranges.row_begin);
    spmm_status status = sp_grid_cost_ranges(a, partition, job->binding.threads, &ranges);
    if (status == SPMM_OK) status = sp_grid_cost_count(a, &ranges, 1, job->binding.threads, NULL, &cost);
    *received = cost.received;
    sp_ranges_destroy(&ranges);
    return status;
}

static spmm_status permute_x(sp_job *job)
{
    spmm_multivector old = job->x_file;
    if (!job->options.x_file) return SPMM_OK;
    TRY(spmm_multivector_create(old.rows, old.k, old.precision, SPMM_CPU, &job->x_file));
    const spmm_status status = sp_multivector_permute(&old, job->perm, 0, &job->x_file);
    spmm_multivector_destroy(&old);
    return status;
}

/** Replaces A by P A P^T with a permutation P computed by METIS, and prints the communication volume before
 *  and after. */
static spmm_status renumber(sp_job *job)
{
    spmm_csr renumbered;
    int64_t before = 0, after = 0, cut = 0;
    TRY(sp_alloc((void **)&job->perm, job->a.rows, sizeof *job->perm, "new numbers of the rows"));
    TRY(count_received(job, &job->a, SP_PARTITION_NNZ, &before));
    TRY(sp_graph_partition(&job->a, job->ranges.p, job->perm, job->ranges.row_begin, &cut));
    TRY(sp_csr_permute(&job->a, job->perm, job->binding.threads, &renumbered));
    spmm_csr_destroy(&job->a);
    job->a = renumbered;
    TRY(permute_x(job));
    TRY(count_received(job, &job->a, SP_PARTITION_GRAPH, &after));
    if (is_verbose(job))
        printf(
            "graph      rows renumbered in %d parts, %lld edges cut; rows of X that all ranks receive: %lld before,"
            " %lld after\n",
            job->ranges.p, (long long)cut, (long long)before, (long long)after);
    return SPMM_OK;
}

/** Sends each rank the indices that its rows of X had before renumbering: the generated values of X depend on
 *  these indices. */
static spmm_status share_old_numbers(sp_job *job)
{
    const sp_ranges *const r = &job->ranges;
    const int p = job->grid.coords[0], q = job->grid.coords[1];
    const int64_t rows = sp_x_end(r, p, q) - sp_x_first(r, p, q);
    int64_t *old = NULL;
    spmm_status status = sp_alloc((void **)&job->x_old, rows, sizeof *old, "old numbers of rows");
    if (status == SPMM_OK && sp_is_root(job)) {
        status = sp_alloc((void **)&old, job->a.cols, sizeof *old, "old numbers of rows");
        for (int64_t i = 0; status == SPMM_OK && i < job->a.cols; i++) old[job->perm[i]] = i;
    }
    status = sp_agree(job->grid.comm, "partition", status);
    if (status == SPMM_OK)
        status = sp_scatter_rows(&job->grid, r, old, sizeof *old, job->x_old, SP_TAG_OLD_ROWS);
    sp_free(old);
    return status;
}

/* ---- data for verification; rank 0 only ---- */

double sp_job_verify_bytes(const sp_job *job)
{
    return (double)(job->record.matrix.rows + job->record.matrix.cols) * (double)greatest_k(job) *
           (double)sp_value_size(job->options.precision);
}

spmm_status sp_job_list_sample(sp_job *job, int64_t *count)
{
    const int blocks = job->ranges.p;
    int64_t *first;
    TRY(sp_alloc((void **)&job->sampled, SP_SAMPLE_ROWS + blocks, sizeof *job->sampled, "sample rows"));
    TRY(sp_alloc((void **)&first, blocks + 1, sizeof *first, "sample rows"));
    sp_sample_rows(job->ranges.row_begin, blocks, job->sampled, first);
    *count = first[blocks];
    sp_free(first);
    return SPMM_OK;
}

static spmm_status take_sample(sp_job *job)
{
    int64_t count;
    TRY(sp_job_list_sample(job, &count));
    return sp_csr_pick(&job->a, job->sampled, count, &job->sample);
}

static spmm_status partition_on_root(sp_job *job)
{
    if (job->options.partition == SP_PARTITION_GRAPH) TRY(renumber(job));
    TRY(sp_grid_cost_ranges(&job->a, job->options.partition, job->binding.threads, &job->ranges));
    if (job->verify == SP_VERIFY_FULL && sp_job_verify_bytes(job) > 0.8 * (double)sp_available_bytes())
        job->verify = SP_VERIFY_SAMPLE;
    return job->verify == SP_VERIFY_SAMPLE ? take_sample(job) : SPMM_OK;
}

spmm_status sp_job_partition(sp_job *job)
{
    const double start = MPI_Wtime();
    job->verify = job->options.verify;
    TRY(choose_grid(job));
    spmm_status status = sp_ranges_create(job->grid.dims[0], job->grid.dims[1], &job->ranges);
    if (status == SPMM_OK && sp_is_root(job)) status = partition_on_root(job);
    TRY(sp_agree(job->grid.comm, "partition", status));
    int64_t shared[3] = {job->verify, job->a.rows, job->a.cols};
    TRY(sp_bcast(job->grid.comm, SP_ROOT, shared, sizeof shared));
    TRY(sp_ranges_share(&job->grid, SP_ROOT, shared[1], shared[2], &job->ranges));
    job->verify = (sp_verify_mode)shared[0];
    job->record.matrix.rows = shared[1];
    job->record.matrix.cols = shared[2];
    if (job->options.partition == SP_PARTITION_GRAPH && !job->options.x_file) TRY(share_old_numbers(job));
    job->record.seconds.partition = MPI_Wtime() - start;
    return SPMM_OK;
}

/* ---- --dry-run; rank 0 only ---- */

static spmm_status plan_one(const sp_job *job, int ranks)
{
    const sp_options *o = &job->options;
    const int64_t k = greatest_k(job);
    const int threads = job->binding.threads;
    int p = ranks, q = 1;
    sp_ranges r;
    sp_grid_cost cost;
    sp_rank_count *counts = NULL;
    if (o->grid_auto) TRY(sp_grid_cost_best(&job->a, o->partition, ranks, k, threads, NULL, &p, &q));
    if (o->p * o->q == ranks) p = o->p, q = o->q;
    TRY(sp_ranges_create(p, q, &r));
    spmm_status status = sp_alloc((void **)&counts, ranks, sizeof *counts, "counts of the ranks");
    if (status == SPMM_OK) status = sp_grid_cost_ranges(&job->a, o->partition, threads, &r);
    if (status == SPMM_OK) status = sp_grid_cost_count(&job->a, &r, k, threads, counts, &cost);
    if (status == SPMM_OK) {
        sp_grid_cost_line(stdout, &job->a, &cost, "");
        if (o->verbosity > 0) {
            sp_grid_cost_ranks(stdout, counts, p, q);
            printf("\n");
        }
    }
    sp_free(counts);
    sp_ranges_destroy(&r);
    return status;
}

static spmm_status plan_all(const sp_job *job)
{
    const sp_options *o = &job->options;
    char whole[32];
    printf("matrix     %s, %lld x %lld, %lld entries: %s as CSR, which rank 0 holds while it sends it out\n",
           o->matrix, (long long)job->a.rows, (long long)job->a.cols, (long long)job->a.nnz,
           sp_bytes_text(whole, sizeof whole, (double)sp_csr_bytes(&job->a)));
    sp_grid_cost_head(stdout, greatest_k(job));
    for (int i = 0; i < o->plan_count; i++) TRY(plan_one(job, (int)o->plan_ranks[i]));
    if (o->plan_count == 0) TRY(plan_one(job, job->grid.size));
    printf(
        "each the most of any rank; `from`: neighbours; waiting rows: those that need a received row of X\n");
    return SPMM_OK;
}

spmm_status sp_job_dry_run(sp_job *job)
{
    return sp_agree(job->grid.comm, "partition", sp_is_root(job) ? plan_all(job) : SPMM_OK);
}
