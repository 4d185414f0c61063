/** Common code of the programs: the data of a rank, start and end of MPI, verdict, errors and warnings. */
#include "cli/program.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/output_file.h"
#include "base/words.h"
#include "cli/heartbeat.h"
#include "cli/same_command.h"

const char *const sp_verify_words[] = {"full", "sample", "none", NULL};

/* ---- the place of a rank ---- */

spmm_status sp_place_create(int p, int q, sp_device_choice device, int threads, int verbosity,
                            sp_place *place)
{
    place->start = MPI_Wtime();
    TRY(sp_grid_create(MPI_COMM_WORLD, p, q, &place->grid));
    TRY(sp_share_memory(place->grid.comm, &place->memory));
    TRY(sp_bind_rank(place->grid.comm, device, threads, &place->binding));
    if (verbosity >= 0) TRY(sp_find_far_ranks(place->grid.comm, &place->binding));
    if (verbosity > 0) TRY(sp_find_spanning_ranks(place->grid.comm, &place->binding));
    omp_set_num_threads(place->binding.threads);
    place->verbosity = sp_is_root(place) ? verbosity : -1;
    return SPMM_OK;
}

void sp_place_destroy(sp_place *place)
{
    sp_grid_destroy(&place->grid);
    sp_unshare_memory(&place->memory);
}

void sp_program_write_binding(sp_writer *s, const sp_binding *binding)
{
    sp_writer_text(s, "device", sp_device_word(binding->device));
    sp_writer_text(s, "gpu", binding->device == SPMM_CUDA ? binding->gpu.name : "");
    sp_writer_text(s, "host", binding->host);
    sp_writer_int(s, "threads", binding->threads);
}

/* ---- where and when ---- */

static const char *commit = "";
static double load = -1;

double sp_program_load(void) { return load; }

/** Writes the model of the first processor; "" if the system does not name it. */
static void processor(char name[200])
{
    FILE *const file = fopen("/proc/cpuinfo", "r");
    char line[512];
    *name = '\0';
    while (file && !*name && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "CPU part", 8) == 0)
            sscanf(line, "%*[^:]: %199[^\n]", name);
    if (file) fclose(file);
}

void sp_program_write_measured(sp_writer *s)
{
    char date[32], name[200];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    processor(name);
    sp_writer_open(s, "measured");
    sp_writer_text(s, "date", date);
    sp_writer_text(s, "processor", name);
    sp_writer_int(s, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    sp_writer_text(s, "commit", commit);
    sp_writer_double(s, "load_average", load >= 0 ? load : NAN);
    sp_writer_close(s);
}

/* ---- the program ---- */

/** Environment variables that launchers set for each process, NULL: none. The first launcher of which a
 *  variable is set counts, because ranks also see the variables of the launcher that started their launcher.
 *  Only variables that count the processes of one job step: SLURM sets SLURM_NTASKS also for a batch
 *  script. */
static const struct {
    const char *rank, *size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* mpirun of Open MPI */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},   /* mpirun_rsh of MVAPICH */
    {"PMI_RANK", "PMI_SIZE"},                         /* Hydra (MPICH, Intel MPI), srun --mpi=pmi2, PALS */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},              /* flux run */
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},     /* jsrun */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},         /* srun */
    {"PALS_RANKID", NULL},                            /* mpiexec and aprun of HPE */
    {"PMIX_RANK", NULL},                              /* any other launcher with PMIx */
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

int sp_program_rank(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (getenv(launchers[i].rank)) return atoi(getenv(launchers[i].rank));
    return 0;
}

/** Returns the number of processes that the launcher started together, from its environment variables,
 *  without calling MPI; 1 if there is no launcher. */
static int program_launched(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (launchers[i].size && getenv(launchers[i].size)) return atoi(getenv(launchers[i].size));
    return 1;
}

static char unconnected[SP_MESSAGE_BYTES];

const char *sp_program_warning(void) { return unconnected; }

/** Flushes stdout and checks for write errors, so that the program does not report success when a full disk
 *  has lost its output. */
static spmm_status flushed(spmm_status status)
{
    if (status == SPMM_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write to the standard output");
    return status;
}

static void print_error(spmm_status status)
{
    const char *const name = SHOWN(program_invocation_short_name);
    fflush(stdout);
    fprintf(stderr, "%s: error: %s\n", name, spmm_error_message());
    if (status == SPMM_ERR_USAGE) fprintf(stderr, "%s: see %s --help\n", name, name);
}

spmm_status sp_program_verdict(const sp_place *place, sp_verify_mode verify, int failed, const char *what)
{
    TRY(sp_bcast(place->grid.comm, SP_ROOT, &failed, sizeof failed));
    if (sp_is_root(place)) puts(verify == SP_VERIFY_NONE ? "DONE, not verified" : failed ? "FAIL" : "PASS");
    return failed ? sp_fail(SPMM_ERR_VERIFY, "%s", what) : SPMM_OK;
}

/** Warns if MPI does not connect the processes that the launcher started, e.g. because the launcher belongs
 *  to another MPI library. Each of them is rank 0, so one of them prints the warning. Both arguments must be
 *  read before MPI_Init(), which sets these variables in a process that it considers to be alone. */
static void warn_of_singletons(int launched, int launched_rank)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 1 || launched <= 1) return;
    snprintf(
        unconnected, sizeof unconnected,
        "the launcher started %d processes, but MPI does not connect them, so each does all of the work: "
        "use the mpirun of the MPI library of this program, or the right --mpi of srun",
        launched);
    if (launched_rank != 0) return;
    fflush(stdout);
    fprintf(stderr, "%s: warning: %s\n", SHOWN(program_invocation_short_name), unconnected);
}

/** Makes the ranks agree that the command line is valid, and the same on all ranks. If all ranks have the
 *  same --timeout, they are watched during the comparison; if not, the comparison fails. Collective. */
static spmm_status agree_on_command(spmm_status parsed, const sp_program *program, sp_watch **watch)
{
    int most[2] = {program->timeout, -program->timeout};
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD)));
    TRY(sp_watch_start(MPI_COMM_WORLD, most[0] == -most[1] ? program->timeout : 0, watch));
    sp_watch_returned();
    TRY(sp_agree(MPI_COMM_WORLD, "options", parsed));
    TRY(sp_same_command(MPI_COMM_WORLD, program->name, program->line, program->all_read));
    return SP_MPI(MPI_Bcast(program->verbosity, 1, MPI_INT, SP_ROOT, MPI_COMM_WORLD));
}

/** Runs the program's work between MPI_Init() and MPI_Finalize(). Collective. */
static spmm_status program_work(const sp_program *program, int rank)
{
    SP_DEFAULT_FP; /* MPI may have loaded a library that flushes subnormal numbers */
    if (program->answer) {
        if (rank == SP_ROOT) program->answer();
        return SPMM_OK;
    }
    if (*unconnected && *program->verbosity >= 0) printf("warning    %s\n", unconnected);
    return program->work(program->job);
}

int sp_program_run(int argc, char **argv, spmm_status parsed, const sp_program *program)
{
    commit = program->commit;
    if (getloadavg(&load, 1) != 1) load = -1;
    const int launched = program_launched(), launched_rank = sp_program_rank();
    int rank, provided;
    sp_watch *watch = NULL;
    spmm_status status = parsed;
    if ((status != SPMM_OK || program->answer) && launched <= 1) {
        if (status == SPMM_OK) program->answer();
        status = flushed(status);
        if (status != SPMM_OK) print_error(status);
        return sp_exit_code(status);
    }
    if (status == SPMM_OK && !program->answer && sp_option_names_stdout(program->line))
        status = sp_reserve_standard_output();
    sp_watch_call("start", program->timeout, launched_rank);
    MPI_Init_thread(&argc, &argv, sp_watch_thread_level(program->timeout), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    warn_of_singletons(launched, launched_rank);
    status = agree_on_command(status, program, &watch);
    if (status == SPMM_OK) status = program_work(program, rank);
    if (rank == SP_ROOT) status = flushed(status);
    if (rank == SP_ROOT && status != SPMM_OK) print_error(status);
    program->destroy(program->job);
    sp_watch_stop(watch);
    MPI_Finalize();
    sp_watch_returned();
    return sp_exit_code(status);
}
