/** Makes a run: a plan for one K and one kernel, its products, and their results and times. */
#include "spmm_mpi/job_run.h"

#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "cli/progress.h"
#include "distribute/gather.h"
#include "formats/multivector.h"
#include "formats/summation.h"
#include "kernels/peers/peer_kernels.h"
#include "plan/plan.h"
#include "spmm_mpi/dram_bound.h"

/** Data of one run, i.e. of one K and one kernel. */
typedef struct run {
    const sp_kernel *kernel;
    int64_t k;
    sp_record record;
    spmm_plan *plan;
    const sp_ghosted_block *ghosted; /* the block of the plan */
    spmm_multivector x, y;           /* this rank's rows of X and Y, in the memory of the plan's device */
    spmm_multivector y_host;         /* copy of y in host memory if y is on a GPU; otherwise unused */
    spmm_multivector x_whole;        /* rank 0: the whole X, if it must be generated for verification */
    const spmm_multivector *x_seen;  /* rank 0: the whole X for verification: x_whole, x or input.x */
    spmm_multivector gathered;       /* rank 0: the whole Y, or its sampled rows */
    double *seconds;                 /* [TIMES * repeat], see times_of() */
} run;

/** The times that run.seconds stores for each repetition. STILL is a product without the exchange of X. */
enum { APPLY, KERNEL, INTERIOR, BOUNDARY, REDUCE, ALL_KERNELS, EXCHANGE, STILL, TIMES };

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

spmm_plan_options sp_job_plan_options(const sp_options *o, const sp_binding *binding)
{
    return (spmm_plan_options){.device = binding->device,
                               .format = SPMM_FORMAT_AUTO,
                               .threads = binding->threads,
                               .exchange = o->exchange,
                               .transport = o->transport,
                               .reduce = o->reduce,
                               .no_overlap = o->no_overlap,
                               .column_blocks = o->column_blocks,
                               .any_order = o->bits == SP_BITS_ANY,
                               .exact = o->bits == SP_BITS_EXACT,
                               .products = o->products,
                               .exchange_precision = o->exchange_precision};
}

spmm_plan_study sp_job_plan_study(const sp_options *o)
{
    return (spmm_plan_study){.ell_limit = o->ell_limit,
                             .block_size = o->shape.block,
                             .subwarp = o->shape.subwarp,
                             .quick_plan = o->quick_plan,
                             .all_kernels = o->tune};
}

/** Stores the plan's choices (transport, reduction, column blocks) in the record. Collective. */
static spmm_status note_facts(const sp_job *job, const sp_plan_facts *facts, run *r)
{
    sp_record *rec = &r->record;
    r->ghosted = facts->ghosted;
    rec->plan.decisions = *facts->decisions;
    snprintf(rec->plan.steps, sizeof rec->plan.steps, "%s", facts->steps);
    rec->run.overlap = facts->overlap;
    rec->moved.column_blocks = facts->column_blocks;
    rec->moved.message_rows = facts->message_rows;
    rec->run.transport = facts->transport == SPMM_TRANSPORT_AUTO ? "none"
                                                                 : sp_transport_word(facts->transport);
    rec->run.backend = facts->backend;
    rec->run.rounded = sp_options_round(&job->options) && facts->ghosted->moves.all_moved > 0;
    rec->run.reduce = facts->reduce == SPMM_REDUCE_AUTO ? "none" : sp_reduce_word(facts->reduce);
    double rows[2] = {(double)facts->interior_rows, (double)job->dist.block.csr.rows};
    TRY(sp_sum(job->place.grid.comm, rows, 2));
    rec->moved.interior = rows[1] > 0 ? rows[0] / rows[1] : 1;
    return sp_job_note_moves(facts->ghosted, rec);
}

/** Stores in the record the other library that provides the kernel, if any, and the name of its function.
 *  Local. */
static spmm_status note_library(const sp_job *job, const void *state, run *r)
{
    sp_record *rec = &r->record;
    rec->library.version = "";
    rec->library.way[0] = '\0';
    if (!r->kernel->library) return SPMM_OK;
    snprintf(rec->library.way, sizeof rec->library.way, "%s", sp_peer_kernel_way(state));
    return sp_peer_kernel_open(r->kernel, job->place.binding.threads, &rec->library.version);
}

static void show_trial(const sp_trial *trial, int i)
{
    char text[SP_TRIED_NAME_BYTES + 64];
    snprintf(text, sizeof text, "trying %s, %d of %d", trial->tried[i].name, i + 1, trial->count);
    sp_progress_phase(text);
}

/** Creates the plan of a run. If the transport is left to the plan, later plans use the choice of the first
 *  plan. */
static spmm_status make_plan(sp_session *s, run *r)
{
    const sp_job *const job = s->job;
    spmm_plan_options options = sp_job_plan_options(&job->options, &job->place.binding);
    spmm_plan_study study = sp_job_plan_study(&job->options);
    sp_plan_facts facts;
    const double start = MPI_Wtime();
    options.kernel = r->kernel ? r->kernel->id : NULL;
    options.format = r->kernel ? SPMM_FORMAT_AUTO : job->options.format;
    options.transport = s->transport;
    if (job->options.all_kernels)
        study.quick_plan = 1; /* exchanges are not timed again: all kernels use the same one */
    if (sp_job_progress(&job->place)) sp_trial_begins = show_trial;
    const spmm_status status = sp_plan_create(&job->dist.ghosted, &job->dist.joint, sp_job_slice(job), r->k,
                                              &options, &study, &r->plan);
    sp_job_phase(&job->place, NULL);
    TRY(status);
    r->record.seconds.convert = MPI_Wtime() - start;
    sp_plan_facts_of(r->plan, &facts);
    if (s->transport == SPMM_TRANSPORT_AUTO) s->transport = facts.transport;
    r->kernel = facts.kernel;
    TRY(note_library(job, facts.state, r));
    return note_facts(job, &facts, r);
}

/** Generates this rank's rows of X in *x. */
static void job_run_generate(const sp_job *job, spmm_multivector *x)
{
    const sp_options *const o = &job->options;
    const sp_distribution *const d = &job->dist;
    const int threads = job->place.binding.threads;
    if (d->x_old)
        sp_multivector_generate_rows(x, o->x_kind, o->x_seed, d->x_old, threads);
    else
        sp_multivector_generate(x, o->x_kind, o->x_seed, d->block.x_begin, threads);
}

/** Creates this rank's rows of X in the plan's memory: generates them or receives them from rank 0. */
static spmm_status make_x(const sp_job *job, run *r)
{
    spmm_multivector staging = {0};
    spmm_multivector *host = &r->x;
    spmm_status status = spmm_plan_x_create(r->plan, &r->x);
    if (status == SPMM_OK && r->kernel->device == SPMM_CUDA) {
        host = &staging;
        status = spmm_multivector_create(r->x.rows, r->k, r->x.precision, SPMM_CPU, host);
    }
    TRY_GOTO(sp_agree(job->place.grid.comm, "x", status), done);
    if (job->options.x_file)
        TRY_GOTO(
            sp_scatter_x(&job->place.grid, &job->dist.ranges, job->options.two_stage, &job->input.x, host),
            done);
    else
        job_run_generate(job, host);
    if (host == &staging) status = spmm_multivector_copy(&staging, &r->x);
done:
    spmm_multivector_destroy(&staging);
    return status;
}

/** Sets r->x_seen on rank 0 to the whole X for verification. An X from a file, or the r->x of a single CPU
 *  rank, is already whole. Otherwise generates the whole X. If the rows of the matrix were renumbered,
 *  renumbers the rows of X. */
static spmm_status see_x(const sp_job *job, run *r)
{
    const sp_options *const o = &job->options;
    if (!sp_is_root(&job->place) || job->reference.mode == SP_VERIFY_NONE) return SPMM_OK;
    r->x_seen = o->x_file ? &job->input.x : &r->x;
    if (o->x_file || (job->place.grid.size == 1 && r->kernel->device == SPMM_CPU)) return SPMM_OK;
    r->x_seen = &r->x_whole;
    TRY(spmm_multivector_create(job->input.facts.cols, r->k, r->x.precision, SPMM_CPU, &r->x_whole));
    sp_multivector_generate(&r->x_whole, o->x_kind, o->x_seed, 0, job->place.binding.threads);
    return job->dist.perm ? sp_job_permute(job->dist.perm, &r->x_whole) : SPMM_OK;
}

static spmm_status job_run_prepare(const sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    spmm_status status = make_x(job, r);
    if (status == SPMM_OK) status = see_x(job, r);
    if (status == SPMM_OK) status = spmm_plan_y_create(r->plan, &r->y);
    if (status == SPMM_OK)
        status = sp_alloc_zero((void **)&r->seconds, (int64_t)TIMES * job->options.repeat, sizeof(double),
                               "times");
    TRY(sp_agree(job->place.grid.comm, "place_x", status));
    r->record.seconds.x = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Computes the members of record.dram_bound. The share is the minimum time of the slowest rank (its DRAM
 *  traffic at its copy bandwidth) divided by the median time of a product. */
static spmm_status dram_bound_share(const sp_session *s, run *r)
{
    sp_record *rec = &r->record;
    MPI_Comm comm = s->job->place.grid.comm;
    rec->dram_bound.bytes = sp_dram_bytes(&s->job->dist.block.csr, s->touched, r->k);
    double seconds = rec->dram_bound.bytes / s->copy_bandwidth;
    rec->dram_bound.copy_bandwidth = s->copy_bandwidth;
    TRY(sp_sum(comm, &rec->dram_bound.bytes, 1));
    TRY(sp_sum(comm, &rec->dram_bound.copy_bandwidth, 1));
    TRY(sp_slowest(comm, &seconds, 1));
    rec->dram_bound.share = rec->apply.median > 0 ? seconds / rec->apply.median : 0;
    return SPMM_OK;
}

static double *times_of(const sp_job *job, const run *r, int which)
{
    return r->seconds + (int64_t)which * job->options.repeat;
}

static double median(const sp_job *job, const run *r, int which, int count)
{
    return sp_stats_of(times_of(job, r, which), count).median;
}

/** Returns the fraction of the exchange's own time that was hidden, i.e. that did not prolong the product. */
static double hidden_share(const sp_record *rec)
{
    const double exposed = rec->apply.median - rec->seconds.no_exchange;
    const double share = rec->seconds.exchange > 0 ? 1 - exposed / rec->seconds.exchange : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static spmm_status products(const sp_job *job, run *r)
{
    enum { MOST_FOR_PARTS = 5 };
    const int repeat = job->options.repeat, some = repeat < MOST_FOR_PARTS ? repeat : MOST_FOR_PARTS;
    const sp_job_times whole = {.apply = times_of(job, r, APPLY)};
    const sp_job_times parts = {
        .kernel = times_of(job, r, KERNEL),
        .interior = times_of(job, r, INTERIOR),
        .boundary = times_of(job, r, BOUNDARY),
        .reduce = times_of(job, r, REDUCE),
        .all_kernels = times_of(job, r, ALL_KERNELS)
    };
    (void)sp_device_last_launch(); /* discards the launch recorded during the plan's trials */
    TRY(sp_job_time(&job->place.grid, r->plan, &r->x, &r->y, job->options.warmup, repeat, &whole));
    r->record.run.shape = sp_device_last_launch();
    if (sp_ghosted_block_moved(r->ghosted) > 0) {
        TRY(sp_job_time_exchange(&job->place.grid, r->plan, &r->x, repeat, times_of(job, r, EXCHANGE)));
        TRY(sp_job_time_local(&job->place.grid, r->plan, &r->x, &r->y, repeat, times_of(job, r, STILL)));
    }
    TRY(sp_job_time(&job->place.grid, r->plan, &r->x, &r->y, 1, some, &parts));
    sp_record *rec = &r->record;
    rec->apply = sp_stats_of(whole.apply, repeat);
    rec->seconds.apply = rec->apply.median;
    rec->seconds.kernel = median(job, r, KERNEL, some);
    rec->seconds.interior = median(job, r, INTERIOR, some);
    rec->seconds.boundary = median(job, r, BOUNDARY, some);
    rec->seconds.reduce = median(job, r, REDUCE, some);
    rec->seconds.exchange = median(job, r, EXCHANGE, repeat);
    rec->seconds.no_exchange = median(job, r, STILL, repeat);
    rec->moved.hidden = hidden_share(rec);
    rec->plan.one_rank = median(job, r, ALL_KERNELS, some);
    rec->gflops = rec->apply.median > 0 ? 1e-9 * sp_operations(r->x.precision) * (double)rec->matrix.nnz *
                                              (double)r->k / rec->apply.median
                                        : 0;
    return SPMM_OK;
}

/** Moves the sampled rows to the front of *y, in place. Row i of the result comes from a row with an index of
 *  at least i, since the sampled indices increase strictly; so no row is overwritten before it is moved. */
static void pick_rows(const sp_reference *reference, spmm_multivector *y)
{
    for (int64_t i = 0; i < reference->own_count; i++)
        memmove(sp_row(y, i), sp_row(y, reference->own[i]), (size_t)sp_row_bytes(y));
    y->rows = reference->own_count;
}

/** Writes Y to the output file, with the rows in the order of the matrix as read. Called on rank 0 only. */
static spmm_status write_output(const char *path, const int64_t *perm, const spmm_multivector *gathered)
{
    spmm_multivector y;
    if (!perm) return sp_multivector_write(gathered, path);
    TRY(spmm_multivector_create(gathered->rows, gathered->k, gathered->precision, SPMM_CPU, &y));
    spmm_status status = sp_multivector_permute(gathered, perm, 1, &y);
    if (status == SPMM_OK) status = sp_multivector_write(&y, path);
    spmm_multivector_destroy(&y);
    return status;
}

static spmm_status collect(const sp_job *job, run *r)
{
    const sp_grid *const grid = &job->place.grid;
    const char *const output = job->options.output;
    const sp_verify_mode mode = job->reference.mode;
    const int64_t rows = job->input.facts.rows;
    const double start = MPI_Wtime();
    spmm_status status = SPMM_OK;
    spmm_multivector *y = &r->y;
    r->record.seconds.gather = 0;
    if (mode == SP_VERIFY_NONE && !output) return SPMM_OK;
    if (r->kernel->device == SPMM_CUDA) {
        y = &r->y_host;
        status = spmm_multivector_create(r->y.rows, r->k, r->y.precision, SPMM_CPU, y);
        if (status == SPMM_OK) status = spmm_multivector_copy(&r->y, y);
    }
    TRY(sp_agree(grid->comm, "download", status));
    /* only the first rank of a process row sends Y; after a butterfly the other ranks have the same Y */
    if (grid->coords[1] > 0) y->rows = 0;
    if (sp_fault("apply", grid->rank) == SP_FAULT_WRONG && y->rows > 0)
        sp_value_set(y->data, y->precision, 0, sp_value_at(y->data, y->precision, 0) + 1);
    if (output) {
        TRY(sp_gather(grid, y, rows, &r->gathered));
        status = sp_is_root(&job->place) ? write_output(output, job->dist.perm, &r->gathered) : SPMM_OK;
        TRY(sp_agree(grid->comm, "output", status));
        if (mode == SP_VERIFY_SAMPLE) spmm_multivector_destroy(&r->gathered);
    }
    if (mode == SP_VERIFY_SAMPLE) {
        if (grid->coords[1] == 0) pick_rows(&job->reference, y);
        TRY(sp_gather(grid, y, job->reference.count, &r->gathered));
    } else if (!output) {
        TRY(sp_gather(grid, y, rows, &r->gathered));
    }
    r->record.seconds.gather = MPI_Wtime() - start;
    return SPMM_OK;
}

/** Returns 1 if Y must equal the serial product bit for bit, so that any difference is an error. Called on
 *  rank 0 only. */
static int must_be_exact(const sp_job *job, const run *r)
{
    if (job->place.grid.dims[1] > 1)
        return 0;                    /* Y is the sum of several partial Y, which rounds differently */
    if (r->ghosted->joint) return 0; /* some rows of Y are sums of partial rows */
    if (r->record.run.rounded) return 0;
    return sp_kernel_is_exact(r->kernel, job->options.precision, job->input.facts.longest);
}

/** Returns the index before renumbering of the row whose index after renumbering is `row`. */
static int64_t old_number(const int64_t *perm, int64_t row)
{
    int64_t i = 0;
    while (perm[i] != row) i++;
    return i;
}

static spmm_status verify(const sp_job *job, run *r)
{
    const double start = MPI_Wtime();
    const sp_reference *const reference = &job->reference;
    spmm_status status = SPMM_OK;
    sp_error *error = &r->record.error;
    *error = (sp_error){.row = -1};
    if (sp_is_root(&job->place) && reference->mode != SP_VERIFY_NONE) {
        sp_job_phase(&job->place, "verifying");
        const int full = reference->mode == SP_VERIFY_FULL;
        const sp_ghosts_rounded rounded = {&job->dist.ranges, full ? NULL : reference->sampled};
        status = sp_verify(full ? &job->input.a : &reference->rows, r->x_seen, &r->gathered,
                           r->record.run.rounded ? &rounded : NULL, job->place.binding.threads, error);
        sp_job_phase(&job->place, NULL);
    }
    TRY(sp_agree(job->place.grid.comm, "verify", status));
    if (reference->mode == SP_VERIFY_SAMPLE && error->row >= 0) error->row = reference->sampled[error->row];
    if (job->dist.perm && error->row >= 0) error->row = old_number(job->dist.perm, error->row);
    /* for a kernel that must be exact, any difference is a failure */
    int64_t passed = error->wrong == 0 && !(must_be_exact(job, r) && error->different);
    TRY(sp_bcast(job->place.grid.comm, SP_ROOT, &passed, sizeof passed));
    r->record.passed = (int)passed;
    r->record.seconds.verify = MPI_Wtime() - start;
    return SPMM_OK;
}

int sp_job_name_width(const sp_job *job)
{
    int count, width = 14;
    const sp_kernel *kernel = sp_kernels_all(&count);
    for (int i = 0; i < count && job->options.all_kernels; i++)
        if (kernel[i].device == job->place.binding.device && (int)strlen(kernel[i].id) > width &&
            (job->options.verbosity > 0 || !sp_kernel_is_baseline(kernel[i].id)))
            width = (int)strlen(kernel[i].id);
    return width;
}

/** Completes the record and reports it. Collective. */
static spmm_status report(const sp_session *s, run *r)
{
    const sp_job *const job = s->job;
    const sp_place *const place = &job->place;
    sp_record *rec = &r->record;
    double peak = (double)sp_peak_bytes();
    if (peak < (double)s->peak_bytes) peak = (double)s->peak_bytes;
    rec->memory.root_peak_bytes = (int64_t)peak;
    TRY(sp_slowest(place->grid.comm, &peak, 1));
    rec->memory.rank_peak_bytes = (int64_t)peak;
    rec->run.k = r->k;
    rec->run.kernel = r->kernel->id;
    rec->run.format = sp_format_word(r->kernel->format);
    rec->seconds.total = MPI_Wtime() - place->start;
    TRY(sp_job_slowest(&place->grid, &rec->seconds));
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) {
        if (place->verbosity >= !!job->options.all_kernels)
            sp_report_run(stdout, rec, sp_job_name_width(job));
        if (place->verbosity > 0) sp_report_phases(stdout, rec);
        fflush(stdout);
        status = sp_report_files(&job->options, rec);
    }
    return sp_agree(place->grid.comm, "report", status);
}

spmm_status sp_job_run(sp_session *s, const sp_kernel *kernel, int64_t k)
{
    run r = {.kernel = kernel, .k = k, .record = s->record};
    const sp_decision *const taken = &r.record.plan.decisions.row[SP_DECIDES_KERNEL];
    char phase[64];
    spmm_status status;
    TRY_GOTO(make_plan(s, &r), done);
    TRY_GOTO(job_run_prepare(s->job, &r), done);
    snprintf(phase, sizeof phase, "multiplying%s%s", s->job->options.all_kernels ? ", " : "",
             s->job->options.all_kernels ? kernel->id : "");
    sp_job_phase(&s->job->place, phase);
    status = products(s->job, &r);
    sp_job_phase(&s->job->place, NULL);
    if (status != SPMM_OK) goto done;
    if (s->copy_bandwidth > 0) TRY_GOTO(dram_bound_share(s, &r), done);
    TRY_GOTO(collect(s->job, &r), done);
    TRY_GOTO(verify(s->job, &r), done);
    TRY_GOTO(report(s, &r), done);
    s->record = r.record;
    if (s->runs < SP_MAX_COLUMNS)
        snprintf(s->why[s->runs], sizeof s->why[0], "%s, %s", taken->taken, taken->why);
    s->runs++;
    s->failed += !r.record.passed;
    s->noisy += sp_report_is_noisy(&r.record);
done:
    destroy_run(&r);
    return status;
}
