/* Times our CPU kernels beside other sparse libraries, in one process: bench_cpu --help, bench/README.md. */
#include <inttypes.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "kernels/kernel.h"
#include "kernels/peers/peer_load.h"
#include "../common/bench.h"
#include "../common/own.h"

/* MKL last: it makes its symbols global */
static const char *const libraries[] = {"kokkos", "eigen", "graphblas", "librsb", "petsc", "scipy", "mkl"};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static void add_ours(run *r)
{
    static own_form forms[MAX_CONTENDERS];
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    const char *const own = r->settings.own;
    library *const l = run_add_library(r, &own_peer);
    own_form *form = forms;
    *form = (own_form){{"auto", PEER_ROW, 1, 1, 0, 0}, {.threads = r->settings.threads}, 0};
    run_add(r, l, &form++->shown, "auto");
    for (const sp_kernel *k = kernels; k < kernels + count && own && form < forms + MAX_CONTENDERS; k++) {
        char name[64];
        if (k->device != SPMM_CPU || (strcmp(own, "all") != 0 && !listed(own, k->id, 0))) continue;
        snprintf(name, sizeof name, "own:%s", k->id);
        *form = (own_form){{k->id, PEER_ROW, 1, 1, 0, 0},
                           {.threads = r->settings.threads, .format = k->format, .kernel = k->id},
                           1};
        run_add(r, l, &form++->shown, name);
    }
}

static void open_library(run *r, const char *name)
{
    char path[SP_MESSAGE_BYTES];
    const char *version;
    const peer_adaptor *p;
    if (!sp_peer_find(name, path, sizeof path)) {
        printf("not found: %s (make bench-cpu-deps)\n", name);
        return;
    }
    if (sp_peer_open(name, r->settings.threads, &p, &version) != SPMM_OK) {
        printf("%s\n", spmm_error_message());
        r->failed++;
        return;
    }
    printf("found: %s (%s)\n", name, version);
    run_add_forms(r, run_add_library(r, p), 0);
}

static spmm_status open_cpu(run *r)
{
    const settings *const s = &r->settings;
    signal(SIGPIPE, SIG_IGN); /* if an adaptor's child has ended, report it instead of ending too */
    setenv("OPENBLAS_NUM_THREADS", "1", 0); /* no product here calls a BLAS: threads would only wait */
    printf("bench_cpu: %s (%d cores), %d threads, median of %d\n", r->processor, omp_get_num_procs(),
           s->threads, s->repeat);
    add_ours(r);
    for (int i = 0; i < LIBRARIES; i++)
        if (!s->only || listed(s->only, libraries[i], 1)) open_library(r, libraries[i]);
    printf("\n");
    return SPMM_OK;
}

static spmm_status load_cpu(run *r)
{
    return r->matrix.start ? SPMM_OK : sp_fail(SPMM_ERR_LIMIT, "more than 2^31 - 1 entries");
}

static void report_cpu(run *r)
{
    const bench_matrix *const p = &r->matrix;
    contender *const ours = r->contender;
    if (ours->product && ours->ok) snprintf(ours->name, sizeof ours->name, "auto:%s", contender_way(ours));
    report_table(r);
    for (const contender *c = ours; c < ours + r->contenders && r->csv; c++) {
        if (c->left_out) continue;
        fprintf(r->csv, "%s,%s,%s (%d cores),%d,%s,\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
                r->date, r->settings.commit, r->processor, omp_get_num_procs(), c->threads,
                sp_precision_word(p->precision), p->name, p->block.rows, p->block.cols, p->nnz, r->k);
        fprintf(r->csv, ",%s,%s,%.6f,%.6f,%.6f,%.4f,%d\n", c->name, layout_word(c), c->time.median * 1e3,
                c->time.min * 1e3, c->time.max * 1e3, per_second(r, c->time.median), c->ok);
    }
    if (r->csv) fflush(r->csv);
}

static const bench cpu = {
    .name = "bench_cpu",
    .usage = "bench_cpu [OPTIONS] [MATRIX...]",
    .csv =
        "date,commit,machine,threads,precision,matrix,rows,cols,nnz,k,contender,layout,median_ms,min_ms,max_ms,"
        "gflops,ok",
    .program = OF_CPU,
    .failure = 1,
    /* A and X at K = 16 together are larger than a last-level cache of 32 MB */
    .defaults = {.matrix = {"lap2d5:700", "lap3d7:80", "lap3d27:56", "fem3:30", "band:500000,12,2000",
                            "uniform:400000,12", "rmat:19,10", "longrows:400000,8,20,50000"},
                 .matrices = 8,
                 .columns = {1, 4, 8, 16, 32, 64, 128},
                 .column_count = 7,
                 .repeat = 7},
    .method = {.least = 1, .most = 1, .few = 3, .hopeless = 4, .watch = 1},
    .open = open_cpu,
    .load = load_cpu,
    .report = report_cpu,
};

int main(int argc, char **argv) { return bench_main(&cpu, argc, argv); }
