/* MPI: 1 2 3 5
 * limit: 300
 * Complex values on CPUs. */
#include "complex_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_complex();
    TEST("every kernel that takes complex values has the serial bits") {
        static const char *const kernels[] = {"cpu_csr", "cpu_clustered", "cpu_sorted", "cpu_ell",
                                              "cpu_ell_nopad"};
        for (int n = 0; n < 5; n++)
            for (int64_t k = 1; k <= 40; k = 3 * k + 1)
                check_all("lap3d7:5", n % 2 ? SPMM_C64 : SPMM_C128, k, 1, kernels[n]);
    }
    return test_mpi_end();
}
