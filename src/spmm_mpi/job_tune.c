/** Chooses a kernel for each K if none is named: by the rule of plan/choose.h or by timing. */
#include "spmm_mpi/job.h"

#include <math.h>
#include <string.h>

#include "base/cpu_isa.h"
#include "base/enum_words.h"
#include "base/memory.h"
#include "plan/plan.h"
#include "spmm_mpi/tune.h"

enum { WHY_BYTES = 160, MOST_PRODUCTS = 100 };
static const double LEAST_TO_TIME = 0.15; /**< seconds for which each candidate's products are repeated */

/** Data that the tunings for all K share. */
typedef struct tuning {
    const sp_kernel *list[SP_MAX_CANDIDATES];
    int count;
    uint64_t hash;   /* hash of the matrix's sparsity pattern */
    char path[4096]; /* rank 0: path of the tuning cache; "": no cache */
} tuning;

static void warn(const sp_place *place, const char *what)
{
    if (place->verbosity < 0) return;
    fflush(stdout);
    fprintf(stderr, "spmm_mpi: warning: %s: %s\n", what, spmm_error_message());
}

/* ---- the tuning cache; rank 0 only ---- */

/** Writes to `key` the cache key for K = k: everything that the fastest kernel may depend on. */
static void make_key(const sp_job *job, const tuning *t, int64_t k, char *key, size_t n)
{
    const sp_options *const o = &job->options;
    const sp_matrix_facts *const m = &job->input.facts;
    const sp_binding *const binding = &job->place.binding;
    char device[192], name[128], kernels[256] = "";
    for (int i = 0; i < t->count; i++) {
        const size_t at = strlen(kernels);
        snprintf(kernels + at, sizeof kernels - at, "%s%s", i ? "+" : "", t->list[i]->id);
    }
    if (binding->device == SPMM_CUDA)
        snprintf(device, sizeof device, "%s", binding->gpu.name);
    else
        snprintf(device, sizeof device, "%s %s", sp_cpu_name(name, sizeof name), sp_isa_name(sp_cpu_isa()));
    snprintf(key, n, "%s %016llx %lldx%lld %lld K=%lld %s %s threads=%d grid=%dx%d %s %s %s ell=%g %d %d %s",
             SPMM_VERSION, (unsigned long long)t->hash, (long long)m->rows, (long long)m->cols,
             (long long)m->nnz, (long long)k, sp_precision_word(o->precision), device, binding->threads,
             job->place.grid.dims[0], job->place.grid.dims[1], sp_partition_word(o->partition),
             sp_exchange_word(job->dist.halo.kind), sp_format_word(o->format), o->ell_limit, o->shape.block,
             o->shape.subwarp, kernels);
}

static void recall(const sp_job *job, const tuning *t, int64_t k, int *index, double *seconds)
{
    char key[SP_TUNE_KEY_BYTES];
    *index = -1;
    if (!t->path[0]) return;
    make_key(job, t, k, key, sizeof key);
    if (sp_tune_find(t->path, key, t->list, t->count, index, seconds) != SPMM_OK)
        warn(&job->place, "nothing tuned earlier is known");
}

static void remember(const sp_job *job, const tuning *t, int64_t k, int index, double seconds)
{
    char key[SP_TUNE_KEY_BYTES];
    if (!t->path[0]) return;
    make_key(job, t, k, key, sizeof key);
    if (sp_tune_store(t->path, key, t->list[index]->id, seconds) != SPMM_OK)
        warn(&job->place, "the tuning is not remembered");
}

/* ---- timing ---- */

/** Creates this rank's rows of X and Y in the memory (host or GPU) of the plan, and generates X. */
static spmm_status make_x_and_y(const spmm_plan *plan, int64_t x_begin, int64_t k, int threads,
                                spmm_multivector *x, spmm_multivector *y)
{
    spmm_multivector host;
    TRY(spmm_plan_y_create(plan, y));
    TRY(spmm_plan_x_create(plan, x));
    if (x->space == SPMM_CPU) {
        sp_multivector_generate(x, SP_X_UNIFORM, 1, x_begin, threads);
        return SPMM_OK;
    }
    TRY(spmm_multivector_create(x->rows, k, x->precision, SPMM_CPU, &host));
    sp_multivector_generate(&host, SP_X_UNIFORM, 1, x_begin, threads);
    const spmm_status status = spmm_multivector_copy(&host, x);
    spmm_multivector_destroy(&host);
    return status;
}

/** Times a kernel. \param [out] seconds  median of the slowest rank's times, the same on every rank */
static spmm_status time_kernel(const sp_job *job, const sp_kernel *kernel, int64_t k, double *seconds)
{
    const sp_grid *const grid = &job->place.grid;
    const sp_distribution *const d = &job->dist;
    double apply[MOST_PRODUCTS], within[MOST_PRODUCTS];
    const sp_job_times wanted = {.apply = apply, .kernel = within};
    /* on a GPU the kernels' own time excludes delays of the host, whose cores several ranks often share */
    double *const times = kernel->device == SPMM_CUDA ? within : apply;
    spmm_multivector x = {0}, y = {0};
    spmm_plan_options options = sp_job_plan_options(&job->options, &job->place.binding);
    spmm_plan *plan;
    spmm_status status;
    options.kernel = kernel->id;
    TRY(sp_plan_create(grid, &d->block, &d->halo, k, &options, &plan));
    status = make_x_and_y(plan, d->block.x_begin, k, options.threads, &x, &y);
    TRY_GOTO(sp_agree(grid->comm, "tune", status), done);
    TRY_GOTO(sp_job_time(grid, plan, &x, &y, 1, 1, &wanted), done);
    *seconds = times[0];
    const double fill = *seconds > 0 ? LEAST_TO_TIME / *seconds : MOST_PRODUCTS;
    const int products = fill < MOST_PRODUCTS ? (int)fill : MOST_PRODUCTS;
    if (products > 1) {
        TRY_GOTO(sp_job_time(grid, plan, &x, &y, 0, products, &wanted), done);
        *seconds = sp_stats_of(times, products).median;
    }
done:
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
    return status;
}

/** Times all candidate kernels.
 *  \param [out] best   index of the fastest kernel; -1: all candidates were left out
 *  \param [out] least  seconds of a product with the fastest kernel */
static spmm_status time_candidates(const sp_job *job, const tuning *t, int64_t k, int *best, double *least)
{
    *best = -1;
    if (job->place.verbosity >= 0) printf("tune       K = %lld, %d kernels\n", (long long)k, t->count);
    for (int i = 0; i < t->count; i++) {
        double seconds = 0;
        const spmm_status status = time_kernel(job, t->list[i], k, &seconds);
        /* leave out a kernel whose data exceed a limit or the memory; fail on any other error */
        if (status != SPMM_OK && status != SPMM_ERR_LIMIT && status != SPMM_ERR_MEMORY) return status;
        if (job->place.verbosity >= 0) {
            printf("           %-15s %-10s", t->list[i]->id, sp_format_word(t->list[i]->format));
            if (status == SPMM_OK)
                printf("%11.4f ms\n", 1e3 * seconds);
            else
                printf("   left out: %s\n", spmm_error_message());
            fflush(stdout);
        }
        if (status != SPMM_OK || (*best >= 0 && seconds >= *least)) continue;
        *best = i;
        *least = seconds;
    }
    return SPMM_OK;
}

static spmm_status tune(const sp_job *job, const tuning *t, int64_t k, const sp_kernel **kernel, char *why)
{
    struct {
        double seconds;
        int64_t index;
    } known = {0, -1};
    int best = -1;
    if (t->count < 2) return SPMM_OK; /* with fewer than two candidates there is nothing to choose */
    if (sp_is_root(&job->place)) {
        recall(job, t, k, &best, &known.seconds);
        known.index = best;
    }
    TRY(sp_bcast(job->place.grid.comm, SP_ROOT, &known, sizeof known));
    if (known.index >= 0) {
        *kernel = t->list[known.index];
        snprintf(why, WHY_BYTES, "tuned earlier: %.4f ms", 1e3 * known.seconds);
        return SPMM_OK;
    }
    TRY(time_candidates(job, t, k, &best, &known.seconds));
    if (best < 0) return SPMM_OK; /* keep the rule's kernel; its plan will report the error */
    *kernel = t->list[best];
    snprintf(why, WHY_BYTES, "tuned now: %.4f ms", 1e3 * known.seconds);
    if (sp_is_root(&job->place)) remember(job, t, k, best, known.seconds);
    return SPMM_OK;
}

static spmm_status start_tuning(const sp_job *job, tuning *t)
{
    const sp_binding *const binding = &job->place.binding;
    const spmm_block *const block = &job->dist.block;
    t->count = sp_candidates(binding->device, job->options.format, t->list);
    t->hash = sp_structure_hash(&block->csr, block->row_begin, binding->threads);
    t->path[0] = '\0';
    if (sp_is_root(&job->place) && sp_tune_path(t->path, sizeof t->path) != SPMM_OK) {
        t->path[0] = '\0';
        warn(&job->place, "the tuning is not remembered");
    }
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &t->hash, 1, MPI_UINT64_T, MPI_SUM, job->place.grid.comm));
}

/* ---- choosing ---- */

/** Prints the chosen kernel and the reason: one line if all K have the same kernel, otherwise one per K. */
static void say_choices(const sp_columns *columns, const sp_kernel *const *chosen,
                        const char (*why)[WHY_BYTES])
{
    const int count = columns->count;
    int differ = 0;
    for (int i = 1; i < count; i++) differ |= chosen[i] != chosen[0] || strcmp(why[i], why[0]) != 0;
    for (int i = 0; i < (differ ? count : 1); i++) {
        printf("kernel     ");
        if (differ) printf("K = %lld: ", (long long)columns->k[i]);
        printf("%s on %s: %s\n", chosen[i]->id, sp_format_word(chosen[i]->format), why[i]);
    }
    fflush(stdout);
}

spmm_status sp_job_choose(const sp_job *job, const sp_kernel **chosen)
{
    const sp_options *const o = &job->options;
    const sp_binding *const binding = &job->place.binding;
    const sp_columns *const columns = &job->input.columns;
    char why[SP_MAX_COLUMNS][WHY_BYTES];
    sp_features f;
    tuning t = {.count = 0};
    if (o->kernel) return SPMM_OK;
    TRY(sp_plan_features(job->place.grid.comm, &job->dist.block, binding->threads, &f));
    if (o->tune) TRY(start_tuning(job, &t));
    for (int i = 0; i < columns->count; i++) {
        TRY(sp_choose(&f, columns->k[i], o->products, o->precision, binding->device, o->format, &chosen[i],
                      why[i], WHY_BYTES));
        if (o->tune) TRY(tune(job, &t, columns->k[i], &chosen[i], why[i]));
    }
    if (job->place.verbosity >= 0) say_choices(columns, chosen, why);
    return SPMM_OK;
}
