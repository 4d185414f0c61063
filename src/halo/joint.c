/** Splits blocks for the joint exchange. */
#include "halo/joint.h"

#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "order/joint_cover.h"

static const char what[] = "the joint exchange";

/** Numbers of rows and entries that are sent to, or received from, each rank. */
typedef struct amounts {
    int64_t *rows, *entries; /* [parts] each */
} amounts;

/** Rows of A, stored one after the other. */
typedef struct given_rows {
    int32_t *length; /* [rows] */
    int32_t *ja;     /* [entries] */
    char *as;        /* [entries] */
} given_rows;

typedef struct splitting {
    const sp_grid *grid;
    const spmm_csr *a;
    const int64_t *first; /* [parts + 1] */
    int parts, me;
    sp_joint_cover cover;
    unsigned char *gone; /* [nnz] 1: another rank multiplies the entry */
    int64_t *load;       /* [parts] number of entries that each rank would multiply without balance() */
    amounts give, take;  /* give: rows that other ranks compute for this rank; take: rows that this rank
                            computes for others */
    given_rows out, in;
    sp_joint *joint;
} splitting;

/* ---- entries for other ranks ---- */

/** Marks the entries that other ranks must multiply, because only a partial row covers them, and counts rows
 *  and entries for each rank. */
static void mark_gone(splitting *s)
{
    const sp_joint_cover *const c = &s->cover;
    for (int p = 0; p < s->parts; p++)
        for (int64_t i = c->pair[p]; i < c->pair[p + 1]; i++) {
            if (!c->moved[i]) continue;
            s->give.rows[p]++;
            for (int64_t e = c->start[i]; e < c->start[i + 1]; e++) {
                if (c->comes[c->needed[p] + c->col[e]]) continue;
                s->gone[c->entry[e]] = 1;
                s->give.entries[p]++;
            }
        }
}

/** Marks up to `most` of the entries that rank p may multiply because both their row and their column are
 *  exchanged. */
static void give_more(splitting *s, int p, int64_t most)
{
    const sp_joint_cover *const c = &s->cover;
    for (int64_t i = c->pair[p]; i < c->pair[p + 1]; i++)
        for (int64_t e = c->start[i]; e < c->start[i + 1] && c->moved[i] && most > 0; e++) {
            if (s->gone[c->entry[e]]) continue;
            s->gone[c->entry[e]] = 1;
            s->give.entries[p]++;
            most--;
        }
}

/** Tells each rank what this rank gives it, and sets s->take. Collective. */
static spmm_status tell_amounts(splitting *s)
{
    MPI_Comm comm = s->grid->col_comm;
    TRY(SP_MPI(MPI_Alltoall(s->give.rows, 1, MPI_INT64_T, s->take.rows, 1, MPI_INT64_T, comm)));
    return SP_MPI(MPI_Alltoall(s->give.entries, 1, MPI_INT64_T, s->take.entries, 1, MPI_INT64_T, comm));
}

/** Balances the load. An entry whose row and column are both exchanged can be multiplied by the rank that
 *  owns its row or by the rank that owns its column. Each rank with more entries than the mean gives as much
 *  of its excess as it can to the ranks below the mean, in proportion to the distance of these ranks from the
 *  mean.
 *  \param [out] load  [parts] the number of entries that each rank would multiply without balancing */
static spmm_status balance(splitting *s, int64_t *load)
{
    double mean = 0, lack = 0;
    int64_t mine = s->a->nnz;
    TRY(tell_amounts(s));
    for (int p = 0; p < s->parts; p++) mine += s->take.entries[p] - s->give.entries[p];
    TRY(SP_MPI(MPI_Allgather(&mine, 1, MPI_INT64_T, load, 1, MPI_INT64_T, s->grid->col_comm)));
    for (int p = 0; p < s->parts; p++) mean += (double)load[p] / s->parts;
    for (int p = 0; p < s->parts; p++) lack += (double)load[p] < mean ? mean - (double)load[p] : 0;
    const double excess = (double)mine - mean;
    for (int p = 0; p < s->parts && excess > 0 && lack > 0; p++)
        if ((double)load[p] < mean) give_more(s, p, (int64_t)(excess * (mean - (double)load[p]) / lack));
    return SPMM_OK;
}

/** Copies the block without the entries that other ranks multiply. */
static spmm_status copy_rest(const splitting *s)
{
    const spmm_csr *const a = s->a;
    spmm_csr *const rest = &s->joint->rest;
    const size_t size = (size_t)sp_value_size(a->precision);
    *rest = (spmm_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .precision = a->precision};
    for (int p = 0; p < s->parts; p++) rest->nnz -= s->give.entries[p];
    TRY(sp_alloc((void **)&rest->irp, a->rows + 1, sizeof *rest->irp, what));
    TRY(sp_alloc((void **)&rest->ja, rest->nnz, sizeof *rest->ja, what));
    TRY(sp_alloc(&rest->as, rest->nnz, size, what));
    int64_t n = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        rest->irp[i] = n;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            if (s->gone[e]) continue;
            rest->ja[n] = a->ja[e];
            memcpy((char *)rest->as + (size_t)n++ * size, (const char *)a->as + (size_t)e * size, size);
        }
    }
    rest->irp[a->rows] = n;
    return SPMM_OK;
}

/** Lists the rows for other ranks, with columns numbered from the first column of their owner. */
static void fill_out(splitting *s)
{
    const sp_joint_cover *const c = &s->cover;
    const size_t size = (size_t)sp_value_size(s->a->precision);
    int64_t row = 0, n = 0;
    for (int p = 0; p < s->parts; p++)
        for (int64_t i = c->pair[p]; i < c->pair[p + 1]; i++) {
            if (!c->moved[i]) continue;
            const int64_t before = n;
            for (int64_t k = c->start[i]; k < c->start[i + 1]; k++) {
                const int64_t e = c->entry[k];
                if (!s->gone[e]) continue;
                s->out.ja[n] = (int32_t)(s->a->ja[e] - s->first[p]);
                memcpy(s->out.as + (size_t)n++ * size, (const char *)s->a->as + (size_t)e * size, size);
            }
            s->out.length[row++] = (int32_t)(n - before);
        }
}

static spmm_status allocate_rows(const amounts *all, int parts, spmm_precision precision, given_rows *list)
{
    int64_t rows = 0, entries = 0;
    for (int p = 0; p < parts; p++) {
        rows += all->rows[p];
        entries += all->entries[p];
    }
    if (rows > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%lld partial rows on a rank in the joint exchange, over 2^31 - 1: use more ranks",
                       (long long)rows);
    TRY(sp_alloc((void **)&list->length, rows, sizeof *list->length, what));
    TRY(sp_alloc((void **)&list->ja, entries, sizeof *list->ja, what));
    return sp_alloc((void **)&list->as, entries, (size_t)sp_value_size(precision), what);
}

/** Sends each rank the rows of A whose products it computes for this rank. Receives the rows of A whose
 *  products this rank computes for others. Collective. */
static spmm_status swap_rows(splitting *s)
{
    MPI_Comm comm = s->grid->col_comm, all = s->grid->comm;
    const amounts *const give = &s->give, *const take = &s->take;
    const spmm_precision precision = s->a->precision;
    TRY(tell_amounts(s));
    spmm_status status = allocate_rows(give, s->parts, precision, &s->out);
    if (status == SPMM_OK) status = allocate_rows(take, s->parts, precision, &s->in);
    TRY(sp_agree(all, "halo", status));
    fill_out(s);
    TRY(sp_swap_lists(comm, all, 4, give->rows, s->out.length, take->rows, s->in.length));
    TRY(sp_swap_lists(comm, all, 4, give->entries, s->out.ja, take->entries, s->in.ja));
    return sp_swap_lists(comm, all, sp_value_size(precision), give->entries, s->out.as, take->entries,
                         s->in.as);
}

/* ---- entries from other ranks ---- */

/** Makes, from the received entries, the matrix of the rows that this rank computes for others. */
static spmm_status make_partial(splitting *s)
{
    spmm_csr *const m = &s->joint->partial;
    int64_t rows = 0;
    for (int p = 0; p < s->parts; p++) rows += s->take.rows[p];
    *m = (spmm_csr){
        .rows = rows, .cols = s->first[s->me + 1] - s->first[s->me], .precision = s->a->precision};
    TRY(sp_alloc((void **)&m->irp, rows + 1, sizeof *m->irp, what));
    m->irp[0] = 0;
    for (int64_t i = 0; i < rows; i++) m->irp[i + 1] = m->irp[i] + s->in.length[i];
    m->nnz = m->irp[rows];
    m->ja = s->in.ja;
    m->as = s->in.as;
    s->in.ja = NULL;
    s->in.as = NULL;
    return SPMM_OK;
}

/** Lists the moves of partial rows. */
static spmm_status list_moves(splitting *s)
{
    sp_moves *const m = &s->joint->moves;
    int64_t in = 0, out = 0;
    m->own = s->joint->partial.rows;
    TRY(sp_alloc((void **)&m->source, s->parts, sizeof *m->source, what));
    TRY(sp_alloc((void **)&m->target, s->parts, sizeof *m->target, what));
    for (int p = 0; p < s->parts; p++) {
        const int64_t comes = s->give.rows[p], goes = s->take.rows[p];
        if (comes > 0) m->source[m->sources++] = (sp_source){p, in + (p > s->me ? m->own : 0), comes};
        if (goes > 0) m->target[m->targets++] = (sp_target){p, 0, out, goes};
        *(p < s->me ? &m->ghost_low : &m->ghost_high) += comes;
        in += comes;
        out += goes;
    }
    m->sent = out;
    if (sp_moves_rows(m) > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%lld partial rows on a rank in the joint exchange, over 2^31 - 1: use more ranks",
                       (long long)sp_moves_rows(m));
    return SPMM_OK;
}

spmm_status sp_joint_list_sums(sp_joint *j)
{
    const sp_moves *const m = &j->moves;
    const int64_t rows = j->rest.rows, low = m->ghost_low, ghosts = low + m->ghost_high;
    sp_sum_lists *const l = &j->sums;
    int64_t *at = NULL, n = 0;
    TRY(sp_alloc_zero((void **)&at, rows + 1, sizeof *at, what));
    for (int64_t g = 0; g < ghosts; g++) at[j->row[g]]++;
    for (int64_t i = 0; i < rows; i++) l->count += at[i] > 0;
    spmm_status status = sp_alloc((void **)&l->row, l->count, sizeof *l->row, what);
    if (status == SPMM_OK) status = sp_alloc((void **)&l->start, l->count + 1, sizeof *l->start, what);
    if (status == SPMM_OK) status = sp_alloc((void **)&l->addend, ghosts, sizeof *l->addend, what);
    if (status != SPMM_OK) {
        sp_free(at);
        return status;
    }
    /* a counting sort by row, because it keeps the order of the ghost rows */
    l->start[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t count = at[i];
        at[i] = l->start[n];
        if (count == 0) continue;
        l->row[n] = (int32_t)i;
        l->start[n + 1] = l->start[n] + count;
        n++;
    }
    for (int64_t g = 0; g < ghosts; g++) l->addend[at[j->row[g]]++] = (int32_t)(g < low ? g : g + m->own);
    sp_free(at);
    return SPMM_OK;
}

/** Lists the rows of the block to which partial rows are added. */
static spmm_status list_sums(splitting *s)
{
    sp_joint *const j = s->joint;
    const sp_joint_cover *const c = &s->cover;
    int64_t n = 0;
    TRY(sp_alloc((void **)&j->row, j->moves.ghost_low + j->moves.ghost_high, sizeof *j->row, what));
    for (int64_t i = 0; i < c->pair[s->parts]; i++)
        if (c->moved[i]) j->row[n++] = (int32_t)c->row[i];
    return sp_joint_list_sums(j);
}

static spmm_status split(splitting *s, int threads)
{
    TRY(sp_alloc_zero((void **)&s->joint, 1, sizeof *s->joint, what));
    TRY(sp_alloc_zero((void **)&s->gone, s->a->nnz, 1, what));
    int64_t **const counts[] = {&s->give.rows, &s->give.entries, &s->take.rows, &s->take.entries, &s->load};
    for (int n = 0; n < 5; n++) TRY(sp_alloc_zero((void **)counts[n], s->parts, sizeof **counts[n], what));
    TRY(sp_joint_cover_create(s->a, 0, s->a->rows, s->first, s->parts, s->me, threads, &s->cover));
    mark_gone(s);
    return SPMM_OK;
}

static spmm_status joint_build(splitting *s, int threads)
{
    TRY(sp_agree(s->grid->comm, "halo", split(s, threads)));
    TRY(balance(s, s->load));
    TRY(sp_agree(s->grid->comm, "halo", copy_rest(s)));
    TRY(swap_rows(s));
    spmm_status status = make_partial(s);
    if (status == SPMM_OK) status = list_moves(s);
    if (status == SPMM_OK) status = list_sums(s);
    TRY(sp_agree(s->grid->comm, "halo", status));
    sp_moves *const m = &s->joint->moves;
    m->all_moved = m->ghost_low + m->ghost_high;
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &m->all_moved, 1, MPI_INT64_T, MPI_SUM, s->grid->comm));
}

spmm_status sp_joint_create(const sp_grid *grid, const spmm_block *block, const int64_t *first, int threads,
                            sp_joint **joint)
{
    splitting s = {
        .grid = grid, .a = &block->csr, .first = first, .parts = grid->dims[0], .me = grid->coords[0]};
    const spmm_status status = joint_build(&s, threads);
    sp_joint_cover_destroy(&s.cover);
    sp_free(s.gone);
    sp_free(s.load);
    sp_free(s.give.rows);
    sp_free(s.give.entries);
    sp_free(s.take.rows);
    sp_free(s.take.entries);
    sp_free(s.out.length);
    sp_free(s.out.ja);
    sp_free(s.out.as);
    sp_free(s.in.length);
    sp_free(s.in.ja);
    sp_free(s.in.as);
    if (status != SPMM_OK) {
        sp_joint_destroy(s.joint);
        s.joint = NULL;
    }
    *joint = s.joint;
    return status;
}

/* ---- new values ---- */

/** Copies the values of the entries for other ranks, ordered by rank and, within a rank, in the order of
 *  fill_out().
 *  \param [in]     first  [parts + 1] first column of each rank
 *  \param [in,out] next   [parts] index in `out` of the next value for each rank; advanced by the number of
 *                         values
 *  \param [out]    out    these values; NULL: they are only counted. If `out` is not NULL, the values of all
 *                         other entries are copied to `rest` */
static void part_values(const spmm_csr *a, const int64_t *first, int64_t *next, const spmm_csr *rest,
                        char *out)
{
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t kept = rest->irp[i];
        int p = 0;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const int stays = kept < rest->irp[i + 1] && rest->ja[kept] == a->ja[e];
            while (a->ja[e] >= first[p + 1]) p++;
            if (out)
                sp_values_copy(a->precision, a->as, e, 1, stays ? rest->as : out, stays ? kept : next[p]);
            *(stays ? &kept : &next[p]) += 1;
        }
    }
}

spmm_status sp_joint_update(const sp_grid *grid, const spmm_block *block, sp_joint *j)
{
    const spmm_csr *const a = &block->csr, *const m = &j->partial;
    const int parts = grid->dims[0];
    const int64_t size = sp_value_size(a->precision), begin = block->x_begin - block->col_begin;
    int64_t *first = NULL, *count = NULL, *next = NULL;
    char *out = NULL;
    spmm_status status = sp_alloc((void **)&first, parts + 1, sizeof *first, what);
    if (status == SPMM_OK) status = sp_alloc_zero((void **)&count, parts, sizeof *count, what);
    if (status == SPMM_OK) status = sp_alloc((void **)&next, parts, sizeof *next, what);
    if (status == SPMM_OK) status = sp_alloc((void **)&out, a->nnz - j->rest.nnz, (size_t)size, what);
    TRY_GOTO(sp_agree(grid->comm, "halo", status), done);
    TRY_GOTO(SP_MPI(MPI_Allgather(&begin, 1, MPI_INT64_T, first, 1, MPI_INT64_T, grid->col_comm)), done);
    first[parts] = a->cols;
    part_values(a, first, count, &j->rest, NULL);
    for (int p = 0; p < parts; p++) next[p] = p == 0 ? 0 : next[p - 1] + count[p - 1];
    part_values(a, first, next, &j->rest, out);
    for (int p = 0; p < parts; p++) next[p] = 0; /* now next[p] counts the values to receive */
    for (int t = 0; t < j->moves.targets; t++) {
        const sp_target *const to = &j->moves.target[t];
        next[to->rank] = m->irp[to->first + to->rows] - m->irp[to->first];
    }
    status = sp_swap_lists(grid->col_comm, grid->comm, size, count, out, next, m->as);
done:
    sp_free(first);
    sp_free(count);
    sp_free(next);
    sp_free(out);
    return status;
}

void sp_joint_destroy(sp_joint *j)
{
    if (!j) return;
    spmm_csr_destroy(&j->rest);
    spmm_csr_destroy(&j->partial);
    sp_moves_destroy(&j->moves);
    sp_free(j->row);
    sp_free(j->sums.row);
    sp_free(j->sums.start);
    sp_free(j->sums.addend);
    sp_free(j);
}
