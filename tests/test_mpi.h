/** test.h under MPI: rank 0 prints, and a check that fails on any rank fails the test. Every rank must run
 *  the same tests in the same order. */
#ifndef SP_TEST_MPI_H
#define SP_TEST_MPI_H

#include <mpi.h>

#include "test.h"

/** Returns the maximum of `failed`. Collective over MPI_COMM_WORLD. */
static int test_any_(int failed)
{
    int any = 0;
    fflush(stdout);
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

/** Initializes MPI and the harness; to be called first in main.
 *  \param [out] size  number of ranks */
static inline void test_mpi_begin(int *argc, char ***argv, int *size)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_.rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    test_.any = test_any_;
}

/** Returns the next divisor of n after q; more than n if there is none. */
static inline int next_divisor(int n, int q)
{
    for (q++; q <= n && n % q; q++) continue;
    return q;
}

/** Finalizes MPI and returns main's exit status. */
static inline int test_mpi_end(void)
{
    MPI_Finalize();
    return test_end();
}

#endif
