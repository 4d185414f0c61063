/** The frame of the programs: place of a rank, start and end of MPI, verdict, errors and warnings. */
#include "cli/program.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/enum_words.h"
#include "cli/heartbeat.h"

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

/* ---- the program ---- */

int sp_program_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return 0;
}

/** Flushes stdout and checks for write errors, so that the program does not report success when a full disk
 *  has lost its output. */
static spmm_status flushed(spmm_status status)
{
    if (status == SPMM_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write to the standard output");
    return status;
}

static void print_warning(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "%s: warning: %s\n", program_invocation_short_name, text);
}

static void print_error(spmm_status status)
{
    const char *const name = program_invocation_short_name;
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

int sp_program_run(int argc, char **argv, spmm_status parsed, const sp_program *program)
{
    int rank, provided;
    sp_watch *watch = NULL;
    spmm_status status = parsed;
    if (status == SPMM_OK && program->answer) {
        if (sp_program_rank() == 0) program->answer();
        return sp_exit_code(flushed(status));
    }
    MPI_Init_thread(&argc, &argv, sp_watch_thread_level(program->timeout), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == SPMM_OK && rank == 0 && program->verbosity >= 0 && *program->notes)
        print_warning(program->notes);
    if (status == SPMM_OK) status = sp_watch_start(MPI_COMM_WORLD, program->timeout, &watch);
    if (status == SPMM_OK) status = program->work(program->job);
    if (rank == 0) status = flushed(status);
    if (rank == 0 && status != SPMM_OK) print_error(status);
    program->destroy(program->job);
    sp_watch_stop(watch);
    MPI_Finalize();
    return sp_exit_code(status);
}
