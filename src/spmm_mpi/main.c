/** The main program of spmm_mpi: parses the options and runs the phases declared in job.h. */
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/output_file.h"
#include "base/words.h"
#include "formats/summation.h"
#include "kernels/peers/peer_kernels.h"
#include "kernels/peers/peer_load.h"
#include "exchange/exchange.h"
#include "plan/plan.h"
#include "spmm_mpi/job.h"

static const char *exactness(const sp_kernel *kernel)
{
    static char to_chain[16];
    snprintf(to_chain, sizeof to_chain, "to %d", SP_CHAIN);
    return kernel->exact == SP_EXACT_F64       ? "f64"
           : kernel->exact == SP_EXACT_UNSPLIT ? to_chain
           : kernel->exact == SP_EXACT_YES     ? "yes"
                                               : "no";
}

static void print_kernel(const sp_kernel *kernel, int width)
{
    printf("%-*s  %-7s %-10s %-8s %s", width, kernel->id, sp_device_word(kernel->device),
           sp_format_word(kernel->format), exactness(kernel), kernel->what);
}

/** Lists the kernels of other libraries: usable ones with the library's version, in the same format as this
 *  library's kernels, and the others with the reason why they cannot be used. */
static void list_others(int width)
{
    int ours, count;
    (void)sp_kernels(&ours);
    const sp_kernel *const kernel = sp_kernels_all(&count);
    printf("other libraries, for comparison; auto and --autotune do not choose them\n");
    for (int i = ours; i < count; i++) {
        char path[SP_MESSAGE_BYTES];
        const char *version;
        if (!sp_peer_kernel_found(&kernel[i], path, sizeof path)) {
            printf("%-*s  not available: %s not found\n", width, kernel[i].id, SHOWN_WHOLE(path));
        } else if (sp_peer_kernel_open(&kernel[i], 1, &version) != SPMM_OK) {
            printf("%s\n", spmm_error_message());
        } else {
            print_kernel(&kernel[i], width);
            printf(" (%s)\n", version);
        }
    }
}

static void list_kernels(void)
{
    int count;
    const char *why;
    int width = 0;
    const sp_kernel *kernel = sp_kernels(&count);
    for (int i = 0; i < count; i++)
        if ((int)strlen(kernel[i].id) > width) width = (int)strlen(kernel[i].id);
    printf("%-*s  %-7s %-10s %-8s %s\n", width, "kernel", "device", "format", "exact", "what it is");
    for (int i = 0; i < count; i++) {
        print_kernel(&kernel[i], width);
        printf("\n");
    }
    list_others(width);
    printf("exact: Y has the bits of the serial product; to N: in rows of at most N entries; f64: only in "
           "f64\n");
    if (sp_device_count(&why) == 0) printf("CUDA kernels cannot run here: %s\n", why);
}

/** Prints the properties of a usable GPU, one per line. Returns 1, or 0 if they cannot be read. */
static int list_properties(int gpu)
{
    sp_device_property list[SP_DEVICE_PROPERTIES];
    int count;
    const int read = sp_device_properties(gpu, list, &count) == SPMM_OK;
    if (!read) printf("        %s\n", spmm_error_message());
    for (int i = 0; i < count; i++) printf("        %-32s  %s\n", list[i].name, list[i].value);
    return read;
}

/** Prints the devices that this process can use. Returns 1; 0 if a GPU cannot be described. */
static int list_devices(const sp_binding *place, int verbose)
{
    const char *why;
    const int count = sp_device_count(&why);
    int right = 1; /* all GPUs were described */
    char text[64];
    printf("cpu     %s on %s\n", sp_cores_text(text, sizeof text, place), place->host);
    if (count == 0) printf("cuda    none: %s\n", why);
    for (int i = 0; i < count; i++) {
        sp_device_info gpu;
        sp_nearness near;
        if (sp_device_describe(i, &gpu) != SPMM_OK) {
            printf("cuda %d  %s\n", i, spmm_error_message());
            right = 0;
            continue;
        }
        printf("cuda %d  %s, compute capability %d.%d, %d multiprocessors, %s, PCI %s", i, gpu.name,
               gpu.major, gpu.minor, gpu.multiprocessors,
               sp_bytes_text(text, sizeof text, (double)gpu.memory_bytes), gpu.pci);
        if (sp_topology_near(gpu.pci, &near)) printf(", near cores %s (NUMA %s)", near.cores, near.numa);
        printf("\n");
        if (verbose) right &= list_properties(i);
    }
    return right;
}

/** Prints for each transport of X except `shared` whether the transport is available in this build and on
 *  this machine. All transports listed here except `mpi` need GPUs. */
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
            printf("missing: it needs a GPU: %s\n", none);
        else
            printf("available\n");
    }
}

static sp_job the_job; /* used by main() and by the output that needs no MPI */

static void help(void) { sp_options_help(0, stdout); }
static void help_all(void) { sp_options_help(1, stdout); }
static void version(void) { printf("spmm_mpi %s\n", SPMM_VERSION); }

/** The functions that print the output of actions without MPI. */
static void (*const answers[])(void) = {[SP_ACTION_LIST_KERNELS] = list_kernels,
                                        [SP_ACTION_VERSION] = version,
                                        [SP_ACTION_HELP] = help,
                                        [SP_ACTION_HELP_ALL] = help_all};

static spmm_status main_place(const sp_options *o, sp_place *place)
{
    /* with --dry-run, --device and --grid describe the planned job, not the ranks that run now */
    const int planned = o->action == SP_ACTION_DRY_RUN;
    const int on_cores = o->action == SP_ACTION_LIST_DEVICES || o->action == SP_ACTION_CONVERT ||
                         (planned && o->device != SP_DEVICE_AUTO);
    sp_device_choice device = on_cores ? SP_DEVICE_CPU : o->device;
    if (o->kernel && device == SP_DEVICE_AUTO) device = (sp_device_choice)o->kernel->device;
    if (o->kernel && o->kernel->device == SPMM_CUDA && !sp_device_built())
        return sp_fail(SPMM_ERR_NO_DEVICE,
                       "--kernel %s runs on GPUs, but this build was made without CUDA: "
                       "build it with nvcc (make CUDA=1), or name a kernel for cpu (--list-kernels)",
                       o->kernel->id);
    return sp_place_create(planned ? 0 : o->p, planned ? 0 : o->q, device, o->threads, o->verbosity, place);
}

/** Returns the seconds since *start, and sets *start to now. */
static double lap(double *start)
{
    const double before = *start;
    *start = MPI_Wtime();
    return *start - before;
}

/** Reads or generates the matrix and distributes its blocks to the ranks.
 *  \param [out] record  the data known so far; zeroed by the caller
 *  \param [out] ended   1: the requested action is complete, and no products follow */
static spmm_status distribute(sp_job *job, sp_record *record, int *ended)
{
    const sp_options *const o = &job->options;
    sp_place *const place = &job->place;
    sp_job_input *const input = &job->input;
    sp_distribution *const d = &job->dist;
    sp_reference *const reference = &job->reference;
    double start = MPI_Wtime();
    *ended = 1;
    if (o->io_parallel) {
        TRY(sp_job_load(o, place, input, d));
        TRY(sp_job_round(o, place, d->block.row_begin, &d->block.csr));
        record->memory.load_peak_bytes = sp_peak_bytes();
        TRY(sp_job_read_x(o, place, input));
        record->seconds.read = lap(&start);
        TRY(sp_job_collect_reference(o, place, d, input, reference));
    } else {
        TRY(sp_job_read(o, place, input));
        if (o->action == SP_ACTION_CONVERT) return sp_job_convert(o, place, input);
        TRY(sp_job_read_x(o, place, input));
        record->seconds.read = lap(&start);
        if (o->action == SP_ACTION_CHECK_CONVERSIONS)
            return sp_job_check_conversions(place, &input->a, o->ell_limit);
        if (o->action == SP_ACTION_DRY_RUN) return sp_job_dry_run(o, place, input);
        TRY(sp_job_round(o, place, 0, &input->a));
        record->seconds.read += lap(&start);
        TRY(sp_job_partition(o, place, input, d, reference));
        record->seconds.partition = lap(&start);
        TRY(sp_job_scatter(o, place, reference, input, d, record));
        record->seconds.scatter = lap(&start);
    }
    start = MPI_Wtime();
    d->block.any_order = d->cut.any_order;
    TRY(sp_ghosted_block_create(&place->grid, &d->block, o->exchange, place->binding.threads, &d->ghosted));
    const spmm_plan_options options = sp_job_plan_options(o, &place->binding);
    TRY(sp_ghosted_block_create_joint(&d->ghosted, &options, &d->joint));
    record->seconds.halo = lap(&start);
    TRY(sp_job_preamble(job, record));
    *ended = o->action == SP_ACTION_SCATTER_ONLY;
    return SPMM_OK;
}

/** Prints the first line before the matrix is read, which may take long. */
static void begin_report(const sp_job *job)
{
    const sp_options *const o = &job->options;
    if (job->place.verbosity < 0 || o->brief || o->action > SP_ACTION_SCATTER_ONLY) return;
    sp_report_head(stdout);
    fflush(stdout);
}

static spmm_status main_work(void *state)
{
    sp_job *const job = state;
    const sp_options *const o = &job->options;
    sp_record record = {.gflops = 0};
    int ended, failed;
    TRY(main_place(o, &job->place));
    if (o->action == SP_ACTION_LIST_DEVICES) {
        if (sp_is_root(&job->place)) {
            const char *why;
            const int right = list_devices(&job->place.binding, o->verbosity > 0);
            list_transports();
            if (o->verbosity > 0 && sp_device_count(&why) > 0)
                printf("Result = %s\n", right ? "PASS" : "FAIL"); /* as deviceQuery ends */
        }
        return SPMM_OK;
    }
    TRY(sp_job_check(o, &job->place, &job->input.file));
    begin_report(job);
    TRY(distribute(job, &record, &ended));
    if (ended) return SPMM_OK;
    TRY(sp_job_multiply(job, &record, &failed));
    return sp_program_verdict(&job->place, job->reference.mode, failed, "Y differs from the serial product");
}

static void main_destroy(void *job)
{
    sp_peers_close();
    sp_job_destroy(job);
}

int main(int argc, char **argv)
{
    const sp_options *const o = &the_job.options;
    sp_open_standard_streams();
    sp_peer_kernels_add();
    const spmm_status status = sp_options_parse(argc, argv, &the_job.options);
    const sp_program program = {.name = "spmm_mpi " SPMM_VERSION,
                                .commit = SPMM_COMMIT,
                                .line = &o->line,
                                .all_read = o->io_parallel,
                                .answer = answers[o->action],
                                .timeout = o->timeout,
                                .verbosity = &the_job.options.verbosity,
                                .work = main_work,
                                .destroy = main_destroy,
                                .job = &the_job};
    return sp_program_run(argc, argv, status, &program);
}
