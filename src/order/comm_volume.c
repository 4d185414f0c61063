/** Counts the communication volume of a distribution from the sparsity pattern of the whole matrix. */
#include "order/comm_volume.h"

#include <stdlib.h>
#include <string.h>

#include "order/column_set.h"
#include "base/memory.h"
#include "base/search.h"
#include "order/joint_cover.h"

/** Input and output of sp_comm_volume(), which all threads share. */
typedef struct model {
    const spmm_csr *a;
    int P, Q;
    sp_crossing crossing;
    const int64_t *row_begin, *col_begin, *x_begin;
    sp_rank_count *counts;
    const sp_stencil *stencil; /**< the pattern, if it is not in a; else NULL */
} model;

/** Temporary arrays of one thread. The owners of X are numbered by process column: rank (o, q) has the index
 *  q*P + o in these arrays, although its rank number is o*Q + q. */
typedef struct workspace {
    int32_t *stamp;  /**< per column of A: the last process row that needs this row of X; -1: none */
    int32_t *node;   /**< per column of A: the last node that needs this row of X from another node; -1: none.
                          NULL if nodes are not marked */
    int64_t *fresh;  /**< per owner: how many of `wanted` no lower rank on the receiving node needs */
    int64_t *wanted; /**< per owner: number of its rows of X that the current process row needs */
    int32_t *suppliers; /**< list of the owners with wanted > 0 */
    int32_t *ends;      /**< [2] per owner with wanted > 0: its first and last row of X that is needed */
    int64_t count;      /**< number of suppliers */
    int64_t *after;     /**< per process column: the row after the last row that needs a row of X */
} workspace;

static int node_of(const model *m, int p, int q) { return (p * m->Q + q) / m->crossing.per_node; }

/** Returns 1 if marks[at] is not `node`, and sets it to `node`. Returns 1 if marks is NULL. */
static int is_new(int32_t *marks, int64_t at, int node)
{
    if (!marks) return 1;
    const int differs = marks[at] != node;
    marks[at] = node;
    return differs;
}

/** Records that rows s->after[q] to end - 1 of rank (p, q) need no row of X from another rank. */
static void end_run(const model *m, int p, int q, int64_t end, const workspace *s)
{
    int64_t *const longest = &m->counts[p * m->Q + q].interior_run;
    if (end - s->after[q] > *longest) *longest = end - s->after[q];
}

/** Records that `rows` rows of X, from row `first` to row `last`, are needed; `fresh` of them are new for
 *  their node. */
static void want(workspace *s, int32_t supplier, int32_t first, int32_t last, int64_t rows, int64_t fresh)
{
    int32_t *const ends = s->ends + 2 * (int64_t)supplier;
    if (s->wanted[supplier] == 0) {
        s->suppliers[s->count++] = supplier;
        ends[0] = first;
        ends[1] = last;
    }
    s->wanted[supplier] += rows;
    s->fresh[supplier] += fresh;
    if (first < ends[0]) ends[0] = first;
    if (last > ends[1]) ends[1] = last;
}

/** Adds entries [from, to) of row i, all of which lie in block (p, q), to the counts of rank (p, q), and
 *  records in s the rows of X that these entries need from other ranks. */
static void count_entries(const model *m, int p, int q, int64_t i, int64_t from, int64_t to, workspace *s)
{
    const int64_t *const owned = m->x_begin + (int64_t)q * (m->P + 1);
    const int64_t first = owned[p], last = owned[p + 1];
    int boundary = 0, owner = p;
    for (int64_t e = from; e < to; e++) {
        const int32_t column = m->a->ja[e];
        if (column >= first && column < last) continue;
        boundary = 1;
        if (s->stamp[column] == p) continue;
        s->stamp[column] = p;
        /* neighboring columns usually have the same owner */
        if (column < owned[owner] || column >= owned[owner + 1]) owner = sp_part_of(owned, m->P, column);
        want(s, q * m->P + owner, column, column, 1, is_new(s->node, column, node_of(m, p, q)));
    }
    sp_rank_count *const c = &m->counts[p * m->Q + q];
    c->nnz += to - from;
    if (!boundary) return;
    c->boundary_rows++;
    end_run(m, p, q, i, s);
    s->after[q] = i + 1;
}

/** Splits row i at the boundaries of the column blocks and counts the entries in each column block. */
static void count_row(const model *m, int p, int64_t i, workspace *s)
{
    const int64_t end = m->a->irp[i + 1];
    int64_t from = m->a->irp[i];
    for (int q = 0; q < m->Q && from < end; q++) {
        int64_t to = from;
        if (q == m->Q - 1)
            to = end;
        else
            while (to < end && m->a->ja[to] < m->col_begin[q + 1]) to++;
        if (to > from) count_entries(m, p, q, i, from, to, s);
        from = to;
    }
}

/** Adds the halo rows of process row p to the counts of their receivers and senders. */
static void book_halo(const model *m, int p, workspace *s)
{
    for (int64_t n = 0; n < s->count; n++) {
        const int q = s->suppliers[n] / m->P, o = s->suppliers[n] % m->P;
        const int64_t wanted = s->wanted[s->suppliers[n]], fresh = s->fresh[s->suppliers[n]];
        sp_rank_count *const receiver = &m->counts[p * m->Q + q], *const sender = &m->counts[o * m->Q + q];
        const int32_t *const ends = s->ends + 2 * (int64_t)s->suppliers[n];
        const int packed = (int64_t)ends[1] - ends[0] + 1 != wanted;
        const int far = node_of(m, p, q) != node_of(m, o, q) && fresh > 0;
        receiver->halo_rows += wanted;
        receiver->receives_from++;
        receiver->far_rows += far ? fresh : 0;
        receiver->far_from += far;
        /* a sender may serve several process rows, which other threads may be counting now */
#pragma omp atomic
        sender->sent_rows += wanted;
#pragma omp atomic
        sender->sends_to++;
#pragma omp atomic
        sender->packed_rows += packed ? wanted : 0;
#pragma omp atomic
        sender->far_sent += far ? fresh : 0;
#pragma omp atomic
        sender->far_to += far;
        s->wanted[s->suppliers[n]] = s->fresh[s->suppliers[n]] = 0;
    }
    s->count = 0;
}

/* ---- the pattern of a stencil ---- */

/** Returns how many of the coordinates c-1, c and c+1 lie in [0, n). */
static int64_t reach(int64_t c, int64_t n) { return 1 + (c > 0) + (c < n - 1); }

/** Returns the sum of reach() over the coordinates below c. */
static int64_t reach_below(int64_t c, int64_t n) { return 3 * c - (c > 0) - (c == n); }

int64_t sp_stencil_start(const void *stencil, int64_t row)
{
    const sp_stencil *const g = stencil;
    const int64_t n = g->side, all = 3 * n - 2, x = row % n, z = g->dimensions == 3 ? row / n / n : 0;
    const int64_t y = row / n - z * n, at_y = reach(y, n), at_z = g->dimensions == 3 ? reach(z, n) : 1;
    if (!g->star)
        return reach_below(z, n) * all * all + at_z * (reach_below(y, n) * all + at_y * reach_below(x, n));
    return n * n * reach_below(z, n) + z * 2 * n * (all - n) + y * (n * at_z + all - 2 * n) +
           n * reach_below(y, n) + x * (at_y + at_z - 2) + reach_below(x, n);
}

/** An interval of rows or columns that concerns process column q. */
typedef struct piece {
    int64_t q, first, end;
} piece;

typedef struct piece_list {
    piece *at;
    int64_t count, room;
} piece_list;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/** Appends an interval; extends the last one if they touch. */
static spmm_status comm_volume_append(piece_list *l, int64_t q, int64_t first, int64_t end)
{
    piece *const last = l->count > 0 ? l->at + l->count - 1 : NULL, *grown;
    if (last && last->q == q && first >= last->first && first <= last->end) {
        last->end = greatest(last->end, end);
        return SPMM_OK;
    }
    if (l->count == l->room) {
        TRY(sp_alloc((void **)&grown, 2 * l->room + 64, sizeof *grown, "intervals of rows"));
        if (last) memcpy(grown, l->at, (size_t)l->count * sizeof *grown);
        sp_free(l->at);
        l->at = grown;
        l->room = 2 * l->room + 64;
    }
    l->at[l->count++] = (piece){q, first, end};
    return SPMM_OK;
}

static int by_place(const void *a, const void *b)
{
    const piece *const x = a, *const y = b;
    return x->q != y->q ? (x->q > y->q) - (x->q < y->q) : (x->first > y->first) - (x->first < y->first);
}

/** Sorts the intervals, and unites those that overlap or touch. */
static void unite(piece_list *l)
{
    const int64_t count = l->count;
    if (count > 0) qsort(l->at, (size_t)count, sizeof *l->at, by_place);
    l->count = 0;
    for (int64_t i = 0; i < count; i++) (void)comm_volume_append(l, l->at[i].q, l->at[i].first, l->at[i].end);
}

/** Counts the entries of rows [from, to), which lie in one line of points, whose columns are in the line that
 *  begins with column `base`: row i has the columns i + shift - wide to i + shift + wide, as far as they lie
 *  in that line. */
static spmm_status count_line(const model *m, int p, int64_t from, int64_t to, int64_t base, int64_t shift,
                              int wide, piece_list *waiting, piece_list *needed)
{
    const int64_t base_end = base + m->stencil->side;
    const int64_t first = greatest(from + shift - wide, base), end = least(to + shift + wide, base_end);
    for (int q = sp_part_of(m->col_begin, m->Q, first); q < m->Q && m->col_begin[q] < end; q++) {
        const int64_t low = greatest(m->col_begin[q], base), high = least(m->col_begin[q + 1], base_end);
        const int64_t *const own = m->x_begin + (int64_t)q * (m->P + 1) + p;
        const int64_t away[2][2] = {{low, least(own[0], high)}, {greatest(own[1], low), high}};
        for (int d = -wide; d <= wide; d++)
            m->counts[p * m->Q + q].nnz += greatest(0, least(to + shift + d, high) -
                                                           greatest(from + shift + d, low));
        for (int i = 0; i < 2; i++) {
            const int64_t a = greatest(away[i][0], first), b = least(away[i][1], end);
            if (a >= b) continue;
            TRY(comm_volume_append(needed, q, a, b));
            TRY(comm_volume_append(waiting, q, greatest(from, a - shift - wide),
                                   least(to, b - shift + wide)));
        }
    }
    return SPMM_OK;
}

/** Counts the neighbors in direction (dy, dz) of the points of process row p. */
static spmm_status count_direction(const model *m, int p, int dy, int dz, piece_list *waiting,
                                   piece_list *needed)
{
    const int64_t n = m->stencil->side, depth = m->stencil->dimensions == 3 ? n : 1;
    const int64_t begin = m->row_begin[p], end = m->row_begin[p + 1], shift = (dz * n + dy) * n;
    const int wide = !m->stencil->star || (dy == 0 && dz == 0);
    for (int64_t line = begin / n; line * n < end && begin < end; line++) {
        const int64_t y = line % n + dy, z = line / n + dz, at = line * n;
        if (y < 0 || y >= n || z < 0 || z >= depth) continue;
        TRY(count_line(m, p, greatest(begin, at), least(end, at + n), at + shift, shift, wide, waiting,
                       needed));
    }
    return SPMM_OK;
}

/** Does for the pattern of a stencil what count_row() does for each row of process row p. */
static spmm_status count_points(const model *m, int p, workspace *s)
{
    const int deep = m->stencil->dimensions == 3;
    piece_list waiting = {NULL, 0, 0}, needed = {NULL, 0, 0};
    spmm_status status = SPMM_OK;
    for (int i = 0; i < 9 && status == SPMM_OK; i++) {
        const int dy = i % 3 - 1, dz = i / 3 - 1;
        if ((deep || dz == 0) && (!m->stencil->star || dy == 0 || dz == 0))
            status = count_direction(m, p, dy, dz, &waiting, &needed);
    }
    unite(&waiting);
    unite(&needed);
    for (const piece *i = waiting.at; i < waiting.at + waiting.count; i++) {
        m->counts[p * m->Q + i->q].boundary_rows += i->end - i->first;
        end_run(m, p, (int)i->q, i->first, s);
        s->after[i->q] = i->end;
    }
    for (const piece *i = needed.at; i < needed.at + needed.count; i++) {
        const int64_t *const owned = m->x_begin + i->q * (m->P + 1);
        for (int64_t at = i->first, end; at < i->end; at = end) {
            const int o = sp_part_of(owned, m->P, at);
            end = least(i->end, owned[o + 1]);
            want(s, (int32_t)(i->q * m->P + o), (int32_t)at, (int32_t)(end - 1), end - at, end - at);
        }
    }
    sp_free(waiting.at);
    sp_free(needed.at);
    return status;
}

/* ---- all process rows ---- */

static spmm_status count_process_row(const model *m, int p, workspace *s)
{
    spmm_status status = SPMM_OK;
    for (int q = 0; q < m->Q; q++) {
        sp_rank_count *const c = &m->counts[p * m->Q + q];
        const int64_t *const owned = m->x_begin + (int64_t)q * (m->P + 1);
        c->rows = m->row_begin[p + 1] - m->row_begin[p];
        c->x_rows = owned[p + 1] - owned[p];
        c->partial_rows = m->Q == 1 ? 0 : c->rows;
        s->after[q] = m->row_begin[p];
    }
    if (m->stencil) status = count_points(m, p, s);
    for (int64_t i = m->row_begin[p]; i < m->row_begin[p + 1] && !m->stencil; i++) count_row(m, p, i, s);
    for (int q = 0; q < m->Q; q++) end_run(m, p, q, m->row_begin[p + 1], s);
    book_halo(m, p, s);
    return status;
}

static int greatest_divisor(int a, int b) { return b == 0 ? a : greatest_divisor(b, a % b); }

/** Returns 1 if nodes must be marked, so that a row of X is counted only once for all ranks of a node that
 *  need it. */
static int marks_nodes(const model *m)
{
    return m->crossing.x_once && m->crossing.per_node > 1 && m->crossing.per_node < (int64_t)m->P * m->Q;
}

/** Returns the smallest number of process rows that together fill whole nodes, but at most P. */
static int rows_of_nodes(const model *m)
{
    const int per_node = m->crossing.per_node, rows = per_node / greatest_divisor(per_node, m->Q);
    return rows < m->P ? rows : m->P;
}

static spmm_status count_all(const model *m, int threads)
{
    const int64_t cols = m->a->cols, ranks = (int64_t)m->P * m->Q;
    const int marks = marks_nodes(m), together = marks ? rows_of_nodes(m) : 1;
    int32_t *stamps = NULL, *nodes = NULL, *suppliers = NULL, *ends = NULL;
    int64_t *wanted = NULL, *after = NULL;
    int failed = 0;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&stamps, threads * cols, sizeof *stamps, "stamps of the columns"), done);
    TRY_GOTO(sp_alloc((void **)&suppliers, threads * ranks, sizeof *suppliers, "owners of halo rows"), done);
    TRY_GOTO(sp_alloc((void **)&ends, threads * ranks, 2 * sizeof *ends, "ends of halo rows"), done);
    TRY_GOTO(sp_alloc_zero((void **)&wanted, threads * ranks, 2 * sizeof *wanted, "counts of halo rows"),
             done);
    if (marks)
        TRY_GOTO(sp_alloc((void **)&nodes, threads * cols, sizeof *nodes, "stamps of the columns"), done);
    TRY_GOTO(sp_alloc((void **)&after, (int64_t)threads * m->Q, sizeof *after, "ends of interior rows"),
             done);
    /* one workspace per iteration t, not per thread, because OpenMP may provide fewer threads than
     * requested */
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(| : failed)
    for (int t = 0; t < threads; t++) {
        workspace s = {.stamp = stamps + t * cols,
                       .node = nodes ? nodes + t * cols : NULL,
                       .wanted = wanted + 2 * t * ranks,
                       .fresh = wanted + (2 * t + 1) * ranks,
                       .suppliers = suppliers + t * ranks,
                       .ends = ends + 2 * t * ranks,
                       .after = after + (int64_t)t * m->Q};
        for (int64_t c = 0; c < cols; c++) s.stamp[c] = -1;
        for (int64_t c = 0; c < cols && s.node; c++) s.node[c] = -1;
        for (int p = 0; p < m->P; p++)
            if (p / together % threads == t) failed |= count_process_row(m, p, &s) != SPMM_OK;
    }
    if (failed) status = sp_fail(SPMM_ERR_MEMORY, "cannot allocate the intervals of the rows");
done:
    sp_free(stamps);
    sp_free(nodes);
    sp_free(suppliers);
    sp_free(ends);
    sp_free(wanted);
    sp_free(after);
    return status;
}

/** Returns 1 if the boundaries begin[0], ..., begin[parts] do not decrease and go from `first` to `last`,
 *  else 0. */
static int covers(const int64_t *begin, int parts, int64_t first, int64_t last)
{
    for (int p = 0; p < parts; p++)
        if (begin[p] > begin[p + 1]) return 0;
    return begin[0] == first && begin[parts] == last;
}

spmm_status sp_comm_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin,
                           const int64_t *col_begin, const int64_t *x_begin, sp_crossing crossing,
                           int threads, sp_rank_count *counts)
{
    if (P < 1 || Q < 1 || crossing.per_node < 1 || threads < 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "%d x %d processes, %d on a node, counted by %d threads: expected at least 1 of each",
                       P, Q, crossing.per_node, threads);
    if (P > INT32_MAX / Q)
        return sp_fail(SPMM_ERR_LIMIT, "found %d x %d processes, expected at most 2^31 - 1", P, Q);
    int right = covers(row_begin, P, 0, a->rows) && covers(col_begin, Q, 0, a->cols);
    for (int q = 0; q < Q && right; q++)
        right = covers(x_begin + (int64_t)q * (P + 1), P, col_begin[q], col_begin[q + 1]);
    if (!right)
        return sp_fail(SPMM_ERR_USAGE,
                       "blocks of %d x %d processes do not cover a %lld x %lld matrix in order", P, Q,
                       (long long)a->rows, (long long)a->cols);
    memset(counts, 0, (size_t)P * (size_t)Q * sizeof *counts);
    const model m = {a, P, Q, crossing, row_begin, col_begin, x_begin, counts, NULL};
    return count_all(&m, threads < P ? threads : P);
}

spmm_status sp_stencil_volume(const sp_stencil *stencil, int P, int Q, const int64_t *row_begin,
                              const int64_t *col_begin, const int64_t *x_begin, int per_node, int threads,
                              sp_rank_count *counts)
{
    const spmm_csr none = {.rows = 0};
    const model m = {&none, P, Q, {per_node, 0}, row_begin, col_begin, x_begin, counts, stencil};
    memset(counts, 0, (size_t)P * (size_t)Q * sizeof *counts);
    return count_all(&m, threads < P ? threads : P);
}

/* ---- a cut of a renumbered matrix ---- */

/** Returns the number of rows of X that the part of the new rows [first, end) needs from other parts: the
 *  number of renumbered columns outside of [first, end) in which these rows have entries.
 *  \param old  [rows] old number of each new row; NULL: the rows are not renumbered
 *  \param set  bitmap of the columns, as scratch memory */
static int64_t count_needed(const spmm_csr *a, const int64_t *perm, const int32_t *old, int64_t first,
                            int64_t end, int threads, uint64_t *set)
{
    const int64_t words = sp_set_words(a->cols);
    int64_t count = 0;
    memset(set, 0, (size_t)words * sizeof *set);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads)
    for (int64_t n = first; n < end; n++) {
        const int64_t i = old ? old[n] : n;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const int64_t j = perm ? perm[a->ja[e]] : a->ja[e];
            if (j < first || j >= end) sp_set_add(set, j);
        }
    }
    for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(set[w]);
    return count;
}

spmm_status sp_cut_volume(const spmm_csr *a, int parts, const int64_t *perm, const int64_t *begin,
                          int threads, int64_t *received)
{
    uint64_t *set = NULL;
    int32_t *old = NULL;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&set, sp_set_words(a->cols), sizeof *set, "the needed rows of X"), done);
    if (perm) TRY_GOTO(sp_alloc((void **)&old, a->rows, sizeof *old, "old numbers of rows"), done);
    for (int64_t i = 0; perm && i < a->rows; i++) old[perm[i]] = (int32_t)i;
    for (int p = 0; p < parts; p++)
        received[p] = count_needed(a, perm, old, begin[p], begin[p + 1], threads, set);
done:
    sp_free(set);
    sp_free(old);
    return status;
}

/* ---- the joint exchange ---- */

/** Arguments and work arrays of sp_joint_volume(). */
typedef struct joint_model {
    const spmm_csr *a;
    int Q;
    sp_crossing crossing;
    int32_t *column_node; /* [cols] the last node for which this row of X was counted; -1: none. NULL if each
                             rank receives its rows itself */
    sp_rank_count *counts;
} joint_model;

/** Counts the rows of X and partial rows of Y that owner o, rank `from`, sends to rank `to` on another node.
 *  A row of X that crosses between the nodes once for several ranks counts only for the first of these ranks.
 *  \param [in] seen  [columns of all owners that have entries] zeroed; set to 1 for columns that have been
 *                    counted */
static int64_t count_far(const joint_model *m, const sp_joint_cover *c, int o, int to, unsigned char *seen)
{
    const int here = to / m->crossing.per_node;
    int64_t rows = 0;
    for (int64_t i = c->pair[o]; i < c->pair[o + 1]; i++) {
        rows += c->moved[i] != 0;
        for (int64_t e = c->start[i]; e < c->start[i + 1]; e++) {
            unsigned char *const counted = &seen[c->needed[o] + c->col[e]];
            if (!c->comes[c->needed[o] + c->col[e]] || *counted) continue;
            *counted = 1;
            rows += is_new(m->column_node, m->a->ja[c->entry[e]], here);
        }
    }
    return rows;
}

/** Adds the rows that rank (p, q) receives, according to a cover of its rows, to its counts and to those of
 *  the senders. */
static spmm_status book_joint(const joint_model *m, const sp_joint_cover *cover, int p, int q)
{
    const int to = p * m->Q + q, per_node = m->crossing.per_node;
    sp_rank_count *const counts = m->counts;
    unsigned char *seen = NULL;
    TRY(sp_alloc_zero((void **)&seen, cover->needed[cover->parts], 1, "rows that have been counted"));
    for (int o = 0; o < cover->parts; o++) {
        const int from = o * m->Q + q;
        int64_t x_rows, y_rows;
        sp_joint_cover_count(cover, o, &x_rows, &y_rows);
        const int64_t rows = x_rows + y_rows;
        if (rows == 0) continue;
        const int64_t across = from / per_node != to / per_node ? count_far(m, cover, o, to, seen) : 0;
        counts[to].joint.received += rows;
        counts[to].joint.far_received += across;
        counts[to].joint.partial += y_rows;
        counts[to].joint.receives_from++;
        counts[to].joint.far_from += across > 0;
        counts[from].joint.sent += rows;
        counts[from].joint.far_sent += across;
        counts[from].joint.sends_to++;
        counts[from].joint.far_to += across > 0;
    }
    sp_free(seen);
    return SPMM_OK;
}

static spmm_status cover_and_book(const joint_model *m, const int64_t *row_begin, const int64_t *x_begin,
                                  int P, int p, int threads)
{
    for (int q = 0; q < m->Q; q++) {
        sp_joint_cover cover;
        spmm_status status = sp_joint_cover_create(m->a, row_begin[p], row_begin[p + 1],
                                                   x_begin + (int64_t)q * (P + 1), P, p, threads, &cover);
        if (status == SPMM_OK) status = book_joint(m, &cover, p, q);
        sp_joint_cover_destroy(&cover);
        TRY(status);
    }
    return SPMM_OK;
}

spmm_status sp_joint_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin, const int64_t *x_begin,
                            sp_crossing crossing, int threads, sp_rank_count *counts)
{
    static const char what[] = "marks of rows that cross between nodes";
    joint_model m = {.a = a, .Q = Q, .crossing = crossing, .counts = counts};
    spmm_status status = SPMM_OK;
    for (int64_t r = 0; r < (int64_t)P * Q; r++) counts[r].joint = (sp_joint_count){.received = 0};
    if (crossing.x_once)
        TRY_GOTO(sp_alloc((void **)&m.column_node, a->cols, sizeof *m.column_node, what), done);
    for (int64_t j = 0; m.column_node && j < a->cols; j++) m.column_node[j] = -1;
    for (int p = 0; p < P; p++) TRY_GOTO(cover_and_book(&m, row_begin, x_begin, P, p, threads), done);
done:
    sp_free(m.column_node);
    return status;
}
