/** Main program of series_mpi: parses the options, loads the series, runs the steps, returns an exit code. */
#include "base/enum_words.h"
#include "base/output_file.h"
#include "device/device.h"
#include "series_mpi/job.h"

static void list_kernels(void)
{
    int count;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    printf("%-24s  %-7s %-10s %-7s %-11s %s\n", "kernel", "device", "step", "layout", "operators",
           "what it is");
    for (int i = 0; i < count; i++)
        printf("%-24s  %-7s %-10s %-7s %-11s %s\n", k[i].id, sp_device_word(k[i].device),
               sp_step_word(k[i].step), sp_series_order_word(k[i].layout), sp_operators_word(k[i].operators),
               k[i].what);
    const char *why;
    if (sp_device_count(&why) == 0) printf("CUDA kernels cannot run here: %s\n", why);
    for (int i = 0; i < count; i++)
        if (k[i].step == SP_PEARSON && k[i].ops->missing && (k[i].device == SPMM_CPU || sp_device_built()))
            printf("%s: %s\n", k[i].id, k[i].ops->missing);
}

static sp_series_job the_job; /* used by main() and by the output that needs no MPI */

static void help(void) { sp_series_options_help(0, stdout); }
static void help_all(void) { sp_series_options_help(1, stdout); }
static void version(void) { printf("series_mpi %s\n", SPMM_VERSION); }

/** The functions that print the output of actions without MPI. */
static void (*const answers[])(void) = {[SP_SERIES_LIST_KERNELS] = list_kernels,
                                        [SP_SERIES_VERSION] = version,
                                        [SP_SERIES_HELP] = help,
                                        [SP_SERIES_HELP_ALL] = help_all};

static spmm_status main_place(const sp_series_options *o, sp_place *place)
{
    sp_device_choice device = o->device;
    if (device == SP_DEVICE_AUTO && o->kernels > 0) device = (sp_device_choice)o->kernel[0]->device;
    TRY(sp_place_create(0, 0, device, o->threads, o->verbosity, place));
    if (place->binding.device == SPMM_CPU && o->block != 0)
        return sp_fail(SPMM_ERR_USAGE,
                       "--block-size is for CUDA kernels, but this run is on device cpu: omit it");
    if (place->binding.device == SPMM_CPU && o->parts_given)
        return sp_fail(SPMM_ERR_USAGE,
                       "--blocks-per-series is for CUDA kernels, but this run is on device cpu: omit it");
    if (place->binding.device == SPMM_CPU && o->memory != SP_DEVICE_MEMORY)
        return sp_fail(SPMM_ERR_USAGE, "--memory %s is for a GPU, but this run is on device cpu: omit it",
                       sp_series_memory_word(o->memory));
    return SPMM_OK;
}

/** Checks that all output files can be written, before the job does any work. Collective. */
static spmm_status check_outputs(const sp_series_options *o, const sp_place *place)
{
    const sp_named_file files[] = {
        {"the file of series", o->file, SP_READ},
        {"--output", o->output, SP_COMPRESSED},
        {"--json", o->json, SP_APPENDED},
        {"--csv", o->csv, SP_APPENDED},
    };
    const spmm_status status = sp_is_root(place) ? sp_outputs_check(files, sizeof files / sizeof *files)
                                                 : SPMM_OK;
    return sp_agree(place->grid.comm, "series", status);
}

static spmm_status main_work(void *state)
{
    sp_series_job *const job = state;
    const sp_series_options *const o = &job->options;
    sp_series_record record = {.copy_bandwidth = 0};
    int failed;
    TRY(main_place(o, &job->place));
    TRY(check_outputs(o, &job->place));
    if (o->action == SP_SERIES_ACCURACY) return sp_series_accuracy(o, &job->place);
    if (o->action == SP_SERIES_SUM) return sp_series_sums(job);
    const double start = MPI_Wtime();
    TRY(sp_series_load(job));
    record.series.read_seconds = MPI_Wtime() - start;
    TRY(sp_series_describe(job, &record));
    TRY(sp_series_sample_make(job, &job->sample));
    if (job->place.verbosity >= 0) sp_series_report_head(stdout, &record);
    TRY(sp_series_measure(job, &record, &failed));
    if (job->place.verbosity >= 0 && o->verify == SP_VERIFY_SAMPLE && job->sample.count < job->count)
        printf("\n* the sequential program ran on %lld series and their pairs: its times are scaled in "
               "proportion\n",
               (long long)job->sample.count);
    return sp_program_verdict(&job->place, o->verify, failed, "results differ from the sequential program's");
}

static void main_destroy(void *job) { sp_series_job_destroy(job); }

int main(int argc, char **argv)
{
    const sp_series_options *const o = &the_job.options;
    sp_open_standard_streams();
    const spmm_status status = sp_series_options_parse(argc, argv, &the_job.options);
    const sp_program program = {.name = "series_mpi " SPMM_VERSION,
                                .commit = SPMM_COMMIT,
                                .line = &o->line,
                                .answer = answers[o->action],
                                .timeout = o->timeout,
                                .verbosity = &the_job.options.verbosity,
                                .work = main_work,
                                .destroy = main_destroy,
                                .job = &the_job};
    return sp_program_run(argc, argv, status, &program);
}
