/* MPI: 1 2 3 5. The gradient of the values of a plan's matrix. */
#include "base/cpu_isa.h"
#include "values_gradient_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    for (int i = 0; i <= (int)sp_machine_isa(); i++) {
        setenv("SPMM_ISA", sp_isa_name((sp_isa)i), 1);
        test_gradients();
    }
    unsetenv("SPMM_ISA");
    test_wrong_gradients();
    return test_mpi_end();
}
