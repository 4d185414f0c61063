/** The main function of tests that are skipped if there is no GPU. */
#ifndef SP_GPU_MAIN_H
#define SP_GPU_MAIN_H

#include "spmm.h"

#include "test_mpi.h"

/** Opens the device and runs `all`, or `skip` with the reason why there is no device.
 *  \return what main() returns */
static int gpu_main(int argc, char **argv, void (*skip)(const char *why), void (*all)(void))
{
    int ranks;
    test_mpi_begin(&argc, &argv, &ranks);
    if (spmm_device_open(MPI_COMM_WORLD) != SPMM_OK) {
        skip(spmm_error_message());
        return test_mpi_end();
    }
    all();
    spmm_device_close();
    return test_mpi_end();
}

#endif
