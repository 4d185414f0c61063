/** Defines spmm_mpi's options, parses their arguments, and rejects contradictory combinations. */
#include "spmm_mpi/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "io/generators.h"
#define OPTIONS sp_options
#include "base/words.h"
#include "cli/option_table.h"
#include "files/matrix_write.h"
#include "product/column_blocks.h"

static const char *const partition_words[] = {"nnz", "rows", "graph", "layout", "auto", NULL};
static const char *const io_words[] = {"root", "parallel", NULL};
static const char *const scatter_words[] = {"direct", "two-stage", NULL};
static const char *const scatter_format_words[] = {"csr", "ell", NULL};
static const char *const reproducible_words[] = {"on", "off", "exact", NULL};
static const char *const values_words[] = {"exact", "f32", NULL};
static const char *const plan_words[] = {"timed", "quick", NULL};
static const char *const read_as_words[] = {"edges", "edges:0", "edges:1", NULL};

const char *sp_partition_word(sp_partition partition) { return partition_words[partition]; }
const char *sp_bits_word(sp_bits bits) { return reproducible_words[bits]; }
const char *sp_values_word(const sp_options *o) { return values_words[o->round_values]; }
const char *sp_scatter_word(const sp_options *o) { return scatter_words[o->two_stage]; }

static spmm_status set_columns(void *options, const char *text)
{
    sp_options *const o = options;
    o->k_given = 1;
    return sp_option_numbers("columns", text, 1 << 24, o->columns.k, SP_MAX_COLUMNS, &o->columns.count);
}

static spmm_status set_plan_ranks(void *options, const char *text)
{
    sp_options *const o = options;
    return sp_option_numbers("plan-ranks", text, 1 << 20, o->plan_ranks, SP_MAX_COLUMNS, &o->plan_count);
}

/* names of kernels in the course reports: functions, and modes of a makefile (docs/REPORTS.md) */
static const sp_alias report_names[] = {
    {"parallel_product_CSR", "cpu_csr_static"},
    {"parallel_product_ellpack", "cpu_ell_transposed"},
    {"parallel_product_ellpack_no_zero_padding", "cpu_ell_nopad_transposed"},
    {"CSR_Scalar_v1", "csr_scalar1"},
    {"CSR_Scalar_v2", "csr_scalar2"},
    {"CSR_Scalar_v3", "csr_scalar3"},
    {"csr", "csr_scalar3"},
    {"CSR_Vector_Sub_warp", "csr_vector_subwarp"},
    {"CSR_Adaptive_sub_blocks", "csr_adaptive_subblocks"},
    {"csr_adaptive_sub_block", "csr_adaptive_subblocks"},
    {"ellpack", "ell_scalar"},
    {"ELLPACK_kernel", "ell_scalar"},
    {"ellpack_sw", "ell_subwarp"},
    {"ELLPACK_Sub_warp", "ell_subwarp"}};

static spmm_status set_kernel(void *options, const char *text)
{
    sp_options *const o = options;
    int count;
    const sp_kernel *const kernel = sp_kernels_all(&count);
    const char *meant = NULL;
    o->kernel = sp_kernel_find(text);
    o->all_kernels = strcmp(text, "all") == 0;
    if (o->kernel || o->all_kernels || strcmp(text, "auto") == 0) return SPMM_OK;
    if (sp_kernel_left_out(text))
        return sp_fail(SPMM_ERR_USAGE,
                       "--kernel %s: no such kernel: this build is without the baseline kernels (BASELINE=0)",
                       text);
    for (int i = 0; i < count; i++)
        if (sp_same_name(text, kernel[i].id)) meant = kernel[i].id;
    for (size_t i = 0; i < sizeof report_names / sizeof *report_names; i++)
        if (sp_same_name(text, report_names[i].theirs) && sp_kernel_find(report_names[i].ours))
            meant = report_names[i].ours;
    return sp_fail(SPMM_ERR_USAGE, "--kernel %s: no such kernel: --list-kernels names the kernels%s%s%s",
                   SHOWN(text), meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static spmm_status set_block_size(void *options, const char *text)
{
    sp_options *const o = options;
    int64_t value;
    TRY(sp_option_number("block-size", text, 0, 1024, &value));
    o->shape.block = (int)value;
    return sp_shape_check(o->shape);
}

static spmm_status set_subwarp(void *options, const char *text)
{
    sp_options *const o = options;
    int64_t value;
    TRY(sp_option_number("subwarp", text, 0, 32, &value));
    o->shape.subwarp = (int)value;
    return sp_shape_check(o->shape);
}

static spmm_status set_grid(void *options, const char *text)
{
    sp_options *const o = options;
    int end = 0;
    o->grid_auto = strcmp(text, "auto") == 0;
    o->p = o->q = 0;
    if (o->grid_auto) return SPMM_OK;
    if (sscanf(text, "%9dx%9d%n", &o->p, &o->q, &end) != 2 || text[end] || o->p < 1 || o->q < 1)
        return sp_fail(SPMM_ERR_USAGE, "--grid %s: expected PxQ, e.g. 4x1, or auto", SHOWN(text));
    return SPMM_OK;
}

static spmm_status set_x(void *options, const char *text)
{
    sp_options *const o = options;
    o->x_file = NULL;
    if (strcmp(text, "ones") == 0) {
        o->x_kind = SP_X_ONES;
    } else if (strcmp(text, "index") == 0) {
        o->x_kind = SP_X_INDEX;
    } else if (strcmp(text, "uniform") == 0) {
        o->x_kind = SP_X_UNIFORM;
    } else if (strncmp(text, "uniform:", 8) == 0) {
        int64_t seed;
        TRY(sp_option_number("x uniform:SEED", text + 8, 0, INT64_MAX, &seed));
        o->x_kind = SP_X_UNIFORM;
        o->x_seed = (uint64_t)seed;
    } else {
        o->x_file = text;
    }
    return SPMM_OK;
}

static spmm_status set_verify(void *options, const char *text)
{
    sp_options *const o = options;
    int index;
    TRY(sp_option_word("verify", text, sp_verify_words, &index));
    o->verify_given = 1;
    o->verify = (sp_verify_mode)index;
    return SPMM_OK;
}

static spmm_status set_ell_limit(void *options, const char *text)
{
    sp_options *const o = options;
    char *end;
    o->ell_limit = strtod(text, &end);
    if (end == text || *end || !(o->ell_limit > 0))
        return sp_fail(SPMM_ERR_USAGE, "--ell-limit %s: expected a number above 0", SHOWN(text));
    return SPMM_OK;
}

static spmm_status set_read_as(void *options, const char *text)
{
    sp_options *const o = options;
    int index;
    TRY(sp_option_word("read-as", text, read_as_words, &index));
    o->edges = index == 2 ? 2 : 1;
    return SPMM_OK;
}

static spmm_status check_ending(const char *option, const char *text)
{
    if (sp_matrix_write_knows(text)) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--%s %s: expected a name that ends in " SP_MATRIX_ENDINGS, option,
                   SHOWN(text));
}

static spmm_status set_cache(void *options, const char *text)
{
    ((sp_options *)options)->cache = text;
    return check_ending("cache", text);
}

static spmm_status set_convert(void *options, const char *text)
{
    sp_options *const o = options;
    TRY(check_ending("convert", text));
    o->convert = text;
    if (o->action < SP_ACTION_CONVERT) o->action = SP_ACTION_CONVERT;
    return SPMM_OK;
}

#define ACTION(name) RAISE(action, SP_ACTION_##name), SELECTS(SP_ACTION_##name)
/* Sets of actions that use an option. An option without such a set is for products alone. */
enum {
    PRODUCTS = 1 << SP_ACTION_MULTIPLY,
    SCATTER = 1 << SP_ACTION_SCATTER_ONLY,
    CONVERT = 1 << SP_ACTION_CONVERT,
    PLAN = 1 << SP_ACTION_DRY_RUN,
    CONVERSIONS = 1 << SP_ACTION_CHECK_CONVERSIONS,
    DEVICES = 1 << SP_ACTION_LIST_DEVICES,
    BLOCKS = PRODUCTS | SCATTER,
    CUTS = BLOCKS | PLAN,
    READS = CUTS | CONVERT | CONVERSIONS
};
#define NEXT_WORD(name, object, word) ", " word
/** All options of spmm_mpi, in the order in which --help lists them. */
static const sp_option_row rows[] = {
    {'k', "columns", "LIST", "columns of X, e.g. 64 or 1,8,64: one run each (default 64)", CALL(set_columns),
     USED_BY(CUTS)},
    {'d', "device", "NAME", "auto, cpu, cuda (auto: a GPU if one is available)",
     AUTO_WORDS(sp_device_words, device), USED_BY(CUTS | CONVERSIONS)},
    {'f', "format", "NAME", "auto" SPMM_FORMAT_LIST(NEXT_WORD), WORDS(sp_format_words, format),
     USED_BY(BLOCKS)},
    {0, "kernel", "NAME", "auto, a name from --list-kernels, or all (compared in a table)", CALL(set_kernel),
     USED_BY(BLOCKS)},
    {0, "autotune", NULL, "auto: time all useful kernels, use the fastest", FLAG(tune, 1)},
    /* an older name of --autotune; mpirun of Open MPI 4 interprets --tune as its own option */
    {0, "tune", NULL, NULL, FLAG(tune, 1)},
    {0, "block-size", "N", "threads per CUDA block, a multiple of 32 (default: the kernel's)",
     CALL(set_block_size), RARE},
    {0, "subwarp", "N", "lanes per element, 1 to 32, for CUDA kernels with this parameter", CALL(set_subwarp),
     RARE},
    {'g', "grid", "PxQ", "P row blocks by Q column blocks, or auto (default: ranks x 1)", CALL(set_grid),
     USED_BY(CUTS)},
    {0, "partition", "NAME", "nnz (balanced entries), rows (even), graph (METIS), layout, auto",
     WORDS(partition_words, partition), USED_BY(CUTS)},
    {0, "exchange", "NAME", "halo (needed X rows), bcast (all X rows), joint (X or Y rows), auto",
     WORDS(sp_exchange_words, exchange), RARE, USED_BY(CUTS)},
    {0, "reproducible", "NAME", "on (same bits on any P x 1 grid, default), exact (serial bits), off",
     WORDS(reproducible_words, bits), RARE, USED_BY(CUTS)},
    {0, "plan", "NAME", "choose by timing candidates (timed, default) or features (quick)",
     WORDS(plan_words, quick_plan), RARE},
    {0, "transport", "NAME", "transport of X: auto, mpi, staged, cuda-aware, nccl, peer, shared",
     WORDS(sp_transport_words, transport), RARE, USED_BY(BLOCKS)},
    {0, "reduce", "NAME", "how to sum partial Y: auto, linear, tree, butterfly, mpi, nccl",
     WORDS(sp_reduce_words, reduce), RARE},
    {0, "column-blocks", "N", "exchange X in N column blocks, during products (default: chosen)",
     COUNT(column_blocks, 1), RARE, USED_BY(BLOCKS)},
    {0, "no-overlap", NULL, "compute after the exchange, not during it", FLAG(no_overlap, 1), RARE},
    {'p', "precision", "NAME", "f64 (default), f32; complex: c128, c64", WORDS(sp_precision_words, precision),
     USED_BY(READS)},
    {0, "exchange-precision", "NAME", "f32: rows of X travel between ranks as f32 (default f64)",
     WORDS(sp_real_words, exchange_precision), RARE, USED_BY(BLOCKS)},
    {0, "values", "NAME", "A's values with -p f64: exact (default), f32 (rounded: fewer bytes)",
     WORDS(values_words, round_values), RARE, USED_BY(BLOCKS)},
    {'x', "x", "SPEC", "uniform[:SEED] (default), ones, index, or a file (.mtx, PETSc)", CALL(set_x),
     USED_BY(CUTS)},
    {'t', "threads", "N", "OpenMP threads per rank (default: the cores to which it is bound)",
     COUNT(threads, 1), MAY_VARY, USED_BY(READS)},
    {0, "products", "N", "expected number of products, to choose a kernel (default 1000)", COUNT(products, 1),
     RARE, USED_BY(BLOCKS)},
    {'r', "repeat", "N", "timed products (default 10)", COUNT(repeat, 1)},
    {0, "warmup", "N", "products before the timed ones (default 2)", COUNT(warmup, 0), RARE},
    {0, "verify", "NAME", "check Y: full (default), sample (1000 rows), none", CALL(set_verify)},
    {0, "probe", NULL, "benchmark messages, arithmetic, copies", FLAG(probe, 1), RARE},
    {'o', "output", "FILE", "write Y as Matrix Market (.mtx.gz: compressed; -: stdout)", TEXT(output)},
    {0, "json", "FILE", "append one JSON object per run", TEXT(json), USED_BY(PRODUCTS | PLAN)},
    {0, "csv", "FILE", "append one row per run, with a header when the file is new", TEXT(csv),
     USED_BY(PRODUCTS | PLAN)},
    {0, "ell-limit", "R", "refuse padded ELLPACK larger than R times the CSR (default 3)",
     CALL(set_ell_limit), RARE, USED_BY(BLOCKS | CONVERSIONS)},
    {0, "read-as", "NAME", "edges: MATRIX lists edges of vertices from 0 (edges:1: from 1)",
     CALL(set_read_as), RARE, USED_BY(READS)},
    {0, "allow-nonfinite", NULL, "accept inf and nan in files", FLAG(allow_nonfinite, 1), RARE,
     USED_BY(READS)},
    {0, "io", "NAME", "root (rank 0 reads, default), parallel (every rank reads its part)",
     WORDS(io_words, io_parallel), RARE, USED_BY(BLOCKS)},
    {0, "scatter", "NAME", "direct (rank 0 to all, default), two-stage (via a process column)",
     WORDS(scatter_words, two_stage), RARE, USED_BY(BLOCKS)},
    {0, "scatter-format", "NAME", "send blocks as csr (default) or, with --format ell, as ell",
     WORDS(scatter_format_words, scatter_padded), RARE, USED_BY(BLOCKS)},
    {0, "cache", "FILE", "also write A to FILE, by its ending (.npz is read fastest)", CALL(set_cache), RARE,
     USED_BY(READS)},
    {0, "convert", "FILE", "write A to FILE (.mtx, .mtx.gz, .npz, .petsc), and end", CALL(set_convert), RARE,
     SELECTS(SP_ACTION_CONVERT)},
    {0, "timeout", "SECONDS", "end the job if a rank does not answer for so long (default: never)",
     COUNT(timeout, 1), RARE, USED_BY(READS | DEVICES)},
    {0, "scatter-only", NULL, "print what each rank holds, and end", ACTION(SCATTER_ONLY), RARE},
    {0, "dry-run", NULL, "print the memory and communication of each rank, and end", ACTION(DRY_RUN)},
    {0, "plan-ranks", "LIST", "rank counts for --dry-run, which needs one process", CALL(set_plan_ranks),
     RARE, USED_BY(PLAN)},
    {0, "ranks-per-node", "N", "--dry-run: also count rows between nodes of N ranks",
     COUNT(ranks_per_node, 1), RARE, USED_BY(PLAN)},
    {0, "check-conversions", NULL, "compare and time the conversion algorithms, and end",
     ACTION(CHECK_CONVERSIONS), RARE},
    {0, "list-kernels", NULL, "name the kernels, and end", ACTION(LIST_KERNELS)},
    {0, "list-devices", NULL, "name devices (-v: their properties) and transports, and end",
     ACTION(LIST_DEVICES)},
    {0, "brief", NULL, "print only the tables of times, noise, and PASS or FAIL", FLAG(brief, 1), MAY_VARY,
     USED_BY(BLOCKS)},
    {'q', "quiet", NULL, "print only PASS or FAIL, and errors", FLAG(verbosity, -1), MAY_VARY,
     USED_BY(READS)},
    {'v', "verbose", NULL, "add rows of ranks, phases, errors, bounds and launches", FLAG(verbosity, 1),
     MAY_VARY, USED_BY(CUTS | DEVICES)},
    {0, "version", NULL, "print the version, and end", ACTION(VERSION)},
    {'h', "help", NULL, "print this, and end", ACTION(HELP)},
    {0, "help-all", NULL, "print this with all options, and end", ACTION(HELP_ALL)},
};
static const sp_option_table table = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .operand_modes = READS};

void sp_options_help(int all, FILE *out)
{
    int kinds;
    const sp_gen_kind *kind = sp_gen_kinds(&kinds);
    fprintf(
        out,
        "Usage: mpirun -np N spmm_mpi [OPTIONS] [MATRIX]\n\n"
        "Y := A X on N ranks: A sparse, X a dense multivector of K columns. Each rank computes on its\n"
        "cores or its GPU; Y is gathered and checked against the serial product.\n\n"
        "MATRIX is a file (Matrix Market, .npz, PETSc, Harwell-Boeing, also compressed; an edge list with\n"
        "--read-as) or a generator (default lap3d27:32):\n");
    for (int i = 0; i < kinds; i++) {
        char form[64];
        int n = snprintf(form, sizeof form, "%s:", kind[i].name);
        for (int j = 0; j < SP_GEN_ARGS && kind[i].args[j]; j++)
            n += snprintf(form + n, sizeof form - (size_t)n, "%s%s", j ? "," : "", kind[i].args[j]);
        fprintf(out, "  %-30s %s\n", form, kind[i].what);
    }
    fprintf(out, "\n");
    sp_option_help(&table, all, out);
}

/** With --io parallel, rejects options that need the whole matrix on one rank. */
static spmm_status check_io(const sp_options *o)
{
    const char *needs = NULL;
    if (!o->io_parallel) return SPMM_OK;
    if (sp_gen_is_spec(o->matrix)) needs = "a generator: give a file, or omit --io";
    if (o->edges) needs = "--read-as edges: convert it first (spmm_mpi --read-as edges --convert FILE.npz)";
    if (o->cache) needs = "--cache";
    if (o->two_stage) needs = "--scatter two-stage: rank 0 sends nothing";
    if (o->scatter_padded) needs = "--scatter-format ell: rank 0 sends nothing";
    if (o->grid_auto) needs = "--grid auto: --dry-run prints the best grid";
    if (o->partition == SP_PARTITION_GRAPH) needs = "--partition graph";
    if (o->partition == SP_PARTITION_LAYOUT) needs = "--partition layout";
    return needs ? sp_fail(SPMM_ERR_USAGE, "--io parallel cannot be combined with %s", needs) : SPMM_OK;
}

int64_t sp_most_columns(const sp_columns *columns)
{
    int64_t k = 1;
    for (int i = 0; i < columns->count; i++)
        if (columns->k[i] > k) k = columns->k[i];
    return k;
}

spmm_status sp_options_check_column_blocks(const sp_options *o, const sp_columns *columns)
{
    for (int i = 0; o->column_blocks > 0 && i < columns->count; i++)
        if (!sp_column_blocks_fit(columns->k[i], o->precision, o->column_blocks))
            return sp_fail(
                SPMM_ERR_USAGE,
                "--column-blocks %d of %lld columns: expected a divisor up to %d, for blocks of n x 32 bytes",
                o->column_blocks, (long long)columns->k[i], SP_MOST_COLUMN_BLOCKS);
    return SPMM_OK;
}

/** Rejects --scatter-format ell unless a kernel on ELLPACK is used. */
static spmm_status check_scatter(const sp_options *o)
{
    const spmm_format format = o->kernel ? o->kernel->format : o->format;
    if (!o->scatter_padded || format == SPMM_ELL) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--scatter-format ell is for padded ELLPACK: add --format ell");
}

/** Rejects options that contradict --exchange-precision f32. */
static spmm_status check_rounding(const sp_options *o)
{
    if (!sp_options_round(o)) return SPMM_OK;
    if (o->bits == SP_BITS_EXACT)
        return sp_fail(
            SPMM_ERR_USAGE,
            "--exchange-precision f32 rounds rows of X, which does not keep the bits that --reproducible "
            "exact requires: give only one of them");
    if (sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE))
        return sp_fail(SPMM_ERR_USAGE, "--transport shared: %s", SP_NOT_ROUNDED);
    return SPMM_OK;
}

/** Rejects combinations of options that contradict each other. */
static spmm_status options_check(const sp_options *o)
{
    const sp_kernel *const kernel = o->kernel;
    if (o->action < SP_ACTION_VERSION) TRY(sp_option_check_mode(&o->line, o->action));
    if (sp_gen_is_spec(o->matrix)) TRY(sp_gen_check(o->matrix));
    if (kernel && o->device != SP_DEVICE_AUTO && (int)o->device != (int)kernel->device)
        return sp_fail(SPMM_ERR_USAGE, "--kernel %s runs on device %s, not on %s", kernel->id,
                       sp_device_word(kernel->device), sp_device_word((spmm_device)o->device));
    if (kernel && !sp_kernel_takes(kernel, o->precision))
        return sp_fail(SPMM_ERR_USAGE, "--kernel %s does not multiply values of type %s", kernel->id,
                       sp_precision_word(o->precision));
    if (o->action == SP_ACTION_CHECK_CONVERSIONS && sp_is_complex(o->precision))
        return sp_fail(SPMM_ERR_USAGE, "--check-conversions compares conversions of f64 and f32, not of %s",
                       sp_precision_word(o->precision));
    if (kernel && o->format != SPMM_FORMAT_AUTO && o->format != kernel->format)
        return sp_fail(SPMM_ERR_USAGE, "--kernel %s requires format %s, not %s", kernel->id,
                       sp_format_word(kernel->format), sp_format_word(o->format));
    if (o->action == SP_ACTION_DRY_RUN && sp_partition_renumbers(o->partition))
        return sp_fail(SPMM_ERR_USAGE,
                       "--dry-run does not support --partition %s: omit it, or use --scatter-only",
                       sp_partition_word(o->partition));
    if (o->edges && sp_gen_is_spec(o->matrix))
        return sp_fail(SPMM_ERR_USAGE, "--read-as is for files, but %s is a generator", SHOWN(o->matrix));
    TRY(check_io(o));
    TRY(check_scatter(o));
    TRY(check_rounding(o));
    if (!o->x_file)
        TRY(sp_options_check_column_blocks(o, &o->columns)); /* with -x FILE, K is not known yet */
    if (o->tune && (kernel || o->all_kernels))
        return sp_fail(SPMM_ERR_USAGE, "--autotune chooses the kernel: omit --kernel %.100s",
                       kernel ? kernel->id : "all");
    if (o->output && (o->columns.count > 1 || o->all_kernels))
        return sp_fail(SPMM_ERR_USAGE,
                       "--output writes the Y of a single run: give one --columns and one --kernel");
    return SPMM_OK;
}

spmm_status sp_options_parse(int argc, char **argv, sp_options *o)
{
    *o = (sp_options){.matrix = "lap3d27:32",
                      .columns = {{64}, 1},
                      .device = SP_DEVICE_AUTO,
                      .format = SPMM_FORMAT_AUTO,
                      .partition = SP_PARTITION_AUTO,
                      .x_seed = 1,
                      .repeat = 10,
                      .warmup = 2,
                      .ell_limit = 3.0};
    TRY(sp_option_read(&table, argc, argv, "matrix", o, &o->line));
    if (o->line.operand) o->matrix = o->line.operand;
    return options_check(o);
}
