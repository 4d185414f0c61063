/** Chooses a kernel by a list of rules, and computes the features of a matrix that the rules use. */
#include "plan/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/panel.h"
#include "formats/summation.h"

/* Thresholds of the rules below: element [0] is for f64, element [1] for f32. They come from the measurements
 * in bench/records/2026-11-21-bench-gpu-h200.csv. */

/* Kernel sell_rows is chosen if K <= FEW_COLUMNS. */
static const int64_t FEW_COLUMNS[] = {4, 8};
/* Kernel panel_mma is never chosen if the rows are uneven. Otherwise one of two conditions suffices:
 *   sp_features_reuse() >= BLOCK_REUSE and K >= BLOCK_COLUMNS;
 *   sp_features_reuse() >= PANEL_REUSE and K >= PANEL_COLUMNS (for f32, too many columns to occur). */
static const int64_t BLOCK_COLUMNS[] = {5, 9};
static const double BLOCK_REUSE[] = {3.2, 3.2};
static const int64_t PANEL_COLUMNS[] = {17, 1 << 24};
static const double PANEL_REUSE[] = {1.8, 1.8};
/* Rows are uneven if sp_features_variation() >= UNEVEN_VARIATION, if more than the share UNEVEN_ENTRIES of the
 * entries is in rows of more than SP_CHAIN entries, or if the longest row is longer than that and at least
 * UNEVEN_LONGEST times as long as the mean row. The last two are from the records of 2026-11-22. */
static const double UNEVEN_VARIATION[] = {1.0, 1.0};
static const double UNEVEN_ENTRIES[] = {0.02, 0.02};
static const double UNEVEN_LONGEST[] = {32, 32};

typedef struct problem {
    const sp_features *f;
    int64_t k;
    spmm_precision precision;
} problem;

/** Returns 1 if a rule's kernel suits problem p. Writes the reason, as a phrase, to `why`, a buffer
 *  of n bytes. */
typedef int fits(const problem *p, char *why, size_t n);

static double mean_length(const sp_features *f) { return f->sum.rows > 0 ? f->sum.nnz / f->sum.rows : 0; }

static int uneven(const problem *p)
{
    const double mean = mean_length(p->f), longest = p->f->longest;
    return sp_features_variation(p->f) >= UNEVEN_VARIATION[p->precision] ||
           p->f->sum.long_entries > UNEVEN_ENTRIES[p->precision] * p->f->sum.nnz ||
           (longest > SP_CHAIN && longest >= UNEVEN_LONGEST[p->precision] * mean);
}

static int few_columns(const problem *p, char *why, size_t n)
{
    const int64_t most = FEW_COLUMNS[p->precision];
    snprintf(why, n, "%s, K of at most %lld", sp_precision_word(p->precision), (long long)most);
    return p->k <= most;
}

static int shared_columns(const problem *p, char *why, size_t n)
{
    const double reuse = sp_features_reuse(p->f);
    snprintf(why, n, "%s, %.1f entries a fetched row of X", sp_precision_word(p->precision), reuse);
    if (uneven(p)) return 0;
    return (p->k >= BLOCK_COLUMNS[p->precision] && reuse >= BLOCK_REUSE[p->precision]) ||
           (p->k >= PANEL_COLUMNS[p->precision] && reuse >= PANEL_REUSE[p->precision]);
}

static int uneven_rows(const problem *p, char *why, size_t n)
{
    snprintf(why, n, "%s, uneven rows: mean %.1f entries, longest %.0f", sp_precision_word(p->precision),
             mean_length(p->f), p->f->longest);
    return uneven(p);
}

static int even_rows(const problem *p, char *why, size_t n)
{
    snprintf(why, n, "%s, rows of like length, %.1f entries a fetched row of X",
             sp_precision_word(p->precision), sp_features_reuse(p->f));
    return 1;
}

static int one_column(const problem *p, char *why, size_t n)
{
    snprintf(why, n, "%s, K = 1", sp_precision_word(p->precision));
    return p->k == 1;
}

static int any(const problem *p, char *why, size_t n)
{
    (void)p;
    snprintf(why, n, "any matrix");
    return 1;
}

/** The rules of sp_choose(), in order: the first kernel that has the right device and format, and whose
 *  function `fits` returns 1, is chosen. */
static const struct {
    const char *kernel;
    fits *fits;
} rules[] = {
    {"sell_rows", few_columns},    {"panel_mma", shared_columns},
    {"csr_balanced", uneven_rows}, {"csr_rows", even_rows},
    {"ell_nopad_rows", even_rows}, {"ell_rows", even_rows},
    {"cpu_sell", one_column},      {"cpu_csr", any},
    {"cpu_ell_nopad", any},        {"cpu_ell", any},
};
enum { RULES = sizeof rules / sizeof *rules };

/** Returns the kernel of rules[rule]; NULL if it is not in the registry, or is for another device or
 *  format. */
static const sp_kernel *allowed(int rule, spmm_device device, spmm_format format)
{
    const sp_kernel *kernel = sp_kernel_find(rules[rule].kernel);
    if (!kernel || kernel->device != device) return NULL;
    return format == SPMM_FORMAT_AUTO || kernel->format == format ? kernel : NULL;
}

/** Returns the kernel to use if no rule applies: the default for the format, or for CSR if format is AUTO. */
static const sp_kernel *fallback(spmm_device device, spmm_format format)
{
    return sp_kernel_default(device, format == SPMM_FORMAT_AUTO ? SPMM_CSR : format);
}

spmm_status sp_choose(const sp_features *f, int64_t k, spmm_precision precision, spmm_device device,
                      spmm_format format, const sp_kernel **kernel, char *why, size_t n)
{
    const problem p = {f, k, precision};
    char text[128];
    for (int i = 0; i < RULES; i++) {
        *kernel = allowed(i, device, format);
        if (!*kernel || !rules[i].fits(&p, text, sizeof text)) continue;
        if (why) snprintf(why, n, "%s", text);
        return SPMM_OK;
    }
    *kernel = fallback(device, format);
    if (!*kernel)
        return sp_fail(SPMM_ERR_USAGE, "no kernel has that format on that device: see --list-kernels");
    if (why) snprintf(why, n, "the format's first");
    return SPMM_OK;
}

int sp_candidates(spmm_device device, spmm_format format, const sp_kernel *list[SP_MAX_CANDIDATES])
{
    int count = 0, there = 0;
    for (int i = 0; i < RULES; i++)
        if ((list[count] = allowed(i, device, format))) count++;
    const sp_kernel *last = fallback(device, format);
    for (int i = 0; i < count; i++) there |= list[i] == last;
    if (last && !there) list[count++] = last;
    return count;
}

/* ---- features ---- */

void sp_features_of(const spmm_csr *block, int threads, sp_features *f)
{
    enum { SAMPLES = 2048 }; /* number of panels in the sample for sp_panel_columns() */
    double squares = 0, long_entries = 0, longest = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : squares, long_entries) \
    reduction(max : longest)
    for (int64_t i = 0; i < block->rows; i++) {
        const double length = (double)(block->irp[i + 1] - block->irp[i]);
        squares += length * length;
        if (length > SP_CHAIN) long_entries += length;
        if (length > longest) longest = length;
    }
    *f = (sp_features){
        {(double)block->rows, (double)block->nnz, squares, long_entries, sp_panel_columns(block, SAMPLES)},
        longest};
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
    return f->sum.panel_columns > 0 ? f->sum.nnz / f->sum.panel_columns : 0;
}
