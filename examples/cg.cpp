// Solves A X = B for K right-hand sides at once by conjugate gradients with the diagonal as preconditioner. A
// is symmetric positive definite. The columns are separate systems, which share the products.
//
//   mpicxx -std=c++11 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX cg.cpp -o cg $(pkg-config --cflags --libs spmm)
//   mpirun -np 2 ./cg [MATRIX [K [TOLERANCE [ITERATIONS]]]]
//
// MATRIX is a matrix file or a generator specification; the defaults of the others are 8, 1e-8 and 1000.
// Prints the residual of the worst column, computed from A X, and the distance of X from the known solution,
// from which B was computed. Exit status: 0 if that residual is at most 10 * TOLERANCE, 1 if not, 2 an error.
#include <mpi.h>
#include <spmm.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

// Ends the program on all ranks if a call failed.
static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    std::fprintf(stderr, "cg: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 2);
}

// Owners of the library's objects; they must destroy them before MPI_Finalize().
template <typename T, void destroy(T *)> struct destroyer {
    void operator()(T *object) const
    {
        destroy(object);
        delete object;
    }
};
typedef std::unique_ptr<spmm_csr, destroyer<spmm_csr, spmm_csr_destroy>> csr;
typedef std::unique_ptr<spmm_block, destroyer<spmm_block, spmm_block_destroy>> block;
typedef std::unique_ptr<spmm_multivector, destroyer<spmm_multivector, spmm_multivector_destroy>> multivector;
struct plan_destroyer {
    void operator()(spmm_plan *plan) const { spmm_plan_destroy(plan); }
};
typedef std::unique_ptr<spmm_plan, plan_destroyer> plan;

static multivector rows_of_x(const spmm_plan *plan)
{
    multivector v(new spmm_multivector());
    must(spmm_plan_x_create(plan, v.get()));
    return v;
}

// The inner products of the columns of x with the same columns of y.
static std::vector<double> dots(const multivector &x, const multivector &y)
{
    const std::size_t k = (std::size_t)x->k;
    std::vector<double> g(k * k), found(k);
    must(spmm_multivector_dot(MPI_COMM_WORLD, x.get(), y.get(), g.data(), x->k));
    for (std::size_t j = 0; j < k; j++) found[j] = g[j * k + j];
    return found;
}

// y := beta y + sign x R, where R is the diagonal matrix of the quotients a / b. A quotient with b = 0 is
// replaced by 0: that column has converged, or this is the first iteration, in which `old` is 0.
static void add(double sign, const multivector &x, const std::vector<double> &a, const std::vector<double> &b,
                double beta, const multivector &y)
{
    const std::size_t k = a.size();
    std::vector<double> r(k * k);
    for (std::size_t j = 0; j < k; j++) r[j * k + j] = b[j] != 0 ? sign * a[j] / b[j] : 0;
    must(spmm_multivector_times(1, x.get(), r.data(), x->k, beta, y.get()));
}

static double worst(const multivector &r, const std::vector<double> &of_b)
{
    std::vector<double> norm(of_b.size());
    must(spmm_multivector_norms(MPI_COMM_WORLD, r.get(), norm.data()));
    for (std::size_t j = 0; j < norm.size(); j++) norm[j] /= of_b[j] > 0 ? of_b[j] : 1;
    return *std::max_element(norm.begin(), norm.end());
}

static int solve(const char *name, int64_t k, double tolerance, int most)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    csr a(new spmm_csr());
    block mine(new spmm_block());
    spmm_plan *made = nullptr;
    if (rank == 0 && spmm_csr_generate(name, SPMM_F64, a.get()) != SPMM_OK)
        must(spmm_csr_read(name, SPMM_F64, a.get()));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, a.get(), 0, 0, mine.get()));
    must(spmm_plan_create(MPI_COMM_WORLD, mine.get(), k, nullptr, &made));
    const plan product(made);
    multivector known = rows_of_x(made), b = rows_of_x(made), x = rows_of_x(made), r = rows_of_x(made),
                z = rows_of_x(made), p = rows_of_x(made), q = rows_of_x(made), d(new spmm_multivector());
    must(spmm_multivector_create(x->rows, 1, SPMM_F64, SPMM_CPU, d.get()));
    must(spmm_plan_diagonal(made, d.get()));
    for (int64_t i = 0; i < d->rows; i++)
        static_cast<double *>(d->data)[i] = 1 / static_cast<double *>(d->data)[i];
    for (int64_t i = 0; i < known->rows; i++)
        for (int64_t j = 0; j < k; j++)
            static_cast<double *>(known->data)[i * known->ld + j] = std::sin(
                (double)((mine->x_begin + i + 1) * (j + 1)));
    must(spmm_apply(made, 1, known.get(), 0, b.get()));
    must(spmm_multivector_copy(b.get(), r.get()));
    const std::vector<double> zeros((std::size_t)k);
    std::vector<double> of_b((std::size_t)k), of_x((std::size_t)k), old, rho = zeros;
    must(spmm_multivector_norms(MPI_COMM_WORLD, b.get(), of_b.data()));
    int n = 0;
    for (; n < most && worst(r, of_b) > tolerance; n++) {
        must(spmm_multivector_copy(r.get(), z.get()));
        must(spmm_multivector_scale_rows(d.get(), z.get())); // Z := D^-1 R
        old = rho;
        rho = dots(r, z);
        add(1, p, rho, old, 0, q); // P := Z + P rho / old
        must(spmm_multivector_copy(z.get(), p.get()));
        must(spmm_multivector_axpby(1, q.get(), 1, p.get()));
        must(spmm_apply(made, 1, p.get(), 0, q.get())); // Q := A P
        const std::vector<double> pq = dots(p, q);
        add(1, p, rho, pq, 1, x);
        add(-1, q, rho, pq, 1, r);
    }
    must(spmm_multivector_copy(b.get(), r.get()));
    must(spmm_apply(made, -1, x.get(), 1, r.get()));
    const double residual = worst(r, of_b);
    must(spmm_multivector_norms(MPI_COMM_WORLD, known.get(), of_x.data()));
    must(spmm_multivector_axpby(-1, known.get(), 1, x.get()));
    const double error = worst(x, of_x);
    const bool converged = residual <= 10 * tolerance;
    if (rank == 0)
        std::printf("%s after %d iterations: residual %.3g, error of X %.3g\n",
                    converged ? "converged" : "NOT converged", n, residual, error);
    return converged ? 0 : 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int status = solve(argc > 1 ? argv[1] : "lap3d7:20", argc > 2 ? std::atoi(argv[2]) : 8,
                             argc > 3 ? std::atof(argv[3]) : 1e-8, argc > 4 ? std::atoi(argv[4]) : 1000);
    MPI_Finalize();
    return status;
}
