#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/generators.h"
#include "bench.h"

static const char *const default_matrices[] = {
    "lap3d7:140",           "lap3d27:90",         "fem3:56",    "lap2d5:1000",
    "band:1000000,16,4000", "uniform:1000000,16", "rmat:20,12", "longrows:1000000,5,4,500000"};
/* small enough for thousands of columns, large enough to fill the GPU at few */
static const char *const cliff_matrices[] = {"lap3d27:64", "uniform:200000,16"};
static const int64_t default_columns[] = {1, 2, 3, 4, 8, 9, 16, 32, 33, 64, 100, 128, 256};
static const int64_t cliff_columns[] = {1,  2,   4,   8,   12,  16,  24,   32,   48,  64,
                                        96, 128, 192, 256, 384, 512, 1024, 2048, 4088};

/* what `ours` means: the kernels that `auto` is made of, as far as the registry has them */
static const char *const ours[] = {"csr_rows", "csr_balanced", "sell_rows", "panel_mma", "panel_rows"};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

void settings_help(FILE *out)
{
    fprintf(out,
            "usage: bench_gpu [options] [FILE...]\n"
            "  --matrix SPEC       a generator (spmm_mpi --help) or a Matrix Market file; may be repeated\n"
            "  --columns LIST      the K, e.g. 1,4,16\n"
            "  --precision P       f64, f32 or both (default)\n"
            "  --own LIST          ours (default), all, auto, or kernels' names between commas\n"
            "  --no-peers          our kernels alone\n"
            "  --cliffs            K, K + 1 and the next multiple of 8, by the kernel that auto takes\n"
            "  --csv FILE          append a line per contender\n"
            "  --commit TEXT       for the CSV\n"
            "  --seconds BUDGET    start no case after that time, and name those left out\n"
            "exit status: 0; 1 a wrong result; 2 usage; 3 input; 4 no GPU, or another resource\n");
}

static int has_name(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ',') && (p[n] == '\0' || p[n] == ',')) return 1;
    return 0;
}

int settings_own(const settings *s, const sp_kernel *kernel)
{
    if (kernel->device != SPMM_CUDA) return 0;
    if (strcmp(s->own, "all") == 0) return 1;
    if (strcmp(s->own, "auto") == 0) return 0;
    if (strcmp(s->own, "ours") != 0) return has_name(s->own, kernel->id);
    for (int i = 0; i < COUNT(ours); i++)
        if (strcmp(kernel->id, ours[i]) == 0) return 1;
    return 0;
}

/** Each name of --own is one of our CUDA kernels'. */
static spmm_status check_own(const char *list)
{
    if (strcmp(list, "all") == 0 || strcmp(list, "auto") == 0 || strcmp(list, "ours") == 0) return SPMM_OK;
    for (const char *p = list;; p++) {
        char name[64];
        const size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, p);
        const sp_kernel *kernel = sp_kernel_find(name);
        if (!kernel || kernel->device != SPMM_CUDA)
            return sp_fail(SPMM_ERR_USAGE, "--own %s: \"%s\" is none of our CUDA kernels", list, name);
        p += n;
        if (!*p) return SPMM_OK;
    }
}

static spmm_status parse_columns(const char *list, settings *s)
{
    s->column_count = 0;
    for (const char *p = list;; p++) {
        char *end;
        errno = 0;
        const long long k = strtoll(p, &end, 10);
        if (end == p || errno || k < 1 || k > INT32_MAX || (*end && *end != ','))
            return sp_fail(SPMM_ERR_USAGE, "--columns %s: numbers of at least 1 between commas", list);
        if (s->column_count == MAX_COLUMNS)
            return sp_fail(SPMM_ERR_USAGE, "--columns: more than %d", MAX_COLUMNS);
        s->columns[s->column_count++] = k;
        p = end;
        if (!*p) return SPMM_OK;
    }
}

static spmm_status parse_seconds(const char *text, settings *s)
{
    char *end;
    s->seconds = strtod(text, &end);
    if (end == text || *end || !(s->seconds > 0))
        return sp_fail(SPMM_ERR_USAGE, "--seconds %s: a number above 0", text);
    return SPMM_OK;
}

static spmm_status parse_precision(const char *text, settings *s)
{
    const int both = strcmp(text, "both") == 0;
    s->f64 = both || strcmp(text, "f64") == 0;
    s->f32 = both || strcmp(text, "f32") == 0;
    if (s->f64 || s->f32) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--precision %s: f64, f32 or both", text);
}

static spmm_status add_matrix(const char *text, settings *s)
{
    if (s->matrices == MAX_MATRICES) return sp_fail(SPMM_ERR_USAGE, "more than %d matrices", MAX_MATRICES);
    if (sp_gen_is_spec(text)) TRY(sp_gen_check(text));
    s->matrix[s->matrices++] = text;
    return SPMM_OK;
}

/** An option with a value. */
static spmm_status parse_valued(const char *name, const char *value, settings *s)
{
    if (!value) return sp_fail(SPMM_ERR_USAGE, "%s: no such option, or its value is missing", name);
    if (strcmp(name, "--matrix") == 0) return add_matrix(value, s);
    if (strcmp(name, "--columns") == 0) return parse_columns(value, s);
    if (strcmp(name, "--precision") == 0) return parse_precision(value, s);
    if (strcmp(name, "--seconds") == 0) return parse_seconds(value, s);
    if (strcmp(name, "--csv") == 0) return s->csv = value, SPMM_OK;
    if (strcmp(name, "--commit") == 0) return s->commit = value, SPMM_OK;
    if (strcmp(name, "--own") == 0) return s->own = value, check_own(value);
    return sp_fail(SPMM_ERR_USAGE, "%s: no such option", name);
}

static void add_defaults(settings *s)
{
    const char *const *matrices = s->cliffs ? cliff_matrices : default_matrices;
    const int64_t *columns = s->cliffs ? cliff_columns : default_columns;
    if (s->matrices == 0) {
        s->matrices = s->cliffs ? COUNT(cliff_matrices) : COUNT(default_matrices);
        for (int i = 0; i < s->matrices; i++) s->matrix[i] = matrices[i];
    }
    if (s->column_count == 0) {
        s->column_count = s->cliffs ? COUNT(cliff_columns) : COUNT(default_columns);
        for (int i = 0; i < s->column_count; i++) s->columns[i] = columns[i];
    }
}

spmm_status settings_parse(int argc, char **argv, settings *s)
{
    *s = (settings){.f64 = 1, .f32 = 1, .own = "ours", .peers = 1, .commit = ""};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            s->help = 1;
        else if (strcmp(argv[i], "--no-peers") == 0)
            s->peers = 0;
        else if (strcmp(argv[i], "--cliffs") == 0)
            s->cliffs = 1;
        else if (argv[i][0] != '-')
            TRY(add_matrix(argv[i], s));
        else {
            TRY(parse_valued(argv[i], argv[i + 1], s));
            i++;
        }
    }
    add_defaults(s);
    return SPMM_OK;
}
