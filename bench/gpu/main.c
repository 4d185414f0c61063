/* Times every CUDA kernel of the registry beside cuSPARSE, checked, in one process: bench_gpu --help,
 * docs/PERFORMANCE.md. */
#include <omp.h>
#include <string.h>

#include "base/status.h"
#include "bench.h"

/* ---- the contenders of a case ---- */

/** Adds a contender when it can be set up; says once per problem why not. `number` is the same for the same
 *  one in each case. */
static spmm_status add(problem *p, int64_t k, const contender *candidate, int number, contender *list, int *n)
{
    if (*n == MAX_CONTENDERS || number >= MAX_CONTENDERS)
        return sp_fail(SPMM_ERR_LIMIT, "more than %d contenders", MAX_CONTENDERS);
    list[*n] = *candidate;
    const spmm_status status = contender_prepare(p, k, &list[*n]);
    if (status == SPMM_OK) {
        ++*n;
        return SPMM_OK;
    }
    contender_release(&list[*n]);
    if (!p->told[number] && !(candidate->form && status == SPMM_ERR_USAGE))
        fprintf(stderr, "bench_gpu: %s %s: without %s (%s): %s\n", p->name, precision_name(p->csr.precision),
                candidate->name, list[*n].layout == ROW_MAJOR ? "row-major" : "column-major",
                spmm_error_message());
    p->told[number] = 1;
    /* what the matrix's format or the peer cannot do is no failure */
    return candidate->form || status == SPMM_ERR_LIMIT ? SPMM_OK : status;
}

static spmm_status add_own(problem *p, int64_t k, const settings *s, contender *list, int *n)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count), *chosen;
    spmm_status failed = SPMM_OK;
    TRY(sp_choose(&p->features, k, p->csr.precision, SPMM_CUDA, SPMM_FORMAT_AUTO, &chosen, NULL, 0));
    for (int i = 0; i < count; i++) {
        const contender c = {.name = kernels[i].id, .kernel = &kernels[i], .is_auto = &kernels[i] == chosen};
        if (!c.is_auto && !settings_own(s, &kernels[i])) continue;
        const spmm_status status = add(p, k, &c, i, list, n);
        if (status != SPMM_OK) failed = status;
    }
    return failed;
}

static spmm_status add_peers(problem *p, int64_t k, contender *list, int *n)
{
    int own;
    (void)sp_kernels(&own);
    for (int i = 0; peer_form_at(i); i++) {
        const contender c = {.name = peer_form_at(i)->name, .form = peer_form_at(i)};
        if (c.form->vector && k != 1) continue;
        TRY(add(p, k, &c, own + i, list, n));
    }
    return SPMM_OK;
}

/** Goes on after a contender's failure, which is returned in the end. */
static spmm_status run_case(problem *p, int64_t k, report *r)
{
    static contender list[MAX_CONTENDERS];
    int n = 0;
    spmm_status failed = add_own(p, k, r->settings, list, &n);
    if (p->peer) {
        const spmm_status status = add_peers(p, k, list, &n);
        if (status != SPMM_OK) failed = status;
    }
    const spmm_status status = contenders_time(list, &n);
    if (status != SPMM_OK) failed = status;
    report_case(r, p, list, n);
    for (int i = 0; i < n; i++) contender_release(&list[i]);
    return failed;
}

/* ---- the sweep ---- */

static int over_budget(const settings *s, double start)
{
    return s->seconds > 0 && omp_get_wtime() - start > s->seconds;
}

static spmm_status run_problem(problem *p, report *r, double start)
{
    const settings *const s = r->settings;
    spmm_status failed = SPMM_OK;
    if (s->cliffs) return cliffs_run(p, r);
    for (int i = 0; i < s->column_count; i++) {
        if (over_budget(s, start)) {
            printf("left out for time: %s %s from K = %lld on\n", p->name, precision_name(p->csr.precision),
                   (long long)s->columns[i]);
            break;
        }
        const spmm_status status = run_case(p, s->columns[i], r);
        if (status != SPMM_OK) failed = status;
    }
    return failed;
}

static int64_t most_columns(const settings *s)
{
    int64_t most = 0;
    for (int i = 0; i < s->column_count; i++)
        if (s->columns[i] > most) most = s->columns[i];
    return s->cliffs ? most + 8 : most; /* the next multiple of 8 */
}

static spmm_status run_matrix(const char *name, spmm_precision precision, report *r, double start)
{
    problem p;
    if (over_budget(r->settings, start)) {
        printf("left out for time: %s %s\n", name, precision_name(precision));
        return SPMM_OK;
    }
    spmm_status status = problem_create(name, precision, most_columns(r->settings), omp_get_max_threads(),
                                        r->settings->peers && !r->settings->cliffs, &p);
    if (status == SPMM_OK) {
        status = run_problem(&p, r, start);
        problem_destroy(&p);
    }
    if (status != SPMM_OK)
        fprintf(stderr, "bench_gpu: %s %s: %s\n", name, precision_name(precision), spmm_error_message());
    return status;
}

/** All matrices; the last failure. */
static spmm_status sweep(report *r, double start)
{
    const settings *const s = r->settings;
    spmm_status failed = SPMM_OK;
    if (!s->cliffs) report_heading(r);
    for (int i = 0; i < s->matrices; i++)
        for (int precision = SPMM_F64; precision <= SPMM_F32; precision++) {
            if (!(precision == SPMM_F64 ? s->f64 : s->f32)) continue;
            const spmm_status status = run_matrix(s->matrix[i], (spmm_precision)precision, r, start);
            if (status != SPMM_OK) failed = status;
        }
    return failed;
}

/** \param [out] failed  a case's or a matrix's failure, which was told already */
static spmm_status run(const settings *s, spmm_status *failed, int *wrong)
{
    static report r;
    const double start = omp_get_wtime();
    const char *why;
    if (sp_device_count(&why) == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "no GPU: %s", why);
    TRY(sp_device_open(0));
    if (s->peers && peer_library()) TRY(peer_open());
    TRY(report_open(s, &r));
    *failed = sweep(&r, start);
    *wrong = r.wrong;
    summary_print(&r);
    printf("%.0f s\n", omp_get_wtime() - start);
    return report_close(&r);
}

int main(int argc, char **argv)
{
    settings s;
    int wrong = 0;
    spmm_status failed = SPMM_OK, status = settings_parse(argc, argv, &s);
    if (status == SPMM_OK && s.help) {
        settings_help(stdout);
        return 0;
    }
    if (status == SPMM_OK) status = run(&s, &failed, &wrong);
    if (status != SPMM_OK) fprintf(stderr, "bench_gpu: %s\n", spmm_error_message());
    if (status == SPMM_ERR_USAGE) settings_help(stderr);
    peer_close();
    sp_device_close();
    if (wrong > 0) fprintf(stderr, "bench_gpu: %d wrong results\n", wrong);
    return wrong > 0 ? 1 : sp_exit_code(status != SPMM_OK ? status : failed);
}
