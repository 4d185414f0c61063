/* MPI: 1 2 3 5. The gradient of the values of a plan's matrix. */
#include "values_gradient_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_gradients();
    setenv("SPMM_ISA", "generic", 1);
    test_gradients();
    unsetenv("SPMM_ISA");
    test_wrong_gradients();
    return test_mpi_end();
}
