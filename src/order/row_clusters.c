/** Orders rows by clusters on the host; kernels/cuda/cuda_row_clusters.cu does the same on the GPU. */
#include "order/row_clusters.h"

#include <string.h>

#include "order/counting_sort.h"
#include "base/memory.h"
#include "formats/summation.h"

#define NONE UINT32_MAX

/** Data of all passes. */
typedef struct clusters {
    const spmm_csr *a;
    int threads;
    uint32_t *least, *second, *owner, *hash; /* [rows], [rows], [cols], [clusters of level 1] */
    int32_t *of_row, *of_col;                /* cluster of each row and column, on the highest level so far */
    /* label[l]: the cluster of level l + 1 that contains each row (l = 0) or each cluster of level l */
    int32_t *label[SP_CLUSTER_LEVELS];
    int64_t count[SP_CLUSTER_LEVELS]; /* number of rows, of clusters of level 1, and so on */
    int levels;
} clusters;

/** Atomically sets *p to the smaller of *p and value. */
static void lower(uint32_t *p, uint32_t value)
{
    uint32_t now = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (value < now &&
           !__atomic_compare_exchange_n(p, &now, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/** Returns the end of the hashed entries of row i: all entries, or none if the row is long. */
static int64_t row_end(const spmm_csr *a, int64_t i)
{
    return a->irp[i + 1] - a->irp[i] <= SP_CHAIN ? a->irp[i + 1] : a->irp[i];
}

static void find_minima(clusters *s)
{
    const spmm_csr *const a = s->a;
    memset(s->owner, 0xff, (size_t)a->cols * sizeof *s->owner);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const uint32_t row_hash = sp_hash((uint32_t)i, SP_SEED_ROWS);
        uint32_t least = NONE, second = NONE;
        for (int64_t e = a->irp[i]; e < row_end(a, i); e++) {
            const uint32_t c = (uint32_t)a->ja[e], first = sp_hash(c, SP_SEED_ROWS),
                           other = sp_hash(c, SP_SEED_SECOND);
            if (first < least) least = first;
            if (other < second) second = other;
            lower(&s->owner[c], row_hash);
        }
        s->least[i] = least;
        s->second[i] = second;
    }
}

/** Replaces each element of `mark`, [n], that is 1 by its number among such elements. The other elements,
 *  which are 0, get the number of the next marked element.
 *  \return the number of marked elements */
static int32_t number_marked(int32_t *mark, int64_t n)
{
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t is = mark[i];
        mark[i] = count;
        count += is;
    }
    return count;
}

/** Creates the clusters of level 1. */
static spmm_status first_level(clusters *s)
{
    const spmm_csr *const a = s->a;
    int32_t *number;
    TRY(sp_alloc_zero((void **)&number, a->cols, sizeof *number, "clusters of rows"));
    for (int64_t i = 0; i < a->rows; i++)
        if (s->least[i] != NONE) number[sp_unhash(s->least[i], SP_SEED_ROWS)] = 1;
    s->count[0] = a->rows;
    s->count[1] = number_marked(number, a->cols);
    s->levels = 1;
    for (int64_t i = 0; i < a->rows; i++)
        s->label[0][i] = s->of_row[i] = s->least[i] != NONE ? number[sp_unhash(s->least[i], SP_SEED_ROWS)]
                                                            : 0;
    for (int64_t c = 0; c < a->cols; c++)
        s->of_col[c] = s->owner[c] != NONE ? s->of_row[sp_unhash(s->owner[c], SP_SEED_ROWS)] : 0;
    sp_free(number);
    return SPMM_OK;
}

/** Computes, for each cluster, the minimum hash of the cluster and its neighbors. */
static void find_neighbors(clusters *s, uint32_t seed)
{
    const spmm_csr *const a = s->a;
    for (int64_t i = 0; i < s->count[s->levels]; i++) s->hash[i] = sp_hash((uint32_t)i, seed);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < a->rows; i++) {
        uint32_t hash = NONE;
        for (int64_t e = a->irp[i]; e < row_end(a, i); e++) {
            const uint32_t other = sp_hash((uint32_t)s->of_col[a->ja[e]], seed);
            if (other < hash) hash = other;
        }
        lower(&s->hash[s->of_row[i]], hash);
    }
}

/** Creates the clusters of the next level.
 *  \param [out] joined  0: no level was added, because it would not have significantly fewer clusters */
static spmm_status next_level(clusters *s, int *joined)
{
    const int64_t count = s->count[s->levels];
    const uint32_t seed = SP_SEED_CLUSTERS + (uint32_t)s->levels;
    int32_t *const label = s->label[s->levels - 1] + s->count[s->levels - 1], *number;
    TRY(sp_alloc((void **)&number, count, sizeof *number, "clusters of rows"));
    find_neighbors(s, seed);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i;
        for (int64_t next = sp_unhash(s->hash[at], seed); next != at; next = sp_unhash(s->hash[at], seed))
            at = next;
        label[i] = (int32_t)at;
        number[i] = at == i;
    }
    const int64_t after = number_marked(number, count);
    *joined = sp_clusters_joined(count, after);
    if (*joined) {
        for (int64_t i = 0; i < count; i++) label[i] = number[label[i]];
        for (int64_t i = 0; i < s->a->rows; i++) s->of_row[i] = label[s->of_row[i]];
        for (int64_t c = 0; c < s->a->cols; c++) s->of_col[c] = label[s->of_col[c]];
        s->label[s->levels] = label;
        s->count[++s->levels] = after;
    }
    sp_free(number);
    return SPMM_OK;
}

/** Sorts the clusters of each level, from the highest level down to the rows, by the place of the cluster of
 *  the next higher level that contains them.
 *  \param place, key, items [rows] workspaces
 *  \param order [rows] the sorted rows */
static spmm_status sort_rows(clusters *s, int32_t *place, int32_t *key, int32_t *items, int32_t *order)
{
    for (int l = s->levels - 1; l >= 0; l--) {
        const int64_t n = s->count[l];
        for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
        if (l == 0) { /* rows of a cluster of level 1 are sorted by the upper half of the second hash */
            for (int64_t i = 0; i < n; i++) key[i] = (int32_t)(s->second[i] >> 16);
            TRY(sp_sort_by_key(order, key, n, 1 << 16, items));
        } else {
            memcpy(items, order, (size_t)n * sizeof *items);
        }
        for (int64_t i = 0; i < n; i++) key[i] = l < s->levels - 1 ? place[s->label[l][i]] : s->label[l][i];
        TRY(sp_sort_by_key(items, key, n, s->count[l + 1], order));
        for (int64_t i = 0; i < n; i++) place[order[i]] = (int32_t)i;
    }
    return SPMM_OK;
}

spmm_status sp_cluster_rows(const spmm_csr *a, int threads, int32_t *order)
{
    static const char what[] = "clusters of rows";
    const int64_t most = a->rows < a->cols ? a->rows : a->cols;
    clusters s = {.a = a, .threads = threads};
    int32_t *work = NULL;
    uint32_t *hashes = NULL;
    spmm_status status;
    for (int64_t i = 0; i < a->rows; i++) order[i] = (int32_t)i;
    if (a->rows == 0 || a->cols == 0) return SPMM_OK;
    /* `work` contains the labels of the rows; then the labels of the clusters of all levels, which need at
     * most 4 * most elements, because each level has at most 3/4 of the clusters of the previous one; then
     * of_row, of_col and the workspaces of sort_rows() */
    TRY_GOTO(sp_alloc((void **)&work, 5 * a->rows + 4 * most + a->cols, sizeof *work, what), done);
    TRY_GOTO(sp_alloc((void **)&hashes, 2 * a->rows + a->cols + most, sizeof *hashes, what), done);
    s.label[0] = work;
    s.of_row = work + a->rows + 4 * most;
    s.of_col = s.of_row + a->rows;
    s.least = hashes;
    s.second = s.least + a->rows;
    s.owner = s.second + a->rows;
    s.hash = s.owner + a->cols;
    find_minima(&s);
    TRY_GOTO(first_level(&s), done);
    int more = s.count[1] > 1;
    while (more && s.levels + 1 < SP_CLUSTER_LEVELS) {
        TRY_GOTO(next_level(&s, &more), done);
        more &= s.count[s.levels] > 1;
    }
    int32_t *const rest = s.of_col + a->cols;
    if (s.count[1] > 0) TRY_GOTO(sort_rows(&s, rest, rest + a->rows, rest + 2 * a->rows, order), done);
done:
    sp_free(work);
    sp_free(hashes);
    return status;
}
