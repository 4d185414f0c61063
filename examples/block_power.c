/* Block power iteration: the K eigenvalues of largest magnitude of a symmetric matrix, and their
 * eigenvectors, on any number of MPI processes, with the products on cores or GPUs. It uses an installed
 * libspmm and MPI, nothing else:
 *
 *     mpicc block_power.c -o block_power $(pkg-config --cflags --libs spmm) -lm
 *     mpirun -np 4 ./block_power [--cuda] [MATRIX [K [TOLERANCE [ROUNDS]]]]
 *
 * MATRIX is a Matrix Market file or a generator's spec such as lap2d5:30. Exit status: 0 if |A v - lambda v|
 * <= TOLERANCE * |lambda_1| for each of the K vectors, 1 if ROUNDS were not enough, 2 usage, 4 an error.
 *
 * The method. A product multiplies the component of a vector along each eigenvector by the eigenvalue, so
 * eigenvectors with large eigenvalues come to dominate. One vector alone would find only the first of them. A
 * block of vectors that is orthonormalized from time to time spans the dominant eigenvectors together, and a
 * Rayleigh-Ritz step combines its columns so that each approximates one eigenvector. Nearly all the work is
 * Y := A X with a few columns: what libspmm is for. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spmm.h>

/* Number of products between two Rayleigh-Ritz steps, without the one that the step itself needs. More
 * products save reductions, but too many make the columns so alike that digits are lost. */
enum { PRODUCTS = 5 };

/* Collective functions of the library return the same status on every rank, so all ranks could leave
 * together. Local functions, and spmm_apply, may fail on one rank alone. This example ends all ranks in both
 * cases. */
#define MUST(call)                                                      \
    do {                                                                \
        if ((call) != SPMM_OK) {                                        \
            fprintf(stderr, "block_power: %s\n", spmm_error_message()); \
            MPI_Abort(MPI_COMM_WORLD, 4);                               \
        }                                                               \
    } while (0)

static void stop(int code, const char *text)
{
    fprintf(stderr, "block_power: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* ---- the problem ---- */

/** This rank's rows of a block of vectors: `plan` in the memory of the plan's device, `host` in host memory,
 *  where this program computes. Without a GPU both are the same memory. */
typedef struct vectors {
    spmm_multivector plan, host;
} vectors;

typedef struct solver {
    spmm_block block; /**< this rank's rows of A */
    spmm_plan *plan;
    spmm_device device;
    vectors x, y;      /**< swapped after each product */
    int wanted, k;     /**< wanted eigenvectors; columns of the block, some more */
    double *g, *l, *v; /**< small matrices, [k x k] */
    double *value;     /**< eigenvalues, [k] */
    double *residual;  /**< |A v - lambda v|, [k] */
    double products;   /**< seconds in spmm_apply */
    int count, rounds; /**< numbers of products and of Rayleigh-Ritz steps */
} solver;

/** Creates the matrix on rank 0 and scatters it: each rank gets rows, with about equally many entries. */
static void load(solver *s, const char *matrix, int rank)
{
    spmm_csr a = {.rows = 0};
    if (rank == 0) {
        const int generated = strchr(matrix, ':') != NULL;
        MUST(generated ? spmm_csr_generate(matrix, SPMM_F64, &a) : spmm_csr_read(matrix, SPMM_F64, &a));
    }
    /* 0 x 0: ranks x 1. On such a grid, and with a square A, X and Y are distributed alike */
    MUST(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &s->block));
    spmm_csr_destroy(&a); /* the whole matrix is no longer needed */
    if (s->block.rows != s->block.cols) stop(4, "the matrix is not square");
}

static void vectors_create(const solver *s, vectors *v)
{
    /* not spmm_plan_y_create(): x and y are swapped, so both need the memory of an X for ghost rows */
    MUST(spmm_plan_x_create(s->plan, &v->plan));
    v->host = v->plan;
    if (s->device == SPMM_CUDA)
        MUST(spmm_multivector_create(v->plan.rows, s->k, SPMM_F64, SPMM_CPU, &v->host));
}

static void vectors_destroy(const solver *s, vectors *v)
{
    if (s->device == SPMM_CUDA) spmm_multivector_destroy(&v->host);
    spmm_multivector_destroy(&v->plan);
}

static void prepare(solver *s)
{
    /* Columns beyond the wanted ones converge slowly, but make the wanted ones converge faster: a product
     * reduces their errors by the factor |lambda_k+1 / lambda_wanted|. */
    s->k = 2 * s->wanted < s->block.rows ? 2 * s->wanted : (int)s->block.rows;
    if (s->wanted > s->k) stop(2, "K exceeds the number of rows of the matrix");
    const spmm_plan_options options = {.device = s->device};
    MUST(spmm_plan_create(MPI_COMM_WORLD, &s->block, s->k, &options, &s->plan));
    vectors_create(s, &s->x);
    vectors_create(s, &s->y);
    const size_t k = (size_t)s->k;
    s->g = calloc(3 * k * k + 2 * k, sizeof *s->g); /* one allocation for all */
    if (!s->g) stop(4, "no memory");
    s->l = s->g + k * k;
    s->v = s->l + k * k;
    s->value = s->v + k * k;
    s->residual = s->value + k;
}

static void release(solver *s)
{
    free(s->g);
    vectors_destroy(s, &s->x);
    vectors_destroy(s, &s->y);
    spmm_plan_destroy(s->plan);
    spmm_block_destroy(&s->block);
}

/* ---- moving and multiplying blocks ---- */

static double *row(const vectors *v, int64_t i) { return (double *)v->host.data + i * v->host.ld; }

static void fetch(const solver *s, vectors *v)
{
    if (s->device == SPMM_CUDA) MUST(spmm_multivector_copy(&v->plan, &v->host));
}

static void store(const solver *s, vectors *v)
{
    if (s->device == SPMM_CUDA) MUST(spmm_multivector_copy(&v->host, &v->plan));
}

/** Y := alpha A X. */
static void multiply(solver *s, double alpha)
{
    const double start = MPI_Wtime();
    MUST(spmm_apply(s->plan, alpha, &s->x.plan, 0, &s->y.plan));
    s->products += MPI_Wtime() - start;
    s->count++;
}

/** What was Y becomes X: nothing is copied. */
static void swap(solver *s)
{
    const vectors t = s->x;
    s->x = s->y;
    s->y = t;
}

/** Fills a column with random numbers that depend on the row in the whole matrix, so that the start is the
 *  same on any number of ranks. */
static void randomize(const solver *s, vectors *v, int column, int seed)
{
    for (int64_t i = 0; i < v->host.rows; i++) {
        uint64_t h = (uint64_t)(s->block.x_begin + i) * 2654435761u + (uint64_t)(seed + column) * 40503u + 1;
        for (int step = 0; step < 3; step++) h = (h ^ (h >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
        row(v, i)[column] = (double)(h >> 11) * 0x1p-53 - 0.5;
    }
}

/** Replaces the values by their sums over all ranks. The bits must be the same on all ranks, or their
 *  decisions could differ. MPI_Allreduce does not guarantee that, so rank 0 sums and broadcasts. */
static void sum_over_ranks(double *values, int count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(values, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/** G := A^T B: one reduction for all pairs of columns. */
static void inner_products(const solver *s, const vectors *a, const vectors *b, double *g)
{
    const int k = s->k;
    memset(g, 0, (size_t)(k * k) * sizeof *g);
    for (int64_t r = 0; r < a->host.rows; r++)
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++) g[i * k + j] += row(a, r)[i] * row(b, r)[j];
    sum_over_ranks(g, k * k);
}

/* ---- orthonormalization: Cholesky QR, two reductions for all columns together ---- */

/** G = L L^T. \return k, or the first column that depends on those before it. */
static int cholesky(int k, const double *g, double *l)
{
    for (int j = 0; j < k; j++) {
        double pivot = g[j * k + j];
        for (int c = 0; c < j; c++) pivot -= l[j * k + c] * l[j * k + c];
        if (!(pivot > 1e-12 * g[j * k + j])) return j; /* also true for NaN */
        l[j * k + j] = sqrt(pivot);
        for (int i = j + 1; i < k; i++) {
            double sum = g[i * k + j];
            for (int c = 0; c < j; c++) sum -= l[i * k + c] * l[j * k + c];
            l[i * k + j] = sum / l[j * k + j];
        }
    }
    return k;
}

/** X := X L^-T, which makes X^T X the identity; rows are independent, so there are no messages. */
static void solve_rows(const solver *s, vectors *x)
{
    const int k = s->k;
    for (int64_t r = 0; r < x->host.rows; r++)
        for (int j = 0; j < k; j++) {
            double sum = row(x, r)[j];
            for (int c = 0; c < j; c++) sum -= row(x, r)[c] * s->l[j * k + c];
            row(x, r)[j] = sum / s->l[j * k + j];
        }
}

/** Makes the columns of X orthonormal and keeps their span. One pass leaves errors that grow with the square
 *  of the condition number; after a second pass only rounding errors are left. */
static void orthonormalize(solver *s, vectors *x)
{
    int attempts = 0;
    for (int pass = 0; pass < 2;) {
        inner_products(s, x, x, s->g);
        const int bad = cholesky(s->k, s->g, s->l);
        if (bad == s->k) {
            solve_rows(s, x);
            pass++;
        } else {
            /* the matrix has a lower rank than the block has columns: try another direction */
            if (++attempts > 2 * s->k) stop(4, "the vectors cannot be made orthonormal");
            randomize(s, x, bad, 1000 * (s->rounds + 1) + attempts);
        }
    }
}

/* ---- eigenvalues of a small symmetric matrix: Jacobi's rotations ---- */

/** Rotates rows and columns p and q of H so that element (p, q) becomes 0; V accumulates the rotations. */
static void turn(int k, double *h, double *v, int p, int q)
{
    const double twice = 2 * h[p * k + q], apart = h[q * k + q] - h[p * k + p];
    if (twice == 0) return;
    /* the smaller of the two possible angles, because sweeps then converge */
    const double angle = 0.5 * (apart < 0 ? atan2(-twice, -apart) : atan2(twice, apart));
    const double c = cos(angle), n = sin(angle);
    for (int i = 0; i < k; i++) {
        const double a = h[i * k + p], b = h[i * k + q], d = v[i * k + p], e = v[i * k + q];
        h[i * k + p] = c * a - n * b;
        h[i * k + q] = n * a + c * b;
        v[i * k + p] = c * d - n * e;
        v[i * k + q] = n * d + c * e;
    }
    for (int i = 0; i < k; i++) {
        const double a = h[p * k + i], b = h[q * k + i];
        h[p * k + i] = c * a - n * b;
        h[q * k + i] = n * a + c * b;
    }
}

/** H = V diag(value) V^T, H is overwritten. */
static void jacobi(int k, double *h, double *v, double *value)
{
    for (int i = 0; i < k * k; i++) v[i] = i % (k + 1) == 0;
    for (int sweep = 0; sweep < 40; sweep++) {
        double off = 0, all = 0;
        for (int i = 0; i < k * k; i++) {
            all += h[i] * h[i];
            if (i % (k + 1) != 0) off += h[i] * h[i];
        }
        if (off <= 1e-32 * all) break;
        for (int p = 0; p < k; p++)
            for (int q = p + 1; q < k; q++) turn(k, h, v, p, q);
    }
    for (int i = 0; i < k; i++) value[i] = h[i * k + i];
}

/** Sorts the eigenvalues and their vectors, largest magnitude first. */
static void sort(int k, double *v, double *value)
{
    for (int i = 0; i < k; i++) {
        int top = i;
        for (int j = i + 1; j < k; j++)
            if (fabs(value[j]) > fabs(value[top])) top = j;
        for (int r = -1; r < k; r++) { /* r = -1: the values; then the vectors' rows */
            double *const line = r < 0 ? value : v + r * k;
            const double t = line[i];
            line[i] = line[top];
            line[top] = t;
        }
    }
}

/* ---- Rayleigh-Ritz ---- */

/** A := A V: replaces the columns of the block by combinations of them. */
static void combine(const solver *s, vectors *a, double *scratch)
{
    for (int64_t r = 0; r < a->host.rows; r++) {
        memcpy(scratch, row(a, r), (size_t)s->k * sizeof *scratch);
        for (int j = 0; j < s->k; j++) {
            double sum = 0;
            for (int i = 0; i < s->k; i++) sum += scratch[i] * s->v[i * s->k + j];
            row(a, r)[j] = sum;
        }
    }
}

static void must_be_symmetric(int k, const double *h)
{
    double apart = 0, all = 0;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            apart += fabs(h[i * k + j] - h[j * k + i]);
            all += fabs(h[i * k + j]);
        }
    if (apart > 1e-8 * all) stop(4, "the matrix is not symmetric");
}

/** X is orthonormal and Y = A X. Within the span of X, the best approximations to eigenvectors are X V, where
 *  X^T A X = V diag(value) V^T. Y is also multiplied by V, so that Y = A X still holds: residuals then need
 *  no product, and Y is the X of the next product. */
static void rayleigh_ritz(solver *s)
{
    inner_products(s, &s->x, &s->y, s->g);
    must_be_symmetric(s->k, s->g);
    jacobi(s->k, s->g, s->v, s->value);
    sort(s->k, s->v, s->value);
    combine(s, &s->x, s->l);
    combine(s, &s->y, s->l);
}

/** \return 1 when the wanted vectors are good enough; the same on every rank */
static int converged(solver *s, double tolerance)
{
    int good = 1;
    memset(s->residual, 0, (size_t)s->k * sizeof *s->residual);
    for (int64_t r = 0; r < s->x.host.rows; r++)
        for (int j = 0; j < s->k; j++) {
            const double d = row(&s->y, r)[j] - s->value[j] * row(&s->x, r)[j];
            s->residual[j] += d * d;
        }
    sum_over_ranks(s->residual, s->k);
    for (int j = 0; j < s->k; j++) s->residual[j] = sqrt(s->residual[j]);
    for (int j = 0; j < s->wanted; j++) good &= s->residual[j] <= tolerance * fabs(s->value[0]);
    return good;
}

/** One round: powers, an orthonormal basis, the best vectors in it. */
static int improve(solver *s, double tolerance)
{
    /* without scaling, A^n X would soon leave the range of a double; before the first round the scale is
     * unknown */
    const double alpha = s->value[0] != 0 ? 1 / fabs(s->value[0]) : 1;
    for (int i = 0; i < (s->rounds > 0 ? PRODUCTS : 0); i++) {
        multiply(s, alpha);
        swap(s);
    }
    fetch(s, &s->x);
    orthonormalize(s, &s->x);
    store(s, &s->x);
    multiply(s, 1);
    fetch(s, &s->y);
    rayleigh_ritz(s);
    s->rounds++;
    return converged(s, tolerance);
}

static int iterate(solver *s, double tolerance, int rounds)
{
    for (int j = 0; j < s->k; j++) randomize(s, &s->x, j, 1);
    store(s, &s->x);
    int done = improve(s, tolerance);
    while (!done && s->rounds < rounds) {
        swap(s); /* A X from the previous round is the first power */
        store(s, &s->x);
        done = improve(s, tolerance);
    }
    return done;
}

/* ---- the program ---- */

static void report(const solver *s, const char *matrix, int ranks, double seconds, double tolerance, int done)
{
    printf("%s: %lld rows, %d rank%s, %s, kernel %s, %d vectors\n", matrix, (long long)s->block.rows, ranks,
           ranks == 1 ? "" : "s", s->device == SPMM_CUDA ? "cuda" : "cpu", spmm_plan_kernel(s->plan), s->k);
    printf("%4s %22s %18s\n", "", "eigenvalue", "|A v - lambda v|");
    for (int j = 0; j < s->wanted; j++) printf("%4d %22.15g %18.3g\n", j + 1, s->value[j], s->residual[j]);
    printf("%d iterations, %d products: %.6f s in products, %.6f s in the rest\n", s->rounds, s->count,
           s->products, seconds - s->products);
    printf("%s: residuals %s %g * |lambda_1|\n", done ? "converged" : "NOT converged",
           done ? "are at most" : "exceed", tolerance);
}

/** Returns argument number i, a positive number up to `most`; `otherwise` if it is not given; -1 if it is
 *  invalid. */
static double argument(int argc, char **argv, int i, double most, double otherwise)
{
    char *end;
    if (i >= argc) return otherwise;
    const double value = strtod(argv[i], &end);
    return end != argv[i] && !*end && value > 0 && value <= most ? value : -1;
}

int main(int argc, char **argv)
{
    solver s = {.device = SPMM_CPU};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1 && strcmp(argv[1], "--cuda") == 0) {
        s.device = SPMM_CUDA;
        argc--;
        argv++;
    }
    const char *const matrix = argc > 1 ? argv[1] : "lap2d5:30";
    const double tolerance = argument(argc, argv, 3, 1, 1e-6), rounds = argument(argc, argv, 4, 1e9, 1000);
    s.wanted = (int)argument(argc, argv, 2, 1000, 4);
    if (argc > 5 || matrix[0] == '-' || s.wanted < 1 || tolerance < 0 || rounds < 1) {
        if (rank == 0) fprintf(stderr, "usage: block_power [--cuda] [MATRIX [K [TOLERANCE [ROUNDS]]]]\n");
        MPI_Finalize();
        return 2;
    }
    if (s.device == SPMM_CUDA)
        MUST(spmm_device_open(MPI_COMM_WORLD)); /* before anything is allocated on the GPU */
    load(&s, matrix, rank);
    prepare(&s);
    const double start = MPI_Wtime();
    const int done = iterate(&s, tolerance, (int)rounds);
    if (rank == 0) report(&s, matrix, ranks, MPI_Wtime() - start, tolerance, done);
    release(&s);
    if (s.device == SPMM_CUDA) spmm_device_close();
    MPI_Finalize();
    return done ? 0 : 1;
}
