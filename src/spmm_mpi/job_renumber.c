/** Chooses the cut of --partition auto by what each cut moves, and renumbers the rows of A and X. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"
#include "formats/multivector.h"
#include "halo/node_rows.h"
#include "partition/comm_volume.h"
#include "partition/level_order.h"
#include "partition/reorder.h"
#include "product/choose.h"
#include "spmm_mpi/job.h"

/* ---- the model ---- */

/* Bytes per second at which a rank receives rows of X: GPUs of a node, cores of a node, between nodes. The
 * rates are typical; a wrong one only shifts the number of products that repay a renumbering. */
static const double GPU_RATE = 100e9, CPU_RATE = 4e9, NETWORK_RATE = 12e9;

/* Seconds per entry to order by levels, and to cut by METIS (both measured on grids numbered at random, one
 * core), for estimates before these are done */
static const double LEVEL_SECONDS = 100e-9, GRAPH_SECONDS = 1e-6;

/* FEW: nothing is renumbered if less than 1 in FEW rows of X is moved. LESS: a cut must move less than this
 * fraction of what the cut by entries moves. */
enum { FEW = 20 };
static const double LESS = 0.5;

/** What rank 0 knows of the job before it chooses. */
typedef struct cut_setting {
    int parts;    /* row blocks */
    int per_part; /* row blocks that share X in memory, so that rows cross between them once */
    int threads;
    double products; /* expected number of products */
    double second;   /* seconds in which a rank receives a row of X */
    int in_order;    /* 1: the entries of a row must keep their order */
} cut_setting;

/** A cut and what it moves. */
typedef struct candidate {
    sp_partition by;
    int64_t *perm;     /* [rows] new numbers of the rows; NULL: not renumbered */
    int64_t *begin;    /* [parts + 1] */
    int64_t all, most; /* rows of X received: by all ranks or nodes together, by the one that receives most */
    double spent;      /* seconds that it took to make */
} candidate;

static void destroy_candidate(candidate *c)
{
    sp_free(c->perm);
    sp_free(c->begin);
    *c = (candidate){.by = SP_PARTITION_NNZ};
}

/** Returns the number of parts that exchange rows: nodes if the ranks of a node share X, else ranks. */
static int groups_of(const cut_setting *s) { return (s->parts + s->per_part - 1) / s->per_part; }

/** Counts what a cut moves. */
static spmm_status count(const spmm_csr *a, const cut_setting *s, candidate *c)
{
    const int groups = groups_of(s);
    int64_t *begin = NULL, *received = NULL;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&begin, groups + 1, sizeof *begin, "boundaries of parts"), done);
    TRY_GOTO(sp_alloc((void **)&received, groups, sizeof *received, "counts of parts"), done);
    for (int g = 0; g < groups; g++) begin[g] = c->begin[g * s->per_part];
    begin[groups] = c->begin[s->parts];
    TRY_GOTO(sp_cut_volume(a, groups, c->perm, begin, s->threads, received), done);
    c->all = c->most = 0;
    for (int g = 0; g < groups; g++) {
        c->all += received[g];
        if (received[g] > c->most) c->most = received[g];
    }
done:
    sp_free(begin);
    sp_free(received);
    return status;
}

/** Returns the seconds that all products spend receiving rows. */
static double exchanging(const cut_setting *s, const candidate *c)
{
    return s->products * s->second * (double)c->most;
}

/* ---- the candidates ---- */

static spmm_status begin_candidate(const spmm_csr *a, const cut_setting *s, sp_partition by, candidate *c)
{
    *c = (candidate){.by = by};
    TRY(sp_alloc((void **)&c->begin, s->parts + 1, sizeof *c->begin, "boundaries of parts"));
    if (!sp_partition_renumbers(by)) return SPMM_OK;
    return sp_alloc((void **)&c->perm, a->rows, sizeof *c->perm, "new numbers of the rows");
}

/** Makes and counts a cut.
 *  \param [in] order  [rows] the order by levels; not used by SP_PARTITION_NNZ
 *  \param [out] c     the caller destroys it, also after a failure */
static spmm_status make_candidate(const spmm_csr *a, const cut_setting *s, sp_partition by,
                                  const int32_t *order, candidate *c)
{
    const double start = MPI_Wtime();
    TRY(begin_candidate(a, s, by, c));
    if (by == SP_PARTITION_NNZ)
        sp_partition_entries(a->irp, a->rows, s->parts, c->begin);
    else if (by == SP_PARTITION_LEVELS)
        TRY(sp_order_partition(a, s->parts, order, c->perm, c->begin));
    else
        TRY(sp_graph_partition(a, s->parts, order, c->perm, c->begin, NULL));
    TRY(count(a, s, c));
    c->spent = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Replaces *best by *c if c moves clearly less than the cut by entries, less than *best, and the gain repays
 *  c's making. Destroys the other one. */
static void take_better(const cut_setting *s, int64_t nnz_rows, candidate *best, candidate *c)
{
    const int better = (double)c->all < LESS * (double)nnz_rows && c->most < best->most &&
                       exchanging(s, best) - exchanging(s, c) > c->spent;
    candidate *const worse = better ? best : c;
    destroy_candidate(worse);
    if (better) {
        *best = *c;
        *c = (candidate){.by = SP_PARTITION_NNZ};
    }
}

/** Returns 1 if METIS is there and may repay itself: it can save at most what *best still moves. A graph that
 *  levels do not cut well is not tried, because METIS takes many times as long on such graphs. */
static int may_cut_graph(const spmm_csr *a, const cut_setting *s, const candidate *best)
{
    return best->by == SP_PARTITION_LEVELS && exchanging(s, best) > 2 * GRAPH_SECONDS * (double)a->nnz &&
           sp_graph_ready() == SPMM_OK;
}

/** Rows of X that all ranks would receive by the cuts that were tried; -1: not tried. */
typedef struct tried_cuts {
    int64_t levels, graph;
} tried_cuts;

/** Finds the cut to take. \param [in,out] best  the cut by entries */
static spmm_status try_candidates(const spmm_csr *a, const cut_setting *s, candidate *best, tried_cuts *tried)
{
    const int64_t nnz_rows = best->all;
    const double start = MPI_Wtime();
    candidate c = {.by = SP_PARTITION_NNZ};
    int32_t *order;
    spmm_status status;
    TRY(sp_alloc((void **)&order, a->rows, sizeof *order, "order of the rows"));
    TRY_GOTO(sp_level_order(a, s->threads, order), done);
    const double ordered = MPI_Wtime() - start;
    TRY_GOTO(make_candidate(a, s, SP_PARTITION_LEVELS, order, &c), done);
    c.spent += ordered;
    tried->levels = c.all;
    take_better(s, nnz_rows, best, &c);
    if (!may_cut_graph(a, s, best)) goto done;
    TRY_GOTO(make_candidate(a, s, SP_PARTITION_GRAPH, order, &c), done);
    tried->graph = c.all;
    take_better(s, nnz_rows, best, &c);
done:
    destroy_candidate(&c);
    sp_free(order);
    return status;
}

/* ---- the choice; rank 0 ---- */

/** Writes a number of rows as thousands or millions, if it is large. */
static const char *rows_text(char *text, size_t n, int64_t rows)
{
    if (rows >= 1000000)
        snprintf(text, n, "%.2f million", (double)rows * 1e-6);
    else
        snprintf(text, n, "%lld", (long long)rows);
    return text;
}

/** Says in cut->why what each cut moves, and which is taken. */
static void explain(const spmm_csr *a, const tried_cuts *tried, const candidate *taken, const cut_setting *s,
                    sp_cut *cut)
{
    char moved[32], whole[32];
    const size_t n = sizeof cut->why;
    size_t used = 0;
    sp_text_add(cut->why, n, &used, "auto: by entries moves %s of %s rows of X a product",
                rows_text(moved, sizeof moved, cut->nnz_rows),
                rows_text(whole, sizeof whole, a->cols * (groups_of(s) - 1)));
    if (tried->levels >= 0)
        sp_text_add(cut->why, n, &used, ", by levels %s", rows_text(moved, sizeof moved, tried->levels));
    if (tried->graph >= 0)
        sp_text_add(cut->why, n, &used, ", by METIS %s", rows_text(moved, sizeof moved, tried->graph));
    if (sp_partition_renumbers(taken->by))
        sp_text_add(cut->why, n, &used, "; renumbered by %s in %.2f s",
                    taken->by == SP_PARTITION_GRAPH ? "METIS" : "levels", taken->spent);
    else if (tried->levels >= 0)
        sp_text_add(cut->why, n, &used, "; not renumbered");
    else if (cut->nnz_rows * FEW > a->cols)
        sp_text_add(cut->why, n, &used, "; renumbering would not repay in %.0f products", s->products);
}

/** Chooses the cut. Too little memory for other cuts is no error.
 *  \param [out] best  the cut to take; the caller destroys it, also after a failure */
static spmm_status choose(const spmm_csr *a, const cut_setting *s, sp_cut *cut, candidate *best)
{
    TRY(make_candidate(a, s, SP_PARTITION_NNZ, NULL, best));
    tried_cuts tried = {-1, -1};
    cut->nnz_rows = best->all;
    if (best->all * FEW > a->cols && exchanging(s, best) > LEVEL_SECONDS * (double)a->nnz) {
        const spmm_status status = try_candidates(a, s, best, &tried);
        if (status != SPMM_OK && status != SPMM_ERR_MEMORY) return status;
    }
    explain(a, &tried, best, s, cut);
    return SPMM_OK;
}

/* ---- cuts that are asked for; rank 0 ---- */

/** Makes the cut that --partition names, and prints what it moves. */
static spmm_status make_named(const spmm_csr *a, const sp_options *o, const sp_place *place,
                              const cut_setting *s, candidate *c)
{
    candidate before = {.by = SP_PARTITION_NNZ};
    int32_t *order = NULL;
    spmm_status status;
    int64_t cut = 0;
    TRY_GOTO(make_candidate(a, s, SP_PARTITION_NNZ, NULL, &before), done);
    if (o->partition == SP_PARTITION_LEVELS) {
        TRY_GOTO(sp_alloc((void **)&order, a->rows, sizeof *order, "order of the rows"), done);
        TRY_GOTO(sp_level_order(a, s->threads, order), done);
        TRY_GOTO(make_candidate(a, s, o->partition, order, c), done);
    } else {
        TRY_GOTO(begin_candidate(a, s, o->partition, c), done);
        TRY_GOTO(sp_graph_partition(a, s->parts, NULL, c->perm, c->begin, &cut), done);
        TRY_GOTO(count(a, s, c), done);
    }
    if (place->verbosity < 0) goto done;
    printf("%s     rows renumbered in %d parts, ", o->partition == SP_PARTITION_GRAPH ? "graph " : "levels",
           s->parts);
    if (o->partition == SP_PARTITION_GRAPH) printf("%lld edges cut; ", (long long)cut);
    printf("rows of X that all ranks receive: %lld before, %lld after\n", (long long)before.all,
           (long long)c->all);
done:
    destroy_candidate(&before);
    sp_free(order);
    return status;
}

/** Renumbers A, and X if it comes from a file. If --partition auto finds too little memory for that, it keeps
 *  the cut by entries. */
static spmm_status apply(const sp_options *o, const cut_setting *s, candidate *c, sp_job_input *input,
                         sp_distribution *dist)
{
    spmm_csr renumbered, *const a = &input->a;
    if (!c->perm) return SPMM_OK;
    const spmm_status status = (s->in_order ? sp_csr_permute_in_order
                                            : sp_csr_permute)(a, c->perm, s->threads, &renumbered);
    if (status == SPMM_ERR_MEMORY && o->partition == SP_PARTITION_AUTO) {
        snprintf(dist->cut.why, sizeof dist->cut.why, "auto: by entries, as there is no memory to renumber");
        return SPMM_OK;
    }
    TRY(status);
    spmm_csr_destroy(a);
    *a = renumbered;
    if (input->x.data) TRY(sp_job_permute(c->perm, &input->x));
    memcpy(dist->ranges.row_begin, c->begin, (size_t)(s->parts + 1) * sizeof *c->begin);
    dist->cut.taken = c->by;
    dist->cut.any_order = s->in_order;
    dist->perm = c->perm;
    c->perm = NULL;
    return SPMM_OK;
}

static spmm_status renumber_on_root(const sp_options *o, const sp_place *place, const cut_setting *s,
                                    sp_job_input *input, sp_distribution *dist)
{
    candidate c = {.by = SP_PARTITION_NNZ};
    spmm_status status;
    TRY_GOTO(o->partition == SP_PARTITION_AUTO ? choose(&input->a, s, &dist->cut, &c)
                                               : make_named(&input->a, o, place, s, &c),
             done);
    status = apply(o, s, &c, input, dist);
done:
    destroy_candidate(&c);
    return status;
}

/* ---- all ranks ---- */

/** Returns why --partition auto keeps the cut by entries without counting; NULL if it counts.
 *  \param [in] together  1: all ranks read X in common memory */
static const char *why_not(const sp_options *o, const sp_matrix_facts *m, int together)
{
    if (o->p > 0 || o->grid_auto) return "as -g is given";
    if (m->rows != m->cols) return "as A is not square";
    if (together) return "as the ranks share X in memory";
    if (o->exchange == SPMM_EXCHANGE_BCAST) return "as --exchange bcast moves all of X";
    if (o->all_kernels || (o->kernel && o->kernel->library))
        return "as kernels of other libraries need increasing columns";
    return NULL;
}

/** Describes the job. *together is 1 if all ranks read X in common memory. Collective. */
static spmm_status describe(const sp_options *o, const sp_place *place, const sp_job_input *input,
                            cut_setting *s, int *together)
{
    const sp_grid *const grid = &place->grid;
    const int on_cpu = place->binding.device == SPMM_CPU;
    const int64_t k = sp_most_columns(&input->columns);
    const double row = (double)(sp_multivector_ld(k, o->precision) * sp_value_size(o->precision)) /
                       (sp_options_round(o) ? 2 : 1);
    int consecutive, shared, which, on_node;
    TRY(sp_node_ranks_check(grid, &consecutive, &shared));
    TRY(sp_node_rank(grid->comm, &which, &on_node));
    const int shares = on_cpu && consecutive && o->column_blocks <= 1 && !sp_options_round(o) &&
                       (o->transport == SPMM_TRANSPORT_AUTO || o->transport == SPMM_TRANSPORT_SHARED);
    const double inside = on_cpu ? CPU_RATE : GPU_RATE;
    *together = shares && on_node == grid->size;
    *s = (cut_setting){.parts = grid->dims[0],
                       .per_part = shares && o->partition == SP_PARTITION_AUTO ? on_node : 1,
                       .threads = place->binding.threads,
                       .products = o->products > 0 ? o->products : SP_PRODUCTS_EXPECTED,
                       .second = row / (on_node == grid->size ? inside : NETWORK_RATE),
                       .in_order = grid->dims[1] == 1 && o->bits != SP_BITS_ANY &&
                                   o->exchange != SPMM_EXCHANGE_JOINT && !o->all_kernels &&
                                   !(o->kernel && o->kernel->library)};
    return SPMM_OK;
}

spmm_status sp_job_renumber(const sp_options *o, const sp_place *place, sp_job_input *input,
                            sp_distribution *dist)
{
    const sp_grid *const grid = &place->grid;
    const int asked = o->partition == SP_PARTITION_AUTO;
    sp_cut *const cut = &dist->cut;
    const char *why;
    cut_setting s;
    int together;
    *cut = (sp_cut){.taken = asked ? SP_PARTITION_NNZ : o->partition, .nnz_rows = -1};
    if (!(asked && grid->size > 1) && !sp_partition_renumbers(o->partition)) return SPMM_OK;
    TRY(describe(o, place, input, &s, &together));
    if (asked && (why = why_not(o, &input->facts, together)) != NULL) {
        snprintf(cut->why, sizeof cut->why, "auto: by entries, %s", why);
        return SPMM_OK;
    }
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) status = renumber_on_root(o, place, &s, input, dist);
    TRY(sp_agree(grid->comm, "partition", status));
    return sp_bcast(grid->comm, SP_ROOT, cut, sizeof *cut);
}
