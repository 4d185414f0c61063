/* MPI: 1 2. A matrix whose arrays may have changed is compared with the matrix of a plan on a GPU. Its arrays
 * are in host memory or in GPU memory. */
#include "update_rows_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CUDA;
    if (!gpu_opened("a plan on a GPU compares new rows with its own")) return test_mpi_end();
    for (on_gpu = 0; on_gpu < 2; on_gpu++) {
        test_updates();
        test_wrong_rows();
    }
    spmm_device_close();
    return test_mpi_end();
}
