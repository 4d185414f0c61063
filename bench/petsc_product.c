/* Times Y = A X by PETSc's MatMatMult() on several ranks, for comparison with spmm_mpi. make does not build
 * this program, because it needs PETSc 3.21 or newer, and for GPUs one that was configured --with-cuda:
 *
 *     mpicc -O2 bench/petsc_product.c $(pkg-config --cflags --libs petsc) -o petsc_product
 *     spmm_mpi MATRIX --convert A.petsc
 *     mpirun -np 2 petsc_product -a A.petsc -k 8,32,64,128 [-repeat 20] [-mat_type aijcusparse]
 *
 * Ranks have even blocks of rows. A product is timed from a barrier until the slowest rank has its rows of Y,
 * in its GPU's memory if A is there. The first column of Y is checked against MatMult(). If MPI cannot send
 * from GPU memory, PETSc needs -use_gpu_aware_mpi 0. */
#include <petscdevice.h>
#include <petscmat.h>
#include <stdlib.h>

enum { MOST_COLUMNS = 16, MOST_REPEATS = 1000, WARM_UP = 3 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static PetscBool on_gpu; /* A is in GPU memory */

/** Waits for the GPU, if A is there. Sets *seconds to the seconds since `start` on the slowest rank. */
static PetscErrorCode elapsed(double start, double *seconds)
{
    PetscDeviceContext context;
    PetscFunctionBeginUser;
    if (on_gpu) {
        PetscCall(PetscDeviceContextGetCurrentContext(&context));
        PetscCall(PetscDeviceContextSynchronize(context));
    }
    *seconds = MPI_Wtime() - start;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/** Sets *error to the largest difference of the first column of Y from MatMult(), relative to the largest
 *  element of MatMult()'s result. */
static PetscErrorCode check(Mat a, Mat x, Mat y, PetscReal *error)
{
    Vec from, to, column;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(a, &from, &to));
    PetscCall(MatDenseGetColumnVecRead(x, 0, &column));
    PetscCall(VecCopy(column, from));
    PetscCall(MatDenseRestoreColumnVecRead(x, 0, &column));
    PetscCall(MatMult(a, from, to));
    PetscCall(VecNorm(to, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(y, 0, &column));
    PetscCall(VecAXPY(to, -1, column));
    PetscCall(MatDenseRestoreColumnVecRead(y, 0, &column));
    PetscCall(VecNorm(to, NORM_INFINITY, error));
    if (norm > 0) *error /= norm;
    PetscCall(VecDestroy(&from));
    PetscCall(VecDestroy(&to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(Mat a, const char *name, PetscInt k, PetscInt repeats)
{
    Mat x, y;
    VecType vectors;
    MatType type;
    PetscInt rows, cols, own_rows, own_cols;
    PetscReal error;
    double seconds[MOST_REPEATS], start;
    PetscMPIInt ranks;
    PetscFunctionBeginUser;
    PetscCall(MatGetSize(a, &rows, &cols));
    PetscCall(MatGetLocalSize(a, &own_rows, &own_cols));
    PetscCall(MatGetVecType(a, &vectors));
    PetscCall(PetscStrcmpAny(vectors, &on_gpu, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectors, own_cols, PETSC_DECIDE, cols, k,
                                        PETSC_DECIDE, NULL, &x));
    PetscCall(MatSetRandom(x, NULL));
    PetscCall(MatMatMult(a, x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &y));
    for (PetscInt i = -WARM_UP; i < repeats; i++) {
        PetscCall(elapsed(0, &start));
        PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
        start = MPI_Wtime();
        PetscCall(MatMatMult(a, x, MAT_REUSE_MATRIX, PETSC_DEFAULT, &y));
        PetscCall(elapsed(start, &seconds[i < 0 ? 0 : i]));
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, compare);
    PetscCall(check(a, x, y, &error));
    PetscCall(MatGetType(y, &type));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s,%d,%d,%s,%.4f,%.4f,%.4f,%.1e\n", name, (int)ranks, (int)k,
                          type, 1e3 * seconds[repeats / 2], 1e3 * seconds[0], 1e3 * seconds[repeats - 1],
                          (double)error));
    PetscCall(MatDestroy(&x));
    PetscCall(MatDestroy(&y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    char name[PETSC_MAX_PATH_LEN] = "";
    PetscInt columns[MOST_COLUMNS] = {64}, count = MOST_COLUMNS, repeats = 20;
    PetscBool given;
    PetscViewer file;
    Mat a;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-a", name, sizeof name, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-k", columns, &count, &given));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeats, NULL));
    PetscCheck(repeats >= 1 && repeats <= MOST_REPEATS, PETSC_COMM_WORLD, PETSC_ERR_USER,
               "-repeat %d: expected 1 to %d", (int)repeats, MOST_REPEATS);
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &file));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &a));
    PetscCall(MatSetFromOptions(a));
    PetscCall(MatLoad(a, file));
    PetscCall(PetscViewerDestroy(&file));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "matrix,ranks,k,type,median_ms,least_ms,most_ms,error\n"));
    for (PetscInt i = 0; i < (given ? count : 1); i++) PetscCall(run(a, name, columns[i], repeats));
    PetscCall(MatDestroy(&a));
    return PetscFinalize();
}
