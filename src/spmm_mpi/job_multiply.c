/** Makes the runs, one for each K and each requested kernel, and compares them. */
#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "cli/copy_bandwidth.h"
#include "kernels/peers/peer_kernels.h"
#include "plan/plan.h"
#include "spmm_mpi/dram_bound.h"
#include "spmm_mpi/job_run.h"
#include "spmm_mpi/probe.h"

/** Measures the copy bandwidth and counts the rows of X that a product reads, for the DRAM bound. These
 *  measurements and --probe increase the peak memory. Thus the caller has stored the peak before them, and
 *  this function resets it at the end. */
static spmm_status measure_dram_bound(sp_session *s)
{
    const sp_place *const place = &s->job->place;
    const spmm_status status = sp_touched_columns(&s->job->dist.block.csr, &s->touched);
    TRY(sp_agree(place->grid.comm, "bandwidth", status));
    const spmm_status measured = sp_copy_bandwidth(&place->grid, &place->binding, &s->copy_bandwidth);
    sp_peak_restart();
    return measured;
}

/** The results of --kernel all. */
typedef struct comparison {
    sp_record *runs;
    /** For each kernel, the reason why it was left out, for the last such K; "": it was not */
    char (*left_out)[SP_MESSAGE_BYTES];
} comparison;

/** Loads the other libraries that provide kernels for the job's device, before anything is timed. Skips
 *  libraries that cannot be used on every rank; rank 0 notes the reason in c->left_out. Collective. */
static spmm_status open_libraries(sp_session *s, comparison *c)
{
    const sp_job *const job = s->job;
    const int threads = job->place.binding.threads;
    int ours, count;
    (void)sp_kernels(&ours);
    const sp_kernel *const kernel = sp_kernels_all(&count);
    for (int i = ours; i < count; i++) {
        char path[SP_MESSAGE_BYTES];
        const char *version;
        const int found = kernel[i].device == job->place.binding.device &&
                          sp_peer_kernel_found(&kernel[i], path, sizeof path);
        const int broken = found && sp_peer_kernel_open(&kernel[i], threads, &version) != SPMM_OK;
        double missing = !found || broken;
        if (broken) snprintf(c->left_out[i], sizeof *c->left_out, "%s", spmm_error_message());
        TRY(sp_slowest(job->place.grid.comm, &missing, 1));
        s->unusable[i - ours] = missing > 0;
    }
    return SPMM_OK;
}

/** Makes one run with K = k for every kernel of the job's device and format. Appends each record to c->runs,
 *  and increments s->runs. */
static spmm_status multiply_every(sp_session *s, int64_t k, comparison *c)
{
    const sp_job *const job = s->job;
    int ours, kernels;
    (void)sp_kernels(&ours);
    const sp_kernel *kernel = sp_kernels_all(&kernels);
    for (int i = 0; i < kernels; i++) {
        if (kernel[i].device != job->place.binding.device || (i >= ours && s->unusable[i - ours])) continue;
        if (job->options.format != SPMM_FORMAT_AUTO && job->options.format != kernel[i].format) continue;
        if (!sp_kernel_takes(&kernel[i], job->options.precision)) continue;
        if (job->options.bits == SP_BITS_EXACT &&
            !sp_kernel_is_exact(&kernel[i], job->options.precision, INT64_MAX))
            continue;
        const spmm_status status = sp_job_run(s, &kernel[i], k);
        if (status == SPMM_OK) {
            c->runs[s->runs - 1] = s->record;
        } else if (status == SPMM_ERR_LIMIT) {
            snprintf(c->left_out[i], sizeof *c->left_out, "%s", spmm_error_message());
        } else {
            return status;
        }
    }
    return SPMM_OK;
}

/** Returns the median time of kernel `id` in the runs with K = k. If `id` is NULL, returns the median time of
 *  this library's fastest kernel. */
static double median_of(const sp_record *runs, int count, int64_t k, const char *id)
{
    double least = INFINITY;
    for (const sp_record *r = runs; r < runs + count; r++)
        if (r->run.k == k && !r->library.version[0] && (!id || strcmp(r->run.kernel, id) == 0))
            least = fmin(least, r->apply.median);
    return least;
}

/** Stores the kernel that `auto` selects for K number i, and its time relative to this library's best kernel.
 *  Collective. */
static spmm_status note_auto(sp_session *s, int i, const sp_record *runs)
{
    const sp_job *const job = s->job;
    const int64_t k = job->input.columns.k[i];
    spmm_plan_options options = sp_job_plan_options(&job->options, &job->place.binding);
    spmm_plan *plan;
    sp_plan_facts facts;
    spmm_plan_study study = sp_job_plan_study(&job->options);
    options.format = job->options.format;
    options.transport = s->transport;
    study.all_kernels = 0;
    TRY(sp_plan_create(&job->dist.ghosted, NULL, sp_job_slice(job), k, &options, &study, &plan));
    sp_plan_facts_of(plan, &facts);
    const double taken = median_of(runs, s->runs, k, facts.kernel->id),
                 best = median_of(runs, s->runs, k, NULL);
    const sp_decision *const kernel = &facts.decisions->row[SP_DECIDES_KERNEL];
    size_t used = 0;
    sp_text_add(s->why[i], sizeof s->why[i], &used, "%s, %s", kernel->taken, kernel->why);
    if (best > 0 && taken < INFINITY)
        sp_text_add(s->why[i], sizeof s->why[i], &used, ": %.2f of our best time", taken / best);
    spmm_plan_destroy(plan);
    return SPMM_OK;
}

/** Prints which kernels were left out, and why: a line for each reason. */
static void say_left_out(comparison *c)
{
    int kernels;
    const sp_kernel *const kernel = sp_kernels_all(&kernels);
    const char *label = "left out";
    for (int i = 0; i < kernels; i++) {
        char text[2 * SP_MESSAGE_BYTES];
        size_t used = 0;
        if (!c->left_out[i][0]) continue;
        const int named = strncmp(c->left_out[i], kernel[i].id, strlen(kernel[i].id)) == 0;
        sp_text_add(text, sizeof text, &used, "%s", named ? c->left_out[i] : kernel[i].id);
        for (int same = i + 1; same < kernels && !named; same++)
            if (strcmp(c->left_out[same], c->left_out[i]) == 0) {
                sp_text_add(text, sizeof text, &used, ", %s", kernel[same].id);
                c->left_out[same][0] = '\0';
            }
        if (!named) sp_text_add(text, sizeof text, &used, ": %s", c->left_out[i]);
        sp_report_line(stdout, label, text);
        label = "";
    }
}

/** Prints the versions of the other libraries that multiplied. */
static void say_theirs(const sp_session *s, const sp_record *runs)
{
    const char *label = "theirs";
    for (int i = 0; i < s->runs; i++) {
        char text[SP_MESSAGE_BYTES];
        int first = 0;
        while (strcmp(runs[first].run.kernel, runs[i].run.kernel) != 0) first++;
        if (first < i || !runs[i].library.version[0]) continue;
        snprintf(text, sizeof text, "%s: %s", runs[i].run.kernel, runs[i].library.version);
        sp_report_line(stdout, label, text);
        label = "";
    }
}

/** Runs every kernel with K number i, and prints their table, also if one of the kernels ends the job. */
static spmm_status compare_one(sp_session *s, int i, comparison *c)
{
    const sp_job *const job = s->job;
    const int before = s->runs, width = sp_job_name_width(job);
    if (job->place.verbosity > 0) sp_report_table_head(stdout, width);
    const spmm_status status = multiply_every(s, job->input.columns.k[i], c);
    if (job->place.verbosity < 0 || s->runs == before) return status;
    if (i > 0 || job->place.verbosity > 0) printf("\n");
    sp_report_comparison(stdout, c->runs + before, s->runs - before, width);
    fflush(stdout);
    return status;
}

static spmm_status compare_all(sp_session *s)
{
    const sp_job *const job = s->job;
    const sp_columns *const columns = &job->input.columns;
    const int64_t ks = columns->count;
    int kernels;
    comparison c = {NULL, NULL};
    (void)sp_kernels_all(&kernels);
    spmm_status status = sp_alloc((void **)&c.runs, kernels * ks, sizeof *c.runs, "records");
    if (status == SPMM_OK)
        status = sp_alloc_zero((void **)&c.left_out, kernels, sizeof *c.left_out, "reasons");
    status = sp_agree(job->place.grid.comm, "report", status);
    if (status == SPMM_OK) status = open_libraries(s, &c);
    for (int i = 0; i < ks && status == SPMM_OK; i++) status = compare_one(s, i, &c);
    if (status == SPMM_OK && s->runs == 0) status = sp_no_kernel(job->options.precision);
    if (status == SPMM_OK && job->place.verbosity >= 0) {
        sp_report_bound(stdout, c.runs);
        say_left_out(&c);
        say_theirs(s, c.runs);
    }
    if (status == SPMM_OK && job->place.verbosity > 0)
        sp_report_launches(stdout, c.runs, s->runs, sp_job_name_width(job));
    for (int i = 0; i < ks && status == SPMM_OK && job->options.verbosity >= 0; i++)
        status = note_auto(s, i, c.runs);
    sp_free(c.left_out);
    sp_free(c.runs);
    return status;
}

/** Prints the kernels and the reasons for their choice: one line if these are the same for all K, otherwise
 *  one line per K.
 *  \param [in] what  beginning of the first line */
static void say_choices(const sp_session *s, const char *what)
{
    const sp_columns *const columns = &s->job->input.columns;
    int differ = 0;
    for (int i = 1; i < columns->count; i++) differ |= strcmp(s->why[i], s->why[0]) != 0;
    for (int i = 0; i < (differ ? columns->count : 1); i++) {
        char text[sizeof s->why[0] + 32] = "";
        size_t used = 0;
        if (differ) sp_text_add(text, sizeof text, &used, "K = %lld: ", (long long)columns->k[i]);
        sp_text_add(text, sizeof text, &used, "%s", s->why[i]);
        sp_report_line(stdout, i == 0 ? what : "", text);
    }
}

/** Returns 1 on the rank that prints a report, unless only the tables are requested. */
static int says(const sp_job *job) { return job->place.verbosity >= 0 && !job->options.brief; }

spmm_status sp_job_multiply(const sp_job *job, const sp_record *record, int *failed)
{
    const sp_options *const o = &job->options;
    const sp_columns *const columns = &job->input.columns;
    const int all = o->all_kernels;
    sp_session s = {.job = job, .transport = o->transport, .record = *record};
    s.peak_bytes = sp_peak_bytes();
    if (o->probe)
        TRY(sp_probe_machine(&job->place.grid, job->place.binding.device, &job->dist.block.csr, columns->k[0],
                             &s.record.probe));
    if (o->probe || (o->verbosity >= 0 && (all || o->verbosity > 0))) TRY(measure_dram_bound(&s));
    if (o->probe && job->place.verbosity >= 0) sp_report_probe(stdout, &s.record);
    if (says(job)) printf("\n");
    if (job->place.verbosity >= 0 && !all) sp_report_table_head(stdout, sp_job_name_width(job));
    if (all) TRY(compare_all(&s));
    for (int i = 0; i < columns->count && !all; i++) TRY(sp_job_run(&s, o->kernel, columns->k[i]));
    if (says(job)) printf("\n");
    if (job->place.verbosity >= 0) sp_report_noise(stdout, s.noisy, s.runs);
    if (says(job)) {
        if (all || !o->kernel) say_choices(&s, all ? "auto" : "kernel");
        sp_report_end(stdout, &s.record, o->verbosity > 0, s.runs, s.failed);
    }
    *failed = s.failed;
    return SPMM_OK;
}
