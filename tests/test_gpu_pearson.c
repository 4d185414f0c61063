/* MPI: 1 2 4 */
/* limit: 180 */
#include "series_pearson_cases.h"

int main(int argc, char **argv)
{
    int size;
    const char *why;
    test_mpi_begin(&argc, &argv, &size);
    if (sp_device_count(&why) == 0) {
        SKIP("coefficients on GPUs", why);
    } else if (spmm_device_open(MPI_COMM_WORLD) != SPMM_OK) {
        if (test_.rank == 0) printf("FAIL opening the GPU: %s\n", spmm_error_message());
    } else {
        test_pearson(SPMM_CUDA);
        spmm_device_close();
    }
    return test_mpi_end();
}
