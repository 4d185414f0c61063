/* MPI: 1 2 3 5. The gradient of the values of a plan's matrix. */
#include "values_gradient_cases.h"

int main(int argc, char **argv)
{
    static const char *const isa[] = {"generic", "avx2", "avx512"}; /* most that are used */
    test_mpi_begin(&argc, &argv, &size);
    for (int i = 0; i < 3; i++) {
        setenv("SPMM_ISA", isa[i], 1);
        test_gradients();
    }
    unsetenv("SPMM_ISA");
    test_wrong_gradients();
    return test_mpi_end();
}
