/** Cuts the rows of a matrix on one rank into one row block per rank. Some cuts renumber the rows, so that
 *  products exchange fewer rows of X. */
#include "plan/cut.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "distribute/scatter.h"
#include "formats/csr.h"
#include "formats/multivector.h"
#include "halo/node_rows.h"
#include "plan/plan_check.h"
#include "product/choose.h"
#include "product/product.h"

/* ---- the model ---- */

/* Bytes per second at which a rank receives rows of X: between GPUs of a node, between cores of a node,
 * between nodes. The rates are typical; a wrong rate only shifts the number of products that repay a
 * renumbering. */
static const double GPU_RATE = 100e9, CPU_RATE = 4e9, NETWORK_RATE = 12e9;

spmm_status sp_cut_setting_of(const sp_grid *grid, const spmm_plan_options *o, int threads, int64_t k,
                              spmm_precision precision, int chooses, sp_cut_setting *s, const char **why)
{
    const int on_cpu = o->device == SPMM_CPU;
    const int rounds = sp_plan_rounds(o, precision);
    const double row = (double)(sp_multivector_ld(k, precision) * sp_value_size(precision)) /
                       (rounds ? 2 : 1);
    int consecutive, shared, which, on_node;
    TRY(sp_node_ranks_check(grid, &consecutive, &shared));
    TRY(sp_node_rank(grid->comm, &which, &on_node));
    int ends[2] = {on_node, -on_node};
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, grid->comm)));
    const int shares = on_cpu && consecutive && o->column_blocks <= 1 && !rounds &&
                       (o->transport == SPMM_TRANSPORT_AUTO || o->transport == SPMM_TRANSPORT_SHARED);
    const double inside = on_cpu ? CPU_RATE : GPU_RATE;
    const int rows_on_node = on_node / grid->dims[1]; /* process rows on a node */
    *s = (sp_cut_setting){.parts = grid->dims[0],
                          .per_part = shares && chooses && ends[0] == -ends[1] ? on_node : 1,
                          .together = consecutive && ends[0] == -ends[1] && rows_on_node > 1 ? rows_on_node
                                                                                             : 1,
                          .threads = threads,
                          .products = (double)sp_products_of(o->products),
                          .second = row / (on_node == grid->size ? inside : NETWORK_RATE)};
    *why = NULL;
    if (o->exchange == SPMM_EXCHANGE_BCAST) *why = "as exchange bcast moves all of X";
    if (shares && on_node == grid->size) *why = "as the ranks share X in memory";
    return SPMM_OK;
}

/* ---- spmm_cut_create() ---- */

/** Arguments of spmm_cut_create(); `o` is not NULL. */
typedef struct asked {
    int root;
    const spmm_csr *a;
    spmm_cut_by by;
    int64_t k;
    const spmm_plan_options *o;
} asked;

/** Returns 1 if the cut renumbers rows, else 0. */
static int renumbers(spmm_cut_by by) { return by == SPMM_CUT_LAYOUT || by == SPMM_CUT_GRAPH; }

/** Checks root, and the matrix there. Local. */
static spmm_status check_matrix(const char *function, MPI_Comm comm, int root, const spmm_csr *a)
{
    int rank;
    TRY(sp_root_matrix_check(function, comm, root, a));
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    if (rank != root || a->rows == a->cols) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: a is %lld x %lld, expected a square matrix", function,
                   (long long)a->rows, (long long)a->cols);
}

static spmm_status check_here(const char *function, MPI_Comm comm, const asked *q, const spmm_cut *cut)
{
    TRY(sp_given(function, "cut", cut, "a place for the cut"));
    TRY(sp_among(function, "by", (int)q->by, "spmm_cut_by", SPMM_CUT_AUTO, SPMM_CUT_GRAPH));
    TRY(sp_plan_check_moves(function, q->o));
    if (q->o->column_blocks < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: options.column_blocks is %d, expected at least 0", function,
                       q->o->column_blocks);
    if (q->k < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: k is %lld, expected at least 0", function, (long long)q->k);
    if (renumbers(q->by) && q->o->exchange == SPMM_EXCHANGE_JOINT)
        return sp_fail(
            SPMM_ERR_USAGE,
            "%s: options.exchange is SPMM_EXCHANGE_JOINT, which needs increasing columns, but the cut "
            "named by `by` renumbers rows: change one of them",
            function);
    return check_matrix(function, comm, q->root, q->a);
}

static spmm_status cut_check(const char *function, MPI_Comm comm, const asked *q, const spmm_cut *cut)
{
    const sp_common all[] = {{"root", q->root, 1},
                             {"by", q->by, 1},
                             {"k", q->k, 1},
                             {"options.device", q->o->device, 1},
                             {"options.exchange", q->o->exchange, 1},
                             {"options.exchange_precision", q->o->exchange_precision, 1},
                             {"options.transport", q->o->transport, 1},
                             {"options.column_blocks", q->o->column_blocks, 1},
                             {"options.products", q->o->products, 1}};
    return sp_agree_common(comm, "partition", check_here(function, comm, q, cut), function, all,
                           sizeof all / sizeof *all);
}

/** The values of spmm_cut_by as partitions. */
static const sp_partition partition_of[] = {[SPMM_CUT_AUTO] = SP_PARTITION_AUTO,
                                            [SPMM_CUT_ENTRIES] = SP_PARTITION_NNZ,
                                            [SPMM_CUT_ROWS] = SP_PARTITION_ROWS,
                                            [SPMM_CUT_LAYOUT] = SP_PARTITION_LAYOUT,
                                            [SPMM_CUT_GRAPH] = SP_PARTITION_GRAPH};

static spmm_cut_by cut_by(sp_partition partition)
{
    int by = SPMM_CUT_ENTRIES;
    while (partition_of[by] != partition) by++;
    return (spmm_cut_by)by;
}

/** Chooses the cut, on root. If root lacks memory for the renumbered matrix that spmm_cut_scatter() needs,
 *  the cut is by entries. */
static spmm_status cut_choose(const asked *q, const sp_cut_setting *s, sp_renumbering *r, spmm_cut *cut)
{
    const sp_sizes sizes = {q->a->rows, q->a->cols, q->a->nnz};
    TRY(sp_renumbering_choose(q->a, s, r, &cut->moved_by_entries, cut->why, sizeof cut->why));
    const double bytes = sp_csr_bytes_of(&sizes, q->a->precision) + 8 * (double)q->a->rows;
    if (!r->perm || sp_memory_needs(bytes, "the renumbered matrix") == SPMM_OK) return SPMM_OK;
    sp_renumbering_destroy(r);
    snprintf(cut->why, sizeof cut->why, SP_NO_MEMORY_TO_RENUMBER);
    return sp_renumbering_make(q->a, s, SP_PARTITION_NNZ, r, NULL);
}

/** Makes the cut and counts the rows that it moves. On root.
 *  \param [in] why  for SPMM_CUT_AUTO: why the cut is by entries; NULL: the cut is chosen */
static spmm_status find_cut(const asked *q, const sp_cut_setting *s, const char *why, sp_renumbering *r,
                            spmm_cut *cut)
{
    sp_renumbering entries = {.by = SP_PARTITION_NNZ};
    const int chooses = q->by == SPMM_CUT_AUTO;
    const sp_partition by = chooses ? SP_PARTITION_NNZ : partition_of[q->by];
    cut->rows = q->a->rows;
    if (chooses && !why) return cut_choose(q, s, r, cut);
    if (chooses) snprintf(cut->why, sizeof cut->why, "auto: by entries, %s", why);
    TRY(sp_renumbering_make(q->a, s, by, r, NULL));
    cut->moved_by_entries = r->all;
    if (by == SP_PARTITION_NNZ) return SPMM_OK;
    const spmm_status status = sp_renumbering_make(q->a, s, SP_PARTITION_NNZ, &entries, NULL);
    cut->moved_by_entries = entries.all;
    sp_renumbering_destroy(&entries);
    return status;
}

static spmm_status cut_on_root(const asked *q, const sp_cut_setting *s, const char *why, sp_renumbering *r,
                               spmm_cut *cut)
{
    TRY(find_cut(q, s, why, r, cut));
    cut->by = cut_by(r->by);
    cut->moved = r->all;
    cut->seconds = r->spent;
    cut->number = r->perm;
    r->perm = NULL;
    return SPMM_OK;
}

/** Inverts cut->number, on root. \param [out] old  [rows] the caller frees it */
static spmm_status invert(const spmm_cut *cut, int64_t **old)
{
    TRY(sp_alloc((void **)old, cut->rows, sizeof **old, "old numbers of rows"));
    for (int64_t i = 0; i < cut->rows; i++) (*old)[cut->number[i]] = i;
    return SPMM_OK;
}

/** Makes each rank's list of rows, which root sends if rows are renumbered.
 *  \param [in] old  on root, from invert() */
static spmm_status send_lists(MPI_Comm comm, int root, int rank, const int64_t *old, spmm_cut *cut)
{
    const int64_t size = sizeof *old;
    const int64_t *const begin = cut->begin;
    if (!renumbers(cut->by)) {
        for (int64_t i = 0; i < cut->row_count; i++) cut->row[i] = cut->row_begin + i;
        return SPMM_OK;
    }
    if (rank != root) return sp_recv(comm, root, SP_TAG_OLD_ROWS, cut->row, cut->row_count * size);
    for (int r = 0; r < cut->ranks; r++) {
        const int64_t count = begin[r + 1] - begin[r];
        if (r != root)
            TRY(sp_send(comm, r, SP_TAG_OLD_ROWS, old + begin[r], count * size));
        else if (count > 0)
            memcpy(cut->row, old + begin[r], (size_t)(count * size));
    }
    return SPMM_OK;
}

/** Gives every rank the boundaries and its list of rows. Collective. */
static spmm_status cut_share(const sp_grid *grid, int root, const sp_renumbering *r, spmm_cut *cut)
{
    int64_t *old = NULL;
    spmm_cut facts = *cut;
    facts.number = NULL; /* root's pointer must not reach other ranks, even if the broadcast fails */
    TRY(sp_bcast(grid->comm, root, &facts, sizeof facts));
    facts.number = cut->number;
    *cut = facts;
    const int64_t bytes = (cut->ranks + 1) * (int64_t)sizeof *cut->begin;
    spmm_status status = sp_alloc((void **)&cut->begin, cut->ranks + 1, sizeof *cut->begin, "a cut");
    TRY_GOTO(sp_agree(grid->comm, "partition", status), done);
    if (grid->rank == root) memcpy(cut->begin, r->begin, (size_t)bytes);
    TRY_GOTO(sp_bcast(grid->comm, root, cut->begin, bytes), done);
    cut->row_begin = cut->begin[grid->rank];
    cut->row_count = cut->begin[grid->rank + 1] - cut->row_begin;
    status = sp_alloc((void **)&cut->row, cut->row_count, sizeof *cut->row, "rows of a cut");
    if (status == SPMM_OK && cut->number) status = invert(cut, &old);
    TRY_GOTO(sp_agree(grid->comm, "partition", status), done);
    status = sp_agree(grid->comm, "partition", send_lists(grid->comm, root, grid->rank, old, cut));
done:
    sp_free(old);
    return status;
}

spmm_status spmm_cut_create(MPI_Comm comm, int root, const spmm_csr *a, spmm_cut_by by, int64_t k,
                            const spmm_plan_options *options, spmm_cut *cut)
{
    SP_DEFAULT_FP;
    static const spmm_plan_options defaults;
    asked q = {root, a, by, k, options ? options : &defaults};
    sp_renumbering r = {.by = SP_PARTITION_NNZ};
    sp_grid grid = {.size = 0};
    sp_cut_setting s;
    const char *why;
    spmm_status status;
    int64_t precision = 0;
    if (cut) memset(cut, 0, sizeof *cut);
    TRY(sp_comm_check(comm, __func__));
    TRY(cut_check(__func__, comm, &q, cut));
    TRY_GOTO(sp_grid_create(comm, 0, 0, &grid), done);
    if (grid.rank == root) precision = (int64_t)a->precision;
    TRY_GOTO(sp_bcast(comm, root, &precision, sizeof precision), done);
    TRY_GOTO(sp_cut_setting_of(&grid, q.o, sp_threads_of(q.o->threads), k, (spmm_precision)precision,
                               by == SPMM_CUT_AUTO, &s, &why),
             done);
    cut->ranks = grid.size;
    if (q.o->exchange == SPMM_EXCHANGE_JOINT) why = "as the joint exchange needs increasing columns";
    if (by == SPMM_CUT_GRAPH && grid.size == 1) q.by = SPMM_CUT_ENTRIES; /* METIS has nothing to cut */
    status = grid.rank == root ? cut_on_root(&q, &s, grid.size > 1 ? why : "as there is one rank", &r, cut)
                               : SPMM_OK;
    TRY_GOTO(sp_agree(comm, "partition", status), done);
    status = cut_share(&grid, root, &r, cut);
done:
    sp_renumbering_destroy(&r);
    sp_grid_destroy(&grid);
    if (status != SPMM_OK) spmm_cut_destroy(cut);
    return status;
}

void spmm_cut_destroy(spmm_cut *cut)
{
    if (!cut) return;
    sp_free(cut->row);
    sp_free(cut->begin);
    sp_free(cut->number);
    memset(cut, 0, sizeof *cut);
}

/* ---- spmm_cut_scatter() ---- */

static spmm_status check_scatter_here(const char *function, MPI_Comm comm, int root, const spmm_csr *a,
                                      const spmm_cut *cut, const spmm_block *block)
{
    int rank, size;
    TRY(sp_given(function, "block", block, "a place for the block"));
    TRY(sp_given(function, "cut", cut, "a cut of spmm_cut_create()"));
    TRY(check_matrix(function, comm, root, a));
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    if (cut->ranks != size)
        return sp_fail(SPMM_ERR_USAGE, "%s: cut is of %d ranks, expected the %d of comm", function,
                       cut->ranks, size);
    if (rank != root) return SPMM_OK;
    if (a->rows != cut->rows)
        return sp_fail(SPMM_ERR_USAGE, "%s: a has %lld rows, expected the %lld of the cut", function,
                       (long long)a->rows, (long long)cut->rows);
    if (!renumbers(cut->by)) return SPMM_OK;
    return sp_given(function, "cut.number", cut->number, "the cut's root as root");
}

static spmm_status check_scatter(const char *function, MPI_Comm comm, int root, const spmm_csr *a,
                                 const spmm_cut *cut, const spmm_block *block)
{
    const sp_common all[] = {
        {"root", root, 1}, {"cut.rows", cut ? cut->rows : 0, 1}, {"cut.by", cut ? (int)cut->by : 0, 1}};
    return sp_agree_common(comm, "scatter", check_scatter_here(function, comm, root, a, cut, block), function,
                           all, 3);
}

spmm_status spmm_cut_scatter(MPI_Comm comm, int root, const spmm_csr *a, const spmm_cut *cut,
                             spmm_block *block)
{
    SP_DEFAULT_FP;
    spmm_csr renumbered = {0};
    sp_grid grid = {.size = 0};
    sp_ranges ranges = {.p = 0};
    spmm_status status;
    if (block) memset(block, 0, sizeof *block);
    TRY(sp_comm_check(comm, __func__));
    TRY(check_scatter(__func__, comm, root, a, cut, block));
    TRY_GOTO(sp_grid_create(comm, 0, 0, &grid), done);
    status = sp_ranges_create(cut->ranks, 1, &ranges);
    if (status == SPMM_OK && grid.rank == root) {
        memcpy(ranges.row_begin, cut->begin, (size_t)(cut->ranks + 1) * sizeof *cut->begin);
        ranges.col_begin[1] = cut->rows;
        if (cut->number) status = sp_csr_permute_in_order(a, cut->number, sp_threads_default(), &renumbered);
    }
    TRY_GOTO(sp_agree(comm, "scatter", status), done);
    TRY_GOTO(sp_ranges_share(&grid, root, cut->rows, cut->rows, &ranges), done);
    /* SP_SCATTER_COPY does not write to the matrix, so const may be cast away */
    const sp_scatter_options options = {.mode = cut->number ? SP_SCATTER_CONSUME : SP_SCATTER_COPY};
    status = sp_scatter(&grid, root, cut->number ? &renumbered : (spmm_csr *)(uintptr_t)a, &ranges, &options,
                        block, NULL, NULL);
    block->any_order = status == SPMM_OK && renumbers(cut->by);
done:
    spmm_csr_destroy(&renumbered);
    sp_ranges_destroy(&ranges);
    sp_grid_destroy(&grid);
    return status;
}
