/** Counts the communication volume of a distribution from the sparsity pattern of the whole matrix. */
#include "distribute/comm_volume.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

/** Input and output of sp_comm_volume(), which all threads share. */
typedef struct model {
    const spmm_csr *a;
    int P, Q;
    const int64_t *row_begin, *col_begin, *x_begin;
    sp_rank_count *counts;
} model;

/** Temporary arrays of one thread. The owners of X are numbered by process column: rank (o, q) has the index
 *  q*P + o in these arrays, although its rank number is o*Q + q. */
typedef struct workspace {
    int32_t *stamp;     /**< per column of A: the last process row found to need that row of X; -1: none */
    int64_t *wanted;    /**< per owner: number of its rows of X that the current process row needs */
    int32_t *suppliers; /**< list of the owners with wanted > 0 */
    int64_t count;      /**< number of suppliers */
} workspace;

/** Adds entries [from, to) of one row, all of which lie in block (p, q), to the counts of rank (p, q), and
 *  records in s the rows of X that these entries need from other ranks. */
static void count_entries(const model *m, int p, int q, int64_t from, int64_t to, workspace *s)
{
    const int64_t *const owned = m->x_begin + (int64_t)q * (m->P + 1);
    const int64_t first = owned[p], last = owned[p + 1];
    int boundary = 0;
    for (int64_t e = from; e < to; e++) {
        const int32_t column = m->a->ja[e];
        if (column >= first && column < last) continue;
        boundary = 1;
        if (s->stamp[column] == p) continue;
        s->stamp[column] = p;
        const int32_t supplier = q * m->P + sp_part_of(owned, m->P, column);
        if (s->wanted[supplier]++ == 0) s->suppliers[s->count++] = supplier;
    }
    sp_rank_count *const c = &m->counts[p * m->Q + q];
    c->nnz += to - from;
    c->boundary_rows += boundary;
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
        if (to > from) count_entries(m, p, q, from, to, s);
        from = to;
    }
}

/** Adds the halo rows of process row p to the counts of their receivers and senders. */
static void book_halo(const model *m, int p, workspace *s)
{
    for (int64_t n = 0; n < s->count; n++) {
        const int q = s->suppliers[n] / m->P, o = s->suppliers[n] % m->P;
        const int64_t wanted = s->wanted[s->suppliers[n]];
        sp_rank_count *const receiver = &m->counts[p * m->Q + q], *const sender = &m->counts[o * m->Q + q];
        receiver->halo_rows += wanted;
        receiver->receives_from++;
        /* a sender may serve several process rows, which other threads may be counting now */
#pragma omp atomic
        sender->sent_rows += wanted;
#pragma omp atomic
        sender->sends_to++;
        s->wanted[s->suppliers[n]] = 0;
    }
    s->count = 0;
}

static void count_process_row(const model *m, int p, workspace *s)
{
    for (int q = 0; q < m->Q; q++) {
        sp_rank_count *const c = &m->counts[p * m->Q + q];
        const int64_t *const owned = m->x_begin + (int64_t)q * (m->P + 1);
        c->rows = m->row_begin[p + 1] - m->row_begin[p];
        c->x_rows = owned[p + 1] - owned[p];
        c->partial_rows = m->Q == 1 ? 0 : c->rows;
    }
    for (int64_t i = m->row_begin[p]; i < m->row_begin[p + 1]; i++) count_row(m, p, i, s);
    book_halo(m, p, s);
}

static spmm_status count_all(const model *m, int threads)
{
    const int64_t cols = m->a->cols, ranks = (int64_t)m->P * m->Q;
    int32_t *stamps = NULL, *suppliers = NULL;
    int64_t *wanted = NULL;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&stamps, threads * cols, sizeof *stamps, "stamps of the columns"), done);
    TRY_GOTO(sp_alloc((void **)&suppliers, threads * ranks, sizeof *suppliers, "owners of halo rows"), done);
    TRY_GOTO(sp_alloc_zero((void **)&wanted, threads * ranks, sizeof *wanted, "counts of halo rows"), done);
    /* one workspace per iteration t, not per thread, because OpenMP may provide fewer threads than
     * requested */
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        workspace s = {stamps + t * cols, wanted + t * ranks, suppliers + t * ranks, 0};
        for (int64_t c = 0; c < cols; c++) s.stamp[c] = -1;
        for (int p = t; p < m->P; p += threads) count_process_row(m, p, &s);
    }
done:
    sp_free(stamps);
    sp_free(suppliers);
    sp_free(wanted);
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
                           const int64_t *col_begin, const int64_t *x_begin, int threads,
                           sp_rank_count *counts)
{
    if (P < 1 || Q < 1 || threads < 1)
        return sp_fail(SPMM_ERR_USAGE, "%d x %d processes counted by %d threads: each must be 1 or more", P,
                       Q, threads);
    if (P > INT32_MAX / Q) return sp_fail(SPMM_ERR_LIMIT, "%d x %d processes: more than 2^31 - 1", P, Q);
    int right = covers(row_begin, P, 0, a->rows) && covers(col_begin, Q, 0, a->cols);
    for (int q = 0; q < Q && right; q++)
        right = covers(x_begin + (int64_t)q * (P + 1), P, col_begin[q], col_begin[q + 1]);
    if (!right)
        return sp_fail(SPMM_ERR_USAGE,
                       "blocks of %d x %d processes do not cover a %lld x %lld matrix in order", P, Q,
                       (long long)a->rows, (long long)a->cols);
    memset(counts, 0, (size_t)P * (size_t)Q * sizeof *counts);
    const model m = {a, P, Q, row_begin, col_begin, x_begin, counts};
    return count_all(&m, threads < P ? threads : P);
}
