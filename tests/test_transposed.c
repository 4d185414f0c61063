/* MPI: 1 2 3 4 6; always on: 6. Products with the transpose of a plan's matrix, and new values. */
#include "kernels/cpu/cpu_rows.h"
#include "transposed_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    sp_rows_narrow_from(0); /* f64 values, here integers, are read as f32 even in a small matrix */
    test_products(0);
    test_rectangles();
    test_updates(0);
    test_view();
    test_misuse();
    return test_mpi_end();
}
