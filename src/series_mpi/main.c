/** Main program of series_mpi: parses the options, loads the series, runs the steps, returns an exit code. */
#include <omp.h>

#include "base/destination.h"
#include "base/enum_words.h"
#include "cli/copy_bandwidth.h"
#include "cli/program.h"
#include "cli/heartbeat.h"
#include "device/device.h"
#include "series_mpi/job.h"

static void list_kernels(void)
{
    int count;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    printf("%-20s  %-7s %-10s %-7s %s\n", "kernel", "device", "step", "layout", "what it is");
    for (int i = 0; i < count; i++)
        printf("%-20s  %-7s %-10s %-7s %s\n", k[i].id, sp_device_word(k[i].device), sp_step_word(k[i].step),
               sp_series_order_word(k[i].layout), k[i].what);
    const char *why;
    if (sp_device_count(&why) == 0) printf("cuda: none can run here: %s\n", why);
    for (int i = 0; i < count; i++)
        if (k[i].step == SP_PEARSON && k[i].ops->missing && (k[i].device == SPMM_CPU || sp_device_built()))
            printf("%s: %s\n", k[i].id, k[i].ops->missing);
}

/** Performs an action that needs no MPI, such as --help. Returns 1 if the program is done, 0 if `action`
 *  needs MPI. */
static int answer(sp_series_action action)
{
    if (action == SP_SERIES_MEASURE || action == SP_SERIES_ACCURACY) return 0;
    if (sp_program_rank() != 0) return 1;
    if (action == SP_SERIES_HELP) sp_series_options_help(stdout);
    if (action == SP_SERIES_VERSION) printf("series_mpi %s\n", SPMM_VERSION);
    if (action == SP_SERIES_LIST_KERNELS) list_kernels();
    return 1;
}

static spmm_status place(sp_series_job *job)
{
    const sp_series_options *const o = &job->options;
    sp_device_choice choice = o->device;
    if (choice == SP_DEVICE_AUTO && o->kernels > 0)
        choice = o->kernel[0]->device == SPMM_CUDA ? SP_DEVICE_CUDA : SP_DEVICE_CPU;
    TRY(sp_grid_create(MPI_COMM_WORLD, 0, 0, &job->grid));
    TRY(sp_share_memory(job->grid.comm, &job->memory));
    TRY(sp_bind_rank(job->grid.comm, choice, o->threads, &job->binding));
    omp_set_num_threads(job->binding.threads);
    if (job->binding.device == SPMM_CPU && o->block != 0)
        return sp_fail(SPMM_ERR_USAGE, "--block-size is for CUDA kernels, and this run is on device cpu");
    return SPMM_OK;
}

/** Measures the copy bandwidth, and fills in those members of job->record that all records share.
 *  Collective. */
static spmm_status describe(sp_series_job *job)
{
    const sp_series_options *const o = &job->options;
    sp_series_record *const r = &job->record;
    TRY(sp_copy_bandwidth(&job->grid, &job->binding, &r->copy_bandwidth));
    TRY(sp_sum(job->grid.comm, &r->copy_bandwidth, 1));
    r->series.source = o->file ? o->file : "generated";
    r->series.count = job->count;
    r->series.length = job->length;
    r->series.start = o->file ? NAN : o->walk.start;
    r->series.epsilon = o->file ? NAN : o->walk.epsilon;
    r->series.seed = o->file ? 0 : (int64_t)o->walk.seed;
    r->series.layout = sp_series_order_word(o->layout);
    r->run.ranks = job->grid.size;
    r->run.threads = job->binding.threads;
    r->run.warmup = o->warmup;
    r->run.block = o->block;
    r->run.device = sp_device_word(job->binding.device);
    r->run.gpu = job->binding.device == SPMM_CUDA ? job->binding.gpu.name : "";
    r->run.host = job->binding.host;
    r->run.precision = sp_precision_word(o->precision);
    r->run.verify = sp_verify_words[o->verify];
    return SPMM_OK;
}

/** Checks that all output files can be written, before the job does any work. Collective. */
static spmm_status check_outputs(const sp_series_job *job)
{
    const sp_series_options *const o = &job->options;
    const sp_named_file files[] = {
        {"the file of series", o->file, SP_READ},
        {"--output", o->output, SP_REPLACED},
        {"--json", o->json, SP_APPENDED},
        {"--csv", o->csv, SP_APPENDED},
    };
    const spmm_status status = sp_series_root(job) ? sp_outputs_check(files, sizeof files / sizeof *files)
                                                   : SPMM_OK;
    return sp_agree(job->grid.comm, "series", status);
}

static spmm_status work(sp_series_job *job)
{
    const int is_verbose = job->options.verbosity >= 0;
    TRY(place(job));
    TRY(check_outputs(job));
    if (job->options.action == SP_SERIES_ACCURACY) return sp_series_accuracy(job);
    TRY(sp_series_load(job));
    TRY(describe(job));
    TRY(sp_series_sample_make(job));
    if (sp_series_root(job) && is_verbose)
        sp_series_report_head(stdout, &job->record, &job->binding, job->read_seconds);
    TRY(sp_series_measure(job));
    if (!sp_series_root(job)) return SPMM_OK;
    if (is_verbose && job->options.verify == SP_VERIFY_SAMPLE && job->sample.count < job->count)
        printf("\n* the sequential program ran on %lld series and their pairs: its times are in proportion\n",
               (long long)job->sample.count);
    if (job->options.verify == SP_VERIFY_NONE)
        printf("DONE, not verified\n");
    else
        printf("%s\n", job->failed ? "FAIL" : "PASS");
    return SPMM_OK;
}

static spmm_status judged(const sp_series_job *job)
{
    int failed = job->failed;
    TRY(sp_bcast(job->grid.comm, 0, &failed, sizeof failed));
    return failed ? sp_fail(SPMM_ERR_VERIFY, "results differ from the sequential program's") : SPMM_OK;
}

int main(int argc, char **argv)
{
    static sp_series_job job;
    int rank, provided;
    sp_watch *watch = NULL;
    spmm_status status = sp_series_options_parse(argc, argv, &job.options);
    if (status == SPMM_OK && answer(job.options.action)) return sp_exit_code(sp_program_flushed(status));
    MPI_Init_thread(&argc, &argv, sp_watch_thread_level(job.options.timeout), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == SPMM_OK) sp_program_warn(rank, job.options.verbosity, job.options.notes);
    if (status == SPMM_OK) status = sp_watch_start(MPI_COMM_WORLD, job.options.timeout, &watch);
    if (status == SPMM_OK) status = work(&job);
    if (status == SPMM_OK) status = judged(&job);
    if (rank == 0) status = sp_program_flushed(status);
    if (status != SPMM_OK) sp_program_print_error(rank, status);
    sp_series_job_destroy(&job);
    sp_watch_stop(watch);
    MPI_Finalize();
    return sp_exit_code(status);
}
