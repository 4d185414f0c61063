#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/generators.h"
#include "bench.h"

static const char *const default_matrices[] = {"lap3d7:200",
                                               "lap3d27:128",
                                               "fem3:80",
                                               "band:2000000,16,4000",
                                               "uniform:2000000,16",
                                               "rmat:21,12",
                                               "longrows:2000000,5,4,1000000"};
static const int64_t default_columns[] = {32, 64, 128};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

void settings_help(FILE *out)
{
    fprintf(
        out,
        "usage: mpirun -np GPUS bench_multigpu [options] [MATRIX...]\n"
        "  MATRIX              a generator (spmm_mpi --help) or a Matrix Market file\n"
        "  --columns LIST      the K, e.g. 32,64 (default 32,64,128; with --scaling 64)\n"
        "  --precision P       f64 (default), f32 or both\n"
        "  --scaling           one time of each side, for bench/scaling.py: run it with 1, 2 and 4 ranks\n"
        "  -v, --verbose       also each transport that is there\n"
        "  --csv FILE          append a line per time\n"
        "  --commit TEXT       for the CSV\n"
        "  --seconds BUDGET    start no case after that time, and name those left out\n"
        "exit status: 0; 1 a wrong result; 2 usage; 3 input; 4 no GPU, or another resource\n");
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

static spmm_status parse_precision(const char *text, settings *s)
{
    const int both = strcmp(text, "both") == 0;
    s->f64 = both || strcmp(text, "f64") == 0;
    s->f32 = both || strcmp(text, "f32") == 0;
    if (s->f64 || s->f32) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--precision %s: f64, f32 or both", text);
}

static spmm_status parse_seconds(const char *text, settings *s)
{
    char *end;
    s->seconds = strtod(text, &end);
    if (end == text || *end || !(s->seconds > 0))
        return sp_fail(SPMM_ERR_USAGE, "--seconds %s: a number above 0", text);
    return SPMM_OK;
}

static spmm_status add_matrix(const char *text, settings *s)
{
    if (s->matrices == MAX_MATRICES) return sp_fail(SPMM_ERR_USAGE, "more than %d matrices", MAX_MATRICES);
    if (sp_gen_is_spec(text)) TRY(sp_gen_check(text));
    s->matrix[s->matrices++] = text;
    return SPMM_OK;
}

static spmm_status parse_valued(const char *name, const char *value, settings *s)
{
    if (!value) return sp_fail(SPMM_ERR_USAGE, "%s: no such option, or its value is missing", name);
    if (strcmp(name, "--columns") == 0) return parse_columns(value, s);
    if (strcmp(name, "--precision") == 0) return parse_precision(value, s);
    if (strcmp(name, "--seconds") == 0) return parse_seconds(value, s);
    if (strcmp(name, "--csv") == 0) return s->csv = value, SPMM_OK;
    if (strcmp(name, "--commit") == 0) return s->commit = value, SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: no such option", name);
}

static void add_defaults(settings *s)
{
    if (s->matrices == 0) {
        s->matrices = COUNT(default_matrices);
        memcpy(s->matrix, default_matrices, sizeof default_matrices);
    }
    if (s->column_count > 0) return;
    s->column_count = s->scaling ? 1 : COUNT(default_columns);
    memcpy(s->columns, default_columns, sizeof default_columns);
    if (s->scaling) s->columns[0] = 64;
}

spmm_status settings_parse(int argc, char **argv, settings *s)
{
    *s = (settings){.f64 = 1, .commit = ""};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            s->help = 1;
        else if (strcmp(argv[i], "--scaling") == 0)
            s->scaling = 1;
        else if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--verbose") == 0)
            s->verbose = 1;
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
