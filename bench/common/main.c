/** What every bench does: reads the options, goes through matrices, precisions and K, and says how it ended. */
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "bench.h"

/* ---- contenders ---- */

library *run_add_library(run *r, const peer *p)
{
    library *const l = &r->library[r->libraries++];
    l->peer = p;
    return l;
}

contender *run_add(run *r, library *l, const peer_form *form, const char *name)
{
    if (r->contenders == MAX_CONTENDERS) return NULL;
    contender *const c = &r->contender[r->contenders++];
    *c = (contender){
        .library = l, .form = form, .threads = form->threads ? form->threads : r->settings.threads};
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

void run_add_forms(run *r, library *l, int distributed)
{
    for (int i = 0; i < l->peer->form_count; i++) {
        const peer_form *const form = &l->peer->forms[i];
        const char *const only = r->settings.only;
        if (distributed >= 0 && form->distributed != distributed) continue;
        if (!only || listed(only, l->peer->package) || listed(only, form->contender))
            run_add(r, l, form, form->contender);
    }
}

/* ---- a matrix ---- */

/** Gives every library its matrix. */
static void load(run *r)
{
    const bench_matrix *const p = &r->matrix;
    const spmm_csr *const a = &p->block.csr;
    const peer_matrix view = {
        p->precision == SPMM_F32, a->rows,  a->cols, a->nnz, p->start, a->ja, a->as, p->block.rows,
        p->block.x_rows,          &p->block};
    for (library *l = r->library; l < r->library + r->libraries; l++) {
        l->problem = failed(sp_alloc_zero(&l->matrix, 1, l->peer->matrix_bytes + sizeof view, "a matrix"));
        if (agree(l->problem)) continue;
        *(peer_matrix *)l->matrix = view;
        l->problem = agree(l->peer->load ? l->peer->load(l->matrix) : NULL);
        if (!l->problem) continue;
        if (r->rank == 0) printf("FAILED: %s: %s\n", l->peer->package, l->problem);
        l->problem = "has no matrix";
    }
    for (int i = 0; i < r->contenders; i++) r->contender[i].told = 0;
}

static void unload(run *r)
{
    for (library *l = r->library; l < r->library + r->libraries; l++) {
        if (l->matrix && l->peer->unload) l->peer->unload(l->matrix);
        sp_free(l->matrix);
        l->matrix = NULL;
    }
}

/** By rank 0's clock. */
static int over_budget(const run *r, const char *matrix)
{
    int over = r->settings.seconds > 0 && MPI_Wtime() - r->start > r->settings.seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (over && r->rank == 0) printf("left out for time: %s from K = %lld on\n", matrix, (long long)r->k);
    return over;
}

static void tell_failure(const run *r, const char *what)
{
    if (r->rank == 0)
        fprintf(stderr, "%s: error: %s, K = %lld: %s\n", r->bench->name, what, (long long)r->k,
                spmm_error_message());
}

static spmm_status run_cases(run *r)
{
    spmm_status last = SPMM_OK;
    load(r);
    for (int i = 0; i < r->settings.column_count; i++) {
        r->k = r->settings.columns[i];
        if (over_budget(r, r->matrix.name)) break;
        const spmm_status status = case_run(r);
        if (status == SPMM_OK) continue;
        last = status;
        tell_failure(r, r->matrix.name);
    }
    unload(r);
    return last;
}

static spmm_status run_matrix(run *r, const char *name, spmm_precision precision)
{
    r->k = r->settings.columns[0];
    if (over_budget(r, name)) return SPMM_OK;
    spmm_status status = bench_matrix_create(name, precision, &r->matrix);
    if (status == SPMM_OK && r->bench->load) status = r->bench->load(r);
    if (status == SPMM_OK)
        status = run_cases(r);
    else
        tell_failure(r, name);
    if (r->bench->unload) r->bench->unload(r);
    bench_matrix_destroy(&r->matrix);
    return status;
}

/* ---- the run ---- */

/** Goes on after a failure, which was told, and is returned in the end. */
static spmm_status sweep(run *r)
{
    const settings *const s = &r->settings;
    spmm_status last = SPMM_OK;
    for (int i = 0; i < s->matrices; i++)
        for (int p = SPMM_F64; p <= SPMM_F32; p++) {
            if (s->precision != p && s->precision <= SPMM_F32) continue;
            const spmm_status status = run_matrix(r, s->matrix[i], (spmm_precision)p);
            if (status != SPMM_OK) last = status;
        }
    return last;
}

static spmm_status work(run *r, spmm_status *last)
{
    const settings *const s = &r->settings;
    run_describe(r);
    TRY(r->bench->open(r));
    TRY(sp_agree(MPI_COMM_WORLD, "report",
                 r->rank == 0 ? csv_open(s->csv, r->bench->csv, &r->csv) : SPMM_OK));
    for (int i = 0; i < s->sweeps; i++) {
        /* the date tells a sweep from others in the CSV file: on small matrices several fall into a second */
        date_text(r->date, sizeof r->date, s->sweeps > 1 || r->bench->program == OF_CPU);
        const spmm_status status = sweep(r);
        if (status != SPMM_OK) *last = status;
    }
    if (r->rank == 0 && r->bench->summary) r->bench->summary(r);
    if (r->rank == 0 && r->wrong + r->failed) printf("something was wrong or failed: see above\n");
    return sp_agree(MPI_COMM_WORLD, "report", r->rank == 0 ? csv_close(s->csv, r->csv) : SPMM_OK);
}

/** What the command line leaves open. */
static void set_defaults(const bench *b, settings *s)
{
    const settings *const d = &b->defaults;
    if (b->adjust) b->adjust(s);
    if (s->matrices == 0) {
        memcpy(s->matrix, d->matrix, sizeof s->matrix);
        s->matrices = d->matrices;
    }
    if (s->column_count == 0) {
        memcpy(s->columns, d->columns, sizeof s->columns);
        s->column_count = d->column_count;
    }
    if (s->threads == 0) s->threads = omp_get_num_procs();
    if (s->sweeps == 0) s->sweeps = 1;
}

int bench_main(const bench *b, int argc, char **argv)
{
    static run r;
    int provided;
    spmm_status last = SPMM_OK;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 4;
    r.bench = b;
    r.start = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    spmm_status status = settings_read(b->program, argc, argv, &b->defaults, &r.settings);
    if (status == SPMM_OK && r.settings.help) {
        if (r.rank == 0) settings_help(b->program, b->usage, &b->defaults, stdout);
    } else if (status == SPMM_OK) {
        set_defaults(b, &r.settings);
        omp_set_num_threads(r.settings.threads);
        status = work(&r, &last);
        for (library *l = r.library; l < r.library + r.libraries; l++)
            if (l->peer->close) l->peer->close();
        if (b->close) b->close(&r);
    }
    if (status != SPMM_OK && r.rank == 0) fprintf(stderr, "%s: error: %s\n", b->name, spmm_error_message());
    MPI_Finalize();
    if (r.wrong) return sp_exit_code(SPMM_ERR_VERIFY);
    if (status == SPMM_OK) status = last;
    return status != SPMM_OK ? sp_exit_code(status) : r.failed ? b->failure : 0;
}
