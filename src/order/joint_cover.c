/** Sorts the entries of a block by the owners of their columns, and covers the entries of each owner by rows
 *  of X and rows of Y. */
#include "order/joint_cover.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "order/vertex_cover.h"

typedef struct covering {
    const spmm_csr *a;
    int64_t row_begin, row_end;
    const int64_t *bound;
    int me;
    int32_t *number;  /* [cols] number of a column among its owner's columns with entries; -1: none */
    int64_t *entries; /* [parts + 1] index of the first entry of each owner */
    sp_joint_cover *c;
} covering;

/** Consecutive entries of one row whose columns have the same owner. */
typedef struct owner_run {
    int owner;
    int64_t first, end;
} owner_run;

/** Finds the next run of entries of a row in [from, end) whose columns another rank owns. \return 1; 0: there
 *  is none */
static int next_run(const covering *s, int64_t from, int64_t end, owner_run *r)
{
    const int32_t *const ja = s->a->ja;
    const int parts = s->c->parts;
    while (from < end && ja[from] < s->bound[0]) from++;
    while (from < end && ja[from] < s->bound[parts]) {
        r->owner = sp_part_of(s->bound, parts, ja[from]);
        r->first = from;
        while (from < end && ja[from] < s->bound[r->owner + 1]) from++;
        r->end = from;
        if (r->owner != s->me) return 1;
    }
    return 0;
}

/** Counts the pairs and entries of each owner p in c->pair[p + 1] and s->entries[p + 1], and marks the
 *  columns with entries. */
static void joint_cover_count(covering *s)
{
    owner_run r;
    for (int64_t i = s->row_begin; i < s->row_end; i++) {
        const int64_t end = s->a->irp[i + 1];
        for (int64_t from = s->a->irp[i]; next_run(s, from, end, &r); from = r.end) {
            s->c->pair[r.owner + 1]++;
            s->entries[r.owner + 1] += r.end - r.first;
            for (int64_t e = r.first; e < r.end; e++) s->number[s->a->ja[e]] = 0;
        }
    }
}

/** Turns the counts into indices of the owners' first pairs and entries, and numbers the marked columns of
 *  each owner. */
static void number(covering *s)
{
    sp_joint_cover *const c = s->c;
    for (int p = 0; p < c->parts; p++) {
        int32_t n = 0;
        c->pair[p + 1] += c->pair[p];
        s->entries[p + 1] += s->entries[p];
        if (p != s->me)
            for (int64_t j = s->bound[p]; j < s->bound[p + 1]; j++)
                if (s->number[j] >= 0) s->number[j] = n++;
        c->needed[p + 1] = c->needed[p] + n;
    }
}

/** Fills in pairs and entries. pair_at and entry_at, [parts], are the indices of the next pair and entry of
 *  each owner; joint_cover_fill() advances them. */
static void joint_cover_fill(covering *s, int64_t *pair_at, int64_t *entry_at)
{
    sp_joint_cover *const c = s->c;
    owner_run r;
    for (int64_t i = s->row_begin; i < s->row_end; i++) {
        const int64_t end = s->a->irp[i + 1];
        for (int64_t from = s->a->irp[i]; next_run(s, from, end, &r); from = r.end) {
            const int64_t pair = pair_at[r.owner]++;
            c->row[pair] = (int32_t)(i - s->row_begin);
            c->start[pair] = entry_at[r.owner];
            for (int64_t e = r.first; e < r.end; e++) {
                const int64_t at = entry_at[r.owner]++;
                c->entry[at] = e;
                c->col[at] = s->number[s->a->ja[e]];
            }
        }
    }
    c->start[c->pair[c->parts]] = s->entries[c->parts];
}

/** Transposes the graph of an owner's entries, so that it lists the pairs of each column. Among several
 *  smallest covers, sp_vertex_cover() returns one with the most vertices of the first kind. With columns as
 *  the first kind, rows of X are preferred to partial rows: rows of X need no addition, and they are received
 *  while interior rows are computed.
 *  \param [in,out] start  [columns + 1], zeroed
 *  \param [out]    adjacent  [entries] indices of pairs, relative to the owner's first pair */
static void turn_around(const sp_joint_cover *c, int p, int64_t *start, int32_t *adjacent)
{
    const int64_t columns = c->needed[p + 1] - c->needed[p];
    const int64_t first = c->start[c->pair[p]], end = c->start[c->pair[p + 1]];
    for (int64_t e = first; e < end; e++) start[c->col[e] + 1]++;
    for (int64_t j = 0; j < columns; j++) start[j + 1] += start[j];
    for (int64_t i = c->pair[p]; i < c->pair[p + 1]; i++)
        for (int64_t e = c->start[i]; e < c->start[i + 1]; e++)
            adjacent[start[c->col[e]]++] = (int32_t)(i - c->pair[p]);
    /* start[j] has advanced to where column j + 1 starts: move each element up by one */
    for (int64_t j = columns; j > 0; j--) start[j] = start[j - 1];
    start[0] = 0;
}

/** Computes the cover for the entries of owner p. */
static spmm_status cover_one(const sp_joint_cover *c, int p)
{
    static const char what[] = "the joint exchange's covers";
    const int64_t pairs = c->pair[p + 1] - c->pair[p], columns = c->needed[p + 1] - c->needed[p];
    int64_t *start = NULL, size;
    int32_t *adjacent = NULL;
    spmm_status status;
    if (pairs == 0) return SPMM_OK;
    TRY_GOTO(sp_alloc_zero((void **)&start, columns + 1, sizeof *start, what), done);
    TRY_GOTO(
        sp_alloc((void **)&adjacent, c->start[c->pair[p + 1]] - c->start[c->pair[p]], sizeof *adjacent, what),
        done);
    turn_around(c, p, start, adjacent);
    const sp_bipartite graph = {(int32_t)columns, (int32_t)pairs, start, adjacent};
    status = sp_vertex_cover(&graph, c->comes + c->needed[p], c->moved + c->pair[p], &size);
done:
    sp_free(start);
    sp_free(adjacent);
    return status;
}

static spmm_status cover_all(const sp_joint_cover *c, int threads)
{
    spmm_status worst = SPMM_OK;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int p = 0; p < c->parts; p++) {
        const spmm_status status = cover_one(c, p);
        if (status != SPMM_OK)
#pragma omp atomic write
            worst = status;
    }
    /* the error message is local to the thread that failed */
    return worst == SPMM_OK ? SPMM_OK : sp_fail(worst, "out of memory for the joint exchange's covers");
}

static spmm_status allocate_counts(covering *s)
{
    static const char what[] = "the joint exchange's counts";
    sp_joint_cover *const c = s->c;
    TRY(sp_alloc_zero((void **)&c->pair, c->parts + 1, sizeof *c->pair, what));
    TRY(sp_alloc_zero((void **)&c->needed, c->parts + 1, sizeof *c->needed, what));
    TRY(sp_alloc_zero((void **)&s->entries, c->parts + 1, sizeof *s->entries, what));
    TRY(sp_alloc((void **)&s->number, s->a->cols, sizeof *s->number, what));
    memset(s->number, 0xff, (size_t)s->a->cols * sizeof *s->number);
    return SPMM_OK;
}

static spmm_status allocate_lists(covering *s)
{
    static const char what[] = "the joint exchange's lists";
    sp_joint_cover *const c = s->c;
    const int64_t pairs = c->pair[c->parts], entries = s->entries[c->parts], columns = c->needed[c->parts];
    TRY(sp_alloc((void **)&c->row, pairs, sizeof *c->row, what));
    TRY(sp_alloc((void **)&c->moved, pairs, 1, what));
    TRY(sp_alloc((void **)&c->start, pairs + 1, sizeof *c->start, what));
    TRY(sp_alloc((void **)&c->entry, entries, sizeof *c->entry, what));
    TRY(sp_alloc((void **)&c->col, entries, sizeof *c->col, what));
    return sp_alloc((void **)&c->comes, columns, 1, what);
}

static spmm_status joint_cover_build(covering *s, int threads)
{
    int64_t *at = NULL;
    spmm_status status;
    const int parts = s->c->parts;
    TRY(allocate_counts(s));
    joint_cover_count(s);
    number(s);
    TRY(allocate_lists(s));
    TRY_GOTO(sp_alloc((void **)&at, 2 * (int64_t)parts, sizeof *at, "the joint exchange's counts"), done);
    memcpy(at, s->c->pair, (size_t)parts * sizeof *at);
    memcpy(at + parts, s->entries, (size_t)parts * sizeof *at);
    joint_cover_fill(s, at, at + parts);
    status = cover_all(s->c, threads);
done:
    sp_free(at);
    return status;
}

spmm_status sp_joint_cover_create(const spmm_csr *a, int64_t row_begin, int64_t row_end, const int64_t *bound,
                                  int parts, int me, int threads, sp_joint_cover *cover)
{
    memset(cover, 0, sizeof *cover);
    cover->parts = parts;
    covering s = {a, row_begin, row_end, bound, me, NULL, NULL, cover};
    const spmm_status status = joint_cover_build(&s, threads);
    sp_free(s.number);
    sp_free(s.entries);
    return status;
}

void sp_joint_cover_destroy(sp_joint_cover *c)
{
    sp_free(c->pair);
    sp_free(c->row);
    sp_free(c->moved);
    sp_free(c->start);
    sp_free(c->entry);
    sp_free(c->col);
    sp_free(c->needed);
    sp_free(c->comes);
    memset(c, 0, sizeof *c);
}

void sp_joint_cover_count(const sp_joint_cover *c, int p, int64_t *x_rows, int64_t *y_rows)
{
    *x_rows = *y_rows = 0;
    for (int64_t j = c->needed[p]; j < c->needed[p + 1]; j++) *x_rows += c->comes[j];
    for (int64_t i = c->pair[p]; i < c->pair[p + 1]; i++) *y_rows += c->moved[i];
}
