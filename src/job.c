#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conversions.h"
#include "gen.h"
#include "gather.h"
#include "memory.h"
#include "plan.h"

enum { ROOT = 0 };

static int is_root(const sp_job *job) { return job->grid.rank == ROOT; }

/** The slowest rank's duration of each phase so far, on every rank. Phases note their own rank's; this is
 *  called where they are read, since every collective costs where ranks share cores. */
static spmm_status slowest_phases(const sp_job *job, sp_seconds *seconds)
{
    return sp_slowest(job->grid.comm, (double *)seconds, sizeof *seconds / sizeof(double));
}

/** A percentage on a terminal's stderr, redrawn in place; context is the phase's name. */
static void show_progress(void *context, double fraction)
{
    static int last = -1;
    const int percent = (int)(100 * fraction);
    if (percent == last) return;
    last = percent;
    fprintf(stderr, percent < 100 ? "\r%s %3d%%" : "\r%s done\033[K\r", (const char *)context, percent);
    if (percent >= 100) fputs("\033[K", stderr);
    fflush(stderr);
}

static int progress_wanted(const sp_job *job)
{
    return is_root(job) && job->options.verbosity >= 0 && isatty(STDERR_FILENO);
}

/* ---- read ---- */

static sp_read_options read_options(const sp_job *job)
{
    return (sp_read_options){.precision = job->options.precision,
                             .threads = job->place.threads,
                             .allow_nonfinite = job->options.allow_nonfinite,
                             .progress = progress_wanted(job) ? show_progress : NULL,
                             .progress_context = "reading"};
}

static spmm_status read_file(sp_job *job)
{
    const sp_read_options options = read_options(job);
    sp_coo coo;
    const double start = MPI_Wtime();
    TRY(sp_read_coo(job->options.matrix, &options, &coo, &job->info));
    job->preamble.parse_seconds = MPI_Wtime() - start;
    job->preamble.read_bytes = (double)job->info.bytes;
    job->preamble.stored = coo.nnz;
    return sp_csr_from_coo(&coo, job->place.threads, &job->a, &job->preamble.duplicates);
}

static spmm_status generate(sp_job *job)
{
    job->info = (sp_mtx_info){.format = "generated", .field = "real", .symmetry = "general"};
    TRY(sp_gen_csr(job->options.matrix, job->options.precision, job->place.threads, &job->a));
    job->preamble.stored = job->a.nnz;
    return SPMM_OK;
}

static spmm_status read_x(sp_job *job)
{
    const sp_options *o = &job->options;
    sp_read_options options = read_options(job);
    options.progress = NULL;
    TRY(sp_read_dense(o->x_file, &options, &job->x_file));
    if (job->x_file.rows != job->a.cols)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: X has %lld rows, and A %lld columns", o->x_file,
                       (long long)job->x_file.rows, (long long)job->a.cols);
    if (job->x_file.k < 1) return sp_fail(SPMM_ERR_SYNTAX, "%s: X has no columns", o->x_file);
    return SPMM_OK;
}

static void row_facts(sp_job *job)
{
    const spmm_csr *a = &job->a;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n > job->preamble.longest) job->preamble.longest = n;
        job->preamble.empty += n == 0;
    }
    job->record.matrix.source = job->options.matrix;
    job->record.matrix.field = job->info.field;
    job->record.matrix.symmetry = job->info.symmetry;
    job->record.matrix.rows = a->rows;
    job->record.matrix.cols = a->cols;
    job->record.matrix.nnz = a->nnz;
}

/** The K of every run when X comes from a file, on every rank. */
static spmm_status columns_of_x(sp_job *job)
{
    sp_options *o = &job->options;
    int64_t k = job->x_file.k;
    TRY(sp_bcast(job->grid.comm, ROOT, &k, sizeof k));
    if (o->k_given && (o->k_count != 1 || o->k[0] != k))
        return sp_fail(SPMM_ERR_USAGE, "%s has %lld columns: leave --columns out, or give %lld", o->x_file,
                       (long long)k, (long long)k);
    o->k_count = 1;
    o->k[0] = k;
    return SPMM_OK;
}

spmm_status sp_job_read(sp_job *job)
{
    const double start = MPI_Wtime();
    const sp_options *o = &job->options;
    spmm_status status = SPMM_OK;
    if (is_root(job)) {
        status = sp_report_check(o->json);
        if (status == SPMM_OK) status = sp_report_check(o->csv);
        if (status == SPMM_OK) status = sp_gen_is_spec(o->matrix) ? generate(job) : read_file(job);
        if (status == SPMM_OK) row_facts(job);
        if (status == SPMM_OK && o->x_file) status = read_x(job);
    }
    TRY(sp_agree(job->grid.comm, "read", status));
    if (o->x_file) TRY(columns_of_x(job));
    job->record.seconds.read = MPI_Wtime() - start;
    return SPMM_OK;
}

/* ---- partition ---- */

/** What verifying in full would need on rank 0 beside A: Y, X and the scratch of one row chunk. */
static double full_verify_bytes(const sp_job *job)
{
    int64_t k = 1;
    for (int i = 0; i < job->options.k_count; i++)
        if (job->options.k[i] > k) k = job->options.k[i];
    return (double)(job->a.rows + job->a.cols) * (double)k * (double)sp_value_size(job->options.precision);
}

static spmm_status take_sample(sp_job *job)
{
    const int blocks = job->grid.size;
    int64_t *first = NULL;
    spmm_status status = sp_alloc((void **)&job->sampled, SP_SAMPLE_ROWS + blocks, sizeof *first,
                                  "sample rows");
    if (status == SPMM_OK) status = sp_alloc((void **)&first, blocks + 1, sizeof *first, "sample rows");
    if (status == SPMM_OK) {
        sp_sample_rows(job->begin, blocks, job->sampled, first);
        status = sp_csr_pick(&job->a, job->sampled, first[blocks], &job->sample);
    }
    sp_free(first);
    return status;
}

static spmm_status partition_on_root(sp_job *job)
{
    const spmm_csr *a = &job->a;
    const int parts = job->grid.size;
    TRY(sp_alloc((void **)&job->begin, parts + 1, sizeof *job->begin, "row blocks"));
    if (job->options.partition == SP_PARTITION_ROWS)
        sp_partition_even(a->rows, parts, job->begin);
    else
        sp_partition_entries(a->irp, a->rows, parts, job->begin);
    int64_t most = 0;
    for (int p = 0; p < parts; p++) {
        const int64_t n = a->irp[job->begin[p + 1]] - a->irp[job->begin[p]];
        if (n > most) most = n;
    }
    job->record.imbalance = a->nnz ? (double)most * parts / (double)a->nnz : 1;
    if (job->verify == SP_VERIFY_FULL && full_verify_bytes(job) > 0.8 * (double)sp_available_bytes())
        job->verify = SP_VERIFY_SAMPLE;
    return job->verify == SP_VERIFY_SAMPLE ? take_sample(job) : SPMM_OK;
}

spmm_status sp_job_partition(sp_job *job)
{
    const double start = MPI_Wtime();
    job->verify = job->options.verify;
    TRY(sp_agree(job->grid.comm, "partition", is_root(job) ? partition_on_root(job) : SPMM_OK));
    int64_t shared[3] = {job->verify, job->a.rows, job->a.cols};
    TRY(sp_bcast(job->grid.comm, ROOT, shared, sizeof shared));
    job->verify = (sp_verify_mode)shared[0];
    job->record.matrix.rows = shared[1];
    job->record.matrix.cols = shared[2];
    job->record.seconds.partition = MPI_Wtime() - start;
    return SPMM_OK;
}

/* ---- scatter ---- */

/** This rank's rows of the sample: every rank computes the same list from the same boundaries. */
static spmm_status own_sample(sp_job *job)
{
    const int blocks = job->grid.size;
    int64_t *begin = NULL, *first = NULL;
    spmm_status status = sp_alloc((void **)&begin, blocks + 1, sizeof *begin, "row blocks");
    if (status == SPMM_OK) status = sp_alloc((void **)&first, blocks + 1, sizeof *first, "sample rows");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&job->sample_rows, SP_SAMPLE_ROWS + blocks, sizeof *begin, "sample rows");
    TRY_GOTO(sp_agree(job->grid.comm, "sample", status), done);
    if (is_root(job)) memcpy(begin, job->begin, (size_t)(blocks + 1) * sizeof *begin);
    TRY_GOTO(sp_bcast(job->grid.comm, ROOT, begin, (blocks + 1) * (int64_t)sizeof *begin), done);
    sp_sample_rows(begin, blocks, job->sample_rows, first);
    const int me = job->grid.rank;
    job->sample_count = first[me + 1] - first[me];
    for (int64_t i = 0; i < job->sample_count; i++)
        job->sample_rows[i] = job->sample_rows[first[me] + i] - job->block.row_begin;
done:
    sp_free(begin);
    sp_free(first);
    return status;
}

spmm_status sp_job_scatter(sp_job *job)
{
    const double start = MPI_Wtime();
    const int keep = job->verify == SP_VERIFY_FULL;
    TRY(sp_scatter(&job->grid, &job->a, job->begin, keep, progress_wanted(job) ? show_progress : NULL,
                   "scattering", &job->block));
    if (!keep) spmm_csr_destroy(&job->a);
    if (job->verify == SP_VERIFY_SAMPLE) TRY(own_sample(job));
    job->record.memory.load_peak_bytes = sp_peak_bytes();
    job->record.seconds.scatter = MPI_Wtime() - start;
    return SPMM_OK;
}

/* ---- report before the products ---- */

static const char *x_text(const sp_options *o, char *buf, size_t n)
{
    if (o->x_file) return o->x_file;
    if (o->x_kind == SP_X_ONES) return "ones";
    if (o->x_kind == SP_X_INDEX) return "index";
    snprintf(buf, n, "uniform:%llu", (unsigned long long)o->x_seed);
    return buf;
}

spmm_status sp_job_preamble(sp_job *job)
{
    static char x[48];
    sp_rank_row mine = {job->place, job->block.row_begin, job->block.csr.rows, job->block.csr.nnz,
                        sp_csr_bytes(&job->block.csr)};
    sp_rank_row *all = NULL;
    sp_record *r = &job->record;
    r->run.ranks = job->grid.size;
    memcpy(r->run.grid, job->grid.dims, sizeof r->run.grid);
    r->run.device = sp_device_word(job->place.device);
    r->run.gpu = job->place.device == SPMM_CUDA ? job->place.gpu.name : "";
    r->run.host = job->place.host;
    r->run.threads = job->place.threads;
    r->run.repeat = job->options.repeat;
    r->run.warmup = job->options.warmup;
    r->run.precision = sp_precision_word(job->options.precision);
    r->run.partition = sp_partition_word(job->options.partition);
    r->run.exchange = "replicated"; /* X is whole on every rank: nothing moves in a product */
    r->run.transport = "none";
    r->run.x = x_text(&job->options, x, sizeof x);
    r->run.verify = sp_verify_word(job->verify);
    r->mode = job->verify;
    TRY(slowest_phases(job, &r->seconds));
    spmm_status status = SPMM_OK;
    if (is_root(job)) status = sp_alloc((void **)&all, job->grid.size, sizeof *all, "a row a rank");
    TRY(sp_agree(job->grid.comm, "report", status));
    status = sp_collect(job->grid.comm, &mine, sizeof mine, all);
    if (status == SPMM_OK && is_root(job) && job->options.verbosity >= 0) {
        sp_report_preamble(stdout, &job->options, r, &job->preamble, all);
        if (job->verify != job->options.verify)
            printf("verify     a sample of %d rows: the whole Y and X would not fit in rank 0's memory\n",
                   SP_SAMPLE_ROWS);
        if (job->options.verbosity > 0) sp_report_ranks(stdout, all, job->grid.size);
        sp_report_table_head(stdout);
        fflush(stdout);
    }
    sp_free(all);
    return status;
}

/* ---- one run ---- */

/** The objects of one run. */
typedef struct run {
    const sp_kernel *kernel;
    int64_t k;
    spmm_plan *plan;
    spmm_multivector x_host, x_device; /* x_device only on a GPU */
    spmm_multivector y, y_host;        /* y: in the plan's memory; y_host only on a GPU */
    spmm_multivector gathered;         /* rank 0 */
    double *apply, *kernel_seconds;    /* [repeat] */
} run;

static void destroy_run(run *r)
{
    spmm_plan_destroy(r->plan);
    spmm_multivector_destroy(&r->x_host);
    spmm_multivector_destroy(&r->x_device);
    spmm_multivector_destroy(&r->y);
    spmm_multivector_destroy(&r->y_host);
    spmm_multivector_destroy(&r->gathered);
    sp_free(r->apply);
    sp_free(r->kernel_seconds);
}

static spmm_status make_plan(sp_job *job, run *r)
{
    const spmm_plan_options options = {.device = job->place.device,
                                       .format = r->kernel->format,
                                       .kernel = r->kernel->id,
                                       .threads = job->place.threads,
                                       .ell_limit = job->options.ell_limit};
    const double start = MPI_Wtime();
    TRY(spmm_plan_create(job->grid.comm, &job->block.csr, r->k, &options, &r->plan));
    job->record.seconds.convert = MPI_Wtime() - start;
    return SPMM_OK;
}

/** X in host memory: made in place, or rank 0's. */
static spmm_status make_x(sp_job *job, run *r)
{
    const sp_options *o = &job->options;
    const int64_t n = job->record.matrix.cols;
    spmm_status status = spmm_multivector_create(n, r->k, o->precision, SPMM_CPU, &r->x_host);
    if (status == SPMM_OK && !o->x_file)
        sp_multivector_generate(&r->x_host, o->x_kind, o->x_seed, 0, job->place.threads);
    if (status == SPMM_OK && o->x_file && is_root(job))
        status = spmm_multivector_copy(&job->x_file, &r->x_host);
    TRY(sp_agree(job->grid.comm, "x", status));
    return o->x_file ? sp_scatter_x(&job->grid, &r->x_host) : SPMM_OK;
}

/** X and Y where the kernel wants them. */
static spmm_status place_x_and_y(sp_job *job, run *r)
{
    const spmm_device space = r->kernel->device;
    TRY(spmm_multivector_create(job->block.csr.rows, r->k, job->options.precision, space, &r->y));
    if (space == SPMM_CPU) return SPMM_OK;
    TRY(spmm_multivector_create(r->x_host.rows, r->k, job->options.precision, space, &r->x_device));
    TRY(spmm_multivector_copy(&r->x_host, &r->x_device));
    /* rank 0 verifies with it */
    if (!is_root(job) || job->verify == SP_VERIFY_NONE) spmm_multivector_destroy(&r->x_host);
    return SPMM_OK;
}

static spmm_status prepare(sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    const int64_t repeat = job->options.repeat;
    TRY(make_x(job, r));
    spmm_status status = place_x_and_y(job, r);
    if (status == SPMM_OK) status = sp_alloc((void **)&r->apply, repeat, sizeof(double), "times");
    if (status == SPMM_OK) status = sp_alloc((void **)&r->kernel_seconds, repeat, sizeof(double), "times");
    TRY(sp_agree(job->grid.comm, "place_x", status));
    job->record.seconds.x = MPI_Wtime() - start;
    return SPMM_OK;
}

/** The timed products. A product lasts from the barrier that all left to the one that all reached: where
 *  ranks share a core, one that starts late does not make the product look short. An error leaves no rank
 *  behind: the others' barriers are met to the end. */
static spmm_status products(sp_job *job, run *r)
{
    const spmm_multivector *x = r->kernel->device == SPMM_CUDA ? &r->x_device : &r->x_host;
    const int warmup = job->options.warmup, repeat = job->options.repeat;
    spmm_status status = SPMM_OK;
    for (int i = -warmup; i < repeat; i++) {
        double kernel = 0;
        TRY(SP_MPI(MPI_Barrier(job->grid.comm)));
        const double start = MPI_Wtime();
        if (status == SPMM_OK) status = sp_plan_apply(r->plan, x, &r->y, &kernel);
        TRY(SP_MPI(MPI_Barrier(job->grid.comm)));
        if (i < 0) continue;
        r->apply[i] = MPI_Wtime() - start;
        r->kernel_seconds[i] = kernel;
    }
    TRY(sp_agree(job->grid.comm, "apply", status));
    TRY(sp_slowest(job->grid.comm, r->apply, repeat));
    TRY(sp_slowest(job->grid.comm, r->kernel_seconds, repeat));
    sp_record *rec = &job->record;
    rec->apply = sp_stats_of(r->apply, repeat);
    rec->seconds.apply = rec->apply.median;
    rec->seconds.kernel = sp_stats_of(r->kernel_seconds, repeat).median;
    rec->seconds.exchange = 0;
    rec->gflops = rec->apply.median > 0 ? 2e-9 * (double)rec->matrix.nnz * (double)r->k / rec->apply.median
                                        : 0;
    return SPMM_OK;
}

/** Keeps the sampled rows of this rank's Y, in place. */
static void pick_rows(const sp_job *job, spmm_multivector *y)
{
    const size_t bytes = (size_t)y->ld * sp_value_size(y->precision);
    for (int64_t i = 0; i < job->sample_count; i++)
        memmove((char *)y->data + (size_t)i * bytes,
                (const char *)y->data + (size_t)job->sample_rows[i] * bytes, bytes);
    y->rows = job->sample_count;
}

static void spoil(spmm_multivector *y)
{
    if (y->rows == 0) return;
    if (y->precision == SPMM_F64)
        ((double *)y->data)[0] += 1;
    else
        ((float *)y->data)[0] += 1;
}

static spmm_status collect(sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    spmm_status status = SPMM_OK;
    spmm_multivector *y = &r->y;
    job->record.seconds.gather = 0;
    if (job->verify == SP_VERIFY_NONE && !job->options.output) return SPMM_OK;
    if (r->kernel->device == SPMM_CUDA) {
        y = &r->y_host;
        status = spmm_multivector_create(r->y.rows, r->k, r->y.precision, SPMM_CPU, y);
        if (status == SPMM_OK) status = spmm_multivector_copy(&r->y, y);
    }
    TRY(sp_agree(job->grid.comm, "download", status));
    if (sp_fault("apply", job->grid.rank) == SP_FAULT_WRONG) spoil(y);
    if (job->options.output) {
        TRY(sp_gather(&job->grid, y, job->record.matrix.rows, &r->gathered));
        status = is_root(job) ? sp_multivector_write(&r->gathered, job->options.output) : SPMM_OK;
        TRY(sp_agree(job->grid.comm, "output", status));
        if (job->verify == SP_VERIFY_SAMPLE) spmm_multivector_destroy(&r->gathered);
    }
    if (job->verify == SP_VERIFY_SAMPLE) {
        pick_rows(job, y);
        TRY(sp_gather(&job->grid, y, job->sample.rows, &r->gathered));
    } else if (!job->options.output) {
        TRY(sp_gather(&job->grid, y, job->record.matrix.rows, &r->gathered));
    }
    job->record.seconds.gather = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Whether a single differing bit fails the run. Rank 0. */
static int must_be_exact(const sp_job *job, const sp_kernel *kernel)
{
    return kernel->exact == SP_EXACT_YES ||
           (kernel->exact == SP_EXACT_UNSPLIT && job->preamble.longest <= SP_PIECE);
}

static spmm_status verify(sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    spmm_status status = SPMM_OK;
    sp_error *error = &job->record.error;
    *error = (sp_error){.row = -1};
    if (is_root(job) && job->verify != SP_VERIFY_NONE)
        status = sp_verify(job->verify == SP_VERIFY_FULL ? &job->a : &job->sample, &r->x_host, &r->gathered,
                           job->place.threads, error);
    TRY(sp_agree(job->grid.comm, "verify", status));
    if (job->verify == SP_VERIFY_SAMPLE && error->row >= 0) error->row = job->sampled[error->row];
    /* an `exact` kernel that is not is wrong, however small the difference */
    int64_t passed = error->wrong == 0 && !(must_be_exact(job, r->kernel) && error->different);
    TRY(sp_bcast(job->grid.comm, ROOT, &passed, sizeof passed));
    job->record.passed = (int)passed;
    job->failed += !passed;
    job->record.seconds.verify = MPI_Wtime() - start;
    return SPMM_OK;
}

static spmm_status report(sp_job *job, const run *r)
{
    sp_record *rec = &job->record;
    double peak = (double)sp_peak_bytes();
    rec->memory.root_peak_bytes = sp_peak_bytes();
    TRY(sp_slowest(job->grid.comm, &peak, 1));
    rec->memory.rank_peak_bytes = (int64_t)peak;
    rec->run.k = r->k;
    rec->run.kernel = r->kernel->id;
    rec->run.format = sp_format_word(r->kernel->format);
    rec->seconds.total = MPI_Wtime() - job->start;
    TRY(slowest_phases(job, &rec->seconds));
    spmm_status status = SPMM_OK;
    if (is_root(job)) {
        if (job->options.verbosity >= 0) sp_report_run(stdout, rec);
        if (job->options.verbosity > 0) sp_report_phases(stdout, rec);
        fflush(stdout);
        if (job->options.json) status = sp_report_json(job->options.json, rec);
        if (status == SPMM_OK && job->options.csv) status = sp_report_csv(job->options.csv, rec);
    }
    return sp_agree(job->grid.comm, "report", status);
}

spmm_status sp_job_multiply(sp_job *job, const sp_kernel *kernel, int64_t k)
{
    run r = {.kernel = kernel, .k = k};
    spmm_status status;
    job->runs++;
    TRY_GOTO(make_plan(job, &r), done);
    TRY_GOTO(prepare(job, &r), done);
    TRY_GOTO(products(job, &r), done);
    TRY_GOTO(collect(job, &r), done);
    TRY_GOTO(verify(job, &r), done);
    status = report(job, &r);
done:
    destroy_run(&r);
    return status;
}

/* ---- --check-conversions ---- */

static spmm_status coo_of_csr(const spmm_csr *a, sp_coo *coo)
{
    TRY(sp_coo_create(a->rows, a->cols, a->nnz, SP_GENERAL, a->precision, 1, coo));
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) coo->I[e] = (int32_t)i;
    memcpy(coo->J, a->ja, (size_t)a->nnz * sizeof *a->ja);
    memcpy(coo->val, a->as, (size_t)a->nnz * sp_value_size(a->precision));
    return SPMM_OK;
}

spmm_status sp_job_check_conversions(sp_job *job)
{
    enum { SECONDS_LIMIT = 60 };
    sp_coo coo;
    spmm_status status = SPMM_OK;
    if (is_root(job)) {
        status = coo_of_csr(&job->a, &coo);
        if (status == SPMM_OK) {
            status = sp_check_conversions(&coo, job->place.threads, job->options.ell_limit, SECONDS_LIMIT,
                                          stdout);
            sp_coo_destroy(&coo);
        }
    }
    return sp_agree(job->grid.comm, "conversions", status);
}

void sp_job_destroy(sp_job *job)
{
    sp_block_destroy(&job->block); /* before a: it may borrow from it */
    spmm_csr_destroy(&job->a);
    spmm_csr_destroy(&job->sample);
    spmm_multivector_destroy(&job->x_file);
    sp_free(job->begin);
    sp_free(job->sampled);
    sp_free(job->sample_rows);
    sp_grid_destroy(&job->grid);
    sp_device_close();
}
