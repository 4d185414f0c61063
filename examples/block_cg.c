/* Block conjugate gradients: A X = B for K right-hand sides and a symmetric positive definite A, on any MPI
 * ranks:
 *     mpicc block_cg.c -o block_cg $(pkg-config --cflags --libs spmm) -lm
 *     mpirun -np 4 ./block_cg [MATRIX [K [TOLERANCE [ROUNDS]]]]
 * MATRIX is a file or a generator's spec. Exit status: 0 if |b - A x| <= TOLERANCE |b| for each column,
 * computed from X; 1 if not, because A is not definite or ROUNDS is too small; 2 usage; 4 an error. The
 * method (O'Leary, Linear Algebra Appl. 29, 1980) minimizes over the Krylov spaces of all columns together.
 * Residuals are kept as Q C with orthonormal Q (Dubrulle, ETNA 12, 2001), from which dependent columns are
 * dropped; to show this, the last right-hand side equals the first. When Q C is small, the method restarts
 * from the true residual. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spmm.h>

enum { MOST = 32 };
typedef double small[MOST * MOST]; /* [k x k], row-major */

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "block_cg: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 4);
}

/** C := A B, all [k x k]; C may be B. */
static void small_product(int k, const double *a, const double *b, double *c)
{
    small sum = {0};
    for (int e = 0; e < k * k * k; e++) sum[e / k] += a[e / k / k * k + e % k] * b[e % k * k + e / k % k];
    memcpy(c, sum, sizeof sum);
}

/** V := Q, where V = Q S, the first r columns of Q are orthonormal, and the others are 0. A column that
 *  depends on the columns before it, up to 1e-7 of its length, is dropped. Uses Cholesky's method on the Gram
 *  matrix G = V^T V = D F^T F D, where the diagonal matrix D has the lengths of the columns of V. The second
 *  pass removes the rounding errors of the first. \return r */
static int orthonormalize(int k, spmm_multivector *v, double *s)
{
    small g, f, t;
    int r = 0, from[MOST]; /* column j of Q comes from column from[j] of V */
    for (int e = 0; e < k * k; e++) s[e] = e % (k + 1) == 0;
    for (int pass = 0; pass < 2; pass++) {
        must(spmm_multivector_dot(MPI_COMM_WORLD, v, v, g, k));
        memset(f, 0, sizeof f), memset(t, 0, sizeof t), r = 0;
        for (int j = 0; j < k; j++) {
            const double d = sqrt(g[j * k + j]);
            double rest = d > 0;
            for (int i = 0; i < r && d > 0; i++) {
                double sum = g[from[i] * k + j] / (sqrt(g[from[i] * (k + 1)]) * d);
                for (int n = 0; n < i; n++) sum -= f[n * k + from[i]] * f[n * k + j];
                f[i * k + j] = sum / f[i * k + from[i]];
                rest -= f[i * k + j] * f[i * k + j];
            }
            if (rest > 1e-14) f[r * k + j] = sqrt(rest), from[r++] = j;
        }
        for (int e = 0; e < k * k; e++) f[e] *= sqrt(g[e % k * (k + 1)]);
        for (int j = 0; j < r; j++) /* T: the inverse of the columns `from` of F D, so that Q = V T */
            for (int i = j; i >= 0; i--) {
                double sum = i == j;
                for (int n = i + 1; n <= j; n++) sum -= f[i * k + from[n]] * t[from[n] * k + j];
                t[from[i] * k + j] = sum / f[i * k + from[i]];
            }
        must(spmm_multivector_times(1, v, t, k, 0, v));
        small_product(k, f, s, s);
    }
    return r;
}

/** The inverse of the first r rows and columns of G, in place (Gauss and Jordan). \return 0: G is not
 *  positive definite */
static int invert(int k, int r, double *g)
{
    for (int p = 0; p < r; p++) {
        const double pivot = g[p * k + p];
        if (!(pivot > 0)) return 0;
        g[p * k + p] = 1;
        for (int j = 0; j < r; j++) g[p * k + j] /= pivot;
        for (int i = 0; i < r; i++) {
            const double factor = g[i * k + p];
            if (i != p) g[i * k + p] = 0;
            for (int j = 0; j < r && i != p; j++) g[i * k + j] -= factor * g[p * k + j];
        }
    }
    return 1;
}

/** The largest ratio of the norms of the columns of C [rows x k] to the numbers b. */
static double largest(int k, int rows, const double *c, const double *b)
{
    double most = 0;
    for (int j = 0; j < k; j++) {
        double sum = 0;
        for (int i = 0; i < rows; i++) sum += c[i * k + j] * c[i * k + j];
        most = fmax(most, sqrt(sum) / (b[j] > 0 ? b[j] : 1));
    }
    return most;
}

int main(int argc, char **argv)
{
    spmm_csr a = {.rows = 0};
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector v[5], *b = v, *x = v + 1, *q = v + 2, *p = v + 3, *ap = v + 4;
    small c, s, g, gc;
    double norm[MOST], now[MOST], residual = INFINITY;
    int rank, rounds = 0, r = 0, most = argc > 4 ? atoi(argv[4]) : 1000;
    MPI_Init(&argc, &argv), MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *const matrix = argc > 1 ? argv[1] : "lap2d5:40";
    const int k = argc > 2 ? atoi(argv[2]) : 8;
    const double tolerance = argc > 3 ? atof(argv[3]) : 1e-10;
    if (rank == 0) must((strchr(matrix, ':') ? spmm_csr_generate : spmm_csr_read)(matrix, SPMM_F64, &a));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block)); /* ranks x 1: Y is distributed as X */
    spmm_csr_destroy(&a);
    if (argc > 5 || k < 1 || k > MOST || !(tolerance > 0) || most < 1 || block.rows != block.cols) {
        if (rank == 0) fprintf(stderr, "usage: block_cg [SQUARE MATRIX [K <= 32 [TOLERANCE [ROUNDS]]]]\n");
        return MPI_Finalize(), 2;
    }
    must(spmm_plan_create(MPI_COMM_WORLD, &block, k, NULL, &plan));
    for (int i = 0; i < 5; i++) must(spmm_plan_x_create(plan, &v[i]));
    for (int64_t e = 0, j = 0; e < b->rows * k; j = ++e % k) /* the last column equals the first */
        ((double *)b->data)[e / k * b->ld + j] = sin(
            1.7 * (double)((block.x_begin + e / k + 1) * (j < k - 1 ? j + 1 : 1)));
    must(spmm_multivector_norms(MPI_COMM_WORLD, b, norm));
    for (;; rounds++) {
        if (r == 0) { /* start, or restart, from the true residual: Q C = B - A X, P = Q */
            must(spmm_apply(plan, -1, x, 0, q));
            must(spmm_multivector_axpby(1, b, 1, q));
            must(spmm_multivector_norms(MPI_COMM_WORLD, q, now));
            residual = largest(k, 1, now, norm);
            if (residual <= tolerance || rounds == most) break;
            r = orthonormalize(k, q, c);
            must(spmm_multivector_axpby(1, q, 0, p));
        }
        must(spmm_apply(plan, 1, p, 0, ap));
        must(spmm_multivector_dot(MPI_COMM_WORLD, p, ap, g, k));
        if (!invert(k, r, g)) memset(g, 0, sizeof g), most = rounds + 1; /* keep X; stop in the next round */
        small_product(k, g, c, gc);
        must(spmm_multivector_times(1, p, gc, k, 1, x));  /* X := X + P G C */
        must(spmm_multivector_times(-1, ap, g, k, 1, q)); /* Q S := Q - A P G */
        r = orthonormalize(k, q, s);
        small_product(k, s, c, c);
        for (int e = 0; e < k * k; e++) g[e] = s[e % k * k + e / k];
        must(spmm_multivector_times(1, p, g, k, 0, p)); /* P := Q + P S^T */
        must(spmm_multivector_axpby(1, q, 1, p));
        if (largest(k, k, c, norm) <= tolerance || rounds + 1 == most) r = 0;
    }
    if (rank == 0)
        printf("%s, K = %d: %sconverged in %d rounds, residual %.2e\n", matrix, k,
               residual <= tolerance ? "" : "NOT ", rounds, residual);
    for (int i = 0; i < 5; i++) spmm_multivector_destroy(&v[i]);
    spmm_plan_destroy(plan), spmm_block_destroy(&block), MPI_Finalize();
    return residual <= tolerance ? 0 : 1;
}
