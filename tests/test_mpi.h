/** test.h under MPI: rank 0 prints, and a check that fails on any rank fails the test. Every rank must
 *  go through the same tests in the same order. */
#ifndef SP_TEST_MPI_H
#define SP_TEST_MPI_H

#include <mpi.h>

#include "test.h"

static int test_any_(int failed)
{
    int any = 0;
    fflush(stdout);
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

/** Call first in main. */
static inline void test_mpi_begin(int *argc, char ***argv, int *size)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_.rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    test_.any = test_any_;
}

/** Return this from main. */
static inline int test_mpi_end(void)
{
    MPI_Finalize();
    return test_end();
}

#endif
