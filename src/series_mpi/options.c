/** Parses series_mpi's command line. */
#include "series_mpi/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "kernels/kernel.h"
#define OPTIONS sp_series_options
#include "base/words.h"
#include "cli/option_table.h"

static const char *const layout_words[] = {"series", "index", NULL};
static const char *const memory_words[] = {"device", "mapped", "managed", NULL};
static const char *const step_words[] = {"generate", "mean", "deviation", "pearson", NULL};
static const char *const operator_words[] = {"sum", "minimum", "maximum", "product", "dot", "matrix", NULL};

const char *sp_step_word(sp_step step) { return step == SP_ARRAY_SUM ? "sum" : step_words[step]; }
const char *sp_operators_word(sp_operators operators)
{
    static const char *const words[] = {"-", "sum", "commutative", "any"};
    return words[operators];
}
const char *sp_operator_word(sp_operator op) { return operator_words[op]; }
const char *sp_series_memory_word(sp_series_memory memory) { return memory_words[memory]; }
const char *sp_series_order_word(sp_series_order layout)
{
    return layout == SP_ANY_LAYOUT ? "any" : layout_words[layout];
}

static spmm_status set_number(const char *name, const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least && *value <= most))
        return sp_fail(SPMM_ERR_USAGE, "--%s %s: expected a number from %g to %g", name, SHOWN(text), least,
                       most);
    return SPMM_OK;
}

static spmm_status set_series(void *options, const char *text)
{
    sp_series_options *const o = options;
    o->series_given = 1;
    return sp_option_number("series", text, 1, INT32_MAX, &o->series);
}

static spmm_status set_length(void *options, const char *text)
{
    sp_series_options *const o = options;
    o->length_given = 1;
    return sp_option_number("length", text, 1, INT32_MAX, &o->length);
}

static spmm_status set_start(void *options, const char *text)
{
    sp_series_options *const o = options;
    o->walk_given = 1;
    return set_number("start", text, -1e300, 1e300, &o->walk.start);
}

static spmm_status set_epsilon(void *options, const char *text)
{
    sp_series_options *const o = options;
    TRY(set_number("epsilon", text, 0, 100, &o->walk.epsilon));
    o->walk_given = 1;
    o->walk.epsilon /= 100;
    return SPMM_OK;
}

static spmm_status set_seed(void *options, const char *text)
{
    sp_series_options *const o = options;
    int64_t seed;
    TRY(sp_option_number("seed", text, 0, INT64_MAX, &seed));
    o->walk_given = 1;
    o->walk.seed = (uint64_t)seed;
    return SPMM_OK;
}

static spmm_status set_bound(void *options, const char *text)
{
    sp_series_options *const o = options;
    return set_number("bound", text, -1, 1, &o->bound);
}

static spmm_status set_block_size(void *options, const char *text)
{
    sp_series_options *const o = options;
    int64_t value;
    TRY(sp_option_number("block-size", text, 0, 1024, &value));
    o->block = (int)value;
    return sp_shape_check((sp_shape){.block = o->block});
}

static spmm_status set_parts(void *options, const char *text)
{
    sp_series_options *const o = options;
    const char *rest = text;
    char item[32];
    int64_t value;
    o->parts_given = 1;
    for (o->parts_count = 0; rest;) {
        TRY(sp_option_item("blocks-per-series", text, &rest, item, sizeof item));
        if (o->parts_count == SP_SERIES_PARTS)
            return sp_fail(SPMM_ERR_USAGE, "--blocks-per-series: found too many numbers, expected at most %d",
                           SP_SERIES_PARTS);
        TRY(sp_option_number("blocks-per-series", item, 1, SP_MOST_PARTS, &value));
        o->parts[o->parts_count++] = (int)value;
    }
    return SPMM_OK;
}

static spmm_status set_steps(void *options, const char *text)
{
    sp_series_options *const o = options;
    const char *rest = text;
    char item[64];
    memset(o->step, 0, sizeof o->step);
    for (o->steps_given = 1; rest;) {
        int index;
        TRY(sp_option_item("steps", text, &rest, item, sizeof item));
        TRY(sp_option_word("steps", item, step_words, &index));
        o->step[index] = 1;
    }
    return SPMM_OK;
}

/* names of kernels in the documents that docs/REPORTS.md lists */
static const sp_alias report_names[] = {{"K1", "walk_thread"},
                                        {"generazioneParallel", "walk_thread"},
                                        {"K2", "sum_nested"},
                                        {"K2_Full_Shared", "sum_full_shared"},
                                        {"K2_Intense", "sum_interleaved"},
                                        {"K2_Intense_Optimized", "sum_unrolled"},
                                        {"Neighbored", "sum_neighboured"},
                                        {"Interleaved", "sum_interleaved"},
                                        {"sumCommSingleBlock", "sum_interleaved"},
                                        {"sumCommMultiBlock", "sum_two_launches"},
                                        {"sumNoncommSingleBlock", "sum_ordered"},
                                        {"sumNoncommMultiBlock", "sum_ordered_blocks"},
                                        {"sumCommSingleBlockWithWarps", "sum_shuffle"},
                                        {"sumCommSingleWarp", "sum_warp"},
                                        {"sumCommSingleWarpPadded", "sum_warp_padded"},
                                        {"sumSingleWarpReg", "sum_ordered_warp_shuffle"},
                                        {"sumNoncommSingleWarp", "sum_ordered_warp"},
                                        {"sumNoncommSingleWarpPadded", "sum_ordered_warp_padded"}};

static spmm_status no_such_kernel(const char *name)
{
    const char *meant = NULL;
    for (size_t i = 0; i < sizeof report_names / sizeof *report_names; i++)
        if (sp_same_name(name, report_names[i].theirs)) meant = report_names[i].ours;
    return sp_fail(SPMM_ERR_USAGE, "--kernel %s: no such kernel: --list-kernels names the kernels%s%s%s",
                   SHOWN(name), meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static spmm_status set_kernel(void *options, const char *text)
{
    sp_series_options *const o = options;
    const char *rest = text;
    char item[64];
    for (o->kernels = o->all_kernels = 0; rest;) {
        TRY(sp_option_item("kernel", text, &rest, item, sizeof item));
        const sp_series_kernel *const kernel = sp_series_find(item);
        if (strcmp(item, "auto") == 0) continue;
        if (strcmp(item, "all") == 0) {
            o->all_kernels = 1;
            continue;
        }
        if (!kernel) return no_such_kernel(item);
        if (o->kernels == SP_SERIES_KERNELS)
            return sp_fail(SPMM_ERR_USAGE, "--kernel: found too many names, expected at most %d",
                           SP_SERIES_KERNELS);
        o->kernel[o->kernels++] = kernel;
    }
    return SPMM_OK;
}

static spmm_status set_tolerance(void *options, const char *text)
{
    sp_series_options *const o = options;
    const char *rest = text;
    char item[32];
    for (o->tolerances = 0; rest;) {
        TRY(sp_option_item("tolerance", text, &rest, item, sizeof item));
        if (o->tolerances == (int)(sizeof o->tolerance / sizeof *o->tolerance))
            return sp_fail(SPMM_ERR_USAGE, "--tolerance: found too many numbers, expected at most %d",
                           o->tolerances);
        TRY(set_number("tolerance", item, 0, 1e300, &o->tolerance[o->tolerances++]));
    }
    return SPMM_OK;
}

/** Appends a strategy to o->sum[], unless it is already there. */
static void add_sum(sp_series_options *o, spmm_reduce method)
{
    for (int i = 0; i < o->sums; i++)
        if (o->sum[i] == method) return;
    o->sum[o->sums++] = method;
}

static spmm_status set_sum(void *options, const char *text)
{
    static const spmm_reduce methods[SP_SERIES_SUMS] = {SPMM_REDUCE_LINEAR, SPMM_REDUCE_TREE,
                                                        SPMM_REDUCE_BUTTERFLY};
    static const char *const words[] = {"linear", "tree", "butterfly", "all", NULL};
    sp_series_options *const o = options;
    const char *rest = text;
    char item[32];
    o->action = SP_SERIES_SUM;
    for (o->sums = 0; rest;) {
        int index;
        TRY(sp_option_item("sum", text, &rest, item, sizeof item));
        TRY(sp_option_word("sum", item, words, &index));
        for (int i = 0; i < SP_SERIES_SUMS; i++)
            if (index == i || index == SP_SERIES_SUMS) add_sum(o, methods[i]);
    }
    return SPMM_OK;
}

#define ACTION(name) RAISE(action, SP_SERIES_##name), SELECTS(SP_SERIES_##name)
/* Sets of actions that use an option. An option without such a set is for measured steps alone. */
enum {
    ACCURACY = 1 << SP_SERIES_ACCURACY,
    SUM = 1 << SP_SERIES_SUM,
    STEPS_OR_SUM = 1 << SP_SERIES_MEASURE | SUM,
    COMPUTES = STEPS_OR_SUM | ACCURACY
};
/** Table of all options. Both the parser and the text of --help are made from this table. */
static const sp_option_row rows[] = {
    {'m', "series", "M", "number of series to generate (default 8192; 1 with --sum)", CALL(set_series),
     USED_BY(COMPUTES)},
    {'n', "length", "N", "values per series (default 8192)", CALL(set_length), USED_BY(COMPUTES)},
    {0, "start", "V", "first value of each series (default 100)", CALL(set_start), RARE, USED_BY(COMPUTES)},
    {0, "epsilon", "PCT", "maximum change from value to value, in percent (default 1)", CALL(set_epsilon),
     RARE, USED_BY(COMPUTES)},
    {0, "seed", "S", "seed of the random numbers (default 1)", CALL(set_seed), RARE, USED_BY(COMPUTES)},
    {0, "layout", "NAME", "store values by series (default), or by index for all series",
     WORDS(layout_words, layout), RARE},
    {0, "memory", "NAME", "values for a GPU: device (default), mapped (zero-copy), managed",
     WORDS(memory_words, memory), RARE},
    {'d', "device", "NAME", "auto, cpu, cuda (auto: a GPU if one is available)",
     AUTO_WORDS(sp_device_words, device), USED_BY(COMPUTES)},
    {'p', "precision", "NAME", "f64 (default), f32", WORDS(sp_real_words, precision), USED_BY(STEPS_OR_SUM)},
    {'t', "threads", "N", "OpenMP threads per rank (default: the cores to which it is bound)",
     COUNT(threads, 1), MAY_VARY, USED_BY(COMPUTES)},
    {0, "steps", "LIST", "steps to measure: generate,mean,deviation,pearson (default: all)", CALL(set_steps)},
    {0, "operator", "NAME", "step mean's operator: sum (default), minimum, maximum, product, dot, matrix",
     WORDS(operator_words, op), RARE},
    {0, "kernel", "LIST", "names from --list-kernels, several per step, or all (in a table)",
     CALL(set_kernel), USED_BY(STEPS_OR_SUM)},
    {0, "block-size", "N", "threads per CUDA block, a multiple of 32 (default: the kernel's)",
     CALL(set_block_size), RARE, USED_BY(COMPUTES)},
    {0, "blocks-per-series", "LIST", "CUDA blocks per series, for kernels that divide one (default 4)",
     CALL(set_parts), RARE, USED_BY(STEPS_OR_SUM)},
    {'r', "repeat", "N", "timed runs per step (default 10, --sum 100; slow steps at least 3)",
     COUNT(repeat, 1), USED_BY(STEPS_OR_SUM)},
    {0, "warmup", "N", "runs before the timed ones (default 1)", COUNT(warmup, 0), RARE,
     USED_BY(STEPS_OR_SUM)},
    {0, "top", "K", "number of most and least correlated pairs to print (default 5)", COUNT(top, 0)},
    {0, "bound", "R", "list series with a mean coefficient below R separately (default 0)", CALL(set_bound),
     RARE},
    {0, "verify", "NAME", "compare to serial results: sample (64 series, default), full, none",
     WORDS(sp_verify_words, verify), USED_BY(STEPS_OR_SUM)},
    {0, "accuracy", NULL, "print the accuracy of sums by precision and algorithm, and end", ACTION(ACCURACY),
     RARE},
    {0, "tolerance", "LIST", "for --accuracy: differences taken as equal (default 0.1,0.01,0.001)",
     CALL(set_tolerance), RARE, USED_BY(ACCURACY)},
    {0, "sum", "LIST", "divide a series among ranks, add by linear, tree, butterfly or all", CALL(set_sum),
     RARE, SELECTS(SP_SERIES_SUM)},
    {'o', "output", "FILE", "write coefficients as .mtx (.mtx.gz: compressed; -: stdout)", TEXT(output)},
    {0, "json", "FILE", "append one JSON object per step and kernel", TEXT(json), USED_BY(COMPUTES)},
    {0, "csv", "FILE", "append one row per step and kernel; a header if FILE is new", TEXT(csv),
     USED_BY(COMPUTES)},
    {0, "timeout", "SECONDS", "end the job if a rank does not answer for so long (default: never)",
     COUNT(timeout, 1), RARE, USED_BY(COMPUTES)},
    {0, "list-kernels", NULL, "name the kernels, and end", ACTION(LIST_KERNELS)},
    {'q', "quiet", NULL, "print only PASS or FAIL, and errors", FLAG(verbosity, -1), MAY_VARY,
     USED_BY(COMPUTES)},
    {'v', "verbose", NULL, "--accuracy: series that differ; --sum: each rank's part", FLAG(verbosity, 1),
     MAY_VARY, USED_BY(ACCURACY | SUM)},
    {0, "version", NULL, "print the version, and end", ACTION(VERSION)},
    {'h', "help", NULL, "print this, and end", ACTION(HELP)},
    {0, "help-all", NULL, "print this with all options, and end", ACTION(HELP_ALL)},
};
static const sp_option_table table = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .operand_modes = STEPS_OR_SUM};

void sp_series_options_help(int all, FILE *out)
{
    fprintf(
        out,
        "Usage: mpirun -np N series_mpi [OPTIONS] [FILE]\n\n"
        "Computes the means and deviations of series of measurements, and Pearson's correlation coefficient\n"
        "of every pair, on N ranks, each on its cores or its GPU, and checks them against the\n"
        "sequential program.\n\n"
        "FILE is a Matrix Market array, one column per series, or CSV, one line per series; plain or\n"
        "compressed. Without FILE, series are generated: each value is the previous one changed by a\n"
        "random share.\n\n");
    sp_option_help(&table, all, out);
}

static spmm_status check_kernels(const sp_series_options *o)
{
    for (int i = 0; i < o->kernels; i++) {
        const sp_series_kernel *const k = o->kernel[i];
        if (k->ops->missing) return sp_fail(SPMM_ERR_NO_DEVICE, "--kernel %s: %s", k->id, k->ops->missing);
        if (o->device != SP_DEVICE_AUTO && (int)o->device != (int)k->device)
            return sp_fail(SPMM_ERR_USAGE, "--kernel %s runs on device %s, not on %s", k->id,
                           sp_device_word(k->device), sp_device_word((spmm_device)o->device));
        if (k->device != o->kernel[0]->device)
            return sp_fail(SPMM_ERR_USAGE, "--kernel %s and %s run on different devices", o->kernel[0]->id,
                           k->id);
        if (k->step == SP_MEAN && k->layout != SP_ANY_LAYOUT && k->layout != o->layout)
            return sp_fail(SPMM_ERR_USAGE, "--kernel %s requires --layout %s", k->id,
                           layout_words[k->layout]);
        if (!sp_series_offers(k, o->op))
            return sp_fail(SPMM_ERR_USAGE,
                           k->operators == SP_COMMUTATIVE
                               ? "--kernel %s changes the order of values, which --operator %s needs"
                               : "--kernel %s does not offer --operator %s",
                           k->id, sp_operator_word(o->op));
        if (o->steps_given && !o->step[k->step])
            return sp_fail(SPMM_ERR_USAGE, "--kernel %s is for step %s, which --steps omits", k->id,
                           step_words[k->step]);
    }
    return SPMM_OK;
}

static spmm_status check_operator(const sp_series_options *o)
{
    if (o->op == SP_SUM) return SPMM_OK;
    if (!o->step[SP_MEAN]) return sp_fail(SPMM_ERR_USAGE, "--operator is for step mean, which --steps omits");
    if (o->step[SP_DEVIATION] || o->step[SP_PEARSON])
        return sp_fail(
            SPMM_ERR_USAGE,
            "--operator %s computes no means, which steps deviation and pearson need: omit these steps, or "
            "--operator",
            sp_operator_word(o->op));
    return SPMM_OK;
}

enum { MOST_TOP = 1000000 }; /* maximum for --top; rank 0 sorts up to this number of pairs from every rank */

/** Rejects values of options that --sum cannot use. */
static spmm_status check_sum(const sp_series_options *o)
{
    for (int i = 0; i < o->kernels; i++)
        if (o->kernels > 1 || o->kernel[i]->step != SP_MEAN)
            return sp_fail(SPMM_ERR_USAGE, "--sum accepts one --kernel, for step mean");
    if (o->all_kernels) return sp_fail(SPMM_ERR_USAGE, "--sum accepts one --kernel, for step mean");
    return o->parts_count > 1 ? sp_fail(SPMM_ERR_USAGE, "--sum accepts one number in --blocks-per-series")
                              : SPMM_OK;
}

static spmm_status options_check(const sp_series_options *o)
{
    if (o->action < SP_SERIES_VERSION) TRY(sp_option_check_mode(&o->line, o->action));
    TRY(check_kernels(o));
    TRY(check_operator(o));
    if (o->file && (o->series_given || o->length_given))
        return sp_fail(SPMM_ERR_USAGE,
                       "--series and --length describe generated series: omit them, or omit the file");
    if (o->file && o->walk_given)
        return sp_fail(
            SPMM_ERR_USAGE,
            "--start, --epsilon and --seed describe generated series: omit them, or omit the file");
    if (o->file && o->steps_given && o->step[SP_GENERATE])
        return sp_fail(SPMM_ERR_USAGE, "--steps generate: the series are read from %.100s: omit one of them",
                       o->file);
    if (o->action == SP_SERIES_SUM) TRY(check_sum(o));
    if (o->top > MOST_TOP) return sp_fail(SPMM_ERR_USAGE, "--top %d: expected at most %d", o->top, MOST_TOP);
    if (o->output && !o->step[SP_PEARSON])
        return sp_fail(SPMM_ERR_USAGE, "--output writes coefficients: add pearson to --steps");
    return SPMM_OK;
}

spmm_status sp_series_options_parse(int argc, char **argv, sp_series_options *o)
{
    *o = (sp_series_options){.series = 8192,
                             .length = 8192,
                             .device = SP_DEVICE_AUTO,
                             .walk = {.start = 100, .epsilon = 0.01, .seed = 1},
                             .step = {1, 1, 1, 1},
                             .parts = {SP_PARTS},
                             .parts_count = 1,
                             .warmup = 1,
                             .top = 5,
                             .verify = SP_VERIFY_SAMPLE,
                             .tolerance = {1e-1, 1e-2, 1e-3},
                             .tolerances = 3};
    TRY(sp_option_read(&table, argc, argv, "file", o, &o->line));
    o->file = o->line.operand;
    if (o->op != SP_SUM && !o->steps_given) o->step[SP_DEVIATION] = o->step[SP_PEARSON] = 0;
    TRY(options_check(o));
    if (o->file) o->step[SP_GENERATE] = 0;
    if (o->action == SP_SERIES_SUM && !o->series_given) o->series = 1;
    return SPMM_OK;
}
