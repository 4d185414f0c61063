/* PETSc: MatMatMult(MAT_REUSE_MATRIX) of a MATMPIAIJ and a dense matrix, which PETSc stores by columns; for K = 1
 * MatMult of vectors too. On one rank PETSc's own choice of types is the sequential ones. */
#include <petscmat.h>
#include <stdlib.h>

#include "bench.h"

typedef struct product {
    Mat a, x, y; /* y is PETSc's own */
    Vec vx, vy;
    int64_t x_rows, y_rows;
} product;

static const char *open_petsc(char *version, size_t size)
{
    if (sizeof(PetscScalar) != sizeof(double)) return "PETSc's scalars are not doubles";
    if (PetscInitializeNoArguments()) return "PetscInitialize failed";
    PetscPopSignalHandler();
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    return PetscGetVersion(version, size) ? "has no version" : NULL;
}

static void close_petsc(void) { PetscFinalize(); }

/** This rank's rows of A, with columns in the whole matrix's numbers, in PETSc's integers. */
static const char *copy_indices(const spmm_block *block, PetscInt **start, PetscInt **column)
{
    const spmm_csr *const a = &block->csr;
    *start = malloc((size_t)(a->rows + 1) * sizeof **start);
    *column = malloc((size_t)(a->nnz + 1) * sizeof **column);
    if (!*start || !*column) return "no memory";
    if (a->nnz > PETSC_MAX_INT || block->rows > PETSC_MAX_INT) return "too large for PETSc's integers";
    for (int64_t i = 0; i <= a->rows; i++) (*start)[i] = (PetscInt)a->irp[i];
    for (int64_t e = 0; e < a->nnz; e++) (*column)[e] = (PetscInt)(block->col_begin + a->ja[e]);
    return NULL;
}

static const char *make_matrix(const spmm_block *block, Mat *a)
{
    PetscInt *start = NULL, *column = NULL;
    const char *problem = agree(copy_indices(block, &start, &column));
    if (!problem && (MatCreate(MPI_COMM_WORLD, a) ||
                     MatSetSizes(*a, (PetscInt)block->csr.rows, (PetscInt)block->x_rows,
                                 (PetscInt)block->rows, (PetscInt)block->cols) ||
                     MatSetType(*a, MATAIJ) ||
                     /* of the two, the one that is not of the matrix's type does nothing */
                     MatSeqAIJSetPreallocationCSR(*a, start, column, block->csr.as) ||
                     MatMPIAIJSetPreallocationCSR(*a, start, column, block->csr.as)))
        problem = "PETSc could not make the matrix";
    free(start);
    free(column);
    return problem;
}

static const char *begin(const spmm_block *block, void **state)
{
    product *const p = calloc(1, sizeof *p);
    *state = p;
    if (agree(p ? NULL : "no memory")) return "no memory";
    p->x_rows = block->x_rows;
    p->y_rows = block->csr.rows;
    return make_matrix(block, &p->a);
}

static void end_petsc(void *state)
{
    product *const p = state;
    if (!p) return;
    MatDestroy(&p->y);
    MatDestroy(&p->x);
    VecDestroy(&p->vx);
    VecDestroy(&p->vy);
    MatDestroy(&p->a);
    free(p);
}

/* ---- MatMatMult ---- */

static const char *begin_matmat(const spmm_block *block, int64_t k, int threads, void **state)
{
    (void)threads;
    const char *const problem = begin(block, state);
    if (problem) return problem;
    product *const p = *state;
    if (MatCreateDense(MPI_COMM_WORLD, (PetscInt)block->x_rows, PETSC_DECIDE, (PetscInt)block->cols,
                       (PetscInt)k, NULL, &p->x) ||
        MatAssemblyBegin(p->x, MAT_FINAL_ASSEMBLY) || MatAssemblyEnd(p->x, MAT_FINAL_ASSEMBLY))
        return "MatCreateDense failed";
    return MatMatMult(p->a, p->x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->y) ? "MatMatMult failed" : NULL;
}

static const char *run_matmat(void *state)
{
    product *const p = state;
    return MatMatMult(p->a, p->x, MAT_REUSE_MATRIX, PETSC_DEFAULT, &p->y) ? "MatMatMult failed" : NULL;
}

static const char *view_matmat(void *state, side which, view *v)
{
    product *const p = state;
    const Mat m = which == SIDE_X ? p->x : p->y;
    PetscScalar *data;
    PetscInt lead;
    if (MatDenseGetLDA(m, &lead) || MatDenseGetArray(m, &data)) return "MatDenseGetArray failed";
    *v = (view){(double *)data, 1, lead};
    return NULL;
}

static const char *release_matmat(void *state, side which, view *v)
{
    product *const p = state;
    PetscScalar *data = (PetscScalar *)v->data;
    return MatDenseRestoreArray(which == SIDE_X ? p->x : p->y, &data) ? "MatDenseRestoreArray failed" : NULL;
}

static const char *matrix_type(const void *state)
{
    MatType type;
    return MatGetType(((const product *)state)->a, &type) ? "" : type;
}

/* ---- MatMult ---- */

static const char *begin_matmult(const spmm_block *block, int64_t k, int threads, void **state)
{
    (void)threads, (void)k;
    const char *const problem = begin(block, state);
    if (problem) return problem;
    product *const p = *state;
    return MatCreateVecs(p->a, &p->vx, &p->vy) ? "MatCreateVecs failed" : NULL;
}

static const char *run_matmult(void *state)
{
    product *const p = state;
    return MatMult(p->a, p->vx, p->vy) ? "MatMult failed" : NULL;
}

static const char *view_matmult(void *state, side which, view *v)
{
    product *const p = state;
    PetscScalar *data;
    if (VecGetArray(which == SIDE_X ? p->vx : p->vy, &data)) return "VecGetArray failed";
    *v = (view){(double *)data, 1, which == SIDE_X ? p->x_rows : p->y_rows};
    return NULL;
}

static const char *release_matmult(void *state, side which, view *v)
{
    product *const p = state;
    PetscScalar *data = (PetscScalar *)v->data;
    return VecRestoreArray(which == SIDE_X ? p->vx : p->vy, &data) ? "VecRestoreArray failed" : NULL;
}

static const contender forms[] = {{.name = "petsc MatMatMult",
                                   .begin = begin_matmat,
                                   .run = run_matmat,
                                   .view = view_matmat,
                                   .release = release_matmat,
                                   .kernel = matrix_type,
                                   .end = end_petsc},
                                  {.name = "petsc MatMult",
                                   .most_columns = 1,
                                   .begin = begin_matmult,
                                   .run = run_matmult,
                                   .view = view_matmult,
                                   .release = release_matmult,
                                   .kernel = matrix_type,
                                   .end = end_petsc}};

const peer spmm_peer = {.name = "petsc",
                        .forms = forms,
                        .form_count = sizeof forms / sizeof *forms,
                        .open = open_petsc,
                        .close = close_petsc};
