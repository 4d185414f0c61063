/** Chooses a kernel with decision trees, and computes the features of a matrix on which they depend. */
#include "product/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/topology.h"
#include "formats/panel.h"
#include "order/row_clusters.h"
#include "formats/summation.h"

#include "product/choose_trees.h"

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static double mean_length(const sp_features *f) { return f->sum.rows > 0 ? f->sum.nnz / f->sum.rows : 0; }

/** Appends a reason such as "0.25 of the entries .." to `why`, unless `why` contains that trait already. */
static void append_reason(char *why, size_t n, double value, sp_trait trait)
{
#define PHRASE(id, column, phrase) phrase,
    static const char *const phrases[] = {SP_TRAIT_LIST(PHRASE)};
#undef PHRASE
    const size_t used = strlen(why);
    if (!strstr(why, phrases[trait])) snprintf(why + used, n - used, ", %.3g %s", value, phrases[trait]);
}

/** The arguments of sp_order_kernels(). */
typedef struct question {
    const sp_features *f;
    int64_t k, products;
    spmm_precision precision;
    spmm_device device;
    spmm_format format;
} question;

/** Returns the size of a row of X in bytes. */
static double row_bytes(const question *q) { return (double)(q->k * sp_value_size(q->precision)); }

/** Returns the number of columns that panel_staged computes, divided by k. The ratio can exceed 1, because
 *  panel_staged computes whole tiles. Returns 0 if panel_staged cannot be used for this k or on this GPU. */
static double staged_columns(const question *q)
{
    const double tiles = row_bytes(q) / SP_STAGED_BYTES;
    return q->f->unstaged > 0 || tiles < 1 || tiles > SP_STAGED_TILES ? 0 : ceil(tiles) / tiles;
}

/** Returns 1 if the kernel may be the fastest for these features, else 0. */
static int of_use(const question *q, const sp_kernel *kernel)
{
    /* number of products that repay the milliseconds of panel_staged's set-up: bench/records/HISTORY.md */
    enum { REPAID = 130 };
    if (!sp_kernel_takes(kernel, q->precision)) return 0;
    /* a kernel that is exact in f64 alone sums in f64, whatever the type */
    if (kernel->exact == SP_EXACT_F64 && !sp_kernel_is_exact(kernel, q->precision, INT64_MAX) &&
        q->f->f64_slow > 0)
        return 0;
    return kernel->format != SPMM_STAGED || (q->products >= REPAID && staged_columns(q) > 0);
}

/** Appends the kernel to the list, unless it is already in the list, or belongs to another device or format.
 *  \param [in] kernel  NULL: nothing is appended */
static void choose_append(const question *q, const sp_kernel *kernel, const sp_kernel **list, int *count)
{
    if (!kernel || kernel->device != q->device) return;
    if (q->format != SPMM_FORMAT_AUTO && kernel->format != q->format) return;
    for (int i = 0; i < *count; i++)
        if (list[i] == kernel) return;
    list[(*count)++] = kernel;
}

/** Appends the default kernel of each format except CSR, which the rules treat separately. */
static void append_defaults(const question *q, const sp_kernel **list, int *count)
{
    for (int format = SPMM_CSR + 1; format < SP_FORMATS; format++) {
        const sp_kernel *const kernel = sp_kernel_default(q->device, (spmm_format)format);
        if (kernel && of_use(q, kernel)) choose_append(q, kernel, list, count);
    }
}

/** Returns 1 if rows share columns with rows whose numbers are far away, else 0. The share of columns that
 *  rows have in common with neighbors in the graph shows whether clusters would help. The number of times
 *  that a panel uses a row of X shows whether such rows are adjacent already. */
static int scattered(const question *q)
{
    static const double LEAST_SHARED = 0.1;
    const double shared = sp_trait_of(q->f, SP_SHARED, q->k, q->precision);
    return shared >= LEAST_SHARED && sp_features_reuse(q->f) - 1 < shared / 2;
}

/** Returns the size of a rank's X in bytes, assuming that X has as many rows as A. */
static double x_bytes(const question *q) { return row_bytes(q) * ratio(q->f->sum.rows, q->f->sum.blocks); }

/* ---- kernels for GPUs ---- */

/** Returns 1 if enough products are expected to repay a trial, else 0. */
static int is_timed(const question *q) { return q->products >= SP_PRODUCTS_TIMED; }

#define TREE(argument, word, ...) word##_tree,
static const choice_node *const trees[] = {SP_VALUE_TYPES(TREE, )};

/** Returns the leaf of the decision tree for the matrix. Appends the compared traits to `why`. */
static const choice_node *leaf_of(const question *q, char *why, size_t n)
{
    const choice_node *const tree = trees[q->precision], *node = tree;
    snprintf(why, n, "%s%s", sp_precision_word(q->precision), is_timed(q) ? "" : ", few products");
    while (!node->order[0]) {
        const double trait = sp_trait_of(q->f, node->trait, q->k, q->precision);
        append_reason(why, n, trait, node->trait);
        node = trait <= node->bound ? node + 1 : tree + node->other;
    }
    return node;
}

/** Returns 1 if a kernel is placed after the others regardless of the leaf, else 0. These are kernels with a
 *  conversion, if too few products are expected for a trial, and panel_staged, if it computes many columns
 *  that X does not have. */
static int comes_late(const question *q, const sp_kernel *kernel)
{
    /* beyond this ratio panel_staged was the fastest kernel in only 1 of 11 cases:
     * bench/records/HISTORY.md */
    static const double MOST_COLUMNS = 1.25;
    if (!is_timed(q) && kernel->format != SPMM_CSR) return 1;
    return kernel->format == SPMM_STAGED && staged_columns(q) > MOST_COLUMNS;
}

/** Returns 1 if csr_clustered is added to the kernels of a trial, else 0. */
static int clusters_join(const question *q)
{
    /* bounds above which csr_clustered was the fastest in about 1 of 9 cases on an H200 */
    static const double LEAST_BYTES = 128, LEAST_X = 8e6;
    return scattered(q) && row_bytes(q) >= LEAST_BYTES && x_bytes(q) >= LEAST_X;
}

/** Lists the CUDA kernels in the order of the leaf for the matrix, except that the kernels for which
 *  comes_late() returns 1 follow the others. Adds csr_clustered, which no leaf lists. */
static int order_on_gpu(const question *q, int all, const sp_kernel **list, char *why, size_t n)
{
    const choice_node *const leaf = leaf_of(q, why, n);
    const sp_kernel *const clustered = sp_kernel_find("csr_clustered");
    const int tried = SP_TRIED + clusters_join(q);
    int count = 0;
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < CHOICES; i++) {
            const sp_kernel *const kernel = sp_kernel_find(leaf->order[i]);
            if (count == SP_TRIED && tried > SP_TRIED) choose_append(q, clustered, list, &count);
            if (of_use(q, kernel) && comes_late(q, kernel) == late) choose_append(q, kernel, list, &count);
        }
    choose_append(q, clustered, list, &count);
    if (all) append_defaults(q, list, &count);
    return all || count < tried ? count : tried;
}

/* ---- kernels for CPUs ---- */

/** Returns 1 if a rule expects cpu_clustered to be the fastest. */
static int clustered(const question *q, char *why, size_t n)
{
    /* on a CPU with 32 MB of cache, cpu_clustered was faster when X had 16 MB or more */
    const double reuse = sp_features_reuse(q->f), x = x_bytes(q);
    if (!scattered(q) || reuse == 0 || x < q->f->cache / 2) return 0;
    snprintf(why, n,
             "X of %.3g MB, %.3g of its columns shared with a neighbor, %.3g entries per fetched row of X",
             x * 1e-6, sp_trait_of(q->f, SP_SHARED, q->k, q->precision), reuse);
    return 1;
}

/** Returns 1 if a rule expects cpu_segmented to be the fastest. */
static int segmented(const question *q, char *why, size_t n)
{
    /* On a CPU with 1 MB of L2 cache per core, cpu_segmented was faster for rows of X of 256 bytes or more,
     * and about as fast as cpu_csr with 128 bytes. */
    static const double LEAST_IN_LONG_ROWS = 0.9, LEAST_BYTES = 128, LEAST_X = 1 << 19;
    const double in_long_rows = q->f->sum.over[SP_LENGTH_BOUNDS - 1];
    const double x = row_bytes(q) * ratio(q->f->sum.reach, in_long_rows);
    if (in_long_rows < LEAST_IN_LONG_ROWS * q->f->sum.nnz || row_bytes(q) < LEAST_BYTES || x < LEAST_X)
        return 0;
    snprintf(why, n, "%.3g of the entries in long rows, each of which reaches over %.3g MB of X",
             ratio(in_long_rows, q->f->sum.nnz), x * 1e-6);
    return 1;
}

/** Returns 1 if a rule expects cpu_sell (one column) or cpu_sorted (several) to be the fastest: row lengths
 *  change so often that a loop over rows in the matrix's order mispredicts most of their ends. */
static int uneven(const question *q, char *why, size_t n)
{
    /* Measured on Zen 4 and Zen 5 CPUs: cpu_sorted was faster than cpu_csr if more than a fifth of the rows
     * differ in length from the previous row, a row of X has at most 32 bytes and long rows have at most half
     * of the entries; cpu_sell was faster if a fifth of the rows differ. */
    static const double LEAST_CHANGES = 0.2, MOST_BYTES = 32;
    const double changes = ratio(q->f->sum.changes, q->f->sum.rows);
    const int mostly_long = 2 * q->f->sum.over[SP_LENGTH_BOUNDS - 1] > q->f->sum.nnz;
    if (changes < LEAST_CHANGES) return 0;
    if (q->k > 1 && (mostly_long || row_bytes(q) > MOST_BYTES)) return 0;
    snprintf(why, n, "the length changes with %.3g of the rows", changes);
    return 1;
}

/** The CPU kernels other than cpu_csr. All use a converted copy of A, which `repaid` products repay. A kernel
 *  serves products of one column if `one` is 1, else products of several columns. It joins a trial if a row
 *  of X has `least` to `most` bytes. If rules expect several kernels to be the fastest, the first in this
 *  table is used. */
static const struct candidate {
    const char *name;
    int repaid, one;
    double least, most;
    int (*expected)(const question *q, char *why, size_t n);
} candidates[] = {{"cpu_sell", 50, 1, 0, INFINITY, uneven},
                  {"cpu_clustered", 10, 0, 128, INFINITY, clustered},
                  {"cpu_segmented", 10, 0, 0, INFINITY, segmented},
                  {"cpu_sorted", 50, 0, 0, 256, uneven}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static int serves(const question *q, const struct candidate *c) { return c->one == (q->k == 1); }

/** Returns 1 if the kernel joins the trial, else 0. */
static int joins(const question *q, const struct candidate *c)
{
    const double bytes = row_bytes(q);
    return q->products >= c->repaid && serves(q, c) && bytes >= c->least && bytes <= c->most;
}

/** Lists the CPU kernels: the one that a rule expects to be the fastest, cpu_csr, and the others that join a
 *  trial. */
static int order_on_cpu(const question *q, int all, const sp_kernel **list, char *why, size_t n)
{
    const int fits = 2 * ratio(q->f->sum.rows, q->f->sum.blocks) <= INT32_MAX;
    int count = 0;
    snprintf(why, n, "no other order of rows is expected to be faster");
    for (int i = 0; i < CANDIDATES && fits && count == 0; i++)
        if (joins(q, &candidates[i]) && candidates[i].expected(q, why, n))
            choose_append(q, sp_kernel_find(candidates[i].name), list, &count);
    choose_append(q, sp_kernel_find("cpu_csr"), list, &count);
    for (int late = 0; late <= all; late++)
        for (int i = 0; i < CANDIDATES && fits; i++)
            if (late ? serves(q, &candidates[i]) : joins(q, &candidates[i]))
                choose_append(q, sp_kernel_find(candidates[i].name), list, &count);
    if (all) append_defaults(q, list, &count);
    return count;
}

int sp_order_kernels(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                     spmm_device device, spmm_format format, int all,
                     const sp_kernel *list[SP_MAX_CANDIDATES], char *why, size_t n)
{
    const question q = {f, k, sp_products_of(products), precision, device, format};
    char reasons[256];
    int count = (device == SPMM_CUDA ? order_on_gpu : order_on_cpu)(&q, all, list, reasons, sizeof reasons);
    /* the caller requires a format for which the rules list no kernel */
    if (count == 0 && format != SPMM_FORMAT_AUTO)
        choose_append(&q, sp_kernel_default(device, format), list, &count);
    if (count == 1 && format > SPMM_CSR) snprintf(reasons, sizeof reasons, "the only one of its format");
    if (why) snprintf(why, n, "%s", reasons);
    return count;
}

int sp_keep_exact(spmm_precision precision, const sp_kernel **list, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (sp_kernel_is_exact(list[i], precision, INT64_MAX)) list[kept++] = list[i];
    return kept;
}

spmm_status sp_choose(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                      spmm_device device, spmm_format format, const sp_kernel **kernel, char *why, size_t n)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    const int count = sp_order_kernels(f, k, products, precision, device, format, 0, list, why, n);
    *kernel = count > 0 ? list[0] : NULL;
    if (count > 0) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "no kernel supports that format on that device: see --list-kernels");
}

/* ---- features ---- */

/** Copies the column indices of row i to `to`, in increasing order. The row must have at most SP_CHAIN
 *  entries. */
static void copy_increasing(const spmm_csr *a, int64_t i, int32_t *to)
{
    const int32_t *const col = a->ja + a->irp[i];
    const int64_t length = a->irp[i + 1] - a->irp[i];
    for (int64_t e = 0; e < length; e++) {
        int64_t at = e;
        for (; at > 0 && to[at - 1] > col[e]; at--) to[at] = to[at - 1];
        to[at] = col[e];
    }
}

/** Returns how far row i reaches: the greatest minus the smallest of its column indices, plus 1. The row must
 *  not be empty. \param [in] any_order  0: the column indices of a row increase */
static double reach_of(const spmm_csr *a, int64_t i, int any_order)
{
    const int32_t *const col = a->ja + a->irp[i];
    const int64_t length = a->irp[i + 1] - a->irp[i];
    int32_t first = col[0], last = col[length - 1];
    for (int64_t e = 0; any_order && e < length; e++) {
        if (col[e] < first) first = col[e];
        if (col[e] > last) last = col[e];
    }
    return (double)last - first + 1;
}

/** For a sample of short rows i, picks a random column c of row i that is not the diagonal. Adds to
 *  sum->columns the number of columns of row i other than c, and to sum->shared how many of these are also
 *  columns of row c of the matrix. Skips row i if row c is long or outside the block. */
static void compare_neighbors(const spmm_csr *a, int64_t diagonal, struct sp_feature_sums *sum)
{
    enum { SAMPLES = 2048 };
    const int64_t step = a->rows / SAMPLES + 1;
    uint64_t at_random = 1;
    for (int64_t s = 0; s < a->rows; s += step) {
        at_random = at_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t i = s + (int64_t)((at_random >> 40) % (uint64_t)step);
        if (i >= a->rows) break;
        const int64_t length = a->irp[i + 1] - a->irp[i];
        if (length < 2 || length > SP_CHAIN) continue;
        int32_t column[SP_CHAIN];
        copy_increasing(a, i, column);
        int64_t e = (int64_t)((at_random >> 33) % (uint64_t)length);
        if (column[e] - diagonal == i) e = e + 1 < length ? e + 1 : 0;
        const int64_t row = column[e] - diagonal;
        if (row < 0 || row >= a->rows || a->irp[row + 1] - a->irp[row] > SP_CHAIN) continue;
        sum->columns += (double)(length - 1);
        sum->shared += fmax((double)sp_common_columns(a->irp, a->ja, i, row) - 1, 0);
    }
}

void sp_features_of(const spmm_csr *block, int64_t diagonal, int any_order, int threads, sp_features *f)
{
    enum { SAMPLES = 512 };        /* number of panels in the sample of sp_panel_columns() */
    enum { MOST_F32_PER_F64 = 4 }; /* f32 units per f64 unit: P100 to H200 have 2, graphics GPUs 32 or 64 */
    double squares = 0, longest = 0, changes = 0, reach = 0, over[SP_LENGTH_BOUNDS] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : longest) \
    reduction(+ : squares, changes, reach, over[ : SP_LENGTH_BOUNDS])
    for (int64_t i = 0; i < block->rows; i++) {
        const double length = (double)(block->irp[i + 1] - block->irp[i]);
        squares += length * length;
        for (int b = 0; b < SP_LENGTH_BOUNDS && length > 4 << b; b++) over[b] += length;
        if (length > longest) longest = length;
        if (length > SP_CHAIN) reach += length * reach_of(block, i, any_order);
        changes += i > 0 && block->irp[i] - block->irp[i - 1] != block->irp[i + 1] - block->irp[i];
    }
    memset(f, 0, sizeof *f);
    f->sum.blocks = 1;
    f->sum.rows = (double)block->rows;
    f->sum.nnz = (double)block->nnz;
    f->sum.squares = squares;
    f->sum.changes = changes;
    f->sum.reach = reach;
    memcpy(f->sum.over, over, sizeof over);
    f->sum.panel_columns = sp_panel_columns(block, SAMPLES, threads);
    compare_neighbors(block, diagonal, &f->sum);
    f->longest = longest;
    f->cache = (double)sp_last_cache_bytes();
    f->unstaged = !sp_device_starts_early();
    f->f64_slow = sp_device_f32_per_f64() > MOST_F32_PER_F64;
}

double sp_features_variation(const sp_features *f)
{
    const double mean = mean_length(f);
    if (mean <= 0) return 0;
    const double variance = f->sum.squares / f->sum.rows - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

double sp_features_reuse(const sp_features *f)
{
    static const double MOST_IN_LONG_ROWS = 0.02;
    const double in_long_rows = f->sum.over[SP_LENGTH_BOUNDS - 1];
    if (in_long_rows > MOST_IN_LONG_ROWS * f->sum.nnz) return 0;
    return ratio(f->sum.nnz - in_long_rows, f->sum.panel_columns);
}

double sp_trait_of(const sp_features *f, sp_trait trait, int64_t k, spmm_precision precision)
{
    const struct sp_feature_sums *const s = &f->sum;
    if (trait >= SP_OVER_4 && trait <= SP_OVER_128) return ratio(s->over[trait - SP_OVER_4], s->nnz);
    switch (trait) {
    case SP_X_BYTES: return (double)k * (double)sp_value_size(precision);
    case SP_MEAN: return mean_length(f);
    case SP_VARIATION: return sp_features_variation(f);
    case SP_REUSE: return sp_features_reuse(f);
    case SP_SHARED: return ratio(s->shared, s->columns);
    default: return ratio(s->nnz, s->blocks);
    }
}

spmm_status sp_features_of_blocks(MPI_Comm comm, const spmm_block *block, int threads, sp_features *f)
{
    sp_features_of(&block->csr, block->row_begin - block->col_begin, block->any_order, sp_threads_of(threads),
                   f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    /* the members after the sums are all double; of each, the maximum over the ranks is used */
    return sp_slowest(comm, &f->longest, (sizeof *f - sizeof f->sum) / sizeof(double));
}
