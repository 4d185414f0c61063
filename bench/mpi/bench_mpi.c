/* Times libspmm's distributed product beside PETSc's: bench_mpi --help, bench/README.md.
 * Exit status: 0, 1 a product was wrong or failed, 2 usage, 3 input file, 4 resources. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char *const defaults[] = {
    "lap2d5:700",          "lap3d7:80",         "lap3d27:56", "fem3:30",
    "band:500000,12,2000", "uniform:400000,12", "rmat:19,10", "longrows:400000,8,20,50000"};
enum { DEFAULTS = sizeof defaults / sizeof *defaults };

const char *agree(const char *problem)
{
    static char text[TEXT];
    int rank, size, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int mine = problem ? rank : size;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size) return NULL;
    if (problem && problem != text) snprintf(text, sizeof text, "%s", problem);
    MPI_Bcast(text, TEXT, MPI_CHAR, first, MPI_COMM_WORLD);
    return text;
}

/* ---- options ---- */

static int usage(FILE *out, int rank)
{
    if (rank > 0) return out == stderr ? 2 : 0;
    fprintf(out, "usage: mpirun -np N bench_mpi [OPTIONS] [MATRIX...]\n"
                 "  MATRIX               a file or a generator's spec; without any:");
    for (int i = 0; i < DEFAULTS; i++)
        fprintf(out, "%s%s", i % 3 ? " " : "\n                       ", defaults[i]);
    fprintf(out, "\n"
                 "  -k, --columns LIST   columns of X (default 1,8,64)\n"
                 "  -t, --threads N      OpenMP threads of a rank, for ours (default 1)\n"
                 "  -r, --repeat N       timed products of each contender in a case (default 7)\n"
                 "      --csv FILE       append a row a contender and case\n"
                 "  -h, --help\n");
    return out == stderr ? 2 : 0;
}

static int number(const char *text, long most, int *value)
{
    char *end;
    const long n = strtol(text, &end, 10);
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

/** 1: go on; 0: wrong; -1: help is wanted. */
static int parse(int argc, char **argv, settings *s)
{
    static const struct option options[] = {{"columns", 1, NULL, 'k'}, {"threads", 1, NULL, 't'},
                                            {"repeat", 1, NULL, 'r'},  {"csv", 1, NULL, 'C'},
                                            {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    int good = 1, c;
    opterr = s->rank == 0;
    while (good && (c = getopt_long(argc, argv, "k:t:r:h", options, NULL)) != -1) switch (c) {
        case 'k': good = set_columns(s, optarg); break;
        case 't': good = number(optarg, 1024, &s->threads); break;
        case 'r': good = number(optarg, MAX_REPEAT, &s->repeat); break;
        case 'C': s->csv = optarg; break;
        case 'h': return -1;
        default: good = 0;
        }
    const int named = argc - optind;
    s->matrices = named > 0 ? named : DEFAULTS;
    if (s->matrices > MAX_LIST) return 0;
    for (int i = 0; i < s->matrices; i++) s->matrix[i] = named > 0 ? argv[optind + i] : defaults[i];
    return good;
}

/* ---- the run ---- */

/** A file, or else a generator's spec, which has a colon. */
static spmm_status make_whole(const char *matrix, spmm_csr *a)
{
    return access(matrix, R_OK) == 0 || !strchr(matrix, ':') ? spmm_csr_read(matrix, SPMM_F64, a)
                                                             : spmm_csr_generate(matrix, SPMM_F64, a);
}

/** This rank's rows of the matrix. */
static spmm_status make_block(const char *matrix, int rank, spmm_block *block)
{
    spmm_csr a = {.rows = 0};
    memset(block, 0, sizeof *block);
    int status = rank == 0 ? (int)make_whole(matrix, &a) : SPMM_OK;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status == SPMM_OK) status = (int)spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, block);
    if (status != SPMM_OK && rank == 0) fprintf(stderr, "bench_mpi: error: %s\n", spmm_error_message());
    spmm_csr_destroy(&a);
    return (spmm_status)status;
}

static spmm_status bench_matrix(const settings *s, const peer *other, const char *matrix, FILE *csv,
                                int *trouble)
{
    static outcome o;
    spmm_block block;
    const spmm_status status = make_block(matrix, s->rank, &block);
    long long nnz = block.csr.nnz;
    MPI_Allreduce(MPI_IN_PLACE, &nnz, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; status == SPMM_OK && i < s->column_count; i++) {
        measure(s, other, &block, s->columns[i], &o);
        if (s->rank == 0) report_case(s, matrix, &block, nnz, s->columns[i], &o, csv);
        *trouble |= in_trouble(&o);
        measure_end(&o);
    }
    spmm_block_destroy(&block);
    return status;
}

/** The exit code of a status: what SPMM_STATUS_LIST says. */
static int exit_code(spmm_status status)
{
#define CODE(name, code, text) code,
    static const int codes[] = { SPMM_STATUS_LIST(CODE) };
#undef CODE
    return codes[status];
}

/** All matrices beside the peer, where it is there. */
static int bench(const settings *s, FILE *csv)
{
    char version[TEXT] = "", text[2 * TEXT];
    const char *const missing = agree(spmm_peer.open(version, sizeof version));
    spmm_status status = SPMM_OK;
    int trouble = 0;
    snprintf(text, sizeof text, missing ? "without %s: %s" : "%s: %s", spmm_peer.name,
             missing ? missing : version);
    if (s->rank == 0) report_header(s, text);
    for (int i = 0; i < s->matrices && status == SPMM_OK; i++)
        status = bench_matrix(s, missing ? NULL : &spmm_peer, s->matrix[i], csv, &trouble);
    if (s->rank == 0) report_summary(s);
    if (s->rank == 0 && trouble) printf("something was wrong or failed: see above\n");
    if (!missing) spmm_peer.close();
    return status != SPMM_OK ? exit_code(status) : trouble;
}

int main(int argc, char **argv)
{
    settings s = {.columns = {1, 8, 64}, .column_count = 3, .threads = 1, .repeat = 7};
    FILE *csv = NULL;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 4;
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    const int go = parse(argc, argv, &s);
    int code = go > 0 ? 0 : usage(go < 0 ? stdout : stderr, s.rank);
    if (go > 0) {
        code = agree(s.rank > 0 || report_open(&s, &csv) ? NULL : "") ? 4 : bench(&s, csv);
        if (csv && fclose(csv) != 0) code = 4;
    }
    MPI_Finalize();
    return code;
}
