/* MPI: 1 2 3 4
 * limit: 300
 * How products are called on CPUs. */
#include "apply_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_begin_and_end();
    test_order_of_calls();
    test_wrong_begin();
    test_zero();
    test_layouts();
    return test_mpi_end();
}
