/** Chooses a kernel by decision trees, and computes the features of a matrix that they compare. */
#include "product/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/topology.h"
#include "formats/panel.h"
#include "formats/row_clusters.h"
#include "formats/summation.h"

#include "product/choose_trees.h"

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static double mean_length(const sp_features *f) { return f->sum.rows > 0 ? f->sum.nnz / f->sum.rows : 0; }

/** Appends "0.25 of the entries .." to a list of reasons in `why`, unless it has that trait already. */
static void append_reason(char *why, size_t n, double value, sp_trait trait)
{
#define PHRASE(id, column, phrase) phrase,
    static const char *const phrases[] = {SP_TRAIT_LIST(PHRASE)};
#undef PHRASE
    const size_t used = strlen(why);
    if (!strstr(why, phrases[trait])) snprintf(why + used, n - used, ", %.3g %s", value, phrases[trait]);
}

/** What is asked: the arguments of sp_order_kernels(). */
typedef struct question {
    const sp_features *f;
    int64_t k, products;
    spmm_precision precision;
    spmm_device device;
    spmm_format format;
} question;

/** Returns the size of a row of X in bytes. */
static double row_bytes(const question *q) { return (double)(q->k * sp_value_size(q->precision)); }

/** Returns for how many columns of X panel_staged computes, over k: it takes whole tiles. 0: it is not for
 *  these columns, or not for the GPU. */
static double staged_columns(const question *q)
{
    const double tiles = row_bytes(q) / SP_STAGED_BYTES;
    return q->f->unstaged > 0 || tiles < 1 || tiles > SP_STAGED_TILES ? 0 : ceil(tiles) / tiles;
}

/** Returns 1 if the kernel may be the fastest, else 0. */
static int of_use(const question *q, const sp_kernel *kernel)
{
    /* products that repay the milliseconds of panel_staged's set-up: bench/records/HISTORY.md */
    enum { REPAID = 130 };
    if (kernel->exact == SP_EXACT_F64 && q->precision == SPMM_F32 && q->f->f64_slow > 0) return 0;
    return kernel->format != SPMM_STAGED || (q->products >= REPAID && staged_columns(q) > 0);
}

/** Appends the kernel to the list, unless it is there already, or is for another device or format.
 *  \param [in] kernel  may be NULL, which is not appended */
static void append(const question *q, const sp_kernel *kernel, const sp_kernel **list, int *count)
{
    if (!kernel || kernel->device != q->device) return;
    if (q->format != SPMM_FORMAT_AUTO && kernel->format != q->format) return;
    for (int i = 0; i < *count; i++)
        if (list[i] == kernel) return;
    list[(*count)++] = kernel;
}

/** Appends the default kernel of each format but CSR, which the rules know. */
static void append_defaults(const question *q, const sp_kernel **list, int *count)
{
    for (int format = SPMM_CSR + 1; format < SP_FORMATS; format++) {
        const sp_kernel *const kernel = sp_kernel_default(q->device, (spmm_format)format);
        if (kernel && of_use(q, kernel)) append(q, kernel, list, count);
    }
}

/** Returns 1 if rows share columns with neighbors that are numbered far from them, else 0. Rows that would
 *  share columns in a cluster are found by the neighbors' share, and whether they are near one another
 *  already, by how often a panel uses a row of X. */
static int scattered(const question *q)
{
    static const double LEAST_SHARED = 0.1;
    const double shared = sp_trait_of(q->f, SP_SHARED, q->k, q->precision);
    return shared >= LEAST_SHARED && sp_features_reuse(q->f) - 1 < shared / 2;
}

/** Returns the size of a rank's X in bytes, if it has as many rows as A. */
static double x_bytes(const question *q) { return row_bytes(q) * ratio(q->f->sum.rows, q->f->sum.blocks); }

/* ---- kernels of GPUs ---- */

/** Returns 1 if enough products are to come for a trial, else 0. */
static int is_timed(const question *q) { return q->products >= SP_PRODUCTS_TIMED; }

/** Returns the leaf of the tree to which the matrix comes. Writes the traits that are compared to `why`. */
static const choice_node *leaf_of(const question *q, char *why, size_t n)
{
    const choice_node *const tree = q->precision == SPMM_F64 ? f64_tree : f32_tree, *node = tree;
    snprintf(why, n, "%s%s", sp_precision_word(q->precision), is_timed(q) ? "" : ", few products");
    while (!node->order[0]) {
        const double trait = sp_trait_of(q->f, node->trait, q->k, q->precision);
        append_reason(why, n, trait, node->trait);
        node = trait <= node->bound ? node + 1 : tree + node->other;
    }
    return node;
}

/** Returns 1 if a kernel comes after the others whatever the leaf says, else 0: conversions where so few
 *  products are to come that none is timed, and panel_staged where it computes many columns that X lacks. */
static int comes_late(const question *q, const sp_kernel *kernel)
{
    /* panel_staged was by more than that the fastest kernel in 1 case of 11 in which it can be used */
    static const double MOST_COLUMNS = 1.25;
    if (!is_timed(q) && kernel->format != SPMM_CSR) return 1;
    return kernel->format == SPMM_STAGED && staged_columns(q) > MOST_COLUMNS;
}

/** Returns 1 if csr_clustered joins the kernels that are worth a trial, else 0. */
static int clusters_join(const question *q)
{
    /* On an H200 it was 1.02 to 1.24 times as fast as the best of three others in 1 case of 9 where this
     * holds. */
    static const double LEAST_BYTES = 128, LEAST_X = 8e6;
    return scattered(q) && row_bytes(q) >= LEAST_BYTES && x_bytes(q) >= LEAST_X;
}

/** Lists the CUDA kernels in the order of their leaf. */
static int order_on_gpu(const question *q, int all, const sp_kernel **list, char *why, size_t n)
{
    const choice_node *const leaf = leaf_of(q, why, n);
    const sp_kernel *const clustered = sp_kernel_find("csr_clustered");
    const int tried = SP_TRIED + clusters_join(q);
    int count = 0;
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < CHOICES; i++) {
            const sp_kernel *const kernel = sp_kernel_find(leaf->order[i]);
            if (count == SP_TRIED && tried > SP_TRIED) append(q, clustered, list, &count);
            if (of_use(q, kernel) && comes_late(q, kernel) == late) append(q, kernel, list, &count);
        }
    append(q, clustered, list, &count);
    if (all) append_defaults(q, list, &count);
    return all || count < tried ? count : tried;
}

/* ---- kernels of CPUs ---- */

/** Returns 1 if a rule expects cpu_clustered to be the fastest. */
static int clustered(const question *q, char *why, size_t n)
{
    /* On two cores of an EPYC with 32 MB of cache, X of 16 MB and more took 0.2 to 0.8 of the time. */
    const double reuse = sp_features_reuse(q->f), x = x_bytes(q);
    if (!scattered(q) || reuse == 0 || x < q->f->cache / 2) return 0;
    snprintf(why, n, "X of %.3g MB, %.3g of its columns a neighbor shares, %.3g entries per fetched row of X",
             x * 1e-6, sp_trait_of(q->f, SP_SHARED, q->k, q->precision), reuse);
    return 1;
}

/** Returns 1 if a rule expects cpu_segmented to be the fastest. */
static int segmented(const question *q, char *why, size_t n)
{
    /* On two cores of an EPYC with 1 MB of L2 each, four of five matrices of 25 to 13 416 rows, on average of
     * 63 to 17 000 entries, took 0.25 to 0.8 of the time with rows of X of 256 bytes and more, and 0.6 to 1.1
     * with 128 bytes; the fifth one as much as before. */
    static const double LEAST_IN_LONG_ROWS = 0.9, LEAST_BYTES = 128, LEAST_X = 1 << 19;
    const double in_long_rows = q->f->sum.over[SP_LENGTH_BOUNDS - 1];
    const double x = row_bytes(q) * ratio(q->f->sum.reach, in_long_rows);
    if (in_long_rows < LEAST_IN_LONG_ROWS * q->f->sum.nnz || row_bytes(q) < LEAST_BYTES || x < LEAST_X)
        return 0;
    snprintf(why, n, "%.3g of the entries in long rows, each of which reaches over %.3g MB of X",
             ratio(in_long_rows, q->f->sum.nnz), x * 1e-6);
    return 1;
}

/** Returns 1 if a rule expects cpu_sorted to be the fastest. */
static int sorted(const question *q, char *why, size_t n)
{
    /* On two cores of an EPYC (Zen 4), 7 of 22 real matrices, those where the length changes with more than
     * a fifth of the rows, took 0.4 to 0.95 of the time for up to 32 bytes of X per entry; the others 1 to
     * 1.7 times. */
    static const double LEAST_CHANGES = 0.2, MOST_BYTES = 32;
    const double changes = ratio(q->f->sum.changes, q->f->sum.rows);
    if (changes < LEAST_CHANGES || 2 * q->f->sum.over[SP_LENGTH_BOUNDS - 1] > q->f->sum.nnz ||
        row_bytes(q) > MOST_BYTES)
        return 0;
    snprintf(why, n, "the length changes with %.3g of the rows", changes);
    return 1;
}

/** The CPU kernels beside cpu_csr, all on a copy of A, which `repaid` products repay. They join a trial
 *  where a row of X has least to most bytes. On 16 cores what a trial takes is 0.1 % faster in the mean
 *  with cpu_ell_nopad at every width, and as fast with the others at every width. Where several are
 *  expected to be the fastest, the first one is. */
static const struct candidate {
    const char *name;
    int repaid;
    double least, most;
    int (*expected)(const question *q, char *why, size_t n);
} candidates[] = {{"cpu_clustered", 10, 128, INFINITY, clustered},
                  {"cpu_segmented", 10, 0, INFINITY, segmented},
                  {"cpu_sorted", 50, 0, 256, sorted},
                  {"cpu_ell_nopad", 50, 0, 32, NULL}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/** Returns 1 if the kernel joins a trial, else 0. */
static int joins(const question *q, const struct candidate *c)
{
    const double bytes = row_bytes(q);
    return q->products >= c->repaid && bytes >= c->least && bytes <= c->most;
}

/** Lists the CPU kernels: the one that a rule expects to be the fastest, cpu_csr, and those of a trial. */
static int order_on_cpu(const question *q, int all, const sp_kernel **list, char *why, size_t n)
{
    const int fits = 2 * ratio(q->f->sum.rows, q->f->sum.blocks) <= INT32_MAX;
    int count = 0;
    snprintf(why, n, "no other order of rows is expected to pay");
    for (int i = 0; i < CANDIDATES && fits && count == 0; i++)
        if (candidates[i].expected && joins(q, &candidates[i]) && candidates[i].expected(q, why, n))
            append(q, sp_kernel_find(candidates[i].name), list, &count);
    append(q, sp_kernel_find("cpu_csr"), list, &count);
    for (int late = 0; late <= all; late++)
        for (int i = 0; i < CANDIDATES && fits; i++)
            if (late || joins(q, &candidates[i])) append(q, sp_kernel_find(candidates[i].name), list, &count);
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
    /* a format that the rules would not take */
    if (count == 0 && format != SPMM_FORMAT_AUTO) append(&q, sp_kernel_default(device, format), list, &count);
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
    return sp_fail(SPMM_ERR_USAGE, "no kernel has that format on that device: see --list-kernels");
}

/* ---- features ---- */

/** Compares a sample of the short rows, each with the row of one of its columns. */
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
        int64_t e = (int64_t)((at_random >> 33) % (uint64_t)length);
        if (a->ja[a->irp[i] + e] - diagonal == i) e = e + 1 < length ? e + 1 : 0;
        const int64_t row = a->ja[a->irp[i] + e] - diagonal;
        if (row < 0 || row >= a->rows || a->irp[row + 1] - a->irp[row] > SP_CHAIN) continue;
        sum->columns += (double)(length - 1);
        sum->shared += fmax((double)sp_common_columns(a->irp, a->ja, i, row) - 1, 0);
    }
}

void sp_features_of(const spmm_csr *block, int64_t diagonal, int threads, sp_features *f)
{
    enum { SAMPLES = 2048 };       /* number of panels in the sample for sp_panel_columns() */
    enum { MOST_F32_PER_F64 = 4 }; /* P100 to H200 have 2, GPUs for graphics 32 or 64 */
    double squares = 0, longest = 0, changes = 0, reach = 0, over[SP_LENGTH_BOUNDS] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : longest) \
    reduction(+ : squares, changes, reach, over[ : SP_LENGTH_BOUNDS])
    for (int64_t i = 0; i < block->rows; i++) {
        const double length = (double)(block->irp[i + 1] - block->irp[i]);
        squares += length * length;
        for (int b = 0; b < SP_LENGTH_BOUNDS && length > 4 << b; b++) over[b] += length;
        if (length > longest) longest = length;
        if (length > SP_CHAIN)
            reach += length * (block->ja[block->irp[i + 1] - 1] - block->ja[block->irp[i]] + 1);
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
    f->sum.panel_columns = sp_panel_columns(block, SAMPLES);
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
    sp_features_of(&block->csr, block->row_begin - block->col_begin, sp_threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    /* of the members after the sums, all double, the greatest counts */
    return sp_slowest(comm, &f->longest, (sizeof *f - sizeof f->sum) / sizeof(double));
}
