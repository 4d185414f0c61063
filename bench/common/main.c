/** What every bench does: reads the options, runs all cases, and returns the exit status. */
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/value_type.h"
#include "comm/binding.h"
#include "comm/comm.h"
#include "bench.h"

/* ---- the CSV file ---- */

static spmm_status csv_open(const char *path, const char *heading, FILE **f)
{
    *f = path ? fopen(path, "a") : NULL;
    if (!path) return SPMM_OK;
    if (!*f || fseek(*f, 0, SEEK_END) != 0) return sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", path);
    if (ftell(*f) == 0) fprintf(*f, "%s\n", heading);
    return SPMM_OK;
}

/* ---- contenders ---- */

library *run_add_library(run *r, const peer_adaptor *p)
{
    library *const l = &r->library[r->libraries++];
    l->peer = p;
    return l;
}

void run_add(run *r, library *l, const peer_form *form, const char *name)
{
    if (r->contenders == MAX_CONTENDERS) return;
    contender *const c = &r->contender[r->contenders++];
    *c = (contender){
        .library = l, .form = form, .threads = form->threads ? form->threads : r->settings.threads};
    snprintf(c->name, sizeof c->name, "%s", name);
}

void run_add_forms(run *r, library *l, int distributed)
{
    for (int i = 0; i < l->peer->form_count; i++) {
        const peer_form *const form = &l->peer->forms[i];
        const char *const only = r->settings.only;
        if (distributed >= 0 && form->distributed != distributed) continue;
        if (!only || listed(only, l->peer->package, 0) || listed(only, form->contender, 0))
            run_add(r, l, form, form->contender);
    }
}

/* ---- a matrix ---- */

/** Creates every library's matrix. */
static void load(run *r)
{
    const bench_matrix *const p = &r->matrix;
    const spmm_csr *const a = &p->block.csr;
    const peer_matrix view = {.f32 = sp_type_of(p->precision).real == SPMM_F32,
                              .is_complex = sp_is_complex(p->precision),
                              .rows = a->rows,
                              .cols = a->cols,
                              .nnz = a->nnz,
                              .row_start = p->start,
                              .col = a->ja,
                              .val = a->as,
                              .all_rows = p->block.rows,
                              .x_rows = p->block.x_rows,
                              .block = &p->block,
                              .gpu = r->gpu,
                              .gpu_row_start = r->on_gpu[0],
                              .gpu_col = r->on_gpu[1],
                              .gpu_val = r->on_gpu[2]};
    for (library *l = r->library; l < r->library + r->libraries; l++) {
        const size_t bytes = l->peer->matrix_bytes + sizeof view;
        const char *line = agree(failed(sp_alloc_zero(&l->matrix, 1, bytes, "a matrix")));
        if (!line) {
            *(peer_matrix *)l->matrix = view;
            line = agree(l->peer->load ? l->peer->load(l->matrix) : NULL);
        }
        if (line && r->rank == 0) printf("FAILED: %s: %s\n", l->peer->package, line);
        l->problem = line ? "has no matrix" : NULL;
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

/** Returns 1 if the time of --seconds is over by rank 0's clock. */
static int over_budget(const run *r, const char *matrix)
{
    int over = r->settings.seconds > 0 && MPI_Wtime() - r->start > r->settings.seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (over && r->rank == 0) printf("left out for time: %s from K = %lld on\n", matrix, (long long)r->k);
    return over;
}

static spmm_status run_cases(run *r)
{
    spmm_status status = SPMM_OK;
    load(r);
    for (int i = 0; i < r->settings.column_count && status == SPMM_OK; i++) {
        r->k = r->settings.columns[i];
        if (over_budget(r, r->matrix.name)) break;
        status = case_run(r);
    }
    unload(r);
    return status;
}

/** Prints that a matrix of a collection is left out, and why. */
static spmm_status leave_out(run *r, const char *name, spmm_status status)
{
    if (r->rank == 0 && status == SPMM_OK)
        printf("left out: %s: %lld entries\n", name, (long long)r->matrix.nnz);
    if (r->rank == 0 && status != SPMM_OK) printf("left out: %s: %s\n", name, spmm_error_message());
    bench_matrix_destroy(&r->matrix);
    r->left_out = 1;
    return SPMM_OK;
}

/** Reads a matrix. One of a collection is left out if it cannot be read, has too few entries, or is of a kind
 *  for which the bench has no case. */
static spmm_status read_matrix(run *r, int number, spmm_precision precision)
{
    const char *const name = r->settings.matrix[number], *const folder = r->settings.folder[number];
    spmm_status status = bench_matrix_create(folder, name, precision, &r->matrix);
    if (folder && (status != SPMM_OK || r->matrix.nnz < r->settings.least_entries))
        return leave_out(r, name, status);
    if (status == SPMM_OK && r->bench->load) status = r->bench->load(r);
    return folder && status == SPMM_ERR_USAGE ? leave_out(r, name, status) : status;
}

static spmm_status run_matrix(run *r, int number, spmm_precision precision)
{
    const char *const name = r->settings.matrix[number];
    r->k = r->settings.columns[0];
    if (over_budget(r, name)) return SPMM_OK;
    spmm_status status = read_matrix(r, number, precision);
    if (status == SPMM_OK && !r->left_out) status = run_cases(r);
    if (status != SPMM_OK && r->rank == 0)
        fprintf(stderr, "%s: error: %s, K = %lld: %s\n", r->bench->name, name, (long long)r->k,
                spmm_error_message());
    if (r->bench->unload) r->bench->unload();
    bench_matrix_destroy(&r->matrix);
    return status;
}

/* ---- the run ---- */

/** Runs all matrices. Continues after a failure, which has been reported, and returns the status of the last
 *  failure. */
static spmm_status sweep(run *r)
{
    const settings *const s = &r->settings;
    spmm_status last = SPMM_OK;
    for (int i = 0; i < s->matrices; i++) {
        r->left_out = 0;
        for (int p = SPMM_F64; p < SP_TYPES && !r->left_out; p++) {
            if (s->precision != p && (s->precision != BOTH_REAL || p >= SP_REALS)) continue;
            const spmm_status status = run_matrix(r, i, (spmm_precision)p);
            if (status != SPMM_OK) last = status;
        }
    }
    return last;
}

/** Checks that all ranks found the same number of matrices: they must run the same cases. */
static spmm_status check_settings(const settings *s)
{
    long long most[2] = {s->matrices, -s->matrices};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] == -most[1]) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--matrices: one rank finds %lld matrices, another one %lld", -most[1],
                   most[0]);
}

static void describe(run *r)
{
    char line[256];
    FILE *const f = fopen("/proc/cpuinfo", "r");
    snprintf(r->processor, sizeof r->processor, "unknown processor");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %95[^\n,]", r->processor) == 1) break;
    if (f) fclose(f);
    gethostname(r->host, sizeof r->host - 1);
    date_text(r->date, sizeof r->date, 0);
}

static spmm_status work(run *r, spmm_status *last)
{
    const settings *const s = &r->settings;
    describe(r);
    TRY(check_settings(s));
    TRY(r->bench->open(r));
    TRY(sp_agree(MPI_COMM_WORLD, "report",
                 r->rank == 0 ? csv_open(s->csv, r->bench->csv, &r->csv) : SPMM_OK));
    for (int i = 0; i < s->sweeps; i++) {
        /* the date identifies a sweep in the CSV file: with small matrices, several begin within a second */
        date_text(r->date, sizeof r->date, s->sweeps > 1 || r->bench->program == OF_CPU);
        const spmm_status status = sweep(r);
        if (status != SPMM_OK) *last = status;
    }
    if (r->rank == 0 && r->bench->summary) r->bench->summary(r);
    if (r->rank == 0 && r->wrong + r->failed) printf("something was wrong or failed: see above\n");
    const int lost = r->csv && (ferror(r->csv) | fclose(r->csv));
    return sp_agree(MPI_COMM_WORLD, "report",
                    lost ? sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", s->csv) : SPMM_OK);
}

/** Sets the options that the command line leaves open. */
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
    if (!settings_ready(b->program, b->usage, argc, argv, &b->defaults, &r.settings))
        return r.settings.help ? 0 : 2;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 4;
    r.bench = b;
    r.start = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    set_defaults(b, &r.settings);
    omp_set_num_threads(r.settings.threads);
    spmm_status status = work(&r, &last);
    for (library *l = r.library; l < r.library + r.libraries; l++)
        if (l->peer->close) l->peer->close();
    if (b->close) b->close();
    if (status != SPMM_OK && r.rank == 0) fprintf(stderr, "%s: error: %s\n", b->name, spmm_error_message());
    MPI_Finalize();
    if (r.wrong) return sp_exit_code(SPMM_ERR_VERIFY);
    if (status == SPMM_OK) status = last;
    return status != SPMM_OK ? sp_exit_code(status) : r.failed ? b->failure : 0;
}

int run_under_mpi(int argc, char **argv, const char *name, int *rank,
                  spmm_status (*program)(int argc, char **argv))
{
    int provided;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 4;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    const spmm_status status = program(argc, argv);
    if (status != SPMM_OK && *rank == 0) fprintf(stderr, "%s: error: %s\n", name, spmm_error_message());
    spmm_device_close();
    MPI_Finalize();
    return sp_exit_code(status);
}

spmm_status device_run_ready(const char *name, int argc, char **argv, device_run *r)
{
    char *const colon = argc > 1 ? strchr(argv[1], ':') : NULL;
    sp_binding binding;
    if (colon) *colon = '\0';
    const int cuda = argc > 1 && strcmp(argv[1], "cuda") == 0, cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    *r = (device_run){.k = argc > 2 ? atoll(argv[2]) : 0,
                      .options = {.device = cuda ? SPMM_CUDA : SPMM_CPU,
                                  .kernel = colon ? colon + 1 : NULL,
                                  .format = SPMM_FORMAT_AUTO},
                      .study = {.ell_limit = 100}};
    if (argc < 4 || !(cuda || cpu) || r->k < 1)
        return sp_fail(SPMM_ERR_USAGE, "usage: %s cpu|cuda[:KERNEL] K MATRIX...", name);
    TRY(sp_bind_rank(MPI_COMM_WORLD, cuda ? SP_DEVICE_CUDA : SP_DEVICE_CPU, 0, &binding));
    omp_set_num_threads(binding.threads);
    snprintf(r->on, sizeof r->on, "%s", cuda ? binding.gpu.name : binding.host);
    return SPMM_OK;
}
