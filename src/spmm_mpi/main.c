/** The main program of spmm_mpi: parses the options and runs the phases declared in job.h. */
#include <omp.h>
#include <string.h>

#include "base/enum_words.h"
#include "cli/program.h"
#include "cli/heartbeat.h"
#include "plan/exchange.h"
#include "spmm_mpi/job.h"

static const char *exactness(const sp_kernel *kernel, char *text, size_t n)
{
    if (kernel->exact == SP_EXACT_F64) return "f64";
    if (kernel->exact != SP_EXACT_UNSPLIT) return kernel->exact == SP_EXACT_YES ? "yes" : "no";
    snprintf(text, n, "to %lld", (long long)sp_kernel_row_segment(kernel));
    return text;
}

static void list_kernels(void)
{
    int count;
    const char *why;
    char text[16];
    int width = 0;
    const sp_kernel *kernel = sp_kernels(&count);
    for (int i = 0; i < count; i++)
        if ((int)strlen(kernel[i].id) > width) width = (int)strlen(kernel[i].id);
    printf("%-*s  %-7s %-10s %-8s %s\n", width, "kernel", "device", "format", "exact", "what it is");
    for (int i = 0; i < count; i++)
        printf("%-*s  %-7s %-10s %-8s %s\n", width, kernel[i].id, sp_device_word(kernel[i].device),
               sp_format_word(kernel[i].format), exactness(&kernel[i], text, sizeof text), kernel[i].what);
    printf(
        "exact: bit for bit the serial product; to N: but for rows over N entries; f64: in that precision\n");
    if (sp_device_count(&why) == 0) printf("cuda: none can run here: %s\n", why);
}

static void list_devices(const sp_binding *place)
{
    const char *why;
    const int count = sp_device_count(&why);
    printf("cpu     %d core%s on %s\n", place->cores, place->cores == 1 ? "" : "s", place->host);
    if (count == 0) printf("cuda    none: %s\n", why);
    for (int i = 0; i < count; i++) {
        sp_device_info gpu;
        char text[32];
        if (sp_device_describe(i, &gpu) == SPMM_OK)
            printf("cuda %d  %s, compute capability %d.%d, %d multiprocessors, %s, PCI %s\n", i, gpu.name,
                   gpu.major, gpu.minor, gpu.multiprocessors,
                   sp_bytes_text(text, sizeof text, (double)gpu.memory_bytes), gpu.pci);
        else
            printf("cuda %d  %s\n", i, spmm_error_message());
    }
}

/** Prints for each transport of X whether this build and machine have it. All transports but mpi need
 *  GPUs. */
static void list_transports(void)
{
    const char *none = "";
    const int gpus = sp_device_count(&none);
    for (int t = SPMM_TRANSPORT_MPI; t <= SPMM_TRANSPORT_PEER; t++) {
        const char *const why = sp_transport_missing((spmm_transport)t, SPMM_CUDA);
        printf("transport %-10s  ", sp_transport_word((spmm_transport)t));
        if (why)
            printf("missing: %s\n", why);
        else if (gpus == 0 && t != SPMM_TRANSPORT_MPI)
            printf("missing: it is for GPUs: %s\n", none);
        else
            printf("there\n");
    }
}

/** Handles --help, --version and --list-kernels without MPI, since login nodes may forbid MPI.
 *  \return 1 if the action was one of these and the program must end */
static int answer(sp_action action)
{
    if (action != SP_ACTION_HELP && action != SP_ACTION_VERSION && action != SP_ACTION_LIST_KERNELS) return 0;
    if (sp_program_rank() != 0) return 1;
    if (action == SP_ACTION_HELP) sp_options_help(stdout);
    if (action == SP_ACTION_VERSION) printf("spmm_mpi %s\n", SPMM_VERSION);
    if (action == SP_ACTION_LIST_KERNELS) list_kernels();
    return 1;
}

static spmm_status place(sp_job *job)
{
    const sp_options *o = &job->options;
    const sp_kernel *kernel = o->kernel ? sp_kernel_find(o->kernel) : NULL;
    sp_device_choice choice = o->action == SP_ACTION_LIST_DEVICES ? SP_DEVICE_CPU : o->device;
    if (kernel && choice == SP_DEVICE_AUTO)
        choice = kernel->device == SPMM_CUDA ? SP_DEVICE_CUDA : SP_DEVICE_CPU;
    /* with --dry-run, --grid describes the planned job, not the ranks that run now */
    const int planned = o->action == SP_ACTION_DRY_RUN;
    TRY(sp_grid_create(MPI_COMM_WORLD, planned ? 0 : o->p, planned ? 0 : o->q, &job->grid));
    TRY(sp_share_memory(job->grid.comm, &job->memory));
    TRY(sp_bind_rank(job->grid.comm, choice, o->threads, &job->binding));
    omp_set_num_threads(job->binding.threads); /* default for parallel regions without a num_threads clause */
    return SPMM_OK;
}

/** Reads or generates the matrix and distributes it to the blocks of the ranks.
 *  \param [out] ended  1: the requested action is complete, and no products follow */
static spmm_status distribute(sp_job *job, int *ended)
{
    const sp_action action = job->options.action;
    *ended = 1;
    if (job->options.io_parallel) {
        TRY(sp_job_load(job));
    } else {
        TRY(sp_job_read(job));
        if (action == SP_ACTION_CHECK_CONVERSIONS) return sp_job_check_conversions(job);
        if (action == SP_ACTION_DRY_RUN) return sp_job_dry_run(job);
        TRY(sp_job_partition(job));
        TRY(sp_job_scatter(job));
    }
    TRY(sp_job_halo(job));
    TRY(sp_job_preamble(job));
    *ended = action == SP_ACTION_SCATTER_ONLY;
    return SPMM_OK;
}

static spmm_status work(sp_job *job)
{
    int ended;
    TRY(place(job));
    if (job->options.action == SP_ACTION_LIST_DEVICES) {
        if (job->grid.rank == 0) {
            list_devices(&job->binding);
            list_transports();
        }
        return SPMM_OK;
    }
    TRY(sp_job_check(job));
    TRY(distribute(job, &ended));
    if (ended) return SPMM_OK;
    TRY(sp_job_choose(job));
    TRY(sp_job_multiply(job));
    if (job->grid.rank == 0) {
        if (job->options.verbosity >= 0) sp_report_end(stdout, &job->record, job->runs, job->failed);
        if (job->verify == SP_VERIFY_NONE)
            printf("DONE, not verified\n");
        else
            printf("%s\n", job->failed ? "FAIL" : "PASS");
    }
    return job->failed ? sp_fail(SPMM_ERR_VERIFY, "Y differs from the serial product") : SPMM_OK;
}

int main(int argc, char **argv)
{
    static sp_job job;
    int rank, provided;
    sp_watch *watch = NULL;
    spmm_status status = sp_options_parse(argc, argv, &job.options);
    if (status == SPMM_OK && answer(job.options.action)) return sp_exit_code(sp_program_flushed(status));
    MPI_Init_thread(&argc, &argv, sp_watch_thread_level(job.options.timeout), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    job.start = MPI_Wtime();
    if (status == SPMM_OK) sp_program_warn(rank, job.options.verbosity, job.options.notes);
    if (status == SPMM_OK) status = sp_watch_start(MPI_COMM_WORLD, job.options.timeout, &watch);
    if (status == SPMM_OK) status = work(&job);
    if (rank == 0) status = sp_program_flushed(status);
    if (status != SPMM_OK) sp_program_print_error(rank, status);
    sp_job_destroy(&job);
    sp_watch_stop(watch);
    MPI_Finalize();
    return sp_exit_code(status);
}
