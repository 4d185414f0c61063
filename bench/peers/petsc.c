/* PETSc: MatMatMult(MAT_REUSE_MATRIX) of a MATSEQAIJ and a dense matrix, which PETSc stores by columns; at K = 1
 * MatMult. One process: sequential, one thread. */
#include <petscmat.h>
#include <stdlib.h>
#include <string.h>

#include "../peer.h"

typedef struct matrix {
    const peer_matrix *a;
    Mat m;
} matrix;

typedef struct product {
    const matrix *a;
    peer_product p;
    Mat x, y; /* K > 1; y is PETSc's own */
    Vec vx, vy;
} product;

static const peer_form forms[] = {{"petsc", PEER_COLUMN, 1, 0, 1}};

static const char *open_petsc(int threads, const char *folder, char *version, size_t size)
{
    (void)threads, (void)folder;
    if (PetscInitializeNoArguments()) return "PetscInitialize failed";
    PetscPopSignalHandler();
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    return PetscGetVersion(version, size) ? "has no version" : NULL;
}

static const char *load_petsc(const peer_matrix *a, void **handle)
{
    matrix *const m = calloc(1, sizeof *m);
    *handle = m;
    if (!m) return "no memory";
    m->a = a;
    /* reads the arrays in place */
    if (MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, (PetscInt)a->rows, (PetscInt)a->cols,
                                  (PetscInt *)a->row_start, (PetscInt *)a->col, (PetscScalar *)a->val, &m->m))
        return "MatCreateSeqAIJWithArrays failed";
    return NULL;
}

static void unload_petsc(void *handle)
{
    matrix *const m = handle;
    if (m) MatDestroy(&m->m);
    free(m);
}

static const char *begin_petsc(void *handle, const peer_product *p, void **out)
{
    product *const q = calloc(1, sizeof *q);
    *out = q;
    if (!q) return "no memory";
    q->a = handle;
    q->p = *p;
    const PetscInt rows = (PetscInt)q->a->a->rows, cols = (PetscInt)q->a->a->cols, k = (PetscInt)p->k;
    PetscScalar *const x = (PetscScalar *)p->x;
    if (k == 1)
        return VecCreateSeqWithArray(PETSC_COMM_SELF, 1, cols, x, &q->vx) ||
                       VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, p->y, &q->vy)
                   ? "VecCreateSeqWithArray failed"
                   : NULL;
    if (MatCreateSeqDense(PETSC_COMM_SELF, cols, k, x, &q->x)) return "MatCreateSeqDense failed";
    return MatMatMult(q->a->m, q->x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &q->y) ? "MatMatMult failed" : NULL;
}

static void end_petsc(void *handle)
{
    product *const q = handle;
    if (!q) return;
    MatDestroy(&q->x);
    MatDestroy(&q->y);
    VecDestroy(&q->vx);
    VecDestroy(&q->vy);
    free(q);
}

static const char *run_petsc(void *handle, double *seconds)
{
    product *const q = handle;
    (void)seconds;
    if (q->p.k == 1) return MatMult(q->a->m, q->vx, q->vy) ? "MatMult failed" : NULL;
    return MatMatMult(q->a->m, q->x, MAT_REUSE_MATRIX, PETSC_DEFAULT, &q->y) ? "MatMatMult failed" : NULL;
}

static const char *fetch_petsc(void *handle)
{
    product *const q = handle;
    const PetscScalar *values;
    if (q->p.k == 1) return NULL;
    if (MatDenseGetArrayRead(q->y, &values)) return "MatDenseGetArrayRead failed";
    memcpy(q->p.y, values, (size_t)(q->a->a->rows * q->p.k) * sizeof *values);
    return MatDenseRestoreArrayRead(q->y, &values) ? "MatDenseRestoreArrayRead failed" : NULL;
}

static void close_petsc(void) { PetscFinalize(); }

const peer spmm_peer = {.package = "petsc",
                        .forms = forms,
                        .form_count = sizeof forms / sizeof *forms,
                        .open = open_petsc,
                        .load = load_petsc,
                        .unload = unload_petsc,
                        .begin = begin_petsc,
                        .end = end_petsc,
                        .run = run_petsc,
                        .fetch = fetch_petsc,
                        .close = close_petsc};
