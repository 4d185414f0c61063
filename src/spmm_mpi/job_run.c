/** Makes the runs, one for each K and each requested kernel, and compares them. */
#include "spmm_mpi/job.h"

#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "cli/copy_bandwidth.h"
#include "distribute/gather.h"
#include "formats/multivector.h"
#include "plan/plan.h"
#include "spmm_mpi/dram_bound.h"
#include "spmm_mpi/probe.h"

/* ---- one run ---- */

/** Data of one run, i.e. of one K and one kernel. */
typedef struct run {
    const sp_kernel *kernel;
    int64_t k;
    spmm_plan *plan;
    spmm_multivector x, y;          /* this rank's rows of X and Y, in the memory of the plan's device */
    spmm_multivector y_host;        /* copy of y in host memory if y is on a GPU; otherwise unused */
    spmm_multivector x_whole;       /* rank 0: the whole X, if it must be generated for verification */
    const spmm_multivector *x_seen; /* rank 0: the whole X for verification: x_whole, x or job->x_file */
    spmm_multivector gathered;      /* rank 0: the whole Y, or its sampled rows */
    double *seconds;                /* [TIMES * repeat], see times_of() */
} run;

/** The times that run.seconds stores for each repetition. STILL is a product without the exchange of X. */
enum { APPLY, KERNEL, INTERIOR, BOUNDARY, REDUCE, EXCHANGE, STILL, TIMES };

static void destroy_run(run *r)
{
    spmm_plan_destroy(r->plan);
    spmm_multivector_destroy(&r->x);
    spmm_multivector_destroy(&r->x_whole);
    spmm_multivector_destroy(&r->y);
    spmm_multivector_destroy(&r->y_host);
    spmm_multivector_destroy(&r->gathered);
    sp_free(r->seconds);
}

spmm_plan_options sp_job_plan_options(const sp_job *job)
{
    return (spmm_plan_options){.device = job->binding.device,
                               .format = SPMM_FORMAT_AUTO,
                               .threads = job->binding.threads,
                               .ell_limit = job->options.ell_limit,
                               .block_size = job->options.shape.block,
                               .subwarp = job->options.shape.subwarp,
                               .exchange = job->options.exchange,
                               .transport = job->transport != SPMM_TRANSPORT_AUTO ? job->transport
                                                                                  : job->options.transport,
                               .reduce = job->options.reduce,
                               .no_overlap = job->options.no_overlap,
                               .column_blocks = job->options.column_blocks};
}

static spmm_status make_plan(sp_job *job, run *r)
{
    spmm_plan_options options = sp_job_plan_options(job);
    const double start = MPI_Wtime();
    options.kernel = r->kernel->id;
    TRY(sp_plan_create(&job->grid, &job->block, &job->halo, r->k, &options, &r->plan));
    job->record.seconds.convert = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Generates this rank's rows of X in *x. */
static void generate(const sp_job *job, spmm_multivector *x)
{
    const sp_options *o = &job->options;
    if (job->x_old)
        sp_multivector_generate_rows(x, o->x_kind, o->x_seed, job->x_old, job->binding.threads);
    else
        sp_multivector_generate(x, o->x_kind, o->x_seed, job->block.x_begin, job->binding.threads);
}

/** Generates the whole X in *x; its rows are renumbered if the rows of the matrix were. */
static spmm_status generate_whole(const sp_job *job, spmm_multivector *x)
{
    const sp_options *o = &job->options;
    spmm_multivector renumbered;
    sp_multivector_generate(x, o->x_kind, o->x_seed, 0, job->binding.threads);
    if (!job->perm) return SPMM_OK;
    TRY(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &renumbered));
    const spmm_status status = sp_multivector_permute(x, job->perm, 0, &renumbered);
    spmm_multivector_destroy(status == SPMM_OK ? x : &renumbered);
    if (status == SPMM_OK) *x = renumbered;
    return status;
}

/** Creates this rank's rows of X in the plan's memory: generates them or receives them from rank 0. */
static spmm_status make_x(sp_job *job, run *r)
{
    spmm_multivector staging = {0};
    spmm_multivector *host = &r->x;
    spmm_status status = spmm_plan_x_create(r->plan, &r->x);
    if (status == SPMM_OK && r->kernel->device == SPMM_CUDA) {
        host = &staging;
        status = spmm_multivector_create(r->x.rows, r->k, r->x.precision, SPMM_CPU, host);
    }
    TRY_GOTO(sp_agree(job->grid.comm, "x", status), done);
    if (job->options.x_file)
        TRY_GOTO(sp_scatter_x(&job->grid, &job->ranges, &job->x_file, host), done);
    else
        generate(job, host);
    if (host == &staging) status = spmm_multivector_copy(&staging, &r->x);
done:
    spmm_multivector_destroy(&staging);
    return status;
}

/** Sets r->x_seen on rank 0 to the whole X for verification. An X from a file, or the r->x of a single CPU
 *  rank, is already whole; otherwise generates the whole X. */
static spmm_status see_x(sp_job *job, run *r)
{
    if (!sp_is_root(job) || job->verify == SP_VERIFY_NONE) return SPMM_OK;
    r->x_seen = job->options.x_file ? &job->x_file : &r->x;
    if (job->options.x_file || (job->grid.size == 1 && r->kernel->device == SPMM_CPU)) return SPMM_OK;
    r->x_seen = &r->x_whole;
    TRY(spmm_multivector_create(job->record.matrix.cols, r->k, r->x.precision, SPMM_CPU, &r->x_whole));
    return generate_whole(job, &r->x_whole);
}

static spmm_status prepare(sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    spmm_status status = make_x(job, r);
    if (status == SPMM_OK) status = see_x(job, r);
    if (status == SPMM_OK) status = spmm_plan_y_create(r->plan, &r->y);
    if (status == SPMM_OK)
        status = sp_alloc_zero((void **)&r->seconds, (int64_t)TIMES * job->options.repeat, sizeof(double),
                               "times");
    TRY(sp_agree(job->grid.comm, "place_x", status));
    job->record.seconds.x = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Computes the members of record.dram_bound. The share is the minimum time of the slowest rank (its DRAM
 *  traffic at its copy bandwidth) divided by the median time of a product. */
static spmm_status dram_bound_share(sp_job *job, const run *r)
{
    sp_record *rec = &job->record;
    rec->dram_bound.bytes = sp_dram_bytes(&job->block.csr, job->touched, r->k);
    double seconds = job->copy_bandwidth > 0 ? rec->dram_bound.bytes / job->copy_bandwidth : 0;
    rec->dram_bound.copy_bandwidth = job->copy_bandwidth;
    TRY(sp_sum(job->grid.comm, &rec->dram_bound.bytes, 1));
    TRY(sp_sum(job->grid.comm, &rec->dram_bound.copy_bandwidth, 1));
    TRY(sp_slowest(job->grid.comm, &seconds, 1));
    rec->dram_bound.share = rec->apply.median > 0 ? seconds / rec->apply.median : 0;
    return SPMM_OK;
}

static double *times_of(const sp_job *job, const run *r, int which)
{
    return r->seconds + (int64_t)which * job->options.repeat;
}

static double median(const sp_job *job, const run *r, int which)
{
    return sp_stats_of(times_of(job, r, which), job->options.repeat).median;
}

/** Returns the fraction of the exchange's own time that was hidden, i.e. that did not prolong the product. */
static double hidden_share(const sp_record *rec)
{
    const double exposed = rec->apply.median - rec->seconds.no_exchange;
    const double share = rec->seconds.exchange > 0 ? 1 - exposed / rec->seconds.exchange : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/** Stores the plan's choices (transport, reduction, column blocks) in the record. */
static spmm_status note_facts(sp_job *job, const run *r)
{
    sp_record *rec = &job->record;
    sp_plan_facts facts;
    sp_plan_facts_of(r->plan, &facts);
    job->transport = facts.transport;
    rec->moved.column_blocks = facts.column_blocks;
    rec->run.transport = facts.transport == SPMM_TRANSPORT_AUTO ? "none" : sp_transport_word(facts.transport);
    rec->run.reduce = facts.reduce == SPMM_REDUCE_AUTO ? "none" : sp_reduce_word(facts.reduce);
    double rows[2] = {(double)facts.interior_rows, (double)job->block.csr.rows};
    TRY(sp_sum(job->grid.comm, rows, 2));
    rec->moved.interior = rows[1] > 0 ? rows[0] / rows[1] : 1;
    return SPMM_OK;
}

static spmm_status products(sp_job *job, run *r)
{
    const int repeat = job->options.repeat;
    const sp_job_times times = {
        times_of(job, r, APPLY),
        times_of(job, r, KERNEL),
        times_of(job, r, INTERIOR),
        times_of(job, r, BOUNDARY),
        times_of(job, r, REDUCE)
    };
    TRY(note_facts(job, r));
    TRY(sp_job_time(job, r->plan, &r->x, &r->y, job->options.warmup, repeat, &times));
    if (job->halo.all_moved > 0) {
        TRY(sp_job_time_exchange(job, r->plan, &r->x, repeat, times_of(job, r, EXCHANGE)));
        TRY(sp_job_time_local(job, r->plan, &r->x, &r->y, repeat, times_of(job, r, STILL)));
    }
    sp_record *rec = &job->record;
    rec->apply = sp_stats_of(times.apply, repeat);
    rec->seconds.apply = rec->apply.median;
    rec->seconds.kernel = median(job, r, KERNEL);
    rec->seconds.interior = median(job, r, INTERIOR);
    rec->seconds.boundary = median(job, r, BOUNDARY);
    rec->seconds.reduce = median(job, r, REDUCE);
    rec->seconds.exchange = median(job, r, EXCHANGE);
    rec->seconds.no_exchange = median(job, r, STILL);
    rec->moved.hidden = hidden_share(rec);
    rec->gflops = rec->apply.median > 0 ? 2e-9 * (double)rec->matrix.nnz * (double)r->k / rec->apply.median
                                        : 0;
    return job->copy_bandwidth > 0 ? dram_bound_share(job, r) : SPMM_OK;
}

/** Moves the sampled rows to the front of *y, in place. Row i of the result comes from a row with an index of
 *  at least i, since the sampled indices increase strictly; so no row is overwritten before it is moved. */
static void pick_rows(const sp_job *job, spmm_multivector *y)
{
    for (int64_t i = 0; i < job->sample_count; i++)
        memmove(sp_row(y, i), sp_row(y, job->sample_rows[i]), (size_t)sp_row_bytes(y));
    y->rows = job->sample_count;
}

static void poison(spmm_multivector *y)
{
    if (y->rows > 0) sp_value_set(y->data, y->precision, 0, sp_value_get(y->data, y->precision, 0) + 1);
}

/** Writes Y to the output file, with the rows in the order of the matrix as read. Called on rank 0 only. */
static spmm_status write_output(const sp_job *job, const spmm_multivector *gathered)
{
    spmm_multivector y;
    if (!job->perm) return sp_multivector_write(gathered, job->options.output);
    TRY(spmm_multivector_create(gathered->rows, gathered->k, gathered->precision, SPMM_CPU, &y));
    spmm_status status = sp_multivector_permute(gathered, job->perm, 1, &y);
    if (status == SPMM_OK) status = sp_multivector_write(&y, job->options.output);
    spmm_multivector_destroy(&y);
    return status;
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
    /* only the first rank of a process row sends Y; after a butterfly the other ranks have the same Y */
    if (job->grid.coords[1] > 0) y->rows = 0;
    if (sp_fault("apply", job->grid.rank) == SP_FAULT_WRONG) poison(y);
    if (job->options.output) {
        TRY(sp_gather(&job->grid, y, job->record.matrix.rows, &r->gathered));
        status = sp_is_root(job) ? write_output(job, &r->gathered) : SPMM_OK;
        TRY(sp_agree(job->grid.comm, "output", status));
        if (job->verify == SP_VERIFY_SAMPLE) spmm_multivector_destroy(&r->gathered);
    }
    if (job->verify == SP_VERIFY_SAMPLE) {
        if (job->grid.coords[1] == 0) pick_rows(job, y);
        TRY(sp_gather(&job->grid, y, job->sample.rows, &r->gathered));
    } else if (!job->options.output) {
        TRY(sp_gather(&job->grid, y, job->record.matrix.rows, &r->gathered));
    }
    job->record.seconds.gather = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Returns 1 if the kernel must give the same Y as the serial product bit for bit, so that any difference is
 *  an error. Called on rank 0 only. */
static int must_be_exact(const sp_job *job, const sp_kernel *kernel)
{
    if (job->grid.dims[1] > 1) return 0; /* Y is the sum of several partial Y, which rounds differently */
    return kernel->exact == SP_EXACT_YES ||
           (kernel->exact == SP_EXACT_F64 && job->options.precision == SPMM_F64) ||
           (kernel->exact == SP_EXACT_UNSPLIT && job->preamble.longest <= sp_kernel_row_segment(kernel));
}

/** Returns the index before renumbering of the row whose index after renumbering is `row`. */
static int64_t old_number(const sp_job *job, int64_t row)
{
    int64_t i = 0;
    while (job->perm[i] != row) i++;
    return i;
}

static spmm_status verify(sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    spmm_status status = SPMM_OK;
    sp_error *error = &job->record.error;
    *error = (sp_error){.row = -1};
    if (sp_is_root(job) && job->verify != SP_VERIFY_NONE)
        status = sp_verify(job->verify == SP_VERIFY_FULL ? &job->a : &job->sample, r->x_seen, &r->gathered,
                           job->binding.threads, error);
    TRY(sp_agree(job->grid.comm, "verify", status));
    if (job->verify == SP_VERIFY_SAMPLE && error->row >= 0) error->row = job->sampled[error->row];
    if (sp_is_root(job) && job->perm && error->row >= 0) error->row = old_number(job, error->row);
    /* for a kernel that must be exact, any difference is a failure */
    int64_t passed = error->wrong == 0 && !(must_be_exact(job, r->kernel) && error->different);
    TRY(sp_bcast(job->grid.comm, SP_ROOT, &passed, sizeof passed));
    job->record.passed = (int)passed;
    job->failed += !passed;
    job->record.seconds.verify = MPI_Wtime() - start;
    return SPMM_OK;
}

static int all_asked(const sp_job *job)
{
    return job->options.kernel && strcmp(job->options.kernel, "all") == 0;
}

/** Returns the width of the column of kernel names in the tables. */
static int name_width(const sp_job *job)
{
    int count, width = 14;
    const sp_kernel *kernel = sp_kernels(&count);
    for (int i = 0; i < count && all_asked(job); i++)
        if (kernel[i].device == job->binding.device && (int)strlen(kernel[i].id) > width)
            width = (int)strlen(kernel[i].id);
    return width;
}

static spmm_status report(sp_job *job, const run *r)
{
    sp_record *rec = &job->record;
    double peak = (double)sp_peak_bytes();
    if (peak < (double)job->peak_bytes) peak = (double)job->peak_bytes;
    rec->memory.root_peak_bytes = (int64_t)peak;
    TRY(sp_slowest(job->grid.comm, &peak, 1));
    rec->memory.rank_peak_bytes = (int64_t)peak;
    rec->run.k = r->k;
    rec->run.kernel = r->kernel->id;
    rec->run.format = sp_format_word(r->kernel->format);
    rec->seconds.total = MPI_Wtime() - job->start;
    TRY(sp_job_slowest(job, &rec->seconds));
    spmm_status status = SPMM_OK;
    if (sp_is_root(job)) {
        if (job->options.verbosity >= 0) sp_report_run(stdout, rec, name_width(job));
        if (job->options.verbosity > 0) sp_report_phases(stdout, rec);
        fflush(stdout);
        if (job->options.json) status = sp_report_json(job->options.json, rec);
        if (status == SPMM_OK && job->options.csv) status = sp_report_csv(job->options.csv, rec);
    }
    return sp_agree(job->grid.comm, "report", status);
}

static spmm_status multiply(sp_job *job, const sp_kernel *kernel, int64_t k)
{
    run r = {.kernel = kernel, .k = k};
    spmm_status status;
    TRY_GOTO(make_plan(job, &r), done);
    TRY_GOTO(prepare(job, &r), done);
    TRY_GOTO(products(job, &r), done);
    TRY_GOTO(collect(job, &r), done);
    TRY_GOTO(verify(job, &r), done);
    status = report(job, &r);
    job->runs++;
done:
    destroy_run(&r);
    return status;
}

/* ---- all runs ---- */

/** Measures the copy bandwidth and counts the rows of X that a product reads, for the DRAM bound. The
 *  measurement raises the peak of memory; so the peak is stored before, and reset afterwards. */
static spmm_status measure_dram_bound(sp_job *job)
{
    TRY(sp_agree(job->grid.comm, "bandwidth", sp_touched_columns(&job->block.csr, &job->touched)));
    job->peak_bytes = sp_peak_bytes();
    const spmm_status status = sp_copy_bandwidth(&job->grid, &job->binding, &job->copy_bandwidth);
    sp_peak_restart();
    return status;
}

/** Makes one run with K = k for every kernel of the job's device and format. Appends each record to `runs`
 *  and increments *count. */
static spmm_status multiply_every(sp_job *job, int64_t k, sp_record *runs, int *count)
{
    int kernels;
    const sp_kernel *kernel = sp_kernels(&kernels);
    for (int i = 0; i < kernels; i++) {
        if (kernel[i].device != job->binding.device) continue;
        if (job->options.format != SP_FORMAT_AUTO && (int)job->options.format != 1 + (int)kernel[i].format)
            continue;
        const spmm_status status = multiply(job, &kernel[i], k);
        if (status == SPMM_OK) {
            runs[(*count)++] = job->record;
        } else if (status == SPMM_ERR_LIMIT) {
            if (sp_is_root(job) && job->options.verbosity >= 0)
                printf("%7lld  %-*s  left out: %s\n", (long long)k, name_width(job), kernel[i].id,
                       spmm_error_message());
        } else {
            return status;
        }
    }
    return SPMM_OK;
}

static spmm_status compare_all(sp_job *job)
{
    int kernels, count = 0;
    sp_record *runs = NULL;
    (void)sp_kernels(&kernels);
    spmm_status status = sp_alloc((void **)&runs, (int64_t)kernels * job->options.k_count, sizeof *runs,
                                  "records");
    status = sp_agree(job->grid.comm, "report", status);
    for (int i = 0; i < job->options.k_count && status == SPMM_OK; i++)
        status = multiply_every(job, job->options.k[i], runs, &count);
    if (status == SPMM_OK && count == 0)
        status = sp_fail(SPMM_ERR_USAGE, "no kernel has that format on that device: see --list-kernels");
    if (status == SPMM_OK && sp_is_root(job) && job->options.verbosity >= 0)
        sp_report_comparison(stdout, runs, count, name_width(job));
    sp_free(runs);
    return status;
}

/** Implements --probe, with the first K of --columns. */
static spmm_status probe(sp_job *job)
{
    sp_probe p;
    TRY(sp_probe_machine(&job->grid, &job->block.csr, job->options.k[0], &p));
    job->record.probe.latency = p.latency;
    job->record.probe.per_byte = p.per_byte;
    job->record.probe.per_flop = p.per_flop;
    return SPMM_OK;
}

spmm_status sp_job_multiply(sp_job *job)
{
    const sp_options *o = &job->options;
    if (o->probe) TRY(probe(job));
    if (o->probe || (o->verbosity >= 0 && (all_asked(job) || o->verbosity > 0))) TRY(measure_dram_bound(job));
    if (sp_is_root(job) && o->verbosity >= 0) sp_report_table_head(stdout, name_width(job));
    if (all_asked(job)) return compare_all(job);
    for (int i = 0; i < o->k_count; i++)
        TRY(multiply(job, o->kernel ? sp_kernel_find(o->kernel) : job->chosen[i], o->k[i]));
    return SPMM_OK;
}
