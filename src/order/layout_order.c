/** Cuts the rows of a matrix by planes through a layout of its graph, and orders them along a curve. */
#include "order/layout_order.h"

#include <omp.h>

#include "order/counting_sort.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/search.h"
#include "device/device.h"
#include "order/row_layout.h"
#include "formats/summation.h"

/* PLANES: maximum number of positions of a plane. DIGIT: bits of a sort key. DENSE: mean number of entries
 * per row beyond which the layout is of a sample of the columns. LONG: rows and columns with more entries in
 * the sample are left out of the layout. FEW: sets of fewer rows are processed by one thread. ON_GPU: number
 * of rows from which a GPU makes the layout: smaller matrices would have too few of the GPU's chunks, which
 * always have the maximum size (order/row_layout.h). */
enum {
    AXES = SP_LAYOUT_AXES,
    PLANES = 1 << 16,
    DIGIT = 15,
    DENSE = 64,
    LONG = SP_CHAIN,
    FEW = 10000,
    ON_GPU = 100000
};

/* Seconds per row and per entry of a layout on one core, and on a GPU, including the host's share, to
 * estimate its time in advance. Measured on randomly numbered meshes and grids. */
static const double CORE_ROW = 2e-6, CORE_ENTRY = 30e-9, GPU_ROW = 0.12e-6, GPU_ENTRY = 5e-9;

/** The rows, and the work arrays of the steps below. */
typedef struct row_order {
    const spmm_csr *a;
    sp_point *at;    /* [rows] */
    int32_t *order;  /* [rows] */
    int32_t *part;   /* [rows] */
    int32_t *key;    /* [rows] */
    int32_t *curve;  /* [rows] index on the curve */
    int32_t *sorted; /* [rows] */
    int together, threads;
} row_order;

/** The smallest coordinates of a set of rows, and the extent in each of them. */
typedef struct box {
    float low[AXES], extent[AXES];
} box;

static box box_of(const row_order *l, int64_t begin, int64_t end)
{
    box b;
    for (int d = 0; d < AXES; d++) {
        float low = l->at[l->order[begin]].at[d], high = low;
        for (int64_t i = begin + 1; i < end; i++) {
            const float x = l->at[l->order[i]].at[d];
            if (x < low) low = x;
            if (x > high) high = x;
        }
        b.low[d] = low;
        b.extent[d] = high - low;
    }
    return b;
}

static int longest_side(const box *b)
{
    int longest = 0;
    for (int d = 1; d < AXES; d++)
        if (b->extent[d] > b->extent[longest]) longest = d;
    return longest;
}

/** Returns the cell, from 0 to cells - 1, of coordinate d of a row in a box with an edge of the given
 *  length. */
static uint32_t cell_of(const row_order *l, const box *b, float edge, int64_t row, int d, int cells)
{
    return edge > 0 ? (uint32_t)((l->at[row].at[d] - b->low[d]) / edge * (float)(cells - 1)) : 0;
}

/** Sorts order[begin .. end - 1] by the key of each row, which is below `keys`. */
static spmm_status sort(row_order *l, const int32_t *key, int64_t begin, int64_t end, int64_t keys)
{
    TRY(sp_sort_by_key(l->order + begin, key, end - begin, keys, l->sorted));
    for (int64_t i = begin; i < end; i++) l->order[i] = l->sorted[i - begin];
    return SPMM_OK;
}

static int64_t weight(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row] + 1; }

/** Returns the position that divides the weight of order[begin .. end - 1] in the ratio left : all - left. */
static int64_t layout_order_divide(const row_order *l, int64_t begin, int64_t end, int left, int all)
{
    int64_t total = 0, sum = 0, at = begin;
    for (int64_t i = begin; i < end; i++) total += weight(l->a, l->order[i]);
    const int64_t share = sp_partition_share(total, all, left);
    while (at < end && sum + weight(l->a, l->order[at]) / 2 < share) sum += weight(l->a, l->order[at++]);
    return at;
}

/** Returns how many of n parts lie on the left side of the plane that divides them: a multiple of `together`
 *  if n is greater than `together`. */
static int parts_left(const row_order *l, int n)
{
    const int half = n / 2;
    if (n <= l->together) return half;
    return half < l->together ? l->together : half / l->together * l->together;
}

/** Cuts order[begin .. end - 1] into n parts, numbered from `first` on. */
static spmm_status layout_order_cut(row_order *l, int64_t begin, int64_t end, int first, int n)
{
    if (n == 1 || begin == end) {
        for (int64_t i = begin; i < end; i++) l->part[l->order[i]] = first;
        return SPMM_OK;
    }
    const box b = box_of(l, begin, end);
    const int d = longest_side(&b), left = parts_left(l, n);
    const int planes = end - begin < PLANES / 4 ? 4 * (int)(end - begin) : PLANES;
#pragma omp parallel num_threads(l->threads) if (end - begin > FEW)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = begin; i < end; i++)
            l->key[l->order[i]] = (int32_t)cell_of(l, &b, b.extent[d], l->order[i], d, planes);
    }
    TRY(sort(l, l->key, begin, end, planes));
    const int64_t middle = layout_order_divide(l, begin, end, left, n);
    TRY(layout_order_cut(l, begin, middle, first, left));
    return layout_order_cut(l, middle, end, first + left, n - left);
}

/** Sorts the rows along the curve, and then by part. */
static spmm_status sort_along_curve(row_order *l, int parts)
{
    const int64_t rows = l->a->rows;
    const box b = box_of(l, 0, rows);
    const float edge = b.extent[longest_side(&b)];
#pragma omp parallel num_threads(l->threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            uint32_t x[AXES];
            for (int d = 0; d < AXES; d++) x[d] = cell_of(l, &b, edge, i, d, 1 << SP_LAYOUT_BITS);
            l->curve[i] = (int32_t)sp_on_curve(x);
        }
    }
    for (int shift = 0; shift < AXES * SP_LAYOUT_BITS; shift += DIGIT) {
        for (int64_t i = 0; i < rows; i++) l->key[i] = l->curve[i] >> shift & ((1 << DIGIT) - 1);
        TRY(sort(l, l->key, 0, rows, 1 << DIGIT));
    }
    return sort(l, l->part, 0, rows, parts);
}

/* ---- on a GPU ---- */

/** Orders the rows along a curve through a layout that the open GPU makes. */
static spmm_status order_on_gpu(const spmm_csr *of, int32_t *order)
{
    sp_matrix view, pattern;
    int32_t *clusters, *curve = NULL;
    sp_matrix_view_csr(of, &view);
    view.val = NULL;
    TRY(sp_matrix_upload(&view, &pattern));
    spmm_status status = sp_cuda_cluster_rows(&pattern, &clusters);
    if (status == SPMM_OK) status = sp_cuda_lay_out_rows(&pattern, clusters, &curve);
    if (status == SPMM_OK) status = sp_device_download(order, curve, of->rows * (int64_t)sizeof *order);
    sp_device_free(clusters);
    sp_device_free(curve);
    sp_matrix_destroy(&pattern);
    return status;
}

/** Cuts the order of the rows into n parts of consecutive rows with about the same weight. */
static void cut_along_curve(row_order *l, int n)
{
    const int64_t total = l->a->rows + l->a->nnz; /* the sum of weight() */
    for (int64_t i = 0, p = 0, sum = 0; i < l->a->rows; i++) {
        const int64_t row = l->order[i], own = weight(l->a, row);
        while (p + 1 < n && sum + own / 2 >= sp_partition_share(total, n, p + 1)) p++;
        l->part[row] = (int32_t)p;
        sum += own;
    }
}

static int uses_gpu(const spmm_csr *a) { return a->rows >= ON_GPU && sp_device_is_open(); }

/* ---- the pattern of the layout ---- */

/** The pattern that is laid out instead of that of a matrix. */
typedef struct thinned {
    spmm_csr pattern; /* without values */
    uint32_t below;   /* UINT32_MAX: all columns are in the sample; else those with a hash <= below */
    int32_t *used;    /* [cols] number of entries of each column, in the sample */
} thinned;

/** Returns 1 if the entries of a column are in the sample. The sample consists of whole columns, so that rows
 *  that share many columns of the matrix also share many columns of the sample. */
static int is_sampled(const thinned *t, int32_t column)
{
    return t->below == UINT32_MAX || sp_hash((uint32_t)column, SP_SEED_CLUSTERS) <= t->below;
}

/** Returns 1 if row i of `a` is too long for the layout, where it would join rows that are far apart. */
static int is_long(const spmm_csr *a, const thinned *t, int64_t i)
{
    return (double)(a->irp[i + 1] - a->irp[i]) * t->below > (double)LONG * UINT32_MAX;
}

/** Counts the entries of each column in the sample. Each thread reads all entries and counts a range of the
 *  columns, so that only one thread writes to a count. \return 1 if any row or column is too long */
static int count_columns(const spmm_csr *a, int threads, thinned *t)
{
    int any = 0;
#pragma omp parallel num_threads(threads) reduction(| : any)
    {
        const int n = omp_get_num_threads(), thread = omp_get_thread_num();
        const int64_t low = sp_partition_share(a->cols, n, thread),
                      high = sp_partition_share(a->cols, n, thread + 1);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < a->rows; i++) any |= is_long(a, t, i);
        for (int64_t e = 0; e < a->nnz; e++) {
            const int32_t column = a->ja[e];
            if (column >= low && column < high && is_sampled(t, column)) any |= ++t->used[column] > LONG;
        }
    }
    return any;
}

/** Stores the entries that are laid out. */
static void layout_order_fill(const spmm_csr *a, thinned *t)
{
    int64_t to = 0;
    t->pattern.irp[0] = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t end = is_long(a, t, i) ? a->irp[i] : a->irp[i + 1];
        for (int64_t e = a->irp[i]; e < end; e++)
            if (is_sampled(t, a->ja[e]) && t->used[a->ja[e]] <= LONG) t->pattern.ja[to++] = a->ja[e];
        t->pattern.irp[i + 1] = to;
    }
    t->pattern.nnz = to;
}

static void destroy_thinned(thinned *t)
{
    sp_free(t->pattern.irp);
    sp_free(t->pattern.ja);
    sp_free(t->used);
    *t = (thinned){.used = NULL};
}

/** Finds the pattern to lay out: without rows and columns that join everything, and with at most
 *  about DENSE entries per row on average, because rows of more than SP_CHAIN entries are not clustered.
 *  \param [out] of  `a` if nothing is to be left out, else the pattern in *t */
static spmm_status thin(const spmm_csr *a, int threads, thinned *t, const spmm_csr **of)
{
    static const char what[] = "pattern to lay out";
    const double share = (double)DENSE * (double)a->rows / (double)a->nnz;
    t->below = share < 1 ? (uint32_t)(share * UINT32_MAX) : UINT32_MAX;
    *of = a;
    TRY(sp_alloc_zero((void **)&t->used, a->cols, sizeof *t->used, what));
    if (!count_columns(a, threads, t) && t->below == UINT32_MAX) return SPMM_OK;
    int64_t entries = 0;
    for (int64_t c = 0; c < a->cols; c++) entries += t->used[c];
    t->pattern = (spmm_csr){.rows = a->rows, .cols = a->cols};
    TRY(sp_alloc((void **)&t->pattern.irp, a->rows + 1, sizeof *t->pattern.irp, what));
    TRY(sp_alloc((void **)&t->pattern.ja, entries, sizeof *t->pattern.ja, what));
    layout_order_fill(a, t);
    *of = &t->pattern;
    return SPMM_OK;
}

double sp_layout_seconds(const spmm_csr *a, int threads)
{
    const double rows = (double)a->rows, entries = (double)a->nnz;
    if (uses_gpu(a)) return GPU_ROW * rows + GPU_ENTRY * entries;
    /* about half of the time is divided among threads */
    return (0.5 + 0.5 / threads) * (CORE_ROW * rows + CORE_ENTRY * entries);
}

spmm_status sp_layout_order(const spmm_csr *a, int parts, int together, int threads, int32_t *order,
                            int32_t *part)
{
    row_order l = {.a = a, .order = order, .part = part, .together = together, .threads = threads};
    thinned t = {.used = NULL};
    const spmm_csr *of;
    spmm_status status;
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE, "a layout needs a square matrix, but this one is %lld x %lld",
                       (long long)a->rows, (long long)a->cols);
    if (parts < 1)
        return sp_fail(SPMM_ERR_USAGE, "cannot cut a layout into %d parts: expected at least 1", parts);
    if (a->rows == 0) return SPMM_OK;
    TRY_GOTO(thin(a, threads, &t, &of), done);
    if (uses_gpu(a)) {
        status = order_on_gpu(of, order);
        if (status == SPMM_OK) {
            cut_along_curve(&l, parts);
            goto done;
        } /* else the host makes the layout */
    }
    TRY_GOTO(sp_alloc((void **)&l.at, a->rows, sizeof *l.at, "coordinates of rows"), done);
    TRY_GOTO(sp_alloc((void **)&l.key, 3 * a->rows, sizeof *l.key, "sort keys of rows"), done);
    l.curve = l.key + a->rows;
    l.sorted = l.curve + a->rows;
    TRY_GOTO(sp_cluster_rows(of, threads, order), done);
    TRY_GOTO(sp_lay_out_rows(of, threads, order, l.at), done);
    destroy_thinned(&t);
    TRY_GOTO(layout_order_cut(&l, 0, a->rows, 0, parts), done);
    status = sort_along_curve(&l, parts);
done:
    destroy_thinned(&t);
    sp_free(l.at);
    sp_free(l.key);
    return status;
}
