/* MPI: 1 2 3 4
 * limit: 300
 * Products with the transpose of a plan's matrix, and new values on GPUs. */
#include "transposed_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CUDA;
    if (!gpu_opened("products with the transpose on GPUs")) return test_mpi_end();
    test_products(1);
    test_rectangles();
    test_updates(1);
    test_view();
    test_misuse();
    spmm_device_close();
    return test_mpi_end();
}
