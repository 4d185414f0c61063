/* LOBPCG: the K smallest eigenvalues of a symmetric positive definite matrix, and their eigenvectors, on any
 * MPI ranks:
 *     mpicc lobpcg.c -o lobpcg $(pkg-config --cflags --libs spmm) -lm
 *     mpirun -np 4 ./lobpcg [MATRIX [K [TOLERANCE [ROUNDS]]]]
 * MATRIX is a file or a generator's spec such as lap2d5:30. Exit status: 0 if |A v - lambda v| is at most
 * TOLERANCE * lambda for each of the K vectors, 1 if ROUNDS were not enough, 2 usage, 4 an error.
 * The method (Knyazev, SIAM J. Sci. Comput. 23, 2001): each round finds the best vectors in the span of
 * S = [X P W]: the current vectors, their last changes, and their residuals divided by A's diagonal. A round
 * computes one product A W, the small matrices S^T S and S^T A S, with the same bits on every rank, and
 * [X P] := S R in place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spmm.h>

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "lobpcg: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 4);
}

/* MORE: number of columns beyond the wanted ones, which make these converge faster. MOST: maximum number of
 * columns of X. SMALL: number of elements of a small matrix. */
enum { MORE = 4, MOST = 64, SMALL = 9 * MOST * MOST };

typedef struct solver {
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector s, as, product;    /* S = [X P W] and A S, [rows x 3k]; A times k columns of S */
    int k, m;                           /* m = 3k */
    double value[MOST], residual[MOST]; /* of the columns of X */
    double g[SMALL], h[SMALL], c[SMALL], v[SMALL], r[SMALL]; /* [m x m] */
} solver;

/** Columns [first, first + k) of v: a multivector in the same memory. */
static spmm_multivector columns(const spmm_multivector *v, int first, int k)
{
    return (spmm_multivector){v->rows, k, v->ld,         v->precision, v->space, (double *)v->data + first,
                              0,       0, SPMM_ROW_MAJOR};
}

/** Multiplies columns [first, first + k) of S by A and stores the products in the same columns of A S. The
 *  plan copies the columns of S, because they have no memory for ghost rows. */
static void multiply(solver *s, int first)
{
    const spmm_multivector from = columns(&s->s, first, s->k);
    spmm_multivector to = columns(&s->as, first, s->k);
    must(spmm_apply(s->plan, 1, &from, 0, &s->product));
    must(spmm_multivector_axpby(1, &s->product, 0, &to));
}

static void rotate(int count, int step, double *a, double *b, double cosine, double sine)
{
    for (int i = 0; i < count * step; i += step) {
        const double t = a[i];
        a[i] = cosine * t - sine * b[i];
        b[i] = sine * t + cosine * b[i];
    }
}

/** Jacobi's rotations: H = V diag(value) V^T, H is overwritten. */
static void jacobi(int m, double *h, double *v, double *value)
{
    for (int i = 0; i < m * m; i++) v[i] = i % (m + 1) == 0;
    for (int sweep = 0; sweep < 15; sweep++)
        for (int p = 0; p < m; p++)
            for (int q = p + 1; q < m; q++) {
                const double off = h[p * m + q], a = h[p * m + p], b = h[q * m + q];
                if (fabs(off) <= 1e-16 * sqrt(fabs(a * b)) || off == 0) continue;
                const double tau = (b - a) / (2 * off), t = copysign(1, tau) / (fabs(tau) + hypot(1, tau));
                const double cosine = 1 / hypot(1, t), sine = t * cosine;
                rotate(m, m, &h[p], &h[q], cosine, sine);
                rotate(m, m, &v[p], &v[q], cosine, sine);
                rotate(m, 1, &h[p * m], &h[q * m], cosine, sine);
            }
    for (int i = 0; i < m; i++) value[i] = h[i * m + i];
}

/** C := A B or, with `transposed`, A^T B, all [m x m]. */
static void small_product(int m, const double *a, const double *b, double *c, int transposed)
{
    for (int e = 0; e < m * m; e++) {
        c[e] = 0;
        for (int n = 0; n < m; n++) c[e] += a[transposed ? n * m + e / m : e / m * m + n] * b[n * m + e % m];
    }
}

/** Rayleigh-Ritz: [X P] := S R and A [X P] := A S R, where the columns of X are the best vectors in the span
 *  of S. Nearly dependent directions of S are omitted. G is S^T S and D the diagonal matrix of the inverse
 *  lengths of the columns of S. With D G D = U L U^T, the columns of S T are orthonormal for T = D U
 *  L^-1/2. */
static void improve(solver *s)
{
    const int m = s->m;
    double length[3 * MOST], value[3 * MOST];
    must(spmm_multivector_dot(MPI_COMM_WORLD, &s->s, &s->s, s->g, m));
    must(spmm_multivector_dot(MPI_COMM_WORLD, &s->s, &s->as, s->h, m));
    for (int i = 0; i < m; i++) length[i] = s->g[i * m + i] > 0 ? sqrt(s->g[i * m + i]) : INFINITY;
    for (int i = 0; i < m * m; i++) s->g[i] /= length[i / m] * length[i % m];
    jacobi(m, s->g, s->v, value);
    for (int i = 0; i < m * m; i++)
        s->v[i] *= value[i % m] > 1e-12 ? 1 / (length[i / m] * sqrt(value[i % m])) : 0;
    small_product(m, s->h, s->v, s->c, 0);
    small_product(m, s->v, s->c, s->h, 1); /* T^T H T; columns of omitted directions are 0 */
    jacobi(m, s->h, s->g, value);
    small_product(m, s->v, s->g, s->c, 0);
    for (int j = 0; j < s->k; j++) {
        int least = 0; /* index of the least value above 0: values omitted or already chosen are 0 */
        for (int i = 1; i < m; i++)
            if (value[i] > 0 && (value[least] <= 0 || value[i] < value[least])) least = i;
        s->value[j] = value[least];
        value[least] = 0;
        for (int i = 0; i < m; i++) { /* P is the new X without the contribution of the old X */
            s->r[i * 2 * s->k + j] = s->c[i * m + least];
            s->r[i * 2 * s->k + s->k + j] = i < s->k ? 0 : s->c[i * m + least];
        }
    }
    spmm_multivector xp = columns(&s->s, 0, 2 * s->k), axp = columns(&s->as, 0, 2 * s->k); /* in place */
    must(spmm_multivector_times(1, &s->s, s->r, 2 * s->k, 0, &xp));
    must(spmm_multivector_times(1, &s->as, s->r, 2 * s->k, 0, &axp));
}

/** W := A X - X diag(value), and the norms of its columns. \return 1 if the wanted ones are small enough */
static int converged(solver *s, double tolerance)
{
    const spmm_multivector x = columns(&s->s, 0, s->k), ax = columns(&s->as, 0, s->k);
    spmm_multivector w = columns(&s->s, 2 * s->k, s->k);
    must(spmm_multivector_axpby(1, &x, 0, &w));
    must(spmm_multivector_scale(s->value, &w));
    must(spmm_multivector_axpby(1, &ax, -1, &w));
    must(spmm_multivector_norms(MPI_COMM_WORLD, &w, s->residual));
    for (int j = 0; j < s->k - MORE; j++)
        if (!(s->residual[j] <= tolerance * s->value[j])) return 0;
    return 1;
}

/** W := diag(A)^-1 W. */
static void precondition(solver *s)
{
    const spmm_csr *const a = &s->block.csr; /* its column indices are global: the grid is ranks x 1 */
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            for (int j = 2 * s->k; j < s->m && a->ja[e] == s->block.row_begin + i; j++)
                ((double *)s->s.data)[i * s->s.ld + j] /= ((const double *)a->as)[e];
}

static int solve(solver *s, double tolerance, int rounds)
{
    const int64_t first = s->block.row_begin + 1;
    double *const x = s->s.data;
    for (int64_t i = 0; i < s->s.rows; i++) /* the same start on any number of ranks */
        for (int j = 0; j < s->k; j++) x[i * s->s.ld + j] = sin(1.7 * (double)((first + i) * (j + 1)));
    multiply(s, 0);
    improve(s); /* P and W are still 0 */
    for (int round = 1; round <= rounds; round++) {
        if (converged(s, tolerance)) { /* A X was updated, not multiplied: check with a new product */
            multiply(s, 0);
            if (converged(s, tolerance)) return round;
        }
        precondition(s);
        multiply(s, 2 * s->k);
        improve(s);
    }
    return 0;
}

static void prepare(solver *s, const char *matrix, int wanted, int rank)
{
    spmm_csr a = {.rows = 0};
    if (rank == 0) must((strchr(matrix, ':') ? spmm_csr_generate : spmm_csr_read)(matrix, SPMM_F64, &a));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &s->block)); /* ranks x 1: Y is distributed as X */
    spmm_csr_destroy(&a);
    s->m = 3 * (s->k = wanted + MORE);
    must(spmm_plan_create(MPI_COMM_WORLD, &s->block, s->k, NULL, &s->plan));
    must(spmm_plan_y_create(s->plan, &s->product));
    must(spmm_multivector_create(s->product.rows, s->m, SPMM_F64, SPMM_CPU, &s->s));
    must(spmm_multivector_create(s->product.rows, s->m, SPMM_F64, SPMM_CPU, &s->as));
}

int main(int argc, char **argv)
{
    static solver s;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *const matrix = argc > 1 ? argv[1] : "lap2d5:30";
    const double tolerance = argc > 3 ? atof(argv[3]) : 1e-6;
    const int wanted = argc > 2 ? atoi(argv[2]) : 4, rounds = argc > 4 ? atoi(argv[4]) : 1000;
    if (argc > 5 || wanted < 1 || wanted > MOST - MORE || !(tolerance > 0) || rounds < 1) {
        if (rank == 0) fprintf(stderr, "usage: lobpcg [MATRIX [K <= 60 [TOLERANCE [ROUNDS]]]]\n");
        MPI_Finalize();
        return 2;
    }
    prepare(&s, matrix, wanted, rank);
    const int used = solve(&s, tolerance, rounds);
    for (int j = 0; rank == 0 && j < wanted; j++)
        printf("%4d %20.15g %10.3g\n", j + 1, s.value[j], s.residual[j]);
    if (rank == 0) printf("%sconverged in %d rounds\n", used ? "" : "NOT ", used ? used : rounds);
    spmm_multivector_destroy(&s.s), spmm_multivector_destroy(&s.as), spmm_multivector_destroy(&s.product);
    spmm_plan_destroy(s.plan);
    spmm_block_destroy(&s.block);
    MPI_Finalize();
    return used ? 0 : 1;
}
