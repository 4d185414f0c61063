/** Cuts the rows of a matrix by planes through a layout of its graph, and orders them along a curve. */
#include "partition/layout_order.h"

#include "base/counting_sort.h"
#include "base/memory.h"
#include "formats/row_layout.h"

enum {
    AXES = SP_LAYOUT_AXES,
    PLANES = 1 << 16 /* positions of a plane */,
    DIGIT = 15 /* bits of a sort key */
};

/** The rows, and what the steps below need. */
typedef struct row_order {
    const spmm_csr *a;
    sp_point *at;    /* [rows] */
    int32_t *order;  /* [rows] */
    int32_t *part;   /* [rows] */
    int32_t *key;    /* [rows] */
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

/** Sorts order[begin .. end - 1] by key. */
static spmm_status sort(row_order *l, int64_t begin, int64_t end, int64_t keys)
{
    TRY(sp_sort_by_key(l->order + begin, l->key, end - begin, keys, l->sorted));
    for (int64_t i = begin; i < end; i++) l->order[i] = l->sorted[i - begin];
    return SPMM_OK;
}

static int64_t weight(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row] + 1; }

/** Returns the position that divides the weight of order[begin .. end - 1] in the ratio left : all - left. */
static int64_t divide(const row_order *l, int64_t begin, int64_t end, int left, int all)
{
    int64_t total = 0, sum = 0, at = begin;
    for (int64_t i = begin; i < end; i++) total += weight(l->a, l->order[i]);
    const double share = (double)total * left / all;
    while (at < end && (double)sum + 0.5 * (double)weight(l->a, l->order[at]) < share)
        sum += weight(l->a, l->order[at++]);
    return at;
}

/** Returns how many of n parts are left of a plane. */
static int parts_left(const row_order *l, int n)
{
    const int half = n / 2;
    if (n <= l->together) return half;
    return half < l->together ? l->together : half / l->together * l->together;
}

/** Cuts order[begin .. end - 1] into n parts, numbered from `first` on. */
static spmm_status cut(row_order *l, int64_t begin, int64_t end, int first, int n)
{
    if (n == 1 || begin == end) {
        for (int64_t i = begin; i < end; i++) l->part[l->order[i]] = first;
        return SPMM_OK;
    }
    const box b = box_of(l, begin, end);
    const int d = longest_side(&b), left = parts_left(l, n);
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t i = begin; i < end; i++)
        l->key[l->order[i]] = (int32_t)cell_of(l, &b, b.extent[d], l->order[i], d, PLANES);
    TRY(sort(l, begin, end, PLANES));
    const int64_t middle = divide(l, begin, end, left, n);
    TRY(cut(l, begin, middle, first, left));
    return cut(l, middle, end, first + left, n - left);
}

/** Sorts the rows along the curve, and then by part. */
static spmm_status sort_along_curve(row_order *l, int parts)
{
    const int64_t rows = l->a->rows;
    const box b = box_of(l, 0, rows);
    const float edge = b.extent[longest_side(&b)];
    for (int shift = 0; shift < AXES * SP_LAYOUT_BITS; shift += DIGIT) {
#pragma omp parallel for schedule(static) num_threads(l->threads)
        for (int64_t i = 0; i < rows; i++) {
            uint32_t x[AXES];
            for (int d = 0; d < AXES; d++) x[d] = cell_of(l, &b, edge, i, d, 1 << SP_LAYOUT_BITS);
            l->key[i] = (int32_t)(sp_on_curve(x) >> shift & ((1u << DIGIT) - 1));
        }
        TRY(sort(l, 0, rows, 1 << DIGIT));
    }
    TRY(sp_sort_by_key(l->order, l->part, rows, parts, l->sorted));
    for (int64_t i = 0; i < rows; i++) l->order[i] = l->sorted[i];
    return SPMM_OK;
}

spmm_status sp_layout_order(const spmm_csr *a, int parts, int together, int threads, int32_t *order,
                            int32_t *part)
{
    row_order l = {.a = a, .order = order, .part = part, .together = together, .threads = threads};
    spmm_status status;
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE, "a layout needs a square matrix, and this one is %lld x %lld",
                       (long long)a->rows, (long long)a->cols);
    if (a->rows == 0) return SPMM_OK;
    TRY_GOTO(sp_alloc((void **)&l.at, a->rows, sizeof *l.at, "coordinates of rows"), done);
    TRY_GOTO(sp_alloc((void **)&l.key, 2 * a->rows, sizeof *l.key, "sort keys of rows"), done);
    l.sorted = l.key + a->rows;
    TRY_GOTO(sp_cluster_rows(a, threads, order), done);
    TRY_GOTO(sp_lay_out_rows(a, threads, order, l.at), done);
    TRY_GOTO(cut(&l, 0, a->rows, 0, parts), done);
    status = sort_along_curve(&l, parts);
done:
    sp_free(l.at);
    sp_free(l.key);
    return status;
}
