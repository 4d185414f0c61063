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
    spmm_format format;
    const sp_kernel *list[SP_MAX_CANDIDATES];
    int count;
    uint64_t hash;   /* hash of the matrix's sparsity pattern */
    char path[4096]; /* rank 0: path of the tuning cache; "": no cache */
} tuning;

static spmm_format format_asked(const sp_job *job) { return (spmm_format)((int)job->options.format - 1); }

static int is_verbose(const sp_job *job) { return sp_is_root(job) && job->options.verbosity >= 0; }

static void warn(const sp_job *job, const char *what)
{
    if (!is_verbose(job)) return;
    fflush(stdout);
    fprintf(stderr, "spmm_mpi: warning: %s: %s\n", what, spmm_error_message());
}

/* ---- the tuning cache; rank 0 only ---- */

/** Writes to `key` the cache key for K = k: everything that the fastest kernel may depend on. */
static void make_key(const sp_job *job, const tuning *t, int64_t k, char *key, size_t n)
{
    const sp_options *o = &job->options;
    char device[192], name[128], kernels[256] = "";
    for (int i = 0; i < t->count; i++) {
        const size_t at = strlen(kernels);
        snprintf(kernels + at, sizeof kernels - at, "%s%s", i ? "+" : "", t->list[i]->id);
    }
    if (job->binding.device == SPMM_CUDA)
        snprintf(device, sizeof device, "%s", job->binding.gpu.name);
    else
        snprintf(device, sizeof device, "%s %s", sp_cpu_name(name, sizeof name), sp_isa_name(sp_cpu_isa()));
    snprintf(key, n, "%s %016llx %lldx%lld %lld K=%lld %s %s threads=%d grid=%dx%d %s %s %s ell=%g %d %d %s",
             SPMM_VERSION, (unsigned long long)t->hash, (long long)job->record.matrix.rows,
             (long long)job->record.matrix.cols, (long long)job->record.matrix.nnz, (long long)k,
             sp_precision_word(o->precision), device, job->binding.threads, job->grid.dims[0],
             job->grid.dims[1], sp_partition_word(o->partition), sp_exchange_word(job->halo.kind),
             sp_format_word(t->format), o->ell_limit, o->shape.block, o->shape.subwarp, kernels);
}

static void recall(const sp_job *job, const tuning *t, int64_t k, int *index, double *seconds)
{
    char key[SP_TUNE_KEY_BYTES];
    *index = -1;
    if (!t->path[0]) return;
    make_key(job, t, k, key, sizeof key);
    if (sp_tune_find(t->path, key, t->list, t->count, index, seconds) != SPMM_OK)
        warn(job, "nothing tuned earlier is known");
}

static void remember(const sp_job *job, const tuning *t, int64_t k, int index, double seconds)
{
    char key[SP_TUNE_KEY_BYTES];
    if (!t->path[0]) return;
    make_key(job, t, k, key, sizeof key);
    if (sp_tune_store(t->path, key, t->list[index]->id, seconds) != SPMM_OK)
        warn(job, "the tuning is not remembered");
}

/* ---- timing ---- */

/** Creates this rank's rows of X and Y in the memory (host or GPU) of the plan, and generates X. */
static spmm_status make_x_and_y(const sp_job *job, const spmm_plan *plan, int64_t k, spmm_multivector *x,
                                spmm_multivector *y)
{
    spmm_multivector host;
    TRY(spmm_plan_y_create(plan, y));
    TRY(spmm_plan_x_create(plan, x));
    if (x->space == SPMM_CPU) {
        sp_multivector_generate(x, SP_X_UNIFORM, 1, job->block.x_begin, job->binding.threads);
        return SPMM_OK;
    }
    TRY(spmm_multivector_create(x->rows, k, x->precision, SPMM_CPU, &host));
    sp_multivector_generate(&host, SP_X_UNIFORM, 1, job->block.x_begin, job->binding.threads);
    const spmm_status status = spmm_multivector_copy(&host, x);
    spmm_multivector_destroy(&host);
    return status;
}

/** Times a kernel. \param [out] seconds  median of the slowest rank's times, the same on every rank */
static spmm_status time_kernel(const sp_job *job, const sp_kernel *kernel, int64_t k, double *seconds)
{
    double apply[MOST_PRODUCTS], within[MOST_PRODUCTS];
    const sp_job_times wanted = {.apply = apply, .kernel = within};
    /* on a GPU the kernels' own time excludes delays of the host, whose cores several ranks often share */
    double *const times = kernel->device == SPMM_CUDA ? within : apply;
    spmm_multivector x = {0}, y = {0};
    spmm_plan_options options = sp_job_plan_options(job);
    spmm_plan *plan;
    spmm_status status;
    options.kernel = kernel->id;
    TRY(sp_plan_create(&job->grid, &job->block, &job->halo, k, &options, &plan));
    TRY_GOTO(sp_agree(job->grid.comm, "tune", make_x_and_y(job, plan, k, &x, &y)), done);
    TRY_GOTO(sp_job_time(job, plan, &x, &y, 1, 1, &wanted), done);
    *seconds = times[0];
    const double fill = *seconds > 0 ? LEAST_TO_TIME / *seconds : MOST_PRODUCTS;
    const int products = fill < MOST_PRODUCTS ? (int)fill : MOST_PRODUCTS;
    if (products > 1) {
        TRY_GOTO(sp_job_time(job, plan, &x, &y, 0, products, &wanted), done);
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
    if (is_verbose(job)) printf("tune       K = %lld, %d kernels\n", (long long)k, t->count);
    for (int i = 0; i < t->count; i++) {
        double seconds = 0;
        const spmm_status status = time_kernel(job, t->list[i], k, &seconds);
        /* leave out a kernel whose data exceed a limit or the memory; fail on any other error */
        if (status != SPMM_OK && status != SPMM_ERR_LIMIT && status != SPMM_ERR_MEMORY) return status;
        if (is_verbose(job)) {
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
    if (sp_is_root(job)) {
        recall(job, t, k, &best, &known.seconds);
        known.index = best;
    }
    TRY(sp_bcast(job->grid.comm, SP_ROOT, &known, sizeof known));
    if (known.index >= 0) {
        *kernel = t->list[known.index];
        snprintf(why, WHY_BYTES, "tuned earlier: %.4f ms", 1e3 * known.seconds);
        return SPMM_OK;
    }
    TRY(time_candidates(job, t, k, &best, &known.seconds));
    if (best < 0) return SPMM_OK; /* keep the rule's kernel; its plan will report the error */
    *kernel = t->list[best];
    snprintf(why, WHY_BYTES, "tuned now: %.4f ms", 1e3 * known.seconds);
    if (sp_is_root(job)) remember(job, t, k, best, known.seconds);
    return SPMM_OK;
}

static spmm_status start_tuning(const sp_job *job, tuning *t)
{
    t->format = format_asked(job);
    t->count = sp_candidates(job->binding.device, t->format, t->list);
    t->hash = sp_structure_hash(&job->block.csr, job->block.row_begin, job->binding.threads);
    t->path[0] = '\0';
    if (sp_is_root(job) && sp_tune_path(t->path, sizeof t->path) != SPMM_OK) {
        t->path[0] = '\0';
        warn(job, "the tuning is not remembered");
    }
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &t->hash, 1, MPI_UINT64_T, MPI_SUM, job->grid.comm));
}

/* ---- choosing ---- */

/** Prints the chosen kernel and the reason: one line if all K have the same kernel, otherwise one per K. */
static void say_choices(const sp_job *job, char (*why)[WHY_BYTES])
{
    const int count = job->options.k_count;
    int differ = 0;
    for (int i = 1; i < count; i++) differ |= job->chosen[i] != job->chosen[0] || strcmp(why[i], why[0]) != 0;
    for (int i = 0; i < (differ ? count : 1); i++) {
        printf("kernel     ");
        if (differ) printf("K = %lld: ", (long long)job->options.k[i]);
        printf("%s on %s: %s\n", job->chosen[i]->id, sp_format_word(job->chosen[i]->format), why[i]);
    }
    fflush(stdout);
}

spmm_status sp_job_choose(sp_job *job)
{
    const sp_options *o = &job->options;
    char why[SP_MAX_COLUMNS][WHY_BYTES];
    sp_features f;
    tuning t = {.count = 0};
    if (o->kernel) return SPMM_OK;
    TRY(sp_plan_features(job->grid.comm, &job->block.csr, job->binding.threads, &f));
    if (o->tune) TRY(start_tuning(job, &t));
    for (int i = 0; i < o->k_count; i++) {
        TRY(sp_choose(&f, o->k[i], o->precision, job->binding.device, format_asked(job), &job->chosen[i],
                      why[i], WHY_BYTES));
        if (o->tune) TRY(tune(job, &t, o->k[i], &job->chosen[i], why[i]));
    }
    if (is_verbose(job)) say_choices(job, why);
    return SPMM_OK;
}
