#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "gen.h"

/** Sets its field from the option's text (NULL for options without one). */
typedef spmm_status (*set_fn)(sp_options *o, const char *text);

typedef struct option_row {
    char letter; /* 0: none */
    const char *name, *argument, *help;
    set_fn set;
    const char *const *words; /* instead of set: the words that it takes, .. */
    size_t field;             /* .. and the enum or int of sp_options that becomes the index of one */
} option_row;

static const char *const device_words[] = {"auto", "cpu", "cuda", NULL};
static const char *const format_words[] = {"auto", "csr", "ell", "ell-nopad", "sell", "panel", NULL};
static const char *const partition_words[] = {"nnz", "rows", "graph", NULL};
static const char *const precision_words[] = {"f64", "f32", NULL};
static const char *const verify_words[] = {"full", "sample", "none", NULL};
static const char *const io_words[] = {"root", "parallel", NULL};
static const char *const exchange_words[] = {"auto", "halo", "bcast", NULL};
static const char *const reduce_words[] = {"auto", "linear", "tree", "butterfly", "mpi", "nccl", NULL};

const char *sp_format_word(spmm_format format) { return format_words[1 + (int)format]; }
const char *sp_device_word(spmm_device device) { return device_words[1 + (int)device]; }
const char *sp_precision_word(spmm_precision precision) { return precision_words[precision]; }
const char *sp_partition_word(sp_partition partition) { return partition_words[partition]; }
const char *sp_verify_word(sp_verify_mode mode) { return verify_words[mode]; }
const char *sp_exchange_word(spmm_exchange exchange) { return exchange_words[exchange]; }
const char *sp_transport_word(spmm_transport transport) { return sp_transport_words[transport]; }
const char *sp_reduce_word(spmm_reduce reduce) { return reduce_words[reduce]; }

/** Index of text among words, or an error that lists them. */
static spmm_status word(const char *option, const char *text, const char *const *words, int *index)
{
    char list[128] = "";
    for (*index = 0; words[*index]; ++*index) {
        if (strcmp(text, words[*index]) == 0) return SPMM_OK;
        if (*index) strcat(list, ", ");
        strcat(list, words[*index]);
    }
    return sp_fail(SPMM_ERR_USAGE, "--%s %.100s: expected one of %s", option, text, list);
}

static spmm_status number(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > most)
        return sp_fail(SPMM_ERR_USAGE, "--%s %.100s: expected a whole number from %lld to %lld", option, text,
                       (long long)least, (long long)most);
    return SPMM_OK;
}

static spmm_status small_number(const char *option, const char *text, int least, int *value)
{
    int64_t wide;
    TRY(number(option, text, least, 1000000000, &wide));
    *value = (int)wide;
    return SPMM_OK;
}

/** Numbers with commas between them. list: [SP_MAX_COLUMNS] */
static spmm_status numbers(const char *option, const char *text, int64_t most, int64_t *list, int *count)
{
    char item[32];
    for (*count = 0;; text++) {
        const size_t n = strcspn(text, ",");
        if (*count == SP_MAX_COLUMNS)
            return sp_fail(SPMM_ERR_USAGE, "--%s: more than %d numbers", option, SP_MAX_COLUMNS);
        snprintf(item, sizeof item, "%.*s", (int)n, text);
        TRY(number(option, item, 1, most, &list[(*count)++]));
        text += n;
        if (!*text) return SPMM_OK;
    }
}

static spmm_status set_columns(sp_options *o, const char *text)
{
    o->k_given = 1;
    return numbers("columns", text, 1 << 24, o->k, &o->k_count);
}

static spmm_status set_plan_ranks(sp_options *o, const char *text)
{
    return numbers("plan-ranks", text, 1 << 20, o->plan_ranks, &o->plan_count);
}

static spmm_status set_kernel(sp_options *o, const char *text)
{
    o->kernel = strcmp(text, "auto") == 0 ? NULL : text;
    if (o->kernel && strcmp(text, "all") != 0 && !sp_kernel_find(text))
        return sp_fail(SPMM_ERR_USAGE, "--kernel %.100s: no such kernel; --list-kernels names them", text);
    return SPMM_OK;
}

static spmm_status set_block_size(sp_options *o, const char *text)
{
    int64_t value;
    TRY(number("block-size", text, 0, 1024, &value));
    o->shape.block = (int)value;
    return sp_shape_check(o->shape);
}

static spmm_status set_subwarp(sp_options *o, const char *text)
{
    int64_t value;
    TRY(number("subwarp", text, 0, 32, &value));
    o->shape.subwarp = (int)value;
    return sp_shape_check(o->shape);
}

static spmm_status set_grid(sp_options *o, const char *text)
{
    int end = 0;
    o->grid_auto = strcmp(text, "auto") == 0;
    o->p = o->q = 0;
    if (o->grid_auto) return SPMM_OK;
    if (sscanf(text, "%9dx%9d%n", &o->p, &o->q, &end) != 2 || text[end] || o->p < 1 || o->q < 1)
        return sp_fail(SPMM_ERR_USAGE, "--grid %.100s: expected PxQ, e.g. 4x1, or auto", text);
    return SPMM_OK;
}

static spmm_status set_x(sp_options *o, const char *text)
{
    o->x_file = NULL;
    if (strcmp(text, "ones") == 0) {
        o->x_kind = SP_X_ONES;
    } else if (strcmp(text, "index") == 0) {
        o->x_kind = SP_X_INDEX;
    } else if (strcmp(text, "uniform") == 0) {
        o->x_kind = SP_X_UNIFORM;
    } else if (strncmp(text, "uniform:", 8) == 0) {
        int64_t seed;
        TRY(number("x uniform:SEED", text + 8, 0, INT64_MAX, &seed));
        o->x_kind = SP_X_UNIFORM;
        o->x_seed = (uint64_t)seed;
    } else {
        o->x_file = text;
    }
    return SPMM_OK;
}

static spmm_status set_verify(sp_options *o, const char *text)
{
    int index;
    TRY(word("verify", text, verify_words, &index));
    o->verify_given = 1;
    o->verify = (sp_verify_mode)index;
    return SPMM_OK;
}

static spmm_status set_ell_limit(sp_options *o, const char *text)
{
    char *end;
    o->ell_limit = strtod(text, &end);
    if (end == text || *end || !(o->ell_limit > 0))
        return sp_fail(SPMM_ERR_USAGE, "--ell-limit %.100s: expected a number above 0", text);
    return SPMM_OK;
}

static spmm_status set_threads(sp_options *o, const char *t)
{
    return small_number("threads", t, 1, &o->threads);
}
static spmm_status set_slices(sp_options *o, const char *t)
{
    return small_number("slices", t, 1, &o->slices);
}
static spmm_status set_repeat(sp_options *o, const char *t)
{
    return small_number("repeat", t, 1, &o->repeat);
}
static spmm_status set_warmup(sp_options *o, const char *t)
{
    return small_number("warmup", t, 0, &o->warmup);
}
static spmm_status set_output(sp_options *o, const char *t) { return o->output = t, SPMM_OK; }
static spmm_status set_json(sp_options *o, const char *t) { return o->json = t, SPMM_OK; }
static spmm_status set_cache(sp_options *o, const char *t) { return o->cache = t, SPMM_OK; }
static spmm_status set_csv(sp_options *o, const char *t) { return o->csv = t, SPMM_OK; }
static spmm_status set_tune(sp_options *o, const char *t) { return (void)t, o->tune = 1, SPMM_OK; }
static spmm_status set_probe(sp_options *o, const char *t) { return (void)t, o->probe = 1, SPMM_OK; }
static spmm_status set_no_overlap(sp_options *o, const char *t)
{
    return (void)t, o->no_overlap = 1, SPMM_OK;
}
static spmm_status set_nonfinite(sp_options *o, const char *t)
{
    return (void)t, o->allow_nonfinite = 1, SPMM_OK;
}
static spmm_status set_quiet(sp_options *o, const char *t) { return (void)t, o->verbosity = -1, SPMM_OK; }
static spmm_status set_verbose(sp_options *o, const char *t) { return (void)t, o->verbosity = 1, SPMM_OK; }

static spmm_status act(sp_options *o, sp_action action)
{
    if (o->action < action) o->action = action; /* help wins over the rest */
    return SPMM_OK;
}
static spmm_status do_conversions(sp_options *o, const char *t)
{
    return (void)t, act(o, SP_ACTION_CHECK_CONVERSIONS);
}
static spmm_status do_scatter(sp_options *o, const char *t)
{
    return (void)t, act(o, SP_ACTION_SCATTER_ONLY);
}
static spmm_status do_dry_run(sp_options *o, const char *t) { return (void)t, act(o, SP_ACTION_DRY_RUN); }
static spmm_status do_kernels(sp_options *o, const char *t)
{
    return (void)t, act(o, SP_ACTION_LIST_KERNELS);
}
static spmm_status do_devices(sp_options *o, const char *t)
{
    return (void)t, act(o, SP_ACTION_LIST_DEVICES);
}
static spmm_status do_version(sp_options *o, const char *t) { return (void)t, act(o, SP_ACTION_VERSION); }
static spmm_status do_help(sp_options *o, const char *t) { return (void)t, act(o, SP_ACTION_HELP); }

#define WORDS(list, member) .words = list, .field = offsetof(sp_options, member)
/** THE table of options. */
static const option_row rows[] = {
    {'k', "columns", "LIST", "columns of X, e.g. 64 or 1,8,64: one run each (default 64)",
     .set = set_columns},
    {'d', "device", "NAME", "auto, cpu, cuda (auto: a GPU where build and machine have one)",
     WORDS(device_words, device)},
    {'f', "format", "NAME", "auto, csr, ell, ell-nopad, sell, panel", WORDS(format_words, format)},
    {0, "kernel", "NAME", "auto, a name of --list-kernels, or all (compared in a table)", .set = set_kernel},
    {0, "autotune", NULL, "auto: time the kernels for a moment, take the fastest, remember it",
     .set = set_tune},
    {0, "tune", NULL, "the same; Open MPI 4's mpirun takes the word for its own option, and warns",
     .set = set_tune},
    {0, "block-size", "N", "threads of a CUDA block, a multiple of 32 (default: the kernel's choice)",
     .set = set_block_size},
    {0, "subwarp", "N", "lanes that share an element, 1 to 32, where a CUDA kernel has that",
     .set = set_subwarp},
    {'g', "grid", "PxQ", "process grid: P row blocks by Q column blocks of A, or auto (default: ranks x 1)",
     .set = set_grid},
    {0, "partition", "NAME",
     "blocks: nnz (balanced by entries, default), rows (even), graph (renumbered by METIS)",
     WORDS(partition_words, partition)},
    {0, "exchange", "NAME", "X: halo (rows that a block needs), bcast (all of its columns'), auto (the less)",
     WORDS(exchange_words, exchange)},
    {0, "transport", "NAME", "X travels by auto, mpi, staged, cuda-aware, nccl, peer",
     WORDS(sp_transport_words, transport)},
    {0, "reduce", "NAME", "partial Y are summed by auto, linear, tree, butterfly, mpi, nccl",
     WORDS(reduce_words, reduce)},
    {0, "slices", "N", "exchange X in N slices of columns, beside products of those before (default: chosen)",
     .set = set_slices},
    {0, "no-overlap", NULL, "compute when the exchange has ended, not during it", .set = set_no_overlap},
    {'p', "precision", "NAME", "f64 (default), f32", WORDS(precision_words, precision)},
    {'x', "x", "SPEC", "uniform[:SEED] (default), ones, index, or a Matrix Market file", .set = set_x},
    {'t', "threads", "N", "OpenMP threads a rank (default: the cores it is bound to)", .set = set_threads},
    {'r', "repeat", "N", "timed products (default 10)", .set = set_repeat},
    {0, "warmup", "N", "products before the timed ones (default 2)", .set = set_warmup},
    {0, "verify", "NAME", "full (default), sample (1000 rows), none", .set = set_verify},
    {0, "probe", NULL, "measure messages, operations and copies for a moment: the record has them",
     .set = set_probe},
    {'o', "output", "FILE", "write Y as a Matrix Market array file", .set = set_output},
    {0, "json", "FILE", "append one JSON object a run", .set = set_json},
    {0, "csv", "FILE", "append one row a run, with a header when the file is new", .set = set_csv},
    {0, "ell-limit", "R", "refuse padded ELLPACK beyond R times the CSR (default 3)", .set = set_ell_limit},
    {0, "allow-nonfinite", NULL, "accept inf and nan in files", .set = set_nonfinite},
    {0, "io", "NAME", "root (rank 0 reads and sends, default) or parallel (every rank reads its part)",
     WORDS(io_words, io_parallel)},
    {0, "cache", "FILE", "write the matrix in binary form, as FILE.spmm: a MATRIX that needs no parsing",
     .set = set_cache},
    {0, "scatter-only", NULL, "print what each rank holds, and end", .set = do_scatter},
    {0, "dry-run", NULL, "print what ranks would hold, move and need, and end", .set = do_dry_run},
    {0, "plan-ranks", "LIST", "--dry-run for these numbers of ranks, on one", .set = set_plan_ranks},
    {0, "check-conversions", NULL, "compare and time the conversion algorithms, and end",
     .set = do_conversions},
    {0, "list-kernels", NULL, "name the kernels, and end", .set = do_kernels},
    {0, "list-devices", NULL, "name the devices and the transports between them, and end", .set = do_devices},
    {'q', "quiet", NULL, "print nothing but PASS or FAIL, and errors", .set = set_quiet},
    {'v', "verbose", NULL, "print a row a rank, the phases of each run and its share of the DRAM floor",
     .set = set_verbose},
    {0, "version", NULL, "print the version, and end", .set = do_version},
    {'h', "help", NULL, "print this, and end", .set = do_help},
};
enum { ROWS = sizeof rows / sizeof rows[0], FIRST_LONG = 256 };

void sp_options_help(FILE *out)
{
    int kinds;
    const sp_gen_kind *kind = sp_gen_kinds(&kinds);
    fprintf(out,
            "Usage: mpirun -np N spmm_mpi [OPTIONS] [MATRIX]\n\n"
            "Y := A X on N ranks: A sparse, X a dense multivector of K columns. Each rank computes on its\n"
            "cores or its GPU; Y is gathered and checked against the serial product.\n\n"
            "MATRIX is a Matrix Market file, plain or gzipped, or a generator (default lap3d27:32):\n");
    for (int i = 0; i < kinds; i++) {
        char form[64];
        int n = snprintf(form, sizeof form, "%s:", kind[i].name);
        for (int j = 0; j < SP_GEN_ARGS && kind[i].args[j]; j++)
            n += snprintf(form + n, sizeof form - (size_t)n, "%s%s", j ? "," : "", kind[i].args[j]);
        fprintf(out, "  %-30s %s\n", form, kind[i].what);
    }
    fprintf(out, "\nOptions:\n");
    for (int i = 0; i < ROWS; i++) {
        char form[64], letter[8] = "    ";
        if (rows[i].letter) snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
        snprintf(form, sizeof form, "%s--%s%s%s", letter, rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        fprintf(out, "  %-30s %s\n", form, rows[i].help);
    }
    fprintf(out, "\nExit codes: 0 done and verified, 1 verification failed, 2 usage, 3 input file,\n"
                 "4 resources (memory, device, MPI, output).\n");
}

static spmm_status set_word(const option_row *row, sp_options *o, const char *text)
{
    return word(row->name, text, row->words, (int *)((char *)o + row->field));
}

/** The table as getopt_long wants it. Long-only options get codes from FIRST_LONG up. */
static void getopt_tables(char *letters, struct option *longs)
{
    *letters++ = ':'; /* a missing argument is told apart from an unknown option */
    for (int i = 0; i < ROWS; i++) {
        longs[i] = (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL,
                                   FIRST_LONG + i};
        if (!rows[i].letter) continue;
        *letters++ = rows[i].letter;
        if (rows[i].argument) *letters++ = ':';
    }
    *letters = '\0';
    longs[ROWS] = (struct option){NULL, 0, NULL, 0};
}

static const option_row *find_row(int code)
{
    for (int i = 0; i < ROWS; i++)
        if (code == FIRST_LONG + i || (rows[i].letter && code == rows[i].letter)) return &rows[i];
    return NULL;
}

/** With --io parallel no rank has the whole matrix. */
static spmm_status check_io(const sp_options *o)
{
    const char *needs = NULL;
    if (!o->io_parallel) return SPMM_OK;
    if (sp_gen_is_spec(o->matrix)) needs = "a generator: give a file, or leave --io out";
    if (o->cache) needs = "--cache";
    if (o->grid_auto) needs = "--grid auto: --dry-run may tell a good one";
    if (o->partition == SP_PARTITION_GRAPH) needs = "--partition graph";
    if (o->action == SP_ACTION_DRY_RUN) needs = "--dry-run";
    if (o->action == SP_ACTION_CHECK_CONVERSIONS) needs = "--check-conversions";
    return needs ? sp_fail(SPMM_ERR_USAGE, "--io parallel does not go with %s", needs) : SPMM_OK;
}

/** What does not go together, found before any work starts. */
static spmm_status check(const sp_options *o)
{
    const sp_kernel *kernel = o->kernel ? sp_kernel_find(o->kernel) : NULL;
    if (sp_gen_is_spec(o->matrix)) TRY(sp_gen_check(o->matrix));
    if (kernel && o->device != SP_DEVICE_AUTO && (int)o->device != 1 + (int)kernel->device)
        return sp_fail(SPMM_ERR_USAGE, "--kernel %s runs on device %s, not on %s", kernel->id,
                       sp_device_word(kernel->device), device_words[o->device]);
    if (kernel && o->format != SP_FORMAT_AUTO && (int)o->format != 1 + (int)kernel->format)
        return sp_fail(SPMM_ERR_USAGE, "--kernel %s takes format %s, not %s", kernel->id,
                       sp_format_word(kernel->format), format_words[o->format]);
    if (o->plan_count > 0 && o->action != SP_ACTION_DRY_RUN)
        return sp_fail(SPMM_ERR_USAGE, "--plan-ranks is for --dry-run");
    if (o->action == SP_ACTION_DRY_RUN && o->partition == SP_PARTITION_GRAPH)
        return sp_fail(SPMM_ERR_USAGE,
                       "--dry-run counts blocks of rows in their order: leave --partition graph out,"
                       " or see --scatter-only");
    TRY(check_io(o));
    if (o->tune && o->kernel)
        return sp_fail(SPMM_ERR_USAGE, "--autotune chooses the kernel: leave --kernel %.100s out", o->kernel);
    if (o->output && (o->k_count > 1 || (o->kernel && !kernel)))
        return sp_fail(SPMM_ERR_USAGE,
                       "--output takes the Y of one run: give one --columns and one --kernel");
    return SPMM_OK;
}

spmm_status sp_options_parse(int argc, char **argv, sp_options *o)
{
    char letters[2 * ROWS + 2];
    struct option longs[ROWS + 1];
    *o = (sp_options){.matrix = "lap3d27:32",
                      .k = {64},
                      .k_count = 1,
                      .x_seed = 1,
                      .repeat = 10,
                      .warmup = 2,
                      .ell_limit = 3.0};
    getopt_tables(letters, longs);
    opterr = 0; /* rank 0 prints the message, not getopt on every rank */
    optind = 0; /* start anew: the tests parse more than once */
    for (int code; (code = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        const char *const seen = argv[optind > 0 ? optind - 1 : 0];
        if (code == ':') {
            const option_row *row = find_row(optopt);
            return sp_fail(SPMM_ERR_USAGE, "%s: expected %s after it", seen,
                           row ? row->argument : "an argument");
        }
        const option_row *row = code == '?' ? NULL : find_row(code);
        if (!row && optopt && optopt < FIRST_LONG)
            return sp_fail(SPMM_ERR_USAGE, "unknown option -%c; --help lists them", optopt);
        if (!row)
            return sp_fail(SPMM_ERR_USAGE,
                           "unknown option, or one that takes no argument: %.100s; --help lists them", seen);
        TRY(row->words ? set_word(row, o, optarg) : row->set(o, optarg));
    }
    if (argc - optind > 1)
        return sp_fail(SPMM_ERR_USAGE, "more than one matrix: %.100s and %.100s", argv[optind],
                       argv[optind + 1]);
    if (optind < argc) o->matrix = argv[optind];
    return check(o);
}
