/* Where PETSc is not found. */
#include "bench.h"

static const char *open_none(char *version, size_t size)
{
    (void)version, (void)size;
    return "not found when bench_mpi was built (make bench-cpu-deps installs it)";
}

static void close_none(void) {}

const peer spmm_peer = {.name = "petsc", .open = open_none, .close = close_none};
