/* Times products on several GPUs beside NCCL and cuSPARSE, checked: bench_multigpu --help, bench/README.md. */
#include <omp.h>

#include "bench.h"

/* r is NULL but on rank 0 */

/* ---- a case ---- */

/** Each transport that is there, one after another. */
static spmm_status run_transports(const problem *p, int64_t k, report *r)
{
    for (int t = SPMM_TRANSPORT_MPI; t <= SPMM_TRANSPORT_PEER; t++) {
        contender c = {.name = "ours", .transport = (spmm_transport)t};
        spmm_status status = contender_create(p, k, &c);
        if (status == SPMM_ERR_USAGE) {
            if (p->rank == 0) printf("%-40s without: %s\n", "", spmm_error_message());
            continue;
        }
        if (status == SPMM_OK) status = contenders_check(p, k, &c, 1);
        if (status == SPMM_OK) status = contenders_time(p, &c, 1);
        if (status == SPMM_OK && p->rank == 0) report_more(r, p, k, &c);
        contender_destroy(&c);
        TRY(status);
    }
    return SPMM_OK;
}

static spmm_status run_case(const settings *s, const problem *p, int64_t k, report *r)
{
    contender c[3] = {{.name = "theirs"}, {.name = "ours"}, {.name = "ours", .no_overlap = 1}};
    const int n = s->scaling ? 2 : 3;
    spmm_status status = SPMM_OK;
    for (int i = 0; i < n && status == SPMM_OK; i++) status = contender_create(p, k, &c[i]);
    if (status == SPMM_OK) status = contenders_check(p, k, c, n);
    if (status == SPMM_OK) status = contenders_time(p, c, n);
    if (status == SPMM_OK && p->rank == 0) report_case(r, p, k, c, n);
    for (int i = 0; i < n; i++) contender_destroy(&c[i]);
    if (status == SPMM_OK && s->verbose) status = run_transports(p, k, r);
    return status;
}

/* ---- the sweep ---- */

/** The same on every rank: by rank 0's clock. */
static int over_budget(const settings *s, double start)
{
    int over = s->seconds > 0 && MPI_Wtime() - start > s->seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

/** The cases of a matrix; goes on after a failure, which it tells, and returns in the end. */
static spmm_status run_cases(const settings *s, const problem *p, double start, report *r)
{
    spmm_status failed = SPMM_OK;
    for (int i = 0; i < s->column_count; i++) {
        const long long k = s->columns[i];
        if (over_budget(s, start)) {
            if (p->rank == 0) printf("left out for time: %s from K = %lld on\n", p->name, k);
            break;
        }
        const spmm_status status = run_case(s, p, k, r);
        if (status == SPMM_OK) continue;
        if (p->rank == 0)
            fprintf(stderr, "bench_multigpu: %s, K = %lld: %s\n", p->name, k, spmm_error_message());
        failed = status;
    }
    return failed;
}

static spmm_status run_matrix(const settings *s, const sp_binding *binding, const char *name,
                              spmm_precision precision, double start, report *r)
{
    problem p;
    const double begin = MPI_Wtime();
    const spmm_status made = problem_create(MPI_COMM_WORLD, binding, name, precision, &p);
    if (made != SPMM_OK) {
        if (r) fprintf(stderr, "bench_multigpu: %s: %s\n", name, spmm_error_message());
        return made;
    }
    if (p.rank == 0) report_matrix(&p, MPI_Wtime() - begin);
    const spmm_status status = run_cases(s, &p, start, r);
    problem_destroy(&p);
    return status;
}

/** r: NULL but on rank 0. \return the last failure, which was told */
static spmm_status sweep(const settings *s, const sp_binding *binding, double start, report *r)
{
    spmm_status failed = SPMM_OK;
    for (int i = 0; i < s->matrices; i++)
        for (int f = SPMM_F64; f <= SPMM_F32; f++) {
            if (!(f == SPMM_F64 ? s->f64 : s->f32)) continue;
            if (over_budget(s, start)) {
                if (r) printf("left out for time: %s\n", s->matrix[i]);
                continue;
            }
            const spmm_status status = run_matrix(s, binding, s->matrix[i], (spmm_precision)f, start, r);
            if (status != SPMM_OK) failed = status;
        }
    return failed;
}

/** \param [out] failed, wrong  a failure that was told; results that are wrong; the same on every rank */
static spmm_status run(const settings *s, spmm_status *failed, int *wrong)
{
    static report r;
    sp_binding binding;
    int rank, size;
    const double start = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    TRY(sp_bind_rank(MPI_COMM_WORLD, SP_DEVICE_CUDA, 0, &binding));
    omp_set_num_threads(binding.threads);
    TRY(theirs_open(MPI_COMM_WORLD));
    TRY(sp_agree(MPI_COMM_WORLD, "report", rank == 0 ? report_open(s, &binding, size, &r) : SPMM_OK));
    *failed = sweep(s, &binding, start, rank == 0 ? &r : NULL);
    if (rank == 0) {
        report_summary(&r);
        printf("%.0f s\n", MPI_Wtime() - start);
    }
    *wrong = r.wrong;
    MPI_Bcast(wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return sp_agree(MPI_COMM_WORLD, "report", rank == 0 ? report_close(&r) : SPMM_OK);
}

int main(int argc, char **argv)
{
    settings s;
    int rank, provided, wrong = 0;
    spmm_status failed = SPMM_OK;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    spmm_status status = settings_parse(argc, argv, &s);
    if (status == SPMM_OK && s.help) {
        if (rank == 0) settings_help(stdout);
    } else if (status == SPMM_OK) {
        status = run(&s, &failed, &wrong);
        theirs_close();
        spmm_device_close();
    }
    if (status != SPMM_OK && rank == 0) fprintf(stderr, "bench_multigpu: %s\n", spmm_error_message());
    MPI_Finalize();
    if (wrong > 0) return sp_exit_code(SPMM_ERR_VERIFY);
    return sp_exit_code(status != SPMM_OK ? status : failed);
}
