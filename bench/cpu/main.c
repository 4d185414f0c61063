/* Times our CPU kernels beside the CPU sparse libraries of bench/peers/: bench_cpu --help, bench/README.md.
 * Exit status: 0, 1 something was wrong or failed, 2 usage, 3 input file, 4 resources. */
#include <getopt.h>
#include <mpi.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "io/generators.h"
#include "bench.h"

/* A and X at K = 16 together are larger than a last-level cache of 32 MB */
static const char *const defaults[] = {
    "lap2d5:700",          "lap3d7:80",         "lap3d27:56", "fem3:30",
    "band:500000,12,2000", "uniform:400000,12", "rmat:19,10", "longrows:400000,8,20,50000"};
enum { DEFAULTS = sizeof defaults / sizeof *defaults };

static field contenders;

/* ---- options ---- */

static int usage(FILE *out)
{
    fprintf(out, "usage: bench_cpu [OPTIONS] [MATRIX...]\n"
                 "  MATRIX, -m, --matrix SPEC  a file, a generator's spec, or `default`, which is");
    for (int i = 0; i < DEFAULTS; i++)
        fprintf(out, "%s%s", i % 3 ? " " : "\n                             ", defaults[i]);
    fprintf(out, "\n"
                 "  -k, --columns LIST         columns of X (default 1,4,8,16,32,64,128)\n"
                 "  -p, --precision NAME       f64 (default), f32\n"
                 "  -t, --threads N            (default: all cores)\n"
                 "  -r, --repeat N             timed products of each contender in a case (default 7)\n"
                 "  -s, --sweeps N             all of it N times (default 1)\n"
                 "      --only NAMES           only these libraries, or `none`\n"
                 "      --own NAMES            these kernels beside the one that `auto` picks, or `all`\n"
                 "      --csv FILE             append a row a contender and case\n"
                 "  -h, --help\n");
    return out == stderr ? 2 : 0;
}

static int add_matrix(settings *s, const char *spec)
{
    if (strcmp(spec, "default") != 0) {
        if (s->matrices == MAX_LIST) return 0;
        s->matrix[s->matrices++] = spec;
        return 1;
    }
    for (int i = 0; i < DEFAULTS && s->matrices < MAX_LIST; i++)
        if (sp_gen_is_spec(defaults[i])) s->matrix[s->matrices++] = defaults[i];
    return 1;
}

static int number(const char *text, long long most, int *value)
{
    char *end;
    const long long n = strtoll(text, &end, 10);
    *value = (int)n;
    return end != text && !*end && n >= 1 && n <= most;
}

static int set_columns(settings *s, char *list)
{
    s->column_count = 0;
    for (char *rest = NULL, *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        int k;
        if (s->column_count == MAX_LIST || !number(item, 1 << 20, &k)) return 0;
        s->columns[s->column_count++] = k;
    }
    return s->column_count > 0;
}

static int set_precision(settings *s, const char *name)
{
    s->precision = strcmp(name, "f32") == 0 ? SPMM_F32 : SPMM_F64;
    return strcmp(name, "f32") == 0 || strcmp(name, "f64") == 0;
}

/** Says which spec is no matrix. */
static int check_matrices(const settings *s)
{
    for (int i = 0; i < s->matrices; i++)
        if (sp_gen_is_spec(s->matrix[i]) && sp_gen_check(s->matrix[i]) != SPMM_OK) {
            fprintf(stderr, "bench_cpu: error: %s\n", spmm_error_message());
            return 0;
        }
    return 1;
}

/** 1: go on; 0: wrong; -1: help is wanted. */
static int parse(int argc, char **argv, settings *s)
{
    static const struct option options[] = {
        {"matrix", 1, NULL, 'm'},  {"columns", 1, NULL, 'k'}, {"precision", 1, NULL, 'p'},
        {"threads", 1, NULL, 't'}, {"repeat", 1, NULL, 'r'},  {"sweeps", 1, NULL, 's'},
        {"only", 1, NULL, 'O'},    {"own", 1, NULL, 'W'},     {"csv", 1, NULL, 'C'},
        {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    int good = 1, c;
    while (good && (c = getopt_long(argc, argv, "m:k:p:t:r:s:h", options, NULL)) != -1) switch (c) {
        case 'm': good = add_matrix(s, optarg); break;
        case 'k': good = set_columns(s, optarg); break;
        case 'p': good = set_precision(s, optarg); break;
        case 't': good = number(optarg, 1024, &s->threads); break;
        case 'r': good = number(optarg, MAX_REPEAT, &s->repeat); break;
        case 's': good = number(optarg, 100, &s->sweeps); break;
        case 'O': s->only = optarg; break;
        case 'W': s->own = optarg; break;
        case 'C': s->csv = optarg; break;
        case 'h': return -1;
        default: good = 0;
        }
    for (; good && optind < argc; optind++) good = add_matrix(s, argv[optind]);
    if (good && s->matrices == 0) good = add_matrix(s, "default");
    return good && check_matrices(s);
}

/* ---- the run ---- */

static spmm_status bench_matrix(const settings *s, const char *matrix, const char *date, FILE *csv)
{
    spmm_csr a = {.rows = 0};
    int32_t *start = NULL;
    outcome o;
    spmm_status status;
    TRY_GOTO(sp_gen_is_spec(matrix) ? sp_gen_csr(matrix, s->precision, s->threads, &a)
                                    : spmm_csr_read(matrix, s->precision, &a),
             done);
    if (a.nnz <= INT32_MAX) { /* what all libraries can take */
        TRY_GOTO(sp_alloc((void **)&start, a.rows + 1, sizeof *start, "row starts"), done);
        for (int64_t i = 0; i <= a.rows; i++) start[i] = (int32_t)a.irp[i];
        const peer_matrix view = {s->precision == SPMM_F32, a.rows, a.cols, a.nnz, start, a.ja, a.as};
        field_load(&contenders, &view);
        for (int i = 0; i < s->column_count && status == SPMM_OK; i++) {
            status = measure(&contenders, s, &a, s->columns[i], &o);
            if (status == SPMM_OK) report_case(&contenders, s, matrix, &a, s->columns[i], &o, date, csv);
        }
        field_load(&contenders, NULL);
    } else
        status = sp_fail(SPMM_ERR_LIMIT, "%s: more than 2^31 - 1 entries", matrix);
done:
    sp_free(start);
    spmm_csr_destroy(&a);
    return status;
}

/** All matrices once. Its date tells it from the others in the CSV file, those of other runs too: on small matrices
 *  several fall into a second. */
static spmm_status sweep(const settings *s, FILE *csv)
{
    char seconds[32], date[48];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", gmtime(&now.tv_sec));
    snprintf(date, sizeof date, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    for (int i = 0; i < s->matrices; i++) TRY(bench_matrix(s, s->matrix[i], date, csv));
    return SPMM_OK;
}

int main(int argc, char **argv)
{
    settings s = {.columns = {1, 4, 8, 16, 32, 64, 128},
                  .column_count = 7,
                  .threads = omp_get_num_procs(),
                  .repeat = 7,
                  .sweeps = 1};
    FILE *csv;
    spmm_status status = SPMM_OK;
    const int go = parse(argc, argv, &s);
    if (go <= 0) return usage(go < 0 ? stdout : stderr);
    if (!report_open(&s, &csv)) return 4;
    signal(SIGPIPE, SIG_IGN); /* an adaptor's child that ends is an error message, not our end */
    setenv("OPENBLAS_NUM_THREADS", "1", 0); /* its threads would only wait: no product here calls a BLAS */
    omp_set_num_threads(s.threads);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 4;
    report_header(&s);
    field_open(&s, &contenders);
    printf("\n");
    for (int i = 0; i < s.sweeps && status == SPMM_OK; i++) status = sweep(&s, csv);
    if (status != SPMM_OK) fprintf(stderr, "bench_cpu: error: %s\n", spmm_error_message());
    field_close(&contenders);
    MPI_Finalize();
    if (csv && fclose(csv) != 0) status = SPMM_ERR_OUTPUT;
    if (status != SPMM_OK) return sp_exit_code(status);
    if (contenders.trouble) printf("something was wrong or failed: see above\n");
    return contenders.trouble;
}
