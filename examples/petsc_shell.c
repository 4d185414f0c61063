/* A PETSc matrix whose products libspmm computes: a MATSHELL with MatMult, MatMultTranspose and MatMatMult,
 * made of a MATMPIAIJ.
 *
 *     mpicc petsc_shell.c -o petsc_shell $(pkg-config --cflags --libs spmm PETSc)
 *     mpirun -np 2 ./petsc_shell [-n 40] [-k 8]
 *
 * (In Debian's pkg-config, PETSc is also named petsc.) The matrix, of convection and diffusion on an n x n
 * grid, is not symmetric. Prints the differences between the products and PETSc's own. Exit status: 0 they
 * agree, 1 they do not, others: an error. For PETSc 3.17 or newer with real scalars. PETSc's dense matrices
 * are column-major, so libspmm copies X in each product. */
#include <petscmat.h>
#include <spmm.h>

static const spmm_precision precision = sizeof(PetscScalar) == sizeof(double) ? SPMM_F64 : SPMM_F32;

/* Data of the shell: a block, and a plan for 1 to k columns, which reads the entries of the block. */
typedef struct products {
    spmm_block block;
    spmm_plan *plan;
    PetscInt k;
} products;

#define SPMM(call) PetscCheck((call) == SPMM_OK, PETSC_COMM_WORLD, PETSC_ERR_LIB, "%s", spmm_error_message())

static PetscErrorCode part_of(Mat local, spmm_rows *part)
{
    const PetscInt *i, *j;
    const PetscScalar *values;
    PetscInt rows;
    PetscBool done;
    PetscFunctionBeginUser;
    PetscCall(MatGetRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_LIB, "no row starts");
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    *part = (spmm_rows){
        .irp = i, .ja = j, .as = values, .irp_bytes = sizeof(PetscInt), .ja_bytes = sizeof(PetscInt)};
    PetscFunctionReturn(0);
}

static PetscErrorCode part_done(Mat local, const spmm_rows *part)
{
    const PetscInt *i = part->irp, *j = part->ja;
    const PetscScalar *values = part->as;
    PetscInt rows;
    PetscBool done;
    PetscFunctionBeginUser;
    PetscCall(MatRestoreRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscFunctionReturn(0);
}

static PetscErrorCode create(Mat a, PetscInt k, products *p)
{
    Mat own, others;
    const PetscInt *map;
    PetscInt first, rows, columns, map_size;
    spmm_rows part[2];
    PetscFunctionBeginUser;
    PetscCall(MatMPIAIJGetSeqAIJ(a, &own, &others, &map));
    PetscCall(MatGetOwnershipRangeColumn(a, &first, NULL));
    PetscCall(MatGetLocalSize(a, &rows, &columns));
    PetscCall(MatGetSize(others, NULL, &map_size));
    PetscCall(part_of(own, &part[0]));
    PetscCall(part_of(others, &part[1]));
    part[0].first_column = first;
    part[1].map = map;
    part[1].map_size = map_size;
    part[1].map_bytes = sizeof(PetscInt);
    SPMM(spmm_block_from_rows(PETSC_COMM_WORLD, rows, columns, precision, part, 2, &p->block));
    PetscCall(part_done(own, &part[0]));
    PetscCall(part_done(others, &part[1]));
    p->k = k;
    SPMM(spmm_plan_create(PETSC_COMM_WORLD, &p->block, k, NULL, &p->plan));
    PetscFunctionReturn(0);
}

static spmm_multivector described(PetscInt rows, PetscInt k, PetscInt ld, const PetscScalar *array)
{
    return (spmm_multivector){.rows = rows,
                              .k = k,
                              .ld = ld > 0 ? ld : 1,
                              .precision = precision,
                              .data = (void *)(size_t)array,
                              .layout = SPMM_COLUMN_MAJOR};
}

static PetscErrorCode multiply(Mat shell, Vec x, Vec y, int transposed)
{
    products *p;
    const PetscScalar *from;
    PetscScalar *to;
    PetscInt x_rows, y_rows;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(shell, &p));
    PetscCall(VecGetLocalSize(x, &x_rows));
    PetscCall(VecGetLocalSize(y, &y_rows));
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(VecGetArrayWrite(y, &to));
    spmm_multivector of_x = described(x_rows, 1, x_rows, from), of_y = described(y_rows, 1, y_rows, to);
    SPMM(spmm_plan_set_k(p->plan, 1));
    SPMM((transposed ? spmm_apply_transposed : spmm_apply)(p->plan, 1, &of_x, 0, &of_y));
    PetscCall(VecRestoreArrayWrite(y, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat shell, Vec x, Vec y) { return multiply(shell, x, y, 0); }

static PetscErrorCode mult_transpose(Mat shell, Vec x, Vec y) { return multiply(shell, x, y, 1); }

/* Y := A X for dense matrices with at most k columns, for which the plan was made. */
static PetscErrorCode mat_mult(Mat shell, Mat x, Mat y, void *unused)
{
    products *p;
    const PetscScalar *from;
    PetscScalar *to;
    PetscInt x_rows, y_rows, k, x_ld, y_ld;
    PetscFunctionBeginUser;
    (void)unused;
    PetscCall(MatShellGetContext(shell, &p));
    PetscCall(MatGetSize(x, NULL, &k));
    PetscCheck(k <= p->k, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
               "X has more columns than the plan was made for");
    PetscCall(MatGetLocalSize(x, &x_rows, NULL));
    PetscCall(MatGetLocalSize(y, &y_rows, NULL));
    PetscCall(MatDenseGetLDA(x, &x_ld));
    PetscCall(MatDenseGetLDA(y, &y_ld));
    PetscCall(MatDenseGetArrayRead(x, &from));
    PetscCall(MatDenseGetArrayWrite(y, &to));
    spmm_multivector of_x = described(x_rows, k, x_ld, from), of_y = described(y_rows, k, y_ld, to);
    SPMM(spmm_plan_set_k(p->plan, k));
    SPMM(spmm_apply(p->plan, 1, &of_x, 0, &of_y));
    PetscCall(MatDenseRestoreArrayWrite(y, &to));
    PetscCall(MatDenseRestoreArrayRead(x, &from));
    PetscFunctionReturn(0);
}

static PetscErrorCode grid_matrix(PetscInt n, Mat *a)
{
    PetscInt begin, end;
    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, a));
    PetscCall(MatSetSizes(*a, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
    PetscCall(MatSetType(*a, MATMPIAIJ));
    PetscCall(MatMPIAIJSetPreallocation(*a, 5, NULL, 5, NULL));
    PetscCall(MatGetOwnershipRange(*a, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
        if (i >= n) PetscCall(MatSetValue(*a, i, i - n, -1.3, INSERT_VALUES));
        if (i % n > 0) PetscCall(MatSetValue(*a, i, i - 1, -1.5, INSERT_VALUES));
        PetscCall(MatSetValue(*a, i, i, 4 + (PetscScalar)(i % 7), INSERT_VALUES));
        if (i % n < n - 1) PetscCall(MatSetValue(*a, i, i + 1, -0.5, INSERT_VALUES));
        if (i < n * n - n) PetscCall(MatSetValue(*a, i, i + n, -0.7, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode difference_of_vectors(Mat a, Mat shell, int transposed, PetscReal *difference)
{
    Vec x, y, z;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(a, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall((transposed ? MatMultTranspose : MatMult)(a, x, y));
    PetscCall((transposed ? MatMultTranspose : MatMult)(shell, x, z));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecAXPY(z, -1, y));
    PetscCall(VecNorm(z, NORM_2, difference));
    *difference /= norm;
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

static PetscErrorCode difference_of_matrices(Mat a, Mat shell, PetscInt k, PetscReal *difference)
{
    Mat x, y, z;
    PetscInt rows;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(a, NULL, &rows));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DECIDE, k, NULL, &x));
    PetscCall(MatSetRandom(x, NULL));
    PetscCall(MatMatMult(a, x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &y));
    PetscCall(MatMatMult(shell, x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &z));
    PetscCall(MatNorm(y, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(z, -1, y, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(z, NORM_FROBENIUS, difference));
    *difference /= norm;
    PetscCall(MatDestroy(&x));
    PetscCall(MatDestroy(&y));
    PetscCall(MatDestroy(&z));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    Mat a, shell;
    products p = {.k = 8};
    PetscInt n = 40, k = 8, rows, columns;
    PetscReal found[3];
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-k", &k, NULL));
    PetscCall(grid_matrix(n, &a));
    PetscCall(create(a, k, &p));
    PetscCall(MatGetLocalSize(a, &rows, &columns));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, rows, columns, PETSC_DETERMINE, PETSC_DETERMINE, &p, &shell));
    PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))mult));
    PetscCall(MatShellSetOperation(shell, MATOP_MULT_TRANSPOSE, (void (*)(void))mult_transpose));
    PetscCall(MatShellSetMatProductOperation(shell, MATPRODUCT_AB, NULL, mat_mult, NULL, MATDENSE, MATDENSE));
    PetscCall(difference_of_vectors(a, shell, 0, &found[0]));
    PetscCall(difference_of_vectors(a, shell, 1, &found[1]));
    PetscCall(difference_of_matrices(a, shell, k, &found[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "differences from PETSc's: MatMult %.3g, MatMultTranspose %.3g, MatMatMult %.3g\n",
                          (double)found[0], (double)found[1], (double)found[2]));
    spmm_plan_destroy(p.plan);
    spmm_block_destroy(&p.block);
    PetscCall(MatDestroy(&shell));
    PetscCall(MatDestroy(&a));
    PetscCall(PetscFinalize());
    const double most = sizeof(PetscScalar) == sizeof(double) ? 1e-14 : 1e-6;
    return found[0] <= most && found[1] <= most && found[2] <= most ? 0 : 1;
}
