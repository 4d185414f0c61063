/** The options of all benches, one table. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/words.h"
#include "cli/option_table.h"
#include "cli/program.h"
#include "io/generators.h"
#include "bench.h"

#define OPTIONS settings

enum { OF_PRODUCTS = OF_CPU | OF_MPI | OF_GPU | OF_MULTIGPU, MOST_THREADS = 1024, MOST_COLUMNS = INT32_MAX };
enum { LEAST_ENTRIES = 100000 /* of a collection's matrices: with fewer, the start of a kernel dominates */ };

static const settings *usual; /* default settings of the program */

static spmm_status check_room(const settings *s, int more)
{
    return s->matrices + more <= MAX_MATRICES
               ? SPMM_OK
               : sp_fail(SPMM_ERR_USAGE, "more than %d matrices", MAX_MATRICES);
}

static spmm_status add_matrix(void *options, const char *text)
{
    settings *const s = options;
    const int many = strcmp(text, "default") == 0 ? usual->matrices : 1;
    TRY(check_room(s, many));
    if (strcmp(text, "default") != 0 && sp_gen_is_spec(text)) TRY(sp_gen_check(text));
    for (int i = 0; i < many; i++)
        s->matrix[s->matrices++] = strcmp(text, "default") == 0 ? usual->matrix[i] : text;
    return SPMM_OK;
}

static int is_matrix_file(const struct dirent *entry)
{
    static const char *const endings[] = {".mtx", ".mtx.gz", ".npz"};
    const size_t n = strlen(entry->d_name);
    int is = 0;
    for (int i = 0; i < 3; i++) {
        const size_t m = strlen(endings[i]);
        is |= n > m && strcmp(entry->d_name + n - m, endings[i]) == 0;
    }
    return is;
}

/** Adds a folder's files in the order of their names, which are never freed. */
static spmm_status add_folder(void *options, const char *text)
{
    settings *const s = options;
    struct dirent **entry;
    const int n = scandir(text, &entry, is_matrix_file, alphasort);
    if (n < 0) return sp_fail(SPMM_ERR_OPEN, "--matrices %s: %s", SHOWN(text), strerror(errno));
    spmm_status status = check_room(s, n);
    for (int i = 0; i < n && status == SPMM_OK; i++) {
        s->folder[s->matrices] = text;
        s->matrix[s->matrices++] = entry[i]->d_name;
    }
    free(entry);
    if (n == 0)
        status = sp_fail(SPMM_ERR_USAGE, "--matrices %s: no .mtx, .mtx.gz or .npz there", SHOWN(text));
    return status;
}

static spmm_status set_columns(void *options, const char *text)
{
    settings *const s = options;
    return sp_option_numbers("columns", text, MOST_COLUMNS, s->columns, MAX_LIST, &s->column_count);
}

static spmm_status set_commit(void *options, const char *text)
{
    ((settings *)options)->commit = text;
    return SPMM_OK;
}

static spmm_status set_seconds(void *options, const char *text)
{
    char *end;
    double *const seconds = &((settings *)options)->seconds;
    *seconds = strtod(text, &end);
    if (end == text || *end || !(*seconds > 0))
        return sp_fail(SPMM_ERR_USAGE, "--seconds %s: expected a number above 0", SHOWN(text));
    return SPMM_OK;
}

static const char *const precisions[] = {"f64", "f32", "c128", "c64", "both", NULL};

static const struct {
    int programs;
    sp_option_row row;
} rows[] = {
    {OF_PRODUCTS,
     {'m', "matrix", "SPEC", "file, generator's spec (spmm_mpi --help) or `default`", CALL(add_matrix)}},
    {OF_PRODUCTS, {0, "matrices", "FOLDER", "the .mtx, .mtx.gz and .npz files in FOLDER", CALL(add_folder)}},
    {OF_PRODUCTS,
     {0, "least-entries", "N", "skip files with fewer entries (default 100000)", COUNT(least_entries, 0)}},
    {OF_PRODUCTS, {'k', "columns", "LIST", "columns of X, e.g. 1,4,16", CALL(set_columns)}},
    {OF_CPU | OF_GPU | OF_MULTIGPU,
     {'p', "precision", "NAME", "f64, f32, both, c128 or c64", WORDS(precisions, precision)}},
    {OF_CPU, {'t', "threads", "N", "OpenMP threads (default: all cores)", COUNT(threads, 1)}},
    {OF_MPI, {'t', "threads", "N", "OpenMP threads per rank of ours (default 1)", COUNT(threads, 1)}},
    {OF_CPU | OF_MPI, {'r', "repeat", "N", "timed products of a contender (default 7)", COUNT(repeat, 1)}},
    {OF_CPU, {'s', "sweeps", "N", "run all cases N times (default 1)", COUNT(sweeps, 1)}},
    {OF_CPU, {0, "only", "NAMES", "run only these libraries, or `none`", TEXT(only)}},
    {OF_CPU, {0, "own", "NAMES", "also these kernels, besides that of `auto`; or `all`", TEXT(own)}},
    {OF_GPU, {0, "own", "NAMES", "ours (default), all, auto, or kernels' names", TEXT(own)}},
    {OF_GPU | OF_MULTIGPU, {0, "no-peers", NULL, "run only our kernels", FLAG(no_peers, 1)}},
    {OF_GPU, {0, "transposed", NULL, "also cuSPARSE's transposed operation on A^T", FLAG(transposed, 1)}},
    {OF_GPU, {0, "cliffs", NULL, "for each K also K + 1 and the next multiple of 8", FLAG(cliffs, 1)}},
    {OF_MULTIGPU, {0, "scaling", NULL, "one contender of ours, for bench/scaling.py", FLAG(scaling, 1)}},
    {OF_MULTIGPU, {0, "pair", NULL, "time A X, then A^T times the result", FLAG(pair, 1)}},
    {OF_MULTIGPU, {'v', "verbose", NULL, "also run each available transport", FLAG(verbose, 1)}},
    {OF_PRODUCTS, {0, "csv", "FILE", "append a row per contender and case", TEXT(csv)}},
    {OF_GPU | OF_MULTIGPU, {0, "seconds", "BUDGET", "start no case after BUDGET", CALL(set_seconds)}},
    {OF_READ, {0, "mb", "N", "size of the files that are made (default 150)", COUNT(mb, 1)}},
    {OF_READ, {0, "repeats", "N", "read each file N times (default 5)", COUNT(repeat, 1)}},
    {OF_READ, {0, "threads", "N", "maximum threads of the reader (default 2)", COUNT(threads, 1)}},
    {OF_READ, {0, "dir", "DIR", "where files are made (default: $TMPDIR or /tmp)", TEXT(dir)}},
    {OF_READ, {0, "json", "FILE", "append a record per file and reader", TEXT(json)}},
    {OF_SERIES, {0, "device", "NAME", "auto, cpu or cuda", WORDS(sp_device_words, device)}},
    {OF_PRODUCTS | OF_SERIES,
     {0, "commit", "TEXT", "commit in the CSV (default: $COMMIT)", CALL(set_commit)}},
    {~0, {'h', "help", NULL, "print this", FLAG(help, 1)}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static sp_option_table table_of(int program)
{
    static sp_option_row own[ROWS];
    sp_option_table table = {.rows = own, .operand = add_matrix};
    for (int i = 0; i < ROWS; i++)
        if (rows[i].programs & program) own[table.count++] = rows[i].row;
    return table;
}

static void print_help(int program, const char *usage, const settings *defaults)
{
    const sp_option_table table = table_of(program);
    printf("usage: %s\n", usage);
    sp_option_help(&table, 1, stdout);
    if (!(program & OF_PRODUCTS)) return;
    printf("Without a matrix:");
    for (int i = 0; i < defaults->matrices; i++) printf("%s%s", i % 4 ? " " : "\n  ", defaults->matrix[i]);
    printf("\nWithout --columns: ");
    for (int i = 0; i < defaults->column_count; i++)
        printf("%s%lld", i ? "," : "", (long long)defaults->columns[i]);
    printf("\nExit status: 0; 1 a wrong result; 2 usage; 3 input; 4 no GPU, or another resource\n");
}

static spmm_status read_settings(int program, int argc, char **argv, const settings *defaults, settings *s)
{
    const sp_option_table table = table_of(program);
    const char *const commit = getenv("COMMIT");
    sp_command_line line;
    usual = defaults;
    *s = *defaults;
    s->matrices = s->column_count = 0;
    s->least_entries = LEAST_ENTRIES;
    s->commit = commit ? commit : "";
    TRY(sp_option_read(&table, argc, argv, "operand", s, &line));
    if (s->repeat <= MAX_REPEAT && s->threads <= MOST_THREADS) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "more than %d repetitions or %d threads", MAX_REPEAT, MOST_THREADS);
}

int settings_ready(int program, const char *usage, int argc, char **argv, const settings *defaults,
                   settings *s)
{
    const spmm_status status = read_settings(program, argc, argv, defaults, s);
    s->help = s->help && status == SPMM_OK;
    if (status != SPMM_OK && sp_program_rank() == 0)
        fprintf(stderr, "%s\nusage: %s\n", spmm_error_message(), usage);
    if (s->help && sp_program_rank() == 0) print_help(program, usage, defaults);
    return status == SPMM_OK && !s->help;
}

int listed(const char *list, const char *name, int or_part)
{
    const size_t n = strlen(name);
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (strncmp(list, name, n) == 0 && (list[n] == ',' || !list[n] || (or_part && list[n] == '-')))
            return 1;
    return 0;
}
