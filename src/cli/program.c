/** Prints errors and warnings, determines the rank before MPI_Init(), and checks the standard output. */
#include "cli/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *const sp_verify_words[] = {"full", "sample", "none", NULL};

void sp_program_print_error(int rank, spmm_status status)
{
    const char *const name = program_invocation_short_name;
    if (rank != 0) return;
    fflush(stdout);
    fprintf(stderr, "%s: error: %s\n", name, spmm_error_message());
    if (status == SPMM_ERR_USAGE) fprintf(stderr, "%s: see %s --help\n", name, name);
}

void sp_program_warn(int rank, int verbosity, const char *text)
{
    if (rank != 0 || verbosity < 0 || !*text) return;
    fflush(stdout);
    fprintf(stderr, "%s: warning: %s\n", program_invocation_short_name, text);
}

int sp_program_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return 0;
}

spmm_status sp_program_flushed(spmm_status status)
{
    if (status == SPMM_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write to the standard output");
    return status;
}
