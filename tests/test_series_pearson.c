/* MPI: 1 2 3 4 5 */
/* limit: 180 */
#define TEST_TRAPS 0 /* constant series: 0 / 0 */
#include "series_pearson_cases.h"

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    test_pearson(SPMM_CPU);
    return test_mpi_end();
}
