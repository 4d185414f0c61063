/** Collects results from tiles of coefficients: the pairs with extreme coefficients, and the coefficients of
 *  the wanted series. Also computes the mean coefficient of each series. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/pearson_internal.h"

enum {
    ROOM = 1 << 16,        /* maximum number of pairs that a search in a tile returns; best.pair has room for
                              this number of pairs beyond the best `top` */
    STRIP_BYTES = 64 << 20 /* maximum size of adjacent columns that a GPU sends in one transfer */
};

/** The best pairs found so far. If sign is 1, these are the pairs with the greatest coefficients; if sign is
 *  -1, those with the least. */
typedef struct best {
    int sign, top, count;
    sp_pair *pair; /* [top + ROOM] candidates; after trim(), sorted with the best pair first */
} best;

/** Coefficients of wanted series that were found in one tile: those of the wanted series with indices r0 to
 *  r0 + rows - 1, which are rows of the tile, with those with indices c0 to c0 + cols - 1, which are columns.
 *  The indices refer to the list sp_pearson_wanted.series. */
typedef struct picked {
    struct picked *next;
    int64_t r0, rows, c0, cols;
    double value[]; /* [cols][rows] coefficients; NaN: the tile has no coefficient for this pair */
} picked;

struct sp_pearson_collection {
    const sp_pearson_wanted *wanted;
    best most, least;
    sp_pair *found; /* [ROOM] result of the last search for pairs */
    picked *list;
};

/* ---- collecting the pairs with extreme coefficients ---- */

static int by_most(const void *a, const void *b)
{
    const sp_pair *const x = a, *const y = b;
    if (x->r != y->r) return x->r > y->r ? -1 : 1;
    if (x->i != y->i) return x->i < y->i ? -1 : 1;
    return (x->j > y->j) - (x->j < y->j);
}

static int by_least(const void *a, const void *b)
{
    const sp_pair *const x = a, *const y = b;
    if (x->r != y->r) return x->r < y->r ? -1 : 1;
    return by_most(a, b);
}

/** Sorts the list of pairs with the best pair first, and drops all but the first `top` pairs. */
static void trim(best *b)
{
    qsort(b->pair, (size_t)b->count, sizeof *b->pair, b->sign > 0 ? by_most : by_least);
    if (b->count > b->top) b->count = b->top;
}

static void pearson_collect_add(best *b, const sp_pair *pair)
{
    if (b->count == b->top + ROOM) trim(b);
    b->pair[b->count++] = *pair;
}

/** Returns the coefficient that a pair must reach to be among the `top` best: the stricter of two bounds.
 *  For the first, the pairs of the histogram are counted from its best bin on until there are `top` of them;
 *  the bound is the worse edge of the last bin counted. The second, if the list is full, is the coefficient
 *  of its last pair. The list must have been trimmed by trim(). */
static double threshold(const best *b, const sp_histogram *t)
{
    const int end = b->sign > 0 ? 0 : SP_BINS - 1;
    int64_t beyond = 0;
    int bin = SP_BINS - 1 - end;
    for (; bin != end; bin -= b->sign) {
        beyond += t->bin[bin];
        if (beyond >= b->top) break;
    }
    /* The bound is loosened by 1e-9: rounding may have put a coefficient at the edge into the next bin. */
    const double edge = 2.0 * (bin + (b->sign < 0)) / SP_BINS - 1 - b->sign * 1e-9;
    if (b->count < b->top) return edge;
    const double last = b->pair[b->top - 1].r;
    return b->sign > 0 ? fmax(edge, last) : fmin(edge, last);
}

/** Searches a whole tile on the host, column by column, and adds the pairs found to the lists. Needed if
 *  sp_tile_find() found more than ROOM pairs, for example because very many coefficients are nearly equal. */
static spmm_status scan_tile(const sp_tile *t, sp_pearson_collection *c, double low, double high)
{
    const int64_t size = sp_value_size(t->precision);
    void *column = NULL;
    if (t->space == SPMM_CUDA) TRY(sp_alloc(&column, t->rows, size, "a column of coefficients"));
    spmm_status status = SPMM_OK;
    for (int64_t j = 0; j < t->cols && status == SPMM_OK; j++) {
        const void *from = (const char *)t->c + j * t->rows * size;
        if (column) status = sp_device_download(column, from, t->rows * size);
        if (column) from = column;
        for (int64_t i = 0; i < sp_tile_pairs(t, j) && status == SPMM_OK; i++) {
            const double r = sp_value_get(from, t->precision, i);
            const sp_pair pair = sp_pair_of(r, t->first_row + i, t->first_col + j);
            if (r >= high) pearson_collect_add(&c->most, &pair);
            if (r <= low) pearson_collect_add(&c->least, &pair);
        }
    }
    sp_free(column);
    return status;
}

static spmm_status look_for_best(const sp_pearson *p, const sp_tile *tile, sp_pearson_collection *c)
{
    sp_histogram *t;
    int64_t found = 0;
    if (c->wanted->top == 0) return SPMM_OK;
    TRY(sp_alloc((void **)&t, 1, sizeof *t, "a histogram"));
    spmm_status status = sp_histogram_read(p->space, p->histogram, t);
    trim(&c->most);
    trim(&c->least);
    const double high = threshold(&c->most, t), low = threshold(&c->least, t);
    sp_free(t);
    if (status == SPMM_OK) status = sp_tile_find(tile, low, high, c->found, ROOM, &found);
    if (status != SPMM_OK) return status;
    if (found > ROOM) return scan_tile(tile, c, low, high);
    for (int64_t i = 0; i < found; i++) {
        if (c->found[i].r >= high) pearson_collect_add(&c->most, &c->found[i]);
        if (c->found[i].r <= low) pearson_collect_add(&c->least, &c->found[i]);
    }
    return SPMM_OK;
}

/* ---- storing the coefficients of the wanted series ---- */

/** Returns the index in w->series of the first number that is not less than `number`, or w->count. */
static int64_t wanted_from(const sp_pearson_wanted *w, int64_t number)
{
    return sp_lower_bound(w->series, 0, w->count, number);
}

static void pick_column(const sp_tile *t, const sp_pearson_wanted *w, const void *column, picked *to,
                        int64_t c)
{
    const int64_t pairs = sp_tile_pairs(t, w->series[to->c0 + c] - t->first_col);
    for (int64_t r = 0; r < to->rows; r++) {
        const int64_t i = w->series[to->r0 + r] - t->first_row;
        to->value[c * to->rows + r] = i < pairs ? sp_value_get(column, t->precision, i) : NAN;
    }
}

/** Copies the coefficients of the wanted series from a tile to `to`. Wanted columns that are adjacent are
 *  downloaded from a GPU in one transfer. */
static spmm_status pick_columns(const sp_tile *t, const sp_pearson_wanted *w, picked *to)
{
    const int64_t size = sp_value_size(t->precision), bytes = t->rows * size;
    const int64_t most = bytes < STRIP_BYTES ? STRIP_BYTES / bytes : 1;
    void *strip = NULL;
    spmm_status status = SPMM_OK;
    if (t->space == SPMM_CUDA) TRY(sp_alloc(&strip, most, (size_t)bytes, "columns of coefficients"));
    for (int64_t c = 0, run; c < to->cols && status == SPMM_OK; c += run) {
        const int64_t *const number = w->series + to->c0 + c;
        const char *from = (const char *)t->c + (number[0] - t->first_col) * bytes;
        for (run = 1; c + run < to->cols && run < most && number[run] == number[0] + run;) run++;
        if (strip) status = sp_device_download(strip, from, run * bytes);
        if (strip) from = strip;
        for (int64_t k = 0; k < run && status == SPMM_OK; k++) pick_column(t, w, from + k * bytes, to, c + k);
    }
    sp_free(strip);
    return status;
}

static spmm_status pick(const sp_tile *t, sp_pearson_collection *c)
{
    const sp_pearson_wanted *const w = c->wanted;
    const int64_t r0 = wanted_from(w, t->first_row), rows = wanted_from(w, t->first_row + t->rows) - r0,
                  c0 = wanted_from(w, t->first_col), cols = wanted_from(w, t->first_col + t->cols) - c0;
    picked *p;
    if (rows == 0 || cols == 0) return SPMM_OK;
    TRY(sp_alloc((void **)&p, (int64_t)sizeof *p + rows * cols * 8, 1, "coefficients"));
    *p = (picked){c->list, r0, rows, c0, cols};
    c->list = p;
    return pick_columns(t, w, p);
}

/** Adds the wanted pairs and coefficients of a tile to `collect`. All work is complete on return. */
static spmm_status look(sp_pearson *p, const sp_tile *tile, sp_pearson_collection *collect)
{
    TRY(look_for_best(p, tile, collect));
    return pick(tile, collect);
}

/* ---- combining the results of all ranks on rank 0 ---- */

static void pearson_collect_put(spmm_multivector *all, const picked *p, const double *value)
{
    double *const to = all->data;
    for (int64_t c = 0; c < p->cols; c++)
        for (int64_t r = 0; r < p->rows; r++) {
            const double v = value[c * p->rows + r];
            if (isnan(v)) continue;
            to[(p->r0 + r) * all->ld + p->c0 + c] = v;
            to[(p->c0 + c) * all->ld + p->r0 + r] = v;
        }
}

static spmm_status send_picked(const sp_pearson *p, const sp_pearson_collection *c)
{
    const picked end = {.rows = -1};
    for (const picked *at = c->list; at; at = at->next) {
        TRY(sp_send(p->grid->comm, 0, SP_TAG_PICKED, at, sizeof *at));
        TRY(sp_send(p->grid->comm, 0, SP_TAG_PICKED, at->value, at->rows * at->cols * 8));
    }
    return sp_send(p->grid->comm, 0, SP_TAG_PICKED, &end, sizeof end);
}

static spmm_status receive_picked(const sp_pearson *p, int rank, spmm_multivector *all)
{
    for (;;) {
        picked head;
        double *value;
        TRY(sp_recv(p->grid->comm, rank, SP_TAG_PICKED, &head, sizeof head));
        if (head.rows < 0) return SPMM_OK;
        if (sp_alloc((void **)&value, head.rows * head.cols, 8, "coefficients") != SPMM_OK)
            sp_abandon(p->grid->comm, SPMM_ERR_MEMORY); /* abort: senders would wait forever */
        const spmm_status status = sp_recv(p->grid->comm, rank, SP_TAG_PICKED, value,
                                           head.rows * head.cols * 8);
        if (status == SPMM_OK) pearson_collect_put(all, &head, value);
        sp_free(value);
        TRY(status);
    }
}

static spmm_status gather_picked(const sp_pearson *p, const sp_pearson_collection *c,
                                 sp_pearson_result *result)
{
    const sp_pearson_wanted *const w = c->wanted;
    spmm_multivector *const all = &result->coefficients;
    spmm_status status = SPMM_OK;
    const int root = p->grid->rank == 0;
    if (w->count == 0) return SPMM_OK;
    if (root) status = spmm_multivector_create(w->count, w->count, SPMM_F64, SPMM_CPU, all);
    TRY(sp_agree(p->grid->comm, "pearson", status));
    if (!root) return sp_agree(p->grid->comm, "pearson", send_picked(p, c));
    for (int64_t i = 0; i < w->count; i++)
        if (p->host_weight[w->series[i]] != 0) ((double *)all->data)[i * all->ld + i] = 1;
    for (const picked *at = c->list; at; at = at->next) pearson_collect_put(all, at, at->value);
    for (int r = 1; r < p->grid->size && status == SPMM_OK; r++) status = receive_picked(p, r, all);
    return sp_agree(p->grid->comm, "pearson", status);
}

static spmm_status gather_best(const sp_pearson *p, best *b, sp_pair **pair, int *count)
{
    const int size = p->grid->size, root = p->grid->rank == 0;
    const int64_t bytes = (int64_t)b->top * (int64_t)sizeof(sp_pair);
    sp_pair *all = NULL;
    if (b->top == 0) return SPMM_OK;
    trim(b);
    for (int i = b->count; i < b->top; i++) b->pair[i] = (sp_pair){NAN, -1, -1};
    const spmm_status made = root ? sp_alloc((void **)&all, size, (size_t)bytes, "pairs") : SPMM_OK;
    TRY(sp_agree(p->grid->comm, "pearson", made));
    const spmm_status collected = sp_collect(p->grid->comm, b->pair, (int)bytes, all);
    if (collected != SPMM_OK || !root) {
        sp_free(all);
        return collected;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < (int64_t)size * b->top; i++)
        if (all[i].i >= 0) all[n++] = all[i];
    qsort(all, (size_t)n, sizeof *all, b->sign > 0 ? by_most : by_least);
    *pair = all;
    *count = n < b->top ? (int)n : b->top;
    return SPMM_OK;
}

/** Computes the mean coefficient of each series without computing pairs. If each row of z is divided by its
 *  deviation, the sum of the coefficients of series m with all series, itself included, is the dot product of
 *  row m with the sum of all rows. Collective. */
static spmm_status mean_coefficients(const sp_pearson *p, sp_pearson_result *result)
{
    const int64_t all = p->begin[p->grid->size], mine = p->begin[p->grid->rank], length = p->z.k;
    double *sum = NULL, *mean = NULL;
    spmm_status status = sp_alloc_zero((void **)&sum, length, sizeof *sum, "a sum over series");
    if (status == SPMM_OK) status = sp_alloc_zero((void **)&mean, all, sizeof *mean, "mean coefficients");
    if (status == SPMM_OK) status = sp_series_combine(&p->z, p->weight + mine, sum, p->threads);
    TRY_GOTO(sp_agree(p->grid->comm, "pearson", status), done);
    TRY_GOTO(sp_sum(p->grid->comm, sum, (int)length), done);
    TRY_GOTO(sp_agree(p->grid->comm, "pearson", sp_series_project(&p->z, sum, mean + mine, p->threads)),
             done);
    TRY_GOTO(sp_gather_everywhere(p->grid->comm, mean, p->begin, p->grid->size), done);
    result->constant = 0;
    for (int64_t m = 0; m < all; m++) result->constant += p->host_weight[m] == 0;
    const double others = (double)(all - result->constant - 1);
    for (int64_t m = 0; m < all; m++)
        mean[m] = p->host_weight[m] == 0 || others < 1 ? NAN : (mean[m] * p->host_weight[m] - 1) / others;
    if (p->grid->rank == 0) {
        result->mean = mean;
        mean = NULL;
    }
done:
    sp_free(sum);
    sp_free(mean);
    return status;
}

static spmm_status gather_tally(const sp_pearson *p, sp_histogram *all)
{
    sp_histogram *of = NULL;
    const int root = p->grid->rank == 0;
    spmm_status status = sp_histogram_read(p->space, p->histogram, all);
    if (status == SPMM_OK && root) status = sp_alloc((void **)&of, p->grid->size, sizeof *of, "histograms");
    TRY(sp_agree(p->grid->comm, "pearson", status));
    status = sp_collect(p->grid->comm, all, sizeof *all, of);
    for (int r = 1; root && r < p->grid->size && status == SPMM_OK; r++) sp_histogram_add(all, &of[r]);
    sp_free(of);
    return status;
}

static spmm_status begin_collection(const sp_pearson_wanted *wanted, sp_pearson_collection *c)
{
    *c = (sp_pearson_collection){
        .wanted = wanted, .most = {.sign = 1, .top = wanted->top}, .least = {.sign = -1, .top = wanted->top}};
    TRY(sp_alloc((void **)&c->most.pair, wanted->top + ROOM, sizeof(sp_pair), "pairs"));
    TRY(sp_alloc((void **)&c->least.pair, wanted->top + ROOM, sizeof(sp_pair), "pairs"));
    return sp_alloc((void **)&c->found, ROOM, sizeof(sp_pair), "pairs");
}

static void end_collection(sp_pearson_collection *c)
{
    while (c->list) {
        picked *const next = c->list->next;
        sp_free(c->list);
        c->list = next;
    }
    sp_free(c->most.pair);
    sp_free(c->least.pair);
    sp_free(c->found);
}

spmm_status sp_pearson_collect(sp_pearson *p, const sp_spread *spread, const sp_pearson_wanted *wanted,
                               sp_pearson_result *result)
{
    sp_pearson_collection c;
    memset(result, 0, sizeof *result);
    spmm_status status;
    TRY_GOTO(sp_agree(p->grid->comm, "pearson", begin_collection(wanted, &c)), done);
    TRY_GOTO(sp_pearson_run(p, spread, &(sp_tile_visitor){look, &c}, NULL), done);
    TRY_GOTO(gather_tally(p, &result->histogram), done);
    TRY_GOTO(gather_best(p, &c.most, &result->most, &result->most_count), done);
    TRY_GOTO(gather_best(p, &c.least, &result->least, &result->least_count), done);
    TRY_GOTO(gather_picked(p, &c, result), done);
    status = mean_coefficients(p, result);
done:
    end_collection(&c);
    return status;
}

void sp_pearson_result_destroy(sp_pearson_result *r)
{
    if (!r) return;
    sp_free(r->most);
    sp_free(r->least);
    sp_free(r->mean);
    spmm_multivector_destroy(&r->coefficients);
    memset(r, 0, sizeof *r);
}
