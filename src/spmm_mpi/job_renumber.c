/** Cuts the rows of A as --partition requests, and renumbers the rows of A and X. */
#include <stdio.h>
#include <string.h>

#include "formats/csr.h"
#include "plan/cut.h"
#include "spmm_mpi/job.h"

/* ---- rank 0 ---- */

/** Makes the cut that --partition names, and prints how many rows of X it moves. */
static spmm_status make_named(const spmm_csr *a, const sp_options *o, const sp_place *place,
                              const sp_cut_setting *s, sp_renumbering *r)
{
    sp_renumbering before = {.by = SP_PARTITION_NNZ};
    int64_t cut = 0;
    spmm_status status = sp_renumbering_make(a, s, SP_PARTITION_NNZ, &before, NULL);
    if (status == SPMM_OK) status = sp_renumbering_make(a, s, o->partition, r, &cut);
    if (status == SPMM_OK && place->verbosity >= 0) {
        printf("%s     rows renumbered in %d parts, ",
               o->partition == SP_PARTITION_GRAPH ? "graph " : "layout", s->parts);
        if (o->partition == SP_PARTITION_GRAPH) printf("%lld edges cut; ", (long long)cut);
        printf("rows of X that all ranks receive: %lld before, %lld after\n", (long long)before.all,
               (long long)r->all);
    }
    sp_renumbering_destroy(&before);
    return status;
}

/** Returns 1 if renumbering must keep the order of the entries of each row. */
static int keeps_order(const sp_options *o, const sp_grid *grid)
{
    return grid->dims[1] == 1 && o->bits != SP_BITS_ANY && o->exchange != SPMM_EXCHANGE_JOINT &&
           !o->all_kernels && !(o->kernel && o->kernel->library);
}

/** Renumbers A, and X if it comes from a file. If --partition auto finds too little memory for that, it keeps
 *  the cut by entries. */
static spmm_status apply(const sp_options *o, const sp_place *place, int parts, sp_renumbering *c,
                         sp_job_input *input, sp_distribution *dist)
{
    const int in_order = keeps_order(o, &place->grid);
    spmm_csr renumbered = {0}, *const a = &input->a;
    if (!c->perm) return SPMM_OK;
    const spmm_status status = (in_order ? sp_csr_permute_in_order
                                         : sp_csr_permute)(a, c->perm, place->binding.threads, &renumbered);
    if (status == SPMM_ERR_MEMORY && o->partition == SP_PARTITION_AUTO) {
        snprintf(dist->cut.why, sizeof dist->cut.why, SP_NO_MEMORY_TO_RENUMBER);
        return SPMM_OK;
    }
    TRY(status);
    spmm_csr_destroy(a);
    *a = renumbered;
    if (input->x.data) TRY(sp_job_permute(c->perm, &input->x));
    memcpy(dist->ranges.row_begin, c->begin, (size_t)(parts + 1) * sizeof *c->begin);
    dist->cut.taken = c->by;
    dist->cut.any_order = in_order;
    dist->perm = c->perm;
    c->perm = NULL;
    return SPMM_OK;
}

static spmm_status renumber_on_root(const sp_options *o, const sp_place *place, const sp_cut_setting *s,
                                    sp_job_input *input, sp_distribution *dist)
{
    sp_renumbering r = {.by = SP_PARTITION_NNZ};
    sp_cut *const cut = &dist->cut;
    spmm_status status = o->partition == SP_PARTITION_AUTO
                             ? sp_renumbering_choose(&input->a, s, &r, &cut->nnz_rows, cut->why,
                                                     sizeof cut->why)
                             : make_named(&input->a, o, place, s, &r);
    if (status == SPMM_OK) status = apply(o, place, s->parts, &r, input, dist);
    sp_renumbering_destroy(&r);
    return status;
}

/* ---- all ranks ---- */

/** Returns why --partition auto keeps the cut by entries without counting; NULL if it counts.
 *  \param [in] why  a reason that sp_cut_setting_of() found in the ranks or options, or NULL */
static const char *why_not(const sp_options *o, const sp_matrix_facts *m, const char *why)
{
    if (o->p > 0 || o->grid_auto) return "as -g is given";
    if (m->rows != m->cols) return "as A is not square";
    if (!why && (o->all_kernels || (o->kernel && o->kernel->library)))
        return "as kernels of other libraries need increasing columns";
    return why;
}

spmm_status sp_job_renumber(const sp_options *o, const sp_place *place, sp_job_input *input,
                            sp_distribution *dist)
{
    const sp_grid *const grid = &place->grid;
    const int asked = o->partition == SP_PARTITION_AUTO;
    const spmm_plan_options options = sp_job_plan_options(o, &place->binding);
    sp_cut *const cut = &dist->cut;
    const char *why;
    sp_cut_setting s;
    *cut = (sp_cut){.taken = asked ? SP_PARTITION_NNZ : o->partition, .nnz_rows = -1};
    if (!(asked && grid->size > 1) && !sp_partition_renumbers(o->partition)) return SPMM_OK;
    TRY(sp_cut_setting_of(grid, &options, place->binding.threads, sp_most_columns(&input->columns),
                          o->precision, asked, &s, &why));
    if (asked && (why = why_not(o, &input->facts, why)) != NULL) {
        snprintf(cut->why, sizeof cut->why, "auto: by entries, %s", why);
        return SPMM_OK;
    }
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) status = renumber_on_root(o, place, &s, input, dist);
    TRY(sp_agree(grid->comm, "partition", status));
    return sp_bcast(grid->comm, SP_ROOT, cut, sizeof *cut);
}
