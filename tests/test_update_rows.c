/* MPI: 1 2 3 4 6. Values of a matrix whose arrays may have changed, compared with a plan's. */
#include "kernels/cpu/cpu_rows.h"
#include "update_rows_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    sp_rows_narrow_from(0); /* f64 values, here integers, are read as f32 even in a small matrix */
    test_updates();
    test_wrong_rows();
    return test_mpi_end();
}
