/* MPI: 1 2 3 4 6. The diagonal of a plan's matrix, and rows of multivectors scaled by it. */
#include "diagonal_cases.h"

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_diagonals();
    test_wrong_diagonals();
    test_scaled_rows();
    test_wrong_rows();
    TEST("without an open GPU rows in its memory are not scaled") {
        double one = 1, two = 2;
        const spmm_multivector d = {1, 1, 1, SPMM_F64, SPMM_CUDA, &one, 0, 0, SPMM_ROW_MAJOR};
        spmm_multivector x = d;
        x.data = &two;
        CHECK_INT(spmm_multivector_scale_rows(&d, &x), SPMM_ERR_NO_DEVICE);
    }
    return test_mpi_end();
}
