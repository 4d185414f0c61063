#include <dlfcn.h>
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* MKL last: it makes symbols of its own global */
static const char *const libraries[LIBRARIES] = {"kokkos", "eigen", "graphblas", "librsb",
                                                 "petsc",  "scipy", "mkl"};

int listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    while (list && *list) {
        const size_t item = strcspn(list, ",");
        if (item == n && strncmp(list, name, n) == 0) return 1;
        list += item + (list[item] == ',');
    }
    return 0;
}

/* ---- who takes part ---- */

static contender *add(field *f, const char *name)
{
    contender *const c = &f->contender[f->count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static void add_ours(const settings *s, field *f)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    add(f, "auto")->threads = s->threads;
    for (int i = 0; i < count && f->count < MAX_CONTENDERS; i++) {
        char name[64];
        if (kernels[i].device != SPMM_CPU || !s->own) continue;
        if (strcmp(s->own, "all") != 0 && !listed(s->own, kernels[i].id)) continue;
        snprintf(name, sizeof name, "own:%s", kernels[i].id);
        contender *const c = add(f, name);
        c->threads = s->threads;
        c->kernel = &kernels[i];
    }
}

/** 1 when --only lets the form in. */
static int wanted(const settings *s, const char *of, const char *name)
{
    return !s->only || listed(s->only, of) || listed(s->only, name);
}

static void add_forms(const settings *s, field *f, library *l)
{
    for (int i = 0; i < l->peer->form_count && f->count < MAX_CONTENDERS; i++) {
        const peer_form *const form = &l->peer->forms[i];
        if (!wanted(s, l->peer->package, form->contender)) continue;
        if (!(s->precision == SPMM_F64 ? form->f64 : form->f32)) continue;
        contender *const c = add(f, form->contender);
        c->layout = form->layout;
        c->threads = form->threads ? form->threads : s->threads;
        c->library = l;
        c->form = form;
    }
}

/** 1 when --only names something of the library: its own name, or NAME-SOMETHING. */
static int library_wanted(const settings *s, const char *name)
{
    const size_t n = strlen(name);
    int any = wanted(s, name, name);
    for (const char *at = s->only; !any && at && *at; at += strcspn(at, ","), at += *at == ',')
        any = strncmp(at, name, n) == 0 && at[n] == '-';
    return any;
}

/** Loads an adaptor for itself alone (RTLD_LOCAL): libraries that define the same symbols, such as two BLAS, do
 *  not meet. Nothing here is exported, so none finds ours either. */
static void open_library(const settings *s, field *f, library *l, const char *name, const char *folder)
{
    char path[4200], version[128] = "";
    snprintf(path, sizeof path, "%s/peer_%s.so", folder, name);
    if (access(path, R_OK) != 0) {
        printf("not found: %s (make bench-cpu-deps)\n", name);
        return;
    }
    void *const so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const peer *const p = so ? dlsym(so, "spmm_peer") : NULL;
    const char *const problem = p ? p->open(s->threads, folder, version, sizeof version) : dlerror();
    if (problem) {
        printf("cannot be used: %s: %s\n", name, problem);
        f->trouble = 1;
        return;
    }
    l->peer = p;
    printf("found: %s (%s)\n", name, version);
    add_forms(s, f, l);
}

void field_open(const settings *s, field *f)
{
    char folder[4096] = "";
    if (readlink("/proc/self/exe", folder, sizeof folder - 1) < 0) strcpy(folder, "./");
    *strrchr(folder, '/') = 0;
    add_ours(s, f);
    for (int i = 0; i < LIBRARIES; i++)
        if (library_wanted(s, libraries[i])) open_library(s, f, &f->library[i], libraries[i], folder);
}

void field_close(field *f)
{
    for (library *l = f->library; l < f->library + LIBRARIES; l++)
        if (l->peer) l->peer->close();
}

void field_load(field *f, const peer_matrix *a)
{
    for (library *l = f->library; l < f->library + LIBRARIES; l++) {
        if (!l->peer) continue;
        const char *const problem = a ? l->peer->load(a, &l->matrix) : NULL;
        if (!a && l->matrix) l->peer->unload(l->matrix);
        if (!a) l->matrix = NULL;
        l->loaded = a && !problem;
        if (!problem) continue;
        printf("FAILED: %s: %s\n", l->peer->package, problem);
        f->trouble = 1;
    }
}

/* ---- one of them in a case ---- */

static const char *start_ours(contender *c, const settings *s, const spmm_csr *a, int64_t k)
{
    const spmm_plan_options o = {.threads = s->threads,
                                 .format = c->kernel ? c->kernel->format : SPMM_CSR,
                                 .kernel = c->kernel ? c->kernel->id : NULL};
    c->block = (spmm_block){
        .csr = *a, .rows = a->rows, .cols = a->cols, .x_rows = a->cols, .p = 1, .q = 1, .borrowed = 1};
    if (spmm_plan_create(MPI_COMM_SELF, &c->block, k, &o, &c->plan) != SPMM_OK) return spmm_error_message();
    if (!c->kernel) snprintf(c->name, sizeof c->name, "auto:%s", spmm_plan_kernel(c->plan));
    return NULL;
}

const char *contender_start(contender *c, const settings *s, const spmm_csr *a, int64_t k, const dense *x,
                            dense *y)
{
    const int row = c->layout == PEER_ROW;
    const peer_product p = {c->form, k, row ? x->row : x->column, row ? y->row : y->column};
    if (!c->library) return start_ours(c, s, a, k);
    if (!c->library->loaded) return "has no matrix";
    return c->library->peer->begin(c->library->matrix, &p, &c->product);
}

void contender_stop(contender *c)
{
    spmm_plan_destroy(c->plan);
    if (c->product) c->library->peer->end(c->product);
    c->plan = NULL;
    c->product = NULL;
}

/** The threads of the OpenMP runtime, which all share, may have gone to sleep while others worked. */
static void wake(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
    }
}

const char *contender_run(contender *c, const dense *x, dense *y, double *seconds)
{
    const char *problem = NULL;
    *seconds = -1;
    if (c->threads > 1) wake(c->threads);
    const double start = omp_get_wtime();
    if (c->library)
        problem = c->library->peer->run(c->product, seconds);
    else if (spmm_apply(c->plan, 1, &x->own, 0, &y->own) != SPMM_OK)
        problem = spmm_error_message();
    const double stop = omp_get_wtime();
    if (*seconds < 0) *seconds = stop - start;
    return problem;
}

const char *contender_fetch(contender *c)
{
    return c->library && c->library->peer->fetch ? c->library->peer->fetch(c->product) : NULL;
}
