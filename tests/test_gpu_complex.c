/* MPI: 1 2 3
 * limit: 300
 * Complex values on GPUs. */
#include "complex_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CUDA;
    if (!gpu_opened("complex values on GPUs")) return test_mpi_end();
    test_complex();
    TEST("every kernel that takes complex values has the serial bits") {
        static const char *const kernels[] = {"csr_rows",      "csr_balanced", "csr_deep",
                                              "csr_clustered", "sell_rows",    "sell_deep"};
        for (int n = 0; n < 6; n++)
            for (int64_t k = 1; k <= 70; k = k < 5 ? k + 1 : 2 * k) {
                check_all("rmat:7,9", n % 2 ? SPMM_C64 : SPMM_C128, k, 1, kernels[n]);
                check_all("longrows:300,3,4,290", n % 2 ? SPMM_C128 : SPMM_C64, k, 1, kernels[n]);
            }
    }
    spmm_device_close();
    return test_mpi_end();
}
