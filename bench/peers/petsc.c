/* PETSc: MatMatMult(MAT_REUSE_MATRIX) of a MATAIJ and a dense matrix, which PETSc stores by columns, or
 * MatMult of vectors. One thread per rank; on one rank PETSc chooses its sequential types. */
#include <petscmat.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/peers/peer.h"

typedef struct matrix {
    peer_matrix a;
    Mat m;
} matrix;

typedef struct product {
    peer_product p;
    Mat a, x, y; /* a: m of `matrix`; y: created by PETSc */
    Vec vx, vy;  /* for MatMult */
} product;

/* bench_cpu uses the first form, which is MatMult for K = 1; bench_mpi uses the other two */
static const peer_form forms[] = {{"petsc", PEER_COLUMN, 1, 0, 1, 0},
                                  {"petsc MatMatMult", PEER_COLUMN, 1, 0, 1, 1},
                                  {"petsc MatMult", PEER_COLUMN, 1, 0, 1, 1}};

static const char *open_petsc(int threads, const char *folder, char *version, size_t size)
{
    (void)threads, (void)folder;
    if (sizeof(PetscScalar) != sizeof(double)) return "PETSc's scalars are not doubles";
    if (PetscInitializeNoArguments()) return "PetscInitialize failed";
    PetscPopSignalHandler();
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    return PetscGetVersion(version, size) ? "has no version" : NULL;
}

/** Converts to PETSc's integers, whose size was chosen when PETSc was built. */
static PetscInt *integers(const int32_t *from, int64_t n)
{
    PetscInt *const to = malloc((size_t)(n + 1) * sizeof *to);
    for (int64_t i = 0; to && i < n; i++) to[i] = (PetscInt)from[i];
    return to;
}

static const char *load_petsc(void *handle)
{
    matrix *const m = handle;
    const peer_matrix *const a = &m->a;
    if (!a->row_start || a->all_rows > PETSC_MAX_INT) return "too large for PETSc's integers";
    PetscInt *const start = integers(a->row_start, a->rows + 1), *const col = integers(a->col, a->nnz);
    const int bad = !start || !col || MatCreate(PETSC_COMM_WORLD, &m->m) ||
                    MatSetSizes(m->m, (PetscInt)a->rows, (PetscInt)a->x_rows, (PetscInt)a->all_rows,
                                (PetscInt)a->cols) ||
                    MatSetType(m->m, MATAIJ) ||
                    /* of these two calls, the one for the other matrix type does nothing */
                    MatSeqAIJSetPreallocationCSR(m->m, start, col, a->val) ||
                    MatMPIAIJSetPreallocationCSR(m->m, start, col, a->val);
    free(start);
    free(col);
    return bad ? "PETSc could not make the matrix" : NULL;
}

static void unload_petsc(void *handle) { MatDestroy(&((matrix *)handle)->m); }

static const char *begin_vectors(product *q)
{
    PetscScalar *x;
    if (MatCreateVecs(q->a, &q->vx, &q->vy) || VecGetArray(q->vx, &x)) return "MatCreateVecs failed";
    memcpy(x, q->p.x, (size_t)q->p.a->x_rows * sizeof *x);
    return VecRestoreArray(q->vx, &x) ? "VecRestoreArray failed" : NULL;
}

static const char *begin_petsc(void *handle)
{
    product *const q = handle;
    const peer_matrix *const a = q->p.a;
    const int vectors = q->p.form == &forms[2] || (q->p.form == &forms[0] && q->p.k == 1);
    q->a = ((const matrix *)a)->m;
    q->p.left_out = vectors && q->p.k > 1;
    if (q->p.left_out) return NULL;
    if (vectors) return begin_vectors(q);
    if (MatCreateDense(PETSC_COMM_WORLD, (PetscInt)a->x_rows, PETSC_DECIDE, (PetscInt)a->cols,
                       (PetscInt)q->p.k, (PetscScalar *)q->p.x, &q->x) ||
        MatAssemblyBegin(q->x, MAT_FINAL_ASSEMBLY) || MatAssemblyEnd(q->x, MAT_FINAL_ASSEMBLY))
        return "MatCreateDense failed";
    return MatMatMult(q->a, q->x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &q->y) ? "MatMatMult failed" : NULL;
}

static void end_petsc(void *handle)
{
    product *const q = handle;
    MatDestroy(&q->x);
    MatDestroy(&q->y);
    VecDestroy(&q->vx);
    VecDestroy(&q->vy);
}

static const char *run_petsc(void *handle)
{
    product *const q = handle;
    if (q->vx) return MatMult(q->a, q->vx, q->vy) ? "MatMult failed" : NULL;
    return MatMatMult(q->a, q->x, MAT_REUSE_MATRIX, PETSC_DEFAULT, &q->y) ? "MatMatMult failed" : NULL;
}

static const char *move_petsc(void *handle, int in)
{
    product *const q = handle;
    const size_t bytes = (size_t)(q->p.a->rows * q->p.k) * sizeof(PetscScalar);
    PetscScalar *y;
    if (q->vy ? VecGetArray(q->vy, &y) : MatDenseGetArray(q->y, &y)) return "PETSc does not give Y";
    memcpy(in ? (void *)y : q->p.y, in ? q->p.y : (void *)y, bytes);
    return (q->vy ? VecRestoreArray(q->vy, &y) : MatDenseRestoreArray(q->y, &y)) ? "PETSc does not take Y"
                                                                                 : NULL;
}

static const char *way_petsc(const void *handle)
{
    MatType type;
    return MatGetType(((const product *)handle)->a, &type) ? "" : type;
}

static void close_petsc(void) { PetscFinalize(); }

const peer_adaptor spmm_peer = {.package = "petsc",
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .matrix_bytes = sizeof(matrix),
                                .product_bytes = sizeof(product),
                                .open = open_petsc,
                                .load = load_petsc,
                                .unload = unload_petsc,
                                .begin = begin_petsc,
                                .end = end_petsc,
                                .run = run_petsc,
                                .move = move_petsc,
                                .way = way_petsc,
                                .close = close_petsc};
