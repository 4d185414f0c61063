/* Block MINRES: (A - SHIFT) X = B for K right-hand sides and a symmetric A, definite or not, on any MPI
 * ranks:
 *     mpicc block_minres.c -o block_minres $(pkg-config --cflags --libs spmm) -lm
 *     mpirun -np 4 ./block_minres [MATRIX [K [TOLERANCE [SHIFT [ROUNDS]]]]]
 * MATRIX is a file or a generator's spec. Exit status: 0 if |b - (A - SHIFT) x| <= TOLERANCE |b| for each
 * column, computed from X; 1 if not; 2 usage; 4 an error. The method (O'Leary, Linear Algebra Appl. 29,
 * 1980; Gutknecht and Schmelzer, Appl. Numer. Math. 58, 2008) minimizes the residuals over the Krylov spaces
 * of all columns together. Here block Lanczos makes an orthonormal basis Q of A times these spaces, and the
 * same recurrence makes P = A^-1 Q. A step is then X += P Q^T R. This gives the iterates of MINRES without a
 * factorization of the block tridiagonal matrix. Dependent columns are dropped; to show this, the last
 * right-hand side equals the first. When R is small, or Q has no columns left, the method restarts from the
 * true residual. In the comments, A stands for A - SHIFT. */
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
    fprintf(stderr, "block_minres: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 4);
}

/** C := A B, all [k x k]; C may be B. */
static void small_product(int k, const double *a, const double *b, double *c)
{
    small sum = {0};
    for (int e = 0; e < k * k * k; e++) sum[e / k] += a[e / k / k * k + e % k] * b[e % k * k + e / k % k];
    memcpy(c, sum, sizeof sum);
}

/** V := Q, where V = Q S, the first r columns of Q are orthonormal, and the others are 0; U := U T, where
 *  Q = V T. A column that depends on the columns before it, up to 1e-7 of its length, is dropped. Uses
 *  Cholesky's method on the Gram matrix G = V^T V = D F^T F D, where the diagonal matrix D has the lengths of
 *  the columns of V. The second pass removes the rounding errors of the first. \return r */
static int orthonormalize(int k, spmm_multivector *v, spmm_multivector *u, double *s)
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
        must(spmm_multivector_times(1, u, t, k, 0, u));
        small_product(k, f, s, s);
    }
    return r;
}

/** The largest ratio of the norms of the columns of R to the numbers b. */
static double largest(int k, const spmm_multivector *r, const double *b)
{
    double most = 0, norm[MOST];
    must(spmm_multivector_norms(MPI_COMM_WORLD, r, norm));
    for (int j = 0; j < k; j++) most = fmax(most, norm[j] / (b[j] > 0 ? b[j] : 1));
    return most;
}

/** Y := (A - shift) X. */
static void multiply(spmm_plan *plan, double shift, const spmm_multivector *x, spmm_multivector *y)
{
    must(spmm_apply(plan, 1, x, 0, y));
    must(spmm_multivector_axpby(-shift, x, 1, y));
}

int main(int argc, char **argv)
{
    enum { B, X, R, Q, P, Q0, P0, W, U, ALL }; /* Q0, P0: the previous Q and P; W, U: become the next */
    spmm_csr a = {.rows = 0};
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector v[ALL];
    small g, s;
    double norm[MOST], residual;
    int rank, rounds = 0, r = 0;
    MPI_Init(&argc, &argv), MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *const matrix = argc > 1 ? argv[1] : "lap2d5:30";
    const int k = argc > 2 ? atoi(argv[2]) : 8, most = argc > 5 ? atoi(argv[5]) : 1000;
    const double tolerance = argc > 3 ? atof(argv[3]) : 1e-10, shift = argc > 4 ? atof(argv[4]) : 1;
    if (rank == 0) must((strchr(matrix, ':') ? spmm_csr_generate : spmm_csr_read)(matrix, SPMM_F64, &a));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block)); /* ranks x 1: Y is distributed as X */
    spmm_csr_destroy(&a);
    if (argc > 6 || k < 1 || k > MOST || !(tolerance > 0) || most < 1 || block.rows != block.cols) {
        if (rank == 0)
            fprintf(stderr, "usage: block_minres [SQUARE MATRIX [K <= 32 [TOLERANCE [SHIFT [ROUNDS]]]]]\n");
        return MPI_Finalize(), 2;
    }
    must(spmm_plan_create(MPI_COMM_WORLD, &block, k, NULL, &plan));
    for (int i = 0; i < ALL; i++) must(spmm_plan_x_create(plan, &v[i]));
    for (int64_t e = 0, j = 0; e < v[B].rows * k; j = ++e % k) /* the last column equals the first */
        ((double *)v[B].data)[e / k * v[B].ld + j] = sin(
            1.7 * (double)((block.x_begin + e / k + 1) * (j < k - 1 ? j + 1 : 1)));
    must(spmm_multivector_norms(MPI_COMM_WORLD, &v[B], norm));
    for (;; rounds++) {
        if (r == 0) { /* start, or restart, from the true residual R: Q S = A R, P = A^-1 Q */
            multiply(plan, shift, &v[X], &v[R]);
            must(spmm_multivector_axpby(1, &v[B], -1, &v[R]));
            residual = largest(k, &v[R], norm);
            if (residual <= tolerance || rounds >= most) break;
            must(spmm_multivector_axpby(1, &v[R], 0, &v[P]));
            multiply(plan, shift, &v[R], &v[Q]);
            r = orthonormalize(k, &v[Q], &v[P], s);
            memset(s, 0, sizeof s); /* Q0 and P0 do not exist yet: they do not contribute */
        }
        must(spmm_multivector_dot(MPI_COMM_WORLD, &v[Q], &v[R], g, k));
        must(spmm_multivector_times(1, &v[P], g, k, 1, &v[X]));  /* X := X + P G, G = Q^T R */
        must(spmm_multivector_times(-1, &v[Q], g, k, 1, &v[R])); /* R := R - Q G */
        multiply(plan, shift, &v[Q], &v[W]);
        must(spmm_multivector_axpby(1, &v[Q], 0, &v[U]));
        must(spmm_multivector_dot(MPI_COMM_WORLD, &v[Q], &v[W], g, k));
        must(spmm_multivector_times(-1, &v[Q], g, k, 1, &v[W])); /* W := A Q - Q G - Q0 S^T, G = Q^T A Q */
        must(spmm_multivector_times(-1, &v[P], g, k, 1, &v[U])); /* U := Q - P G - P0 S^T, so that A U = W */
        for (int e = 0; e < k * k; e++) g[e] = s[e % k * k + e / k];
        must(spmm_multivector_times(-1, &v[Q0], g, k, 1, &v[W]));
        must(spmm_multivector_times(-1, &v[P0], g, k, 1, &v[U]));
        r = orthonormalize(k, &v[W], &v[U], s);
        const spmm_multivector before[2] = {v[Q0], v[P0]};
        v[Q0] = v[Q], v[P0] = v[P], v[Q] = v[W], v[P] = v[U], v[W] = before[0], v[U] = before[1];
        if (largest(k, &v[R], norm) <= tolerance || rounds + 1 == most) r = 0;
    }
    if (rank == 0)
        printf("%s, shift %g, K = %d: %sconverged in %d rounds, residual %.2e\n", matrix, shift, k,
               residual <= tolerance ? "" : "NOT ", rounds, residual);
    for (int i = 0; i < ALL; i++) spmm_multivector_destroy(&v[i]);
    spmm_plan_destroy(plan), spmm_block_destroy(&block), MPI_Finalize();
    return residual <= tolerance ? 0 : 1;
}
